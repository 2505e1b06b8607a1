"""The numbers among the arguments: each lies in a buffer of one element, which every task reads once."""

from collections.abc import Iterable

from xdsl.ir import SSAValue

from tilewright.bridge.xir.lower.access import load_number
from tilewright.bridge.xir.lower.context import Lowering
from tilewright.ir.types import ViewType

__all__ = ["load_scalars"]


def load_scalars(cx: Lowering, arguments: Iterable[SSAValue]) -> None:
    """Read the scalars of the kernel where its body begins."""
    for argument in arguments:
        if not isinstance(argument.type, ViewType):
            cx.env[argument] = load_number(cx, argument)

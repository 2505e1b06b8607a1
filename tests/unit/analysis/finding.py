"""What tests of analyses share: the operations of a captured kernel."""

from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import StoreElementOp

__all__ = ["all_of", "one_of", "stored_scalars"]

OpT = TypeVar("OpT", bound=Operation)


def all_of(kernel: Kernel, kind: type[OpT]) -> list[OpT]:
    """Every operation of a kind, in written order."""
    return [op for op in kernel.op.walk() if isinstance(op, kind)]


def one_of(kernel: Kernel, kind: type[OpT]) -> OpT:
    """The only operation of a kind."""
    (found,) = all_of(kernel, kind)
    return found


def stored_scalars(kernel: Kernel) -> list[SSAValue]:
    """What each element store writes."""
    return [op.value for op in all_of(kernel, StoreElementOp)]

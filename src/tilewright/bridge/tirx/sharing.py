"""Which tiles get a buffer: a pure function of the kernel, made before anything is exported.

A pure elementwise tile with one reader that needs each of its elements once is an expression of that reader. Every
other one is a value that several readers share, and shared values are computed once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from xdsl.ir import Block, Operation, SSAValue

from tilewright.ir.kernel import Kernel
from tilewright.ir.ops import access, elementwise, memory, regions
from tilewright.ir.types import SpaceAttr, is_tile, space_of

__all__ = ["SharedSSA", "Sharing", "sharing_of"]

_EXPENSIVE = (elementwise.ExpOp, elementwise.LogOp, elementwise.SqrtOp, elementwise.TanhOp)
# Readers that evaluate an operand of the same space once at every point of it.
_POINTWISE = (elementwise.ElementwiseOp, access.StoreOp, memory.MemoryStoreOp, regions.YieldOp)


class SharedSSA(Enum):
    """What becomes of a tile with several readers."""

    PRESERVE = "preserve"
    """Computed once, whatever it costs."""
    EXPENSIVE_ONLY = "expensive only"
    """Computed once if it holds exp, log, sqrt or tanh; else by every reader."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """The elementwise tiles that get a buffer, each with its reason."""

    policy: SharedSSA
    reasons: Mapping[SSAValue, str]

    def is_stored(self, value: SSAValue) -> bool:
        """Whether a tile is computed into a buffer."""
        return value in self.reasons


def sharing_of(kernel: Kernel, policy: SharedSSA) -> Sharing:
    """The decision for every elementwise tile of a kernel."""
    found: dict[SSAValue, str] = {}
    for op in kernel.op.walk():
        if isinstance(op, elementwise.ElementwiseOp) and is_tile(op.result):
            reason = _reason(op, policy)
            if reason:
                found[op.result] = reason
    return Sharing(policy, MappingProxyType(found))


def _reason(op: elementwise.ElementwiseOp, policy: SharedSSA) -> str:
    readers = [use.operation for use in op.result.uses]
    if not readers:
        return ""
    far = [reader for reader in readers if not _is_pointwise(reader, op.parent_block(), space_of(op.result))]
    if far:
        return f"{far[0].name} reads its elements at places of its own"
    if len(readers) < 2:
        return ""
    if policy is SharedSSA.EXPENSIVE_ONLY and not isinstance(op, _EXPENSIVE):
        return ""
    return f"{len(readers)} readers share it"


def _is_pointwise(reader: Operation, block: Block | None, space: SpaceAttr) -> bool:
    if not isinstance(reader, _POINTWISE) or reader.parent_block() is not block:
        return False
    match reader:
        case elementwise.ElementwiseOp():
            return set(space_of(reader.result).axes) == set(space.axes)
        case access.StoreOp():
            return reader.mask is None or set(space_of(reader.value).axes) == set(space.axes)
        case _:
            return True

"""What every staged value is to the rest of the language: an IR value with the region it belongs to."""

from xdsl.ir import SSAValue

from tilewright.core.codes.capture import CLOSED_VALUE, FOREIGN_VALUE
from tilewright.core.dtypes import DType
from tilewright.core.errors import CaptureError
from tilewright.core.source import user_span
from tilewright.ir.location import span_of
from tilewright.ir.types import SpaceAttr, dtype_of, element_of, is_tile, space_of
from tilewright.lang.context import Capture, current
from tilewright.lang.spaces import shape_of

__all__ = ["StagedBase", "described", "use"]


class StagedBase:
    """An IR value of one capture, made in one region, which must still be open where the value is used."""

    __slots__ = ("capture", "frame", "ssa")

    def __init__(self, ssa: SSAValue, capture: Capture) -> None:
        self.ssa = ssa
        self.capture = capture
        self.frame = capture.frame

    @property
    def dtype(self) -> type[DType]:
        return dtype_of(element_of(self.ssa))

    @property
    def space(self) -> SpaceAttr:
        """The IR space; of rank 0 for a scalar."""
        return space_of(self.ssa)

    def describe(self) -> str:
        """The value as messages name it."""
        return described(self.ssa, self.capture)

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


def described(ssa: SSAValue, capture: Capture) -> str:
    """An IR value as messages name it: its shape and element type."""
    dtype = dtype_of(element_of(ssa))
    return f"a tile {shape_of(space_of(ssa), capture)!r} of {dtype!r}" if is_tile(ssa) else f"a scalar of {dtype!r}"


def use(value: StagedBase) -> SSAValue:
    """The IR value, ready to be an operand here.

    Raises CaptureError: TW102 when it belongs to another capture, TW103 when its region has closed.
    """
    if value.capture is not current("a value of a kernel"):
        raise CaptureError(FOREIGN_VALUE.at(user_span(), what="a tile or scalar"))
    if not value.frame.is_open:
        line = span_of(value.ssa).line
        raise CaptureError(CLOSED_VALUE.at(user_span(), what=f"{value.describe()}, made in line {line},"))
    return value.ssa

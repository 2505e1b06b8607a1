"""Axes, shapes and coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

from tilewright.core.codes.capture import BAD_AXIS, FOREIGN_VALUE
from tilewright.core.errors import CaptureError
from tilewright.core.source import user_span
from tilewright.ir.types import AxisAttr, DimAttr, SpaceAttr
from tilewright.lang.context import Capture, current

if TYPE_CHECKING:
    from tilewright.lang.values import Scalar, Tile

__all__ = ["Axis", "Coord", "Shape", "axis", "cdiv", "coord", "require_own_axes", "shape"]


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One axis of a kernel: an identity with an extent. Two axes of equal extent or label are still different."""

    label: str
    extent: int
    dim: DimAttr
    capture: Capture

    @property
    def attr(self) -> AxisAttr:
        return AxisAttr.of(self.dim, self.extent)

    def __repr__(self) -> str:
        return f"{self.label}:{self.extent}"


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """An ordered list of different axes: the space of a tile or the domain of a region. Rank 0 is legal."""

    axes: tuple[Axis, ...]

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(axis.extent for axis in self.axes)

    @property
    def space(self) -> SpaceAttr:
        return SpaceAttr.of(axis.attr for axis in self.axes)

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self.axes))}]"


@dataclass(frozen=True, slots=True, eq=False)
class Coord:
    """One position, an integer for each axis. Tiles of integers are allowed where many positions are meant."""

    items: "tuple[int | Scalar | Tile, ...]"


def axis(label: str, extent: int) -> Axis:
    """A fresh axis with a constant extent of 0 or more.

    Raises CaptureError: TW101 outside a kernel, TW131 for an extent that is no such number.
    """
    capture = current("axis(...)")
    if not isinstance(label, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CaptureError(BAD_AXIS.at(user_span(), what=f"the name of an axis is {label!r}"))
    size = checked_extent(extent, f"the axis {label}")
    return Axis(label, size, capture.fresh_dim(label), capture)


def shape(*axes: Axis | int) -> Shape:
    """The space of these axes. A bare extent is an axis by position: its identity is its distance from the right.

    Raises CaptureError: TW131 for what is neither and for an axis given twice, TW102 for an axis of another capture.
    """
    capture = current("shape(...)")
    items = [_axis_of(item, len(axes) - 1 - place, capture) for place, item in enumerate(axes)]
    for place, item in enumerate(items):
        if any(item.dim == other.dim for other in items[:place]):
            raise CaptureError(BAD_AXIS.at(user_span(), what=f"the axis {item.label} is given twice"))
    return Shape(tuple(items))


def require_own_axes(where: Shape) -> None:
    """Raises CaptureError (TW102) for a shape of another capture."""
    capture = current("a shape")
    for item in where.axes:
        if item.capture is not capture:
            raise CaptureError(FOREIGN_VALUE.at(user_span(), what=f"the axis {item.label}"))


def _axis_of(item: object, distance: int, capture: Capture) -> Axis:
    if isinstance(item, Axis):
        if item.capture is not capture:
            raise CaptureError(FOREIGN_VALUE.at(user_span(), what=f"the axis {item.label}"))
        return item
    extent = checked_extent(item, "an axis of a shape")
    dim = capture.positional_dim(distance)
    return Axis(capture.labels[dim.number], extent, dim, capture)


def checked_extent(value: object, owner: str) -> int:
    """The extent as an int. Raises CaptureError (TW131) for anything but a whole number of 0 or more."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 0:
        shown = repr(value) if isinstance(value, (int, float, str)) else f"a {type(value).__name__}"
        raise CaptureError(BAD_AXIS.at(user_span(), what=f"the extent of {owner} is {shown}"))
    return int(value)


def coord(*items: "int | Scalar | Tile") -> Coord:
    """A position: one integer for each axis, on the host or staged."""
    return Coord(items)


def counted_axes(number: int) -> str:
    """The number in words: 1 axis, 2 axes."""
    return "1 axis" if number == 1 else f"{number} axes"


def cdiv(a: int, b: int) -> int:
    """How many pieces of size `b` cover `a`: a / b rounded up, on host integers.

    Raises CaptureError (TW131) for pieces of size 0.
    """
    if b == 0:
        raise CaptureError(BAD_AXIS.at(user_span(), what=f"no number of pieces of size 0 covers {a}"))
    return -(-a // b)


def shape_of(space: SpaceAttr, capture: Capture) -> Shape:
    """The axes of a space, with the labels the capture gave them."""
    return Shape(tuple(_labelled(axis.dim, axis.extent, capture) for axis in space.axes))


def axes_of(dims: Sequence[AxisAttr], capture: Capture) -> tuple[Axis, ...]:
    """The axes of a list of IR axes."""
    return tuple(_labelled(axis.dim, axis.extent, capture) for axis in dims)


def _labelled(dim: DimAttr, extent: int, capture: Capture) -> Axis:
    return Axis(capture.labels.get(dim.number, f"d{dim.number}"), extent, dim, capture)

"""Where values live while a body runs."""

from typing import TypeVar, cast

import numpy as np
from xdsl.ir import SSAValue

from tilewright.core.codes.internal import MALFORMED_IR
from tilewright.core.errors import InternalError
from tilewright.ir.location import span_of
from tilewright.ir.types import DimAttr, SpaceAttr

from .values import Cells

__all__ = ["Frame", "point_of"]

T = TypeVar("T")
_POINT = SpaceAttr.of(())


def point_of(space: SpaceAttr, number: int) -> tuple[int, ...]:
    """The `number`-th point of a space in lexicographic order."""
    point: list[int] = []
    for extent in reversed(space.extents):
        number, coordinate = divmod(number, extent)
        point.append(coordinate)
    return tuple(reversed(point))


class Frame:
    """The values of one run of a body, on top of those of the bodies around it.

    `width` is the number of lanes, None where no map is open. Lane `i` lies at point `start + i % repeat` of `space`
    and in lane `i // repeat` of the parent: values that vary in the parent are repeated when they are looked up.
    """

    __slots__ = ("_values", "parent", "repeat", "space", "start", "width")

    def __init__(
        self, parent: "Frame | None" = None, *, space: SpaceAttr = _POINT, start: int = 0, repeat: int | None = None
    ) -> None:
        self.parent, self.space, self.start = parent, space, start
        self.repeat = 1 if repeat is None else repeat
        outer = None if parent is None else parent.width
        self.width = outer if repeat is None else repeat * (1 if outer is None else outer)
        self._values: dict[SSAValue, object] = {}

    def define(self, value: SSAValue, meaning: object) -> None:
        """Binds a value; a later definition (the next iteration) replaces it."""
        self._values[value] = meaning

    def cells(self, value: SSAValue) -> Cells:
        """The scalar or tile bound to `value`."""
        return cast(Cells, self.lookup(value))

    def lookup(self, value: SSAValue) -> object:
        """What is bound to `value` here or further out, in the lanes of this frame."""
        found = self._values.get(value)
        if found is not None:
            return found
        if self.parent is None:
            raise InternalError(MALFORMED_IR.at(span_of(value), what="a value is used where it is not defined"))
        found = self.parent.lookup(value)
        if isinstance(found, Cells) and found.varying and self.repeat != 1:
            found = Cells(np.repeat(found.data, self.repeat, axis=0), varying=True)
        self._values[value] = found
        return found

    def enter_points(self, indices: tuple[SSAValue, ...], numbers: range) -> None:
        """Binds the index arguments of a body whose lanes are the points `numbers` of `space`, once per outer lane."""
        if not indices:
            return
        outer = (self.width or 0) // max(len(numbers), 1)
        coordinates = np.unravel_index(np.arange(numbers.start, numbers.stop), self.space.extents)
        for value, coordinate in zip(indices, coordinates, strict=True):
            self.define(value, Cells(np.tile(coordinate.astype(np.int64), outer), varying=True))

    def lane(self, number: int) -> list[tuple[DimAttr, int]]:
        """The coordinates of a lane in all maps that are open, outermost first."""
        if self.width is None or self.parent is None:
            return []
        outer, inner = divmod(number, self.repeat)
        here = point_of(self.space, self.start + inner)
        return [*self.parent.lane(outer), *zip(self.space.dims, here, strict=True)]

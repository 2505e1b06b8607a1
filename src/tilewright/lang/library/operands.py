"""What library functions do with their operands before and after the work."""

import math
from collections.abc import Sequence

from tilewright.core.dtypes import DType
from tilewright.lang.contraction import accumulator
from tilewright.lang.folds import Axes, as_axes
from tilewright.lang.math import V, logical_and, where
from tilewright.lang.operations import typed
from tilewright.lang.spaces import Coord
from tilewright.lang.tiles import scalar
from tilewright.lang.values import Number, Scalar, Tile

__all__ = ["bounded", "count_of", "widened", "zero_of"]


def widened(x: V, op: str) -> V:
    """The operand in the type its folds are carried in. Raises TileTypeError (TW207) for a host value."""
    typed(x, op)
    return x.astype(accumulator(x.dtype))


def count_of(axis: Axes) -> float:
    """How many elements the axes hold together."""
    return float(math.prod(each.extent for each in as_axes(axis)))


def zero_of(dtype: type[DType]) -> Number:
    """The zero of a type as a literal it takes."""
    return False if dtype.kind == "bool" else 0


def bounded(tile: Tile, place: Sequence[Scalar], doubtful: Sequence[int], fill: Scalar | Number) -> Scalar:
    """The element at a position that may lie outside along the axes numbered by `doubtful`: `fill` where it does.

    Not even an element that is thrown away is taken from outside.
    """
    extents = tile.shape.extents
    if any(extents[axis] == 0 for axis in doubtful):
        return fill if isinstance(fill, Scalar) else scalar(tile.dtype, fill)
    inside: Scalar | None = None
    safe = list(place)
    for axis in doubtful:
        here = logical_and(place[axis] >= 0, place[axis] < extents[axis])
        inside = here if inside is None else logical_and(inside, here)
        safe[axis] = where(here, place[axis], 0)
    value = tile.at(Coord(tuple(safe)))
    return value if inside is None else where(inside, value, fill)

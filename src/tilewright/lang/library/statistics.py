"""Folds with a name: sums, extremes and where they are, truth over an axis, mean and variance."""

from collections.abc import Sequence

from tilewright.core.dtypes import i32, i64
from tilewright.ir.attrs import Policy
from tilewright.lang.folds import Axes, reduce
from tilewright.lang.library.loops import fold_tiles
from tilewright.lang.library.operands import count_of, widened
from tilewright.lang.math import isnan, where
from tilewright.lang.operations import condition
from tilewright.lang.reducers import Reducer, add, all_of, any_of, maximum, minimum, mul
from tilewright.lang.spaces import Axis, Coord, Shape
from tilewright.lang.tiles import iota, map, zeros
from tilewright.lang.values import Scalar, Tile

__all__ = ["all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum", "var", "welford"]


def sum(tile: Tile, axis: Axes) -> Tile:
    """The sum over one or more axes; 0 over nothing."""
    return reduce(tile, axis, add)


def prod(tile: Tile, axis: Axes) -> Tile:
    """The product over one or more axes; 1 over nothing."""
    return reduce(tile, axis, mul)


def max(tile: Tile, axis: Axes) -> Tile:
    """The largest element, NaN if there is one. Raises TileTypeError (TW215) over nothing."""
    return reduce(tile, axis, maximum)


def min(tile: Tile, axis: Axes) -> Tile:
    """The smallest element, NaN if there is one. Raises TileTypeError (TW215) over nothing."""
    return reduce(tile, axis, minimum)


def any(tile: Tile, axis: Axes) -> Tile:
    """Whether one condition holds at least; False over nothing. Raises TileTypeError (TW217) for numbers."""
    condition(tile, "the operand of any")
    return reduce(tile, axis, any_of)


def all(tile: Tile, axis: Axes) -> Tile:
    """Whether every condition holds; True over nothing. Raises TileTypeError (TW217) for numbers."""
    condition(tile, "the operand of all")
    return reduce(tile, axis, all_of)


def argmax(tile: Tile, axis: Axis) -> Tile:
    """The place of the first largest element as i64; the first NaN wins. Raises TileTypeError (TW215) over nothing."""
    return _place_of(tile, axis, maximum)


def argmin(tile: Tile, axis: Axis) -> Tile:
    """The place of the first smallest element as i64; the first NaN wins. Raises TileTypeError (TW215) over nothing."""
    return _place_of(tile, axis, minimum)


def _place_of(tile: Tile, axis: Axis, extreme: Reducer) -> Tile:
    """The extreme, then the least place that has it."""
    peak = reduce(tile, axis, extreme)
    found = tile == peak
    if tile.dtype.is_float:
        found = where(isnan(peak), isnan(tile), found)
    counted = i32 if axis.extent < i32.max else i64
    places = where(found, iota(axis).astype(counted), int(counted.max))
    return reduce(places, axis, minimum).astype(i64)


def mean(tile: Tile, axis: Axes) -> Tile:
    """The sum over one or more axes divided by the number of elements; NaN over nothing."""
    wide = widened(tile, "mean")
    return (reduce(wide, axis, add) / count_of(axis)).astype(tile.dtype)


def var(tile: Tile, axis: Axes, *, correction: int = 0) -> Tile:
    """The mean squared distance from the mean, in two passes; `correction` is taken off the number of elements."""
    wide = widened(tile, "var")
    centred = wide - mean(wide, axis)
    count = count_of(axis) - correction
    return (reduce(centred * centred, axis, add) / (count if count > 0 else 0.0)).astype(tile.dtype)


def welford(tile: Tile, axis: Axis, *, correction: int = 0) -> tuple[Tile, Tile]:
    """Mean and variance in one pass, element after element; NaN where too few are left.

    Welford, "Note on a method for calculating corrected sums of squares and products" (1962).
    """
    wide = widened(tile, "welford")
    kept = Shape(tuple(each for each in wide.shape.axes if each.dim != axis.dim))
    start = (zeros(wide.dtype, kept), zeros(wide.dtype, kept))

    def step(place: Scalar, states: Sequence[Tile]) -> Sequence[Tile]:
        average, spread = states
        element = _slice(wide, axis, kept, place)
        distance = element - average
        average = average + distance / (place + 1).astype(wide.dtype)
        return average, spread + distance * (element - average)

    average, spread = fold_tiles(axis, start, step, Policy.FOLD_LEFT)
    count = axis.extent - correction
    if axis.extent == 0:
        average = average / 0.0
    return average.astype(tile.dtype), (spread / (float(count) if count > 0 else 0.0)).astype(tile.dtype)


def _slice(tile: Tile, axis: Axis, kept: Shape, place: Scalar) -> Tile:
    """The elements at one place along the axis."""
    axes = tile.shape.axes
    return map(
        tile.dtype, kept,
        lambda nest: tile.at(Coord(tuple(place if each.dim == axis.dim else nest.index(each) for each in axes))),
    )  # fmt: skip

"""Sorting along an axis by a bitonic network: a total order, NaN last, equal elements in their order.

Every element is paired with its place, so no two are equal and the network is stable. Elements of up to 32 bits share
one i64 with their place: the network is minima and maxima. Wider ones are a pair. Batcher, "Sorting networks and their
applications" (1968); the loop over its stages keeps the program's size independent of the extent.
"""

from collections.abc import Sequence

from tilewright.core.codes.types import SHAPE_CHANGE
from tilewright.core.dtypes import DType, f32, f64, i32, i64, u32, u64
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.types import AxisAttr, SpaceAttr
from tilewright.lang.context import current
from tilewright.lang.folds import check_axes
from tilewright.lang.library.loops import repeat
from tilewright.lang.library.operands import bounded
from tilewright.lang.library.rearranging import replaced
from tilewright.lang.math import bitcast, isnan, logical_and, logical_or, where
from tilewright.lang.nests import Nest
from tilewright.lang.operations import typed
from tilewright.lang.reducers import maximum, minimum
from tilewright.lang.spaces import Axis, Coord
from tilewright.lang.tiles import iota, map, scalar, zeros
from tilewright.lang.values import Scalar, Tile

__all__ = ["argsort", "sort", "topk"]

_PLACE_BITS = 32
Keys = tuple[Tile, ...]


def sort(tile: Tile, axis: Axis, *, descending: bool = False) -> Tile:
    """The elements along one axis in order, NaN last either way, equal ones as they stood.

    Raises TileTypeError (TW214) for an axis the tile lacks.
    """
    return _taken(tile, axis, argsort(tile, axis, descending=descending), axis)


def argsort(tile: Tile, axis: Axis, *, descending: bool = False) -> Tile:
    """The places of the elements along one axis in order, as i64; see `sort`."""
    check_axes("sort", typed(tile, "sort"), (axis,))
    return _ordered(tile, axis, axis, descending=descending)


def topk(tile: Tile, axis: Axis, k: Axis, *, largest: bool = True) -> tuple[Tile, Tile]:
    """The first `k.extent` elements in order, largest first (or smallest), and their places as i64.

    Equal elements come in their order, NaN only when nothing else is left. Raises TileTypeError: TW214 for an axis the
    tile lacks, TW216 for more elements than there are.
    """
    check_axes("topk", typed(tile, "topk"), (axis,))
    if k.extent > axis.extent:
        raise TileTypeError(
            SHAPE_CHANGE.at(
                user_span(), op="topk", before=repr(axis), after=repr(k), reason="no more can be taken than there are",
                remedy="make the axis of the result shorter",
            )
        )  # fmt: skip
    places = _ordered(tile, axis, k, descending=largest)
    return _taken(tile, axis, places, k), places


def _ordered(tile: Tile, axis: Axis, out: Axis, *, descending: bool) -> Tile:
    """The places of the first elements in order, along `out`."""
    if axis.extent == 0:
        return zeros(i64, replaced(tile.shape, axis, (out,)))
    size = 1 << max(axis.extent - 1, 0).bit_length()
    padded = axis if size == axis.extent else _fresh("sorted", size)
    key = _key(tile, descending=descending)
    if tile.dtype.bits <= _PLACE_BITS:
        keys: Keys = ((key.astype(i64) << _PLACE_BITS) | iota(axis),)
    else:
        keys = (key, map(i64, tile.shape, lambda nest: nest.index(axis)))
    keys = tuple(_padded(each, axis, padded) for each in keys)
    (*_, last) = _network(keys, padded)
    if len(keys) == 1:
        last = last & (2**_PLACE_BITS - 1)
    return last if out is padded else _first(last, padded, out)


def _key(tile: Tile, *, descending: bool) -> Tile:
    """Signed integers in the order wanted, i32 for up to 32 bits and i64 above."""
    dtype = tile.dtype
    if dtype.is_float:
        return _float_key(tile, descending=descending)
    if dtype in (u32, u64):
        signed: type[DType] = i32 if dtype is u32 else i64
        key = bitcast(signed, tile) ^ int(signed.min)
    else:
        key = tile.astype(i64 if dtype is i64 else i32)
    return ~key if descending else key


def _float_key(tile: Tile, *, descending: bool) -> Tile:
    """The bits of a float count up from 0 and down from -0; both zeros are one, and NaN lies beyond everything."""
    wide, signed = (f64, i64) if tile.dtype is f64 else (f32, i32)
    value = tile.astype(wide)
    bits = bitcast(signed, where(value == 0.0, 0.0, value))
    key = where(bits < 0, bits ^ int(signed.max), bits)
    return where(isnan(value), int(signed.max), ~key if descending else key)


def _padded(tile: Tile, axis: Axis, padded: Axis) -> Tile:
    """The tile up to a power of two, with what sorts last."""
    if padded is axis:
        return tile
    axes = tile.shape.axes
    along = [each.dim for each in axes].index(axis.dim)

    def element(nest: Nest) -> Scalar:
        place = [nest.index(padded if each.dim == axis.dim else each) for each in axes]
        return bounded(tile, place, (along,), int(i64.max))

    return map(i64, replaced(tile.shape, axis, (padded,)), element)


def _network(keys: Keys, axis: Axis) -> Keys:
    """The keys in order: for runs of 2, 4, ... elements, exchanges over half a run, a quarter, ..., one."""
    levels = (axis.extent - 1).bit_length()
    stages = SpaceAttr.of([AxisAttr.of(current("sort").fresh_dim("stage"), levels * (levels + 1) // 2)])

    def step(_: object, states: Sequence[Tile | Scalar]) -> Sequence[Tile | Scalar]:
        *tiles, run, distance = states
        exchanged = _exchange([each for each in tiles if isinstance(each, Tile)], axis, run, distance)
        is_last = distance == 1
        return [*exchanged, where(is_last, run << 1, run), where(is_last, run, distance >> 1)]

    *result, _, _ = repeat(stages, [*keys, scalar(i64, 2), scalar(i64, 1)], step)
    return tuple(each for each in result if isinstance(each, Tile))


def _exchange(tiles: Sequence[Tile], axis: Axis, run: Tile | Scalar, distance: Tile | Scalar) -> Sequence[Tile]:
    """Every element beside the one `distance` away: the lesser where the run goes up and this is the lower place."""
    place = iota(axis)
    wants_less = ((place & distance) == 0) == ((place & run) == 0)
    others = [_across(each, axis, distance) for each in tiles]
    if len(tiles) == 1:
        mine, other = tiles[0], others[0]
        return [where(wants_less, minimum(mine, other), maximum(mine, other))]
    less = logical_or(others[0] < tiles[0], logical_and(others[0] == tiles[0], others[1] < tiles[1]))
    takes = less == wants_less
    return [where(takes, other, mine) for mine, other in zip(tiles, others, strict=True)]


def _across(tile: Tile, axis: Axis, distance: Tile | Scalar) -> Tile:
    axes = tile.shape.axes

    def element(nest: Nest) -> Scalar:
        places = [nest.index(each) for each in axes]
        moved = [p ^ distance if each.dim == axis.dim else p for each, p in zip(axes, places, strict=True)]
        return tile.at(Coord(tuple(moved)))

    return map(i64, tile.shape, element)


def _first(tile: Tile, axis: Axis, out: Axis) -> Tile:
    axes = tile.shape.axes

    def element(nest: Nest) -> Scalar:
        return tile.at(Coord(tuple(nest.index(out if each.dim == axis.dim else each) for each in axes)))

    return map(tile.dtype, replaced(tile.shape, axis, (out,)), element)


def _taken(tile: Tile, axis: Axis, places: Tile, out: Axis) -> Tile:
    """The elements at places that are known to lie inside."""
    axes = tile.shape.axes
    shape = replaced(tile.shape, axis, (out,))

    def element(nest: Nest) -> Scalar:
        there = places.at(nest)
        return tile.at(Coord(tuple(there if each.dim == axis.dim else nest.index(each) for each in axes)))

    return map(tile.dtype, shape, element)


def _fresh(label: str, extent: int) -> Axis:
    capture = current("sort")
    return Axis(label, extent, capture.fresh_dim(label), capture)

"""Elements at computed places: gather, scatter, counts and sums by number."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tilewright.core.codes.types import NOT_DEFINED
from tilewright.core.dtypes import i32, i64
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.types import DimAttr, SpaceAttr
from tilewright.lang.broadcast import joint_space
from tilewright.lang.folds import Axes, as_axes, check_axes, reduce
from tilewright.lang.library.loops import repeat
from tilewright.lang.library.operands import bounded, zero_of
from tilewright.lang.math import logical_and
from tilewright.lang.math import where as select
from tilewright.lang.nests import Nest
from tilewright.lang.operations import typed
from tilewright.lang.reducers import Reducer, add
from tilewright.lang.spaces import Axis, Coord, Shape
from tilewright.lang.tiles import iota, map
from tilewright.lang.values import Number, Operand, Scalar, Tile
from tilewright.lang.views import View

AnyView = View[Any, Any]  # of any rank

__all__ = ["gather", "histogram", "scatter", "scatter_add", "segment_reduce", "segment_sum"]


def gather(tile: Tile, index: Tile, axis: Axis, *, fill: Scalar | Number | None = None) -> Tile:
    """The elements at the places `index` along one axis; `fill` (default zero) where a place is not in the tile.

    The axes of `index` that the tile lacks stand where the axis was; those it has are paired. Negative places are
    outside. Raises TileTypeError: TW214 for an axis the tile lacks, TW208 for an index that is no integer.
    """
    check_axes("gather", typed(tile, "gather"), (axis,))
    places = _places(index)
    filler = zero_of(tile.dtype) if fill is None else fill
    joint_space("gather", [tile.space, places.space])
    fresh = tuple(each for each in places.shape.axes if tile.space.extent_of(each.dim) is None)
    along = [each.dim for each in tile.shape.axes].index(axis.dim)
    axes = tile.shape.axes

    def element(nest: Nest) -> Scalar:
        place = [places.at(nest) if each.dim == axis.dim else nest.index(each) for each in axes]
        return bounded(tile, place, (along,), filler)

    return map(tile.dtype, Shape((*axes[:along], *fresh, *axes[along + 1 :])), element)


def scatter(view: AnyView, coords: Coord, value: Operand, *, where: Operand | None = None) -> None:
    """`view[coords] = value` at every point of the operands, in row-major order, so that the last of several wins.

    Points outside the view or where `where` is false are left alone. A serial region of guarded element stores;
    `view.update` combines without an order. Raises TileTypeError as `update` does.
    """
    space = _joint(coords, value, where)

    def step(point: Sequence[Scalar], _: object) -> Sequence[Scalar]:
        here = dict(zip(space.dims, point, strict=True))
        place = [cast("Scalar | int", _at(item, here)) for item in coords.items]
        inside = True if where is None else cast("Scalar", _at(where, here))
        extents: tuple[int, ...] = view.shape
        for each, extent in zip(place, extents, strict=True):
            inside = logical_and(inside, _lies(each, extent))
        reference: Any = view[tuple(place)]
        reference.store(_at(value, here), where=inside)
        return ()

    repeat(space, (), step)


def scatter_add(view: AnyView, coords: Coord, value: Operand, *, where: Operand | None = None) -> None:
    """`view[coords] += value` at every point of the operands, atomically and in no order: `view.update` with add."""
    view.update(coords, value, reducer=add, where=where)


def histogram(numbers: Tile, axis: Axes, bins: Axis, *, where: Operand | None = None) -> Tile:
    """How often each of 0 ... bins - 1 occurs along the axes, as i32; the axis `bins` comes last.

    Numbers outside, and elements where `where` is false, count nowhere.
    Raises TileTypeError: TW214 for an axis the tile lacks, TW208 for numbers that are no integers.
    """
    check_axes("histogram", typed(numbers, "histogram"), as_axes(axis))
    found = _belongs(numbers, bins)
    if where is not None:
        found = logical_and(found, where)
    return reduce(found.astype(i32), axis, add)


def segment_sum(tile: Tile, numbers: Tile, axis: Axis, segments: Axis) -> Tile:
    """The sums over one axis of the elements with each number 0 ... segments - 1; `segments` comes last."""
    return segment_reduce(tile, numbers, axis, segments, add)


def segment_reduce(tile: Tile, numbers: Tile, axis: Axis, segments: Axis, reducer: Reducer) -> Tile:
    """The folds over one axis of the elements with each number; a segment without any has the reducer's identity.

    Raises TileTypeError: TW214 for an axis the tile lacks, TW208 for numbers that are no integers.
    """
    check_axes("segment_reduce", typed(tile, "segment_reduce"), (axis,))
    return reduce(select(_belongs(numbers, segments), tile, reducer.identity(tile.dtype)), axis, reducer)


def _belongs(numbers: Tile, bins: Axis) -> Tile:
    places = _places(numbers)
    narrow = numbers.dtype.bits < 32 or numbers.dtype is i32
    counted = i32 if narrow and bins.extent < i32.max else i64
    return places.astype(counted) == iota(bins).astype(counted)


def _places(index: Tile) -> Tile:
    """Places as i64. Raises TileTypeError (TW208) for what is no tile of integers."""
    value = typed(index, "gather")
    if not value.dtype.is_integer:
        raise TileTypeError(
            NOT_DEFINED.at(
                user_span(), op="an index", dtype=value.dtype, reason="a place is a whole number",
                remedy="convert it, as in cast(i64, x)",
            )
        )  # fmt: skip
    return index.astype(i64)


def _lies(place: Scalar | int, extent: int) -> Scalar | bool:
    return logical_and(place >= 0, place < extent) if isinstance(place, Scalar) else 0 <= place < extent


def _joint(coords: Coord, value: Operand, where: Operand | None) -> SpaceAttr:
    spaces = [item.space for item in (*coords.items, value, where) if isinstance(item, Tile)]
    return joint_space("scatter", spaces) if spaces else SpaceAttr.of(())


def _at(item: Operand, here: Mapping[DimAttr, Scalar]) -> Scalar | Number:
    """The operand at one point of the joint space."""
    if not isinstance(item, Tile):
        return item
    axes = item.space.axes
    return item.at(Coord(tuple(0 if axis.extent == 1 else here[axis.dim] for axis in axes)))

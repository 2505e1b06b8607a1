"""Tiles with their elements in other places: flipped, rolled, shifted, joined, an axis split or two merged."""

from collections.abc import Callable, Sequence

from tilewright.core.codes.types import SHAPE_CHANGE
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.lang.base import use
from tilewright.lang.broadcast import shown_space
from tilewright.lang.folds import check_axes
from tilewright.lang.library.operands import bounded, zero_of
from tilewright.lang.math import where
from tilewright.lang.nests import Nest
from tilewright.lang.operations import typed
from tilewright.lang.spaces import Axis, Coord, Shape
from tilewright.lang.tiles import full, map
from tilewright.lang.values import Number, Scalar, Tile

__all__ = ["concatenate", "flip", "merge_axes", "roll", "shift", "split_axis"]


def flip(tile: Tile, axis: Axis) -> Tile:
    """The tile with the order along one axis reversed. Raises TileTypeError (TW214) for an axis it lacks."""
    check_axes("flip", typed(tile, "flip"), (axis,))
    return _moved(tile, axis, lambda place: axis.extent - 1 - place)


def roll(tile: Tile, axis: Axis, by: int | Scalar) -> Tile:
    """The tile moved by so many places along one axis, what leaves at one end entering at the other.

    Raises TileTypeError (TW214) for an axis it lacks.
    """
    check_axes("roll", typed(tile, "roll"), (axis,))
    return _moved(tile, axis, lambda place: (place - by) % axis.extent)


def shift(tile: Tile, axis: Axis, by: int | Scalar, *, fill: Scalar | Number | None = None) -> Tile:
    """The tile moved by so many places along one axis, with `fill` (default zero) where nothing arrives.

    Raises TileTypeError: TW214 for an axis it lacks, TW205 or TW206 for a fill of another type.
    """
    check_axes("shift", typed(tile, "shift"), (axis,))
    filler = zero_of(tile.dtype) if fill is None else fill
    where_from = tile.shape.axes
    along = _number(where_from, axis)

    def element(nest: Nest) -> Scalar:
        place = [nest.index(each) for each in where_from]
        place[along] = place[along] - by
        return bounded(tile, place, (along,), filler)

    return map(tile.dtype, tile.shape, element)


def concatenate(tiles: Sequence[Tile], axis: Sequence[Axis], out: Axis) -> Tile:
    """The tiles one after the other along `out`, which stands where each has its entry of `axis`.

    Raises TileTypeError: TW214 for an axis a tile lacks, TW216 when the extents do not add up to that of `out` or the
    other axes differ.
    """
    shapes = [_joined_shape(tile, each, out) for tile, each in zip(tiles, axis, strict=True)]
    total = sum(each.extent for each in axis)
    for tile, shape in zip(tiles, shapes, strict=True):
        if total != out.extent or shape.space != shapes[0].space:
            raise _refused(tile, shapes[0], f"the parts have {total} places together and agree in their other axes")
    if out.extent == 0:
        return full(tiles[0].dtype, shapes[0], zero_of(tiles[0].dtype))
    return map(tiles[0].dtype, shapes[0], lambda nest: _part_at(tiles, axis, out, shapes[0], nest))


def _part_at(tiles: Sequence[Tile], axes: Sequence[Axis], out: Axis, shape: Shape, nest: Nest) -> Scalar:
    value: Scalar | None = None
    start = out.extent
    for tile, axis in zip(reversed(tiles), reversed(axes), strict=True):
        start -= axis.extent
        if axis.extent == 0:
            continue
        place = [nest.index(each) for each in shape.axes]
        along = _number(shape.axes, out)
        place[along] = place[along] - start
        here = bounded(tile, place, (along,), zero_of(tile.dtype))
        value = here if value is None else where(nest.index(out) < start + axis.extent, here, value)
    if value is None:
        raise _refused(tiles[0], shape, "there is no part with elements")
    return value


def _joined_shape(tile: Tile, axis: Axis, out: Axis) -> Shape:
    check_axes("concatenate", typed(tile, "concatenate"), (axis,))
    return replaced(tile.shape, axis, (out,))


def split_axis(tile: Tile, axis: Axis, outer: Axis, inner: Axis) -> Tile:
    """One axis as two, the inner one fastest: element (o, i) was element o * inner + i.

    Raises TileTypeError: TW214 for an axis the tile lacks, TW216 when the extents do not multiply to its extent.
    """
    check_axes("split_axis", typed(tile, "split_axis"), (axis,))
    shape = replaced(tile.shape, axis, (outer, inner))
    if outer.extent * inner.extent != axis.extent:
        raise _refused(tile, shape, f"{outer.extent} times {inner.extent} is not {axis.extent}")

    def element(nest: Nest) -> Scalar:
        number = nest.index(outer) * inner.extent + nest.index(inner)
        return tile.at(Coord(tuple(number if each.dim == axis.dim else nest.index(each) for each in tile.shape.axes)))

    return map(tile.dtype, shape, element)


def merge_axes(tile: Tile, outer: Axis, inner: Axis, merged: Axis) -> Tile:
    """Two axes as one, the inner one fastest, in the place of the outer: what `split_axis` undoes.

    Raises TileTypeError: TW214 for an axis the tile lacks, TW216 when the extents do not multiply to that of `merged`.
    """
    check_axes("merge_axes", typed(tile, "merge_axes"), (outer, inner))
    rest = Shape(tuple(each for each in tile.shape.axes if each.dim != inner.dim))
    shape = replaced(rest, outer, (merged,))
    if outer.extent * inner.extent != merged.extent:
        raise _refused(tile, shape, f"{outer.extent} times {inner.extent} is not {merged.extent}")

    def element(nest: Nest) -> Scalar:
        number = nest.index(merged)
        parts = {outer.dim: number // inner.extent, inner.dim: number % inner.extent}
        if inner.extent == 1:
            parts = {outer.dim: number, inner.dim: number * 0}
        axes = tile.shape.axes
        return tile.at(Coord(tuple(parts[each.dim] if each.dim in parts else nest.index(each) for each in axes)))

    return map(tile.dtype, shape, element)


def replaced(shape: Shape, axis: Axis, by: Sequence[Axis]) -> Shape:
    """The shape with other axes in the place of one."""
    place = _number(shape.axes, axis)
    return Shape((*shape.axes[:place], *by, *shape.axes[place + 1 :]))


def _moved(tile: Tile, axis: Axis, origin: Callable[[Scalar], Scalar]) -> Tile:
    axes = tile.shape.axes

    def element(nest: Nest) -> Scalar:
        places = (nest.index(each) for each in axes)
        return tile.at(Coord(tuple(origin(p) if a.dim == axis.dim else p for a, p in zip(axes, places, strict=True))))

    return map(tile.dtype, tile.shape, element)


def _number(axes: Sequence[Axis], axis: Axis) -> int:
    return [each.dim for each in axes].index(axis.dim)


def _refused(tile: Tile, shape: Shape, reason: str) -> TileTypeError:
    use(tile)
    return TileTypeError(
        SHAPE_CHANGE.at(
            user_span(), op="the rearrangement", before=shown_space(tile.space), after=shown_space(shape.space),
            reason=reason, remedy="give axes whose extents fit",
        )
    )  # fmt: skip

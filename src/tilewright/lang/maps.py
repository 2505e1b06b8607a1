"""Tiles defined point by point, and the rearrangements made of them."""

from collections.abc import Callable, Sequence
from math import prod

from xdsl.ir import SSAValue

from tilewright.core.codes.types import SHAPE_CHANGE
from tilewright.core.dtypes import DType, i64
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.ops.elementwise import AddOp, FloorDivOp, FloorModOp, MulOp
from tilewright.ir.ops.regions import YieldOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp
from tilewright.ir.types import I64, SpaceAttr, TileType, dtype_of, space_of, tile_type
from tilewright.lang.broadcast import shown_space
from tilewright.lang.context import Frame, current, emit
from tilewright.lang.operations import constant

__all__ = ["broadcast_to", "build_map", "fits", "iota", "relabel", "reshape"]


def build_map(dtype: type[DType], space: SpaceAttr, element: Callable[[Sequence[SSAValue]], SSAValue]) -> SSAValue:
    """A map over `space`; `element` makes the scalar at the given indices, one i64 for each axis."""
    capture = current("map")
    op = emit(MapOp(TileType.of(dtype, space)))
    indices = op.body.block.args
    frame = Frame("map", op.body.block, user_span(), capture.frame, dict(zip(space.dims, indices, strict=True)))
    capture.enter(frame)
    capture.insert(YieldOp([element(indices)]))
    capture.leave(frame)
    return op.result


def iota(space: SpaceAttr) -> SSAValue:
    """The positions 0, 1, ... along the one axis of `space`."""
    return build_map(i64, space, lambda indices: indices[0])


def relabel(tile: SSAValue, space: SpaceAttr) -> SSAValue:
    """The same elements under other axes, by position. Raises TileTypeError (TW216) when the extents differ."""
    kind = tile_type(tile)
    if kind.space.extents != space.extents:
        raise _refusal(
            "relabel", kind.space, space, "axes are renamed one by one, so both shapes have the same extents in order",
            "use reshape(x, shape(...)) to regroup elements, or broadcast_to to repeat them",
        )  # fmt: skip
    if kind.space == space:
        return tile
    return build_map(dtype_of(kind.element), space, lambda indices: emit(ExtractOp(tile, indices)).result)


def fits(source: SpaceAttr, target: SpaceAttr) -> bool:
    """Whether every axis of `source` is in `target`, with its extent or as a single element."""
    pairs = [(axis.extent, target.extent_of(axis.dim)) for axis in source.axes]
    return all(there is not None and extent in (1, there) for extent, there in pairs)


def broadcast_to(tile: SSAValue, space: SpaceAttr) -> SSAValue:
    """The tile repeated along the axes it lacks, in the order of `space`. Raises TileTypeError (TW216)."""
    kind = tile_type(tile)
    if not fits(kind.space, space):
        raise _refusal(
            "broadcast_to", kind.space, space, "a tile repeats along axes it lacks or has once; its others are there",
            "give a shape that has the axes of the tile, or rename them with relabel(x, shape(...))",
        )  # fmt: skip
    if kind.space == space:
        return tile
    places = {dim: place for place, dim in enumerate(space.dims)}

    def element(indices: Sequence[SSAValue]) -> SSAValue:
        coords = [
            indices[places[axis.dim]] if axis.extent == space.extent_of(axis.dim) else constant(i64, 0)
            for axis in kind.space.axes
        ]
        return emit(ExtractOp(tile, coords)).result

    return build_map(dtype_of(kind.element), space, element)


def reshape(tile: SSAValue, space: SpaceAttr) -> SSAValue:
    """The same elements in row-major order under another shape. Raises TileTypeError (TW216) for another volume."""
    kind = tile_type(tile)
    if kind.space.volume != space.volume:
        raise _refusal(
            "reshape", kind.space, space, f"one has {kind.space.volume} elements, the other {space.volume}",
            "give a shape with as many elements",
        )  # fmt: skip
    dtype = dtype_of(kind.element)
    if kind.space == space:
        return tile
    if space.volume == 0:
        return constant(dtype, False if dtype.kind == "bool" else 0, space)
    return build_map(
        dtype, space, lambda indices: emit(ExtractOp(tile, _split(_joined(indices, space), space_of(tile)))).result
    )


def _joined(indices: Sequence[SSAValue], space: SpaceAttr) -> SSAValue:
    """The row-major number of a point."""
    number: SSAValue | None = None
    for index, extent in zip(indices, space.extents, strict=True):
        if number is None:
            number = index
            continue
        scaled = emit(MulOp(number, constant(i64, extent), I64)).result
        number = emit(AddOp(scaled, index, I64)).result
    return constant(i64, 0) if number is None else number


def _split(number: SSAValue, space: SpaceAttr) -> list[SSAValue]:
    """The point with a row-major number."""
    coords: list[SSAValue] = []
    for place, extent in enumerate(space.extents):
        step = prod(space.extents[place + 1 :])
        quotient = emit(FloorDivOp(number, constant(i64, step), I64)).result if step != 1 else number
        coords.append(emit(FloorModOp(quotient, constant(i64, extent), I64)).result if place else quotient)
    return coords


def _refusal(op: str, before: SpaceAttr, after: SpaceAttr, reason: str, remedy: str) -> TileTypeError:
    return TileTypeError(
        SHAPE_CHANGE.at(
            user_span(), op=op, before=shown_space(before), after=shown_space(after), reason=reason, remedy=remedy
        )
    )

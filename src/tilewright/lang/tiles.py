"""Functions that make tiles, rearrange them, and compute them element by element."""

from collections.abc import Callable
from typing import overload

from xdsl.ir import SSAValue

from tilewright.core.codes.capture import REGION_LEFT
from tilewright.core.codes.types import MAP_RESULT, NO_SUCH_AXIS
from tilewright.core.dtypes import DType
from tilewright.core.errors import CaptureError, TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.types import is_tile
from tilewright.lang import contraction, maps, operations
from tilewright.lang.base import StagedBase, use
from tilewright.lang.context import current
from tilewright.lang.nests import Nest
from tilewright.lang.normalise import splat
from tilewright.lang.spaces import Axis, Coord, Shape
from tilewright.lang.values import Number, Scalar, Tile

__all__ = [
    "broadcast_to", "extract", "full", "iota", "map", "matmul", "mma", "reindex", "relabel", "reshape", "scalar",
    "transpose", "zeros",
]  # fmt: skip

Element = Callable[[Nest], Scalar | Number]


def _tile(ssa: SSAValue) -> Tile:
    return Tile(ssa, current("a tile"))


def full(dtype: type[DType], shape: Shape, value: Scalar | Number) -> Tile:
    """A tile whose elements are all `value`. Raises TileTypeError: TW205 or TW206 when it is no value of `dtype`."""
    return _tile(splat(value, dtype, shape.space, "full"))


def zeros(dtype: type[DType], shape: Shape) -> Tile:
    """A tile of zeros (of False for `boolean`)."""
    return full(dtype, shape, False if dtype.kind == "bool" else 0)


def scalar(dtype: type[DType], value: Number) -> Scalar:
    """A host number as a staged one, such as the start of a carried sum. Raises TileTypeError (TW206)."""
    return Scalar(operations.lifted(value, dtype, "scalar"), current("scalar(...)"))


def iota(axis: Axis) -> Tile:
    """The positions 0, 1, ... along an axis, as i64."""
    return _tile(maps.iota(Shape((axis,)).space))


@overload
def map(dtype: type[DType], shape: Shape, element: Element) -> Tile: ...
@overload
def map(dtype: type[DType], shape: Shape) -> Callable[[Element], Tile]: ...
def map(dtype: type[DType], shape: Shape, element: Element | None = None) -> Tile | Callable[[Element], Tile]:
    """A tile computed element by element: `element` gets a handle with the coordinates and returns one scalar.

    Without `element` it is a decorator, for bodies of several statements; the name then is the tile.
    Raises TileTypeError (TW220) for another result, EffectError (TW352) for a load or store inside.
    """
    if element is None:
        return lambda body: map(dtype, shape, body)
    capture = current("map(...)")

    def point(_: object) -> SSAValue:
        frame = capture.frame
        result = element(Nest(capture, frame, shape))
        if capture.frame is not frame:
            raise CaptureError(REGION_LEFT.at(capture.frame.span, region=capture.frame.describe()))
        return _element(result, dtype)

    return _tile(maps.build_map(dtype, shape.space, point))


def _element(result: object, dtype: type[DType]) -> SSAValue:
    if isinstance(result, StagedBase):
        if is_tile(result.ssa) or result.dtype != dtype:
            raise TileTypeError(MAP_RESULT.at(user_span(), got=result.describe(), dtype=dtype))
        return use(result)
    number = operations.as_number(result)
    if number is None:
        raise TileTypeError(MAP_RESULT.at(user_span(), got=f"a {type(result).__name__}", dtype=dtype))
    return operations.constant(dtype, number)


def extract(tile: Tile, where: Coord | Nest) -> Scalar:
    """The element at a position; it must lie inside. The same as `tile.at(where)`."""
    return tile.at(where)


def relabel(tile: Tile, shape: Shape) -> Tile:
    """The same elements under other axes of the same extents, matched by position (TW216 when they differ)."""
    return _tile(maps.relabel(_operand(tile, "relabel"), shape.space))


def broadcast_to(tile: Tile, shape: Shape) -> Tile:
    """The tile repeated along the axes of `shape` that it lacks, in that order (TW216 when an axis has no place)."""
    return _tile(maps.broadcast_to(_operand(tile, "broadcast_to"), shape.space))


def transpose(tile: Tile, *axes: Axis) -> Tile:
    """The tile with its axes in this order. Raises TileTypeError (TW214, TW216) unless they are its axes."""
    for axis in axes:
        if tile.space.extent_of(axis.dim) is None:
            raise TileTypeError(
                NO_SUCH_AXIS.at(user_span(), op="transpose", axis=f"`{axis.label}`", tile=tile.describe())
            )
    return broadcast_to(tile, Shape(axes))


def reshape(tile: Tile, shape: Shape) -> Tile:
    """The same elements in row-major order under another shape of the same volume (TW216 for another)."""
    return _tile(maps.reshape(_operand(tile, "reshape"), shape.space))


def reindex(tile: Tile, shape: Shape, position: Callable[[Nest], Coord]) -> Tile:
    """The tile whose element at j is `tile.at(position(j))`; positions must lie inside."""
    return map(tile.dtype, shape, lambda nest: tile.at(position(nest)))


def mma(a: Tile, b: Tile, c: Tile, *, reassociate: bool = True, atoms: bool = False) -> Tile:
    """`c` plus the products of `a` and `b`, summed over the axes that only they share.

    A chain of fused multiply-adds from `c`, in the order of a's axes; `reassociate` permits another order, `atoms`
    matrix units with their own bound. Raises TileTypeError: TW203, TW212 for the axes, TW213 for the accumulator.
    """
    return _tile(contraction.mma(a, b, c, reassociate=reassociate, atoms=atoms))


def matmul(a: Tile, b: Tile) -> Tile:
    """The product over the last axis of `a` and the last but one of `b`: `mma` into zeros, in f32 for half types."""
    return _tile(contraction.matmul(a, b))


def _operand(tile: object, op: str) -> SSAValue:
    return use(operations.typed(tile, op))

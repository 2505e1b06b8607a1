"""What a store writes, brought into the space of its target."""

from xdsl.ir import SSAValue

from tilewright.core.codes.types import SHAPE_CHANGE
from tilewright.core.dtypes import DType
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.types import SpaceAttr, is_tile, space_of
from tilewright.lang.base import StagedBase
from tilewright.lang.broadcast import shown_space
from tilewright.lang.maps import broadcast_to, build_map, fits, relabel
from tilewright.lang.operations import as_number, constant, lifted

__all__ = ["splat", "stored_tile"]


def splat(value: object, dtype: type[DType], space: SpaceAttr, op: str) -> SSAValue:
    """A tile whose elements are all `value`: a constant for a host number, a map for a staged scalar."""
    number = None if isinstance(value, StagedBase) else as_number(value)
    if number is not None:
        return constant(dtype, number, space)
    scalar = lifted(value, dtype, op)
    return build_map(dtype, space, lambda _: scalar)


def stored_tile(value: object, dtype: type[DType], space: SpaceAttr) -> SSAValue:
    """`value` as a tile of `space`: by identity when every axis is there, else axis by axis.

    Raises TileTypeError: TW205 for another element type, TW206 for a literal, TW216 when the shapes do not fit.
    """
    if not (isinstance(value, StagedBase) and is_tile(value.ssa)):
        return splat(value, dtype, space, "store")
    tile = lifted(value, dtype, "store")
    source = space_of(tile)
    if fits(source, space):
        return broadcast_to(tile, space)
    if source.extents == space.extents:
        return relabel(tile, space)
    raise TileTypeError(
        SHAPE_CHANGE.at(
            user_span(), op="store", before=shown_space(source), after=shown_space(space),
            reason="a stored tile has the axes of the block it is written to, or as many axes of the same extents",
            remedy="store to a block of the tile's own shape",
        )
    )  # fmt: skip

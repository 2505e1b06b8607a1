"""Atomic updates of a view."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tilewright.core.codes.types import UPDATE_REDUCER
from tilewright.core.dtypes import i64
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.attrs import UpdateKind
from tilewright.ir.ops.access import UpdateOp
from tilewright.ir.ops.elementwise import AddOp
from tilewright.ir.types import I64, POINT, SpaceAttr, TileType, dtype_of, is_tile, view_type
from tilewright.lang.base import StagedBase, use
from tilewright.lang.broadcast import joint_space
from tilewright.lang.context import emit
from tilewright.lang.maps import iota
from tilewright.lang.masks import write_mask
from tilewright.lang.normalise import stored_tile
from tilewright.lang.operations import as_index, cast_to, lifted
from tilewright.lang.reducers import add, maximum, minimum

__all__ = ["update_points", "update_tile"]

_KINDS = ((add, UpdateKind.ADD), (minimum, UpdateKind.MINIMUM), (maximum, UpdateKind.MAXIMUM))


def update_points(view: SSAValue, coords: Sequence[object], value: object, reducer: object, where: object) -> None:
    """One update at every point of the joint space of the operands."""
    kind = _kind(reducer)
    dtype = dtype_of(view_type(view).element)
    places = [_place(item) for item in coords]
    amount = lifted(value, dtype, "update")
    spaces = [item.type.space for item in (*places, amount) if isinstance(item.type, TileType)]
    mask = write_mask(where, "update", joint_space("update", spaces) if spaces else POINT)
    emit(UpdateOp(view, places, amount, kind, mask=mask))


def update_tile(
    view: SSAValue, origin: Sequence[SSAValue], space: SpaceAttr, value: object, reducer: object, where: object
) -> None:
    """The same for a block: its coordinates are the origin plus the positions along each axis."""
    kind = _kind(reducer)
    tile = stored_tile(value, dtype_of(view_type(view).element), space)
    mask = write_mask(where, "update", space)
    places = [_along(start, SpaceAttr.of([axis])) for start, axis in zip(origin, space.axes, strict=True)]
    emit(UpdateOp(view, places, tile, kind, mask=mask))


def _along(start: SSAValue, space: SpaceAttr) -> SSAValue:
    return emit(AddOp(iota(space), start, TileType(I64, space))).result


def _place(item: object) -> SSAValue:
    if isinstance(item, StagedBase) and is_tile(item.ssa) and item.dtype.is_integer:
        return cast_to(i64, item) if item.dtype != i64 else use(item)
    return as_index(item)


def _kind(reducer: object) -> UpdateKind:
    for known, kind in _KINDS:
        if reducer is known:
            return kind
    raise TileTypeError(UPDATE_REDUCER.at(user_span(), what=repr(reducer)))

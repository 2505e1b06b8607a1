"""Where an access happens: the user's `where`, and the conditions of the arms around it."""

from xdsl.ir import SSAValue

from tilewright.core.codes.types import ARM_SPACE
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.types import POINT, SpaceAttr, space_of
from tilewright.ir.verify.shapes import broadcasts
from tilewright.lang.broadcast import shown_space
from tilewright.lang.conditions import both, condition_for, open_condition
from tilewright.lang.context import current
from tilewright.lang.maps import relabel
from tilewright.lang.operations import condition

__all__ = ["read_mask", "write_condition", "write_mask"]


def read_mask(where: object | None, space: SpaceAttr = POINT) -> SSAValue | None:
    """The mask of a load of a tile of `space`, or the predicate of the load of an element."""
    return _joined(condition_for(space), where)


def write_mask(where: object | None, op: str, space: SpaceAttr = POINT) -> SSAValue | None:
    """The mask of a write to a tile of `space`, or the predicate of the write of an element.

    Raises TileTypeError (TW224) when the arms ask for more axes than are written.
    """
    return _joined(write_condition(op, space), where)


def write_condition(op: str, space: SpaceAttr) -> SSAValue | None:
    """What the open arms ask of a write to `space`, by identity or else axis by axis, as a stored tile is matched."""
    needed = open_condition()
    if needed is None or broadcasts(space_of(needed), space):
        return needed
    if space_of(needed).extents == space.extents:
        return relabel(needed, space)
    arm = current(op).arm
    target = f"the shape {shown_space(space)}" if space.rank else "one element"
    branch = "an `if`" if arm is None else arm.describe()
    shape = shown_space(space_of(needed))
    raise TileTypeError(ARM_SPACE.at(user_span(), op=op, target=target, branch=branch, condition=shape))


def _joined(needed: SSAValue | None, where: object | None) -> SSAValue | None:
    asked = None if where is None else condition(where, "where")
    if needed is None or asked is None:
        return asked if needed is None else needed
    return both(needed, asked)

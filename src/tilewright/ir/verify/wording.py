"""How the verifier names things in its messages."""

from xdsl.ir import Attribute, Operation

from tilewright.ir.listing import type_text
from tilewright.ir.types import DimAttr, SpaceAttr

__all__ = ["axis_text", "op_text", "space_text", "type_text"]


def op_text(op: Operation) -> str:
    """The operation's name without the dialect: `mma`."""
    return op.name.removeprefix("tile.")


def axis_text(dim: DimAttr) -> str:
    """A dimension by number; labels belong to the kernel and are added by the caller."""
    return f"d{dim.number}"


def space_text(space: SpaceAttr) -> str:
    """`[0:64, 1:32]`."""
    return "[" + ", ".join(f"{axis.dim.number}:{axis.extent}" for axis in space.axes) + "]"


def types_text(kinds: "list[Attribute] | tuple[Attribute, ...]") -> str:
    """Several types, separated by commas; `nothing` for none."""
    return ", ".join(map(type_text, kinds)) or "nothing"

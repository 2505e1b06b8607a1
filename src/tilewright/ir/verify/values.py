"""Rules of types: spaces, element types, views."""

from xdsl.ir import Attribute, Operation

from tilewright.ir.types import MemoryStateType, MemoryType, SpaceAttr, TileType, ViewType, is_element
from tilewright.ir.verify.rule import Findings, malformed

UNKNOWN_TYPE = malformed("V-TYPE-1", "{kind} is not a type of TileIR values")
ELEMENT_TYPE = malformed("V-TYPE-2", "{element} is not an element type")
REPEATED_DIM = malformed("V-TYPE-3", "the space {space} has one dimension twice")
NEGATIVE_EXTENT = malformed("V-TYPE-4", "the space {space} has a negative extent")
STRIDE_COUNT = malformed("V-TYPE-5", "a view of rank {rank} has {given} strides")
NEGATIVE_STRIDE = malformed("V-TYPE-6", "a view has the negative stride {stride}")
ACCESS = malformed("V-TYPE-7", "a view is const or mutable, not {access!r}")

RULES = (UNKNOWN_TYPE, ELEMENT_TYPE, REPEATED_DIM, NEGATIVE_EXTENT, STRIDE_COUNT, NEGATIVE_STRIDE, ACCESS)


def check_type(kind: Attribute, op: Operation, found: Findings) -> None:
    """All rules of one value type; `op` is blamed."""
    match kind:
        case MemoryStateType():
            return
        case TileType() | ViewType() | MemoryType():
            if not is_element(kind.element):
                found.add(ELEMENT_TYPE, op, element=kind.element)
            check_space(kind.space, op, found)
            if isinstance(kind, ViewType):
                _check_view(kind, op, found)
        case _ if not is_element(kind):
            found.add(UNKNOWN_TYPE, op, kind=kind)
        case _:
            return


def check_space(space: SpaceAttr, op: Operation, found: Findings) -> None:
    """The rules of a space, wherever it occurs."""
    if len(set(space.dims)) != space.rank:
        found.add(REPEATED_DIM, op, space=found.space(space))
    if any(extent < 0 for extent in space.extents):
        found.add(NEGATIVE_EXTENT, op, space=found.space(space))


def _check_view(view: ViewType, op: Operation, found: Findings) -> None:
    if len(view.strides) != view.space.rank:
        found.add(STRIDE_COUNT, op, rank=view.space.rank, given=len(view.strides))
    for stride in view.strides:
        if stride < 0:
            found.add(NEGATIVE_STRIDE, op, stride=stride)
    if view.access.data not in ("const", "mutable"):
        found.add(ACCESS, op, access=view.access.data)

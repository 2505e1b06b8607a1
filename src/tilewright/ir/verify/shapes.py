"""Questions about value types that several rule families ask."""

from collections.abc import Iterable

from xdsl.ir import Attribute, SSAValue

from tilewright.ir.types import BOOL, I64, POINT, DimAttr, SpaceAttr, TileType, is_element

__all__ = ["broadcasts", "conflicting_dim", "element_part", "is_boolean", "is_index", "is_numeric_value", "space_part"]


def is_numeric_value(kind: Attribute) -> bool:
    """Whether the type is a scalar or a tile."""
    return is_element(kind) or isinstance(kind, TileType)


def element_part(kind: Attribute) -> Attribute:
    """The element type of a scalar or tile type."""
    return kind.element if isinstance(kind, TileType) else kind


def space_part(kind: Attribute) -> SpaceAttr:
    """The space of a tile type; the rank-0 space for anything else."""
    return kind.space if isinstance(kind, TileType) else POINT


def is_index(value: SSAValue) -> bool:
    """Whether the value is an i64 scalar."""
    return value.type == I64


def is_boolean(kind: Attribute) -> bool:
    """Whether the type is a boolean scalar or tile."""
    return is_numeric_value(kind) and element_part(kind) == BOOL


def broadcasts(source: SpaceAttr, target: SpaceAttr) -> bool:
    """Whether every axis of `source` is in `target` with the same extent, or has the extent 1."""
    return all(
        (extent := target.extent_of(axis.dim)) is not None and axis.extent in (extent, 1) for axis in source.axes
    )


def conflicting_dim(spaces: Iterable[SpaceAttr]) -> tuple[DimAttr, int, int] | None:
    """A dimension with two different extents other than 1 among the spaces, with these extents."""
    seen: dict[DimAttr, int] = {}
    for space in spaces:
        for axis in space.axes:
            known = seen.get(axis.dim, 1)
            if 1 not in (known, axis.extent) and known != axis.extent:
                return axis.dim, known, axis.extent
            seen[axis.dim] = axis.extent if known == 1 else known
    return None

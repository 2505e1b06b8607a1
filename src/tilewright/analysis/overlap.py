"""Whether the elements of a view are distinct in memory: a fact of its shape and strides."""

from tilewright.ir.layout import prove, strided
from tilewright.ir.types import DimAttr, ViewType, compact_strides

__all__ = ["overlap_of"]


def overlap_of(view: ViewType) -> str:
    """Why two elements of a view share memory, or may do so as far as is known; empty where that is excluded."""
    space, strides = view.space, view.strides
    if 0 in space.extents or strides == compact_strides(space.extents):
        return ""
    storage = DimAttr.of(1 + max((dim.number for dim in space.dims), default=0))
    proof = prove(strided(space, storage, strides))
    if proof.is_storage_safe:
        return ""
    if proof.collision is not None:
        return f"the elements {proof.collision[0]} and {proof.collision[1]} share memory"
    return proof.reason or "no proof was found that its elements are distinct"

"""How far along an independent axis anything can be seen: beyond it values reach only elements that no store writes.

A partial last block, `store X[g*b + e]` into N elements, is seen for e < N - g*b only. Loops need not go further, and
a guard that says the same as the limit is proved by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation

from tilewright.analysis.forms import Atom, Form, Forms
from tilewright.ir.attrs import Bounds
from tilewright.ir.effects import effect_of
from tilewright.ir.ops import regions, tiles
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.types import DimAttr, is_tile, space_of, view_type

__all__ = ["Limit", "extent_of", "limits_of"]


@dataclass(frozen=True)
class Limit:
    """An element at coordinate e is seen only where `offset + e < size`; `offset` moves with root indices."""

    dim: DimAttr
    offset: Form
    size: int

    def proves(self, form: Form, extent: int) -> bool:
        """Whether an access at `form` lies below `extent` for every element that is seen."""
        return extent >= self.size and form == self.offset.plus(Form({self.dim: 1}))


def limits_of(root: regions.ParallelOp, forms: Forms) -> Mapping[DimAttr, Limit]:
    """The limits of all axes that every write places in the same way and that nothing reads across."""
    found: dict[DimAttr, Limit] = {}
    refused: set[DimAttr] = set()
    for use in forms.uses:
        if isinstance(use.op, StoreOp) and root.is_ancestor(use.op):
            _note(use.op, use.place, use.form, found, refused)
    for op in root.walk():
        refused |= _read_across(op, forms)
        writes = Effect.WRITE in effect_of(op)
        if writes:
            carried = set(space_of(op.value).dims) if isinstance(op, StoreOp) else set[DimAttr]()
            refused |= set(found) - carried
    return {dim: limit for dim, limit in found.items() if dim not in refused and _is_block(root, limit)}


def _is_block(root: regions.ParallelOp, limit: Limit) -> bool:
    """Whether the offset is a whole number of extents of the axis along one root axis, and only the last block is
    partial.
    """
    if limit.offset.constant or len(limit.offset.terms) > 1:
        return False
    extent = extent_of(root, limit.dim)
    blocks = dict[Atom, int](zip(root.indices, root.space.extents, strict=True))
    if any(atom not in blocks or factor != extent for atom, factor in limit.offset.terms.items()):
        return False
    count = next((blocks[atom] for atom in limit.offset.terms), 1)
    return limit.size > (count - 1) * extent


def _note(op: StoreOp, place: int, form: Form, found: dict[DimAttr, Limit], refused: set[DimAttr]) -> None:
    dims = space_of(op.value).dims
    if place >= len(dims) or form.coefficient(dims[place]) != 1:
        return
    dim = dims[place]
    limit = Limit(dim, form.plus(Form({dim: 1}), -1), view_type(op.view).space.extents[place])
    if op.bounds.data is not Bounds.ZERO or found.setdefault(dim, limit) != limit:
        refused.add(dim)


def _read_across(op: Operation, forms: Forms) -> set[DimAttr]:
    """Dimensions along which the operation combines or picks elements."""
    match op:
        case tiles.MmaOp():
            return set(space_of(op.a).dims) - set(space_of(op.c).dims)
        case tiles.ScanOp():
            return {op.dim}
        case tiles.ExtractOp():
            dims = space_of(op.tile).dims
            return {dim for dim, coord in zip(dims, op.coords, strict=True) if forms.of(coord) != Form({dim: 1})}
        case regions.CarryingOp() if _in_map(op):
            return set(op.space.dims)
        case _:
            return set()


def _in_map(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tiles.MapOp):
            return True
        parent = parent.parent_op()
    return False


def extent_of(root: regions.ParallelOp, dim: DimAttr) -> int:
    """The extent of a tile axis under a root; where it is broadcast it may also be 1."""
    found = [space_of(value).extent_of(dim) for op in root.walk() for value in op.results if is_tile(value)]
    return max((extent for extent in found if extent is not None), default=0)

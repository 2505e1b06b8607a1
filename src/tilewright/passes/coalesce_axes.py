"""A root axis over blocks of a tile axis and that tile axis become one axis."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region, SSAValue

from tilewright.analysis.forms import Forms, forms_of
from tilewright.ir.effects import effect_of
from tilewright.ir.location import span_of
from tilewright.ir.ops import regions, tiles
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.ir.types import I64, AxisAttr, DimAttr, SpaceAttr, is_tile, space_of
from tilewright.passes.dissolve_loops import Declined, folded_dims, is_identity
from tilewright.passes.retile import Retiling, fresh_dim, label_like

__all__ = ["CoalesceAxes", "coalescible"]


@dataclass(frozen=True)
class CoalesceAxes(TilePass):
    """Requires: a verified kernel.

    Ensures: every element is computed from the same values; user blocks no longer matter where they are only blocks.

    Rewrites: parallel g:T { store X[g*n + e] } → parallel { store X[E] } with E:T*n. The promise of `parallel` covers
    g, elementwise
    meaning covers e, so the merged axis is independent.

    Declines when: an index matters other than as g*n + e; the tile axis is folded, contracted or scanned; a write
    does not carry it.
    """

    name: ClassVar[str] = "coalesce-axes"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for kernel in [op for op in module.walk() if isinstance(op, regions.KernelOp)]:
            while self._coalesce_one(kernel, rewriter):
                pass

    def _coalesce_one(self, kernel: regions.KernelOp, rewriter: TileRewriter) -> bool:
        forms = forms_of(kernel)
        rewriter.notes = [note for note in rewriter.notes if " kept: " not in note]
        for root in [op for op in kernel.body.block.ops if isinstance(op, regions.ParallelOp)]:
            for place in range(root.space.rank):
                outcome = coalescible(root, place, forms)
                where = f"line {span_of(root).line}: root axis {place}"
                if isinstance(outcome, Declined):
                    rewriter.note(f"{where} kept: {outcome.reason}")
                    continue
                extent = root.space.extents[place] * outcome.extent
                rewriter.note(f"{where} coalesced with its tile axis into one of {extent}")
                _rewrite(kernel, root, place, outcome, rewriter)
                return True
        return False


def coalescible(root: regions.ParallelOp, place: int, forms: Forms) -> AxisAttr | Declined:
    """The tile axis that goes with a root axis, or the reason why none does."""
    if not root.space.extents[place]:
        return Declined("it is empty")
    index = root.indices[place]
    reasons: list[str] = []
    for axis in _candidates(root, index, forms):
        reason = _unfit(root, index, axis, forms)
        if reason is None:
            return axis
        reasons.append(reason)
    return Declined(reasons[0] if reasons else "no store is blocked along it")


def _candidates(root: regions.ParallelOp, index: SSAValue, forms: Forms) -> Iterator[AxisAttr]:
    """Tile axes that some store places in blocks along the root axis."""
    seen: set[DimAttr] = set()
    for use in forms.uses:
        if isinstance(use.op, StoreOp) and root.is_ancestor(use.op) and use.form.coefficient(index):
            axes = space_of(use.op.value).axes
            if use.place < len(axes) and axes[use.place].dim not in seen:
                seen.add(axes[use.place].dim)
                yield axes[use.place]


def _unfit(root: regions.ParallelOp, index: SSAValue, axis: AxisAttr, forms: Forms) -> str | None:
    for op in root.walk():
        if Effect.WRITE in effect_of(op) and not (isinstance(op, StoreOp) and axis.dim in space_of(op.value).dims):
            return f"line {span_of(op).line} writes without the tile axis"
    for op in root.body.block.walk():
        if axis.dim in folded_dims(op):
            return f"line {span_of(op).line} folds the tile axis"
    for use in forms.uses:
        seen = root.is_ancestor(use.op) and not is_identity(use, axis.dim)
        if seen and use.form.coefficient(index) != axis.extent * use.form.coefficient(axis.dim):
            return f"line {span_of(use.op).line} sees the block other than as part of a position along the tile axis"
    return _foreign(root, axis.dim)


def _foreign(root: regions.ParallelOp, dim: DimAttr) -> str | None:
    for op in root.walk():
        for value in op.operands:
            owner = value.owner
            outside = isinstance(owner, Operation) and not root.is_ancestor(owner)
            if outside and is_tile(value) and dim in space_of(value).dims:
                return "a tile from outside the root has the tile axis"
    return None


def _rewrite(
    kernel: regions.KernelOp, root: regions.ParallelOp, place: int, axis: AxisAttr, rewriter: TileRewriter
) -> None:
    whole = AxisAttr.of(fresh_dim(kernel), root.space.extents[place] * axis.extent)
    zero = tiles.ConstantOp(0, I64)
    label_like(kernel, whole.dim, axis.dim)
    retiling = Retiling({axis: whole})
    retiling.values[root.indices[place]] = zero.result
    space = SpaceAttr.of(item for i, item in enumerate(root.space.axes) if i != place)
    others = [value for i, value in enumerate(root.indices) if i != place]
    body = retiling.block(root.body.block, others)
    scope = None if root.scope is None else root.scope.data
    new = regions.ParallelOp(space, scope=scope, body=Region(body))
    new.location = root.location
    rewriter.insert_before(root, [zero, new])
    rewriter.erase(root)

"""An ordered loop over blocks of a folded axis becomes one fold over the whole axis."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.folds import ClosedFold, closed_fold_of
from tilewright.analysis.forms import Form, Forms, FormUse, forms_of
from tilewright.ir.attrs import Policy
from tilewright.ir.effects import effect_of
from tilewright.ir.location import span_of
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.ops.base import Effect
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.ir.types import I64, AxisAttr, DimAttr, dtype_of, element_of, is_tile, space_of
from tilewright.passes.retile import Retiling, fresh_dim, label_like

__all__ = ["Declined", "DissolveLoops"]


@dataclass(frozen=True, slots=True)
class Declined:
    """Why a rewrite is not legal here."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Accumulation:
    """A carry that one fold over `dims` updates once an iteration; `dims` in the order in which it runs through
    them.
    """

    fold: Operation
    dims: tuple[DimAttr, ...]
    may_regroup: bool


@dataclass(frozen=True)
class DissolveLoops(TilePass):
    """Requires: a verified kernel.

    Ensures: the fold of each accumulation runs over (iteration, block) in the order of the loop, so that every chain
    of fused
    multiply-adds is unchanged; results are equal bit for bit unless a fold permits regrouping.

    Rewrites: pipeline g:T { c -> mma(a[g*n + e], b[g*n + e], c) } → mma(a[E], b[E], init) with E:T*n.

    Declines when: the domain has several axes; the body writes or skips iterations; sums of floats meet a carry once a
    trip, in an order that the loop does not give up (all but an unordered fold); a carry is read by anything but its
    own accumulation; an index matters other than as g*n + e; the blocked axis is folded elsewhere, or other axes are
    folded around it in order.
    """

    name: ClassVar[str] = "dissolve-loops"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for kernel in [op for op in module.walk() if isinstance(op, regions.KernelOp)]:
            while self._dissolve_one(kernel, rewriter):
                pass

    def _dissolve_one(self, kernel: regions.KernelOp, rewriter: TileRewriter) -> bool:
        forms = forms_of(kernel)
        rewriter.notes = [note for note in rewriter.notes if " kept: " not in note]
        for loop in _loops(kernel):
            outcome = blocked_axis(loop, forms)
            where = f"line {span_of(loop).line}: {loop.name.removeprefix('tile.')}"
            if isinstance(outcome, Declined):
                rewriter.note(f"{where} kept: {outcome.reason}")
                continue
            extent = loop.space.extents[0] * outcome.extent
            rewriter.note(f"{where} dissolved: its accumulations fold over one axis of {extent}")
            _rewrite(kernel, loop, outcome, rewriter)
            return True
        return False


def _loops(kernel: regions.KernelOp) -> Iterator[regions.CarryingOp]:
    """Ordered loops that stand in region bodies, innermost first."""
    found = [op for op in kernel.walk() if isinstance(op, regions.CarryingOp) and not _in_map(op)]
    return iter(reversed(found))


def _in_map(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tiles.MapOp):
            return True
        parent = parent.parent_op()
    return False


def blocked_axis(loop: regions.CarryingOp, forms: Forms) -> AxisAttr | Declined:
    """The tile axis whose blocks the loop runs through, or the reason why there is none."""
    if loop.space.rank != 1:
        return Declined("it has several axes")
    if isinstance(loop, regions.ReduceOp) and loop.policy.data.value == "fold_right":
        return Declined("it folds from the right")
    if any(Effect.WRITE in effect_of(op) for op in loop.walk()):
        return Declined("its body writes")
    if loop.when is not None:
        return Declined("it skips iterations")
    accumulations: list[_Accumulation] = []
    for index, carry in enumerate(loop.carries):
        found = _accumulation(loop, index, carry)
        if isinstance(found, Declined):
            return found
        accumulations.append(found)
    if not accumulations:
        return Declined("it carries nothing")
    return _common_axis(loop, accumulations, forms)


def _accumulation(loop: regions.CarryingOp, index: int, carry: SSAValue) -> _Accumulation | Declined:
    last = loop.body.block.last_op
    yielded = last.values[index] if isinstance(last, regions.YieldOp) else carry
    user = carry.get_user_of_unique_use()
    if user is None or user is not yielded.owner or user.parent is not loop.body.block:
        return Declined(f"carry {index} is read by more than its own accumulation")
    if sum(1 for _ in yielded.uses) != 1:
        return Declined(f"the running value of carry {index} is read inside")
    match user:
        case tiles.MmaOp() if user.c is carry:
            dims = tuple(dim for dim in space_of(user.a).dims if dim not in space_of(user.c).dims)
            return _Accumulation(user, dims, bool(user.reassociate.value.data))
        case elementwise.AddOp() | elementwise.MaxOp() | elementwise.MinOp():
            return _folded(loop, user, carry, index)
        case _:
            return Declined(f"carry {index} is not an accumulation")


def _folded(
    loop: regions.CarryingOp, op: elementwise.BinaryOp, carry: SSAValue, index: int
) -> _Accumulation | Declined:
    """`carry + fold(block)`: the same operation inside and outside, which regroups."""
    other = op.rhs if op.lhs is carry else op.lhs
    inner = other.owner
    fold = closed_fold_of(inner) if isinstance(inner, tiles.MapOp) else None
    if not isinstance(fold, ClosedFold) or fold.merge != op.opcode or not is_tile(carry):
        return Declined(f"carry {index} is not combined with a fold of the same kind")
    if not fold.may_permute:
        return Declined(f"the fold of carry {index} may not be regrouped")
    if not _may_mix(loop, op):
        return Declined(f"carry {index} is rounded once a trip, in the order of the trips")
    if sum(1 for _ in other.uses) != 1:
        return Declined(f"the fold of one block of carry {index} is read elsewhere")
    return _Accumulation(fold.map, fold.reduce.space.dims, may_regroup=True)


def _may_mix(loop: regions.CarryingOp, op: elementwise.BinaryOp) -> bool:
    """Whether contributions of different trips may meet before they meet the carry: where the loop is a fold that may
    be regrouped, and where no grouping rounds.
    """
    rounds = isinstance(op, elementwise.AddOp) and dtype_of(element_of(op.result)).is_float
    return not rounds or (isinstance(loop, regions.ReduceOp) and loop.policy.data is Policy.UNORDERED_TREE)


def _common_axis(loop: regions.CarryingOp, accumulations: list[_Accumulation], forms: Forms) -> AxisAttr | Declined:
    reasons: list[str] = []
    for dim in accumulations[0].dims:
        reason = _unfit(loop, dim, accumulations, forms)
        if reason is None:
            return AxisAttr.of(dim, _extent(loop, dim))
        reasons.append(reason)
    return Declined(reasons[0] if reasons else "nothing is folded")


def _extent(loop: regions.CarryingOp, dim: DimAttr) -> int:
    for op in loop.walk():
        for value in op.results:
            extent = space_of(value).extent_of(dim) if is_tile(value) else None
            if extent is not None:
                return extent
    return 0


def _unfit(loop: regions.CarryingOp, dim: DimAttr, accumulations: list[_Accumulation], forms: Forms) -> str | None:
    """Why `dim` is not the axis whose blocks the loop runs through."""
    for item in accumulations:
        if dim not in item.dims:
            return "the accumulations fold no common axis"
        if item.dims[0] != dim and not item.may_regroup:
            return "another axis is folded around the blocked one, and the order is fixed"
    return _folded_elsewhere(loop, dim, accumulations) or _enters_with(loop, dim) or _off_form(loop, dim, forms)


def _folded_elsewhere(loop: regions.CarryingOp, dim: DimAttr, accumulations: list[_Accumulation]) -> str | None:
    own = {item.fold for item in accumulations}
    for op in loop.body.block.ops:
        if op not in own and dim in folded_dims(op):
            return "the blocked axis is folded inside an iteration too"
    return None


def folded_dims(op: Operation) -> set[DimAttr]:
    """The dimensions that an operation contracts, folds or scans."""
    found: set[DimAttr] = set()
    for inner in op.walk():
        match inner:
            case tiles.MmaOp():
                found |= set(space_of(inner.a).dims) - set(space_of(inner.c).dims)
            case tiles.ScanOp():
                found.add(inner.dim)
            case regions.CarryingOp() if inner is not op or _in_map(inner):
                found |= set(inner.space.dims)
            case _:
                continue
    return found


def _enters_with(loop: regions.CarryingOp, dim: DimAttr) -> str | None:
    for op in loop.walk():
        for value in op.operands:
            owner = value.owner
            outside = isinstance(owner, Operation) and not loop.is_ancestor(owner)
            if outside and is_tile(value) and dim in space_of(value).dims:
                return "a tile from outside has the blocked axis"
    return None


def _off_form(loop: regions.CarryingOp, dim: DimAttr, forms: Forms) -> str | None:
    """Every place where an integer matters sees the iteration and the axis only as one position."""
    index, extent = loop.indices[0], _extent(loop, dim)
    for use in forms.uses:
        seen = loop.is_ancestor(use.op) and use.op is not loop and not is_identity(use, dim)
        if seen and use.form.coefficient(index) != extent * use.form.coefficient(dim):
            return f"line {span_of(use.op).line} sees the iteration other than as a position along the blocked axis"
    return None


def is_identity(use: FormUse, dim: DimAttr) -> bool:
    """Whether the use is a coordinate along its own axis of a tile, which any retiling keeps."""
    if not isinstance(use.op, tiles.ExtractOp) or use.place == 0:
        return False
    own = space_of(use.op.tile).dims[use.place - 1]
    return own == dim and use.form == Form({dim: 1})


def _rewrite(kernel: regions.KernelOp, loop: regions.CarryingOp, axis: AxisAttr, rewriter: TileRewriter) -> None:
    whole = AxisAttr.of(fresh_dim(kernel), loop.space.extents[0] * axis.extent)
    zero = tiles.ConstantOp(0, I64)
    label_like(kernel, whole.dim, axis.dim)
    retiling = Retiling({axis: whole})
    retiling.values[loop.indices[0]] = zero.result
    retiling.values.update(zip(loop.carries, loop.inits, strict=True))
    last = loop.body.block.last_op
    kept = [op for op in loop.body.block.ops if op is not last and not isinstance(op, regions.StageOp)]
    copies = [retiling.copy(op) for op in kept]
    results = [retiling.values.get(value, value) for value in last.operands] if last is not None else []
    rewriter.insert_before(loop, [zero, *copies])
    rewriter.replace_values(loop, results)

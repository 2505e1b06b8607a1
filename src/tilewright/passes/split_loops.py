"""The pass `split-loops`."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region

from tilewright.analysis.structure import is_in_map
from tilewright.analysis.trips import Guard, guards_of
from tilewright.ir.attrs import Policy
from tilewright.ir.location import span_of
from tilewright.ir.ops.elementwise import AddOp
from tilewright.ir.ops.regions import CarryingOp, KernelOp, ReduceOp, RegionOp
from tilewright.ir.ops.tiles import ConstantOp, MmaOp
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.ir.types import I64, AxisAttr, SpaceAttr
from tilewright.passes.dissolve_loops import Declined
from tilewright.passes.retile import Retiling, fresh_dim, label_like

__all__ = ["SplitLoops"]


@dataclass(frozen=True)
class SplitLoops(TilePass):
    """Gives the iterations that need no guards a loop of their own.

    Requires: a verified module.
    Ensures: the same iterations in the same order, the second loop going on from what the first one carries.
    Rewrites: `%y = serial g:16 (%x = %i) { load A[g * 64] }` with 1000 elements in A →
        `%z = serial g:15 (%x = %i) { load A[g * 64] }; %y = serial h:1 (%x = %z) { load A[(h + 15) * 64] }`.
    Declines when: the loop is a fold whose order is its own; it holds no product, whose operands could then be read
        in place; a launch would be spared fewer than `least` questions, one for each element of a guarded tile; or
        the loop has more than `most` operations, since all of them are compiled twice.
    """

    name: ClassVar[str] = "split-loops"
    least: int = 1 << 18
    most: int = 60  # attention has 50, and the code of both loops three quarters of what one function may have

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for kernel in [op for op in module.walk() if isinstance(op, KernelOp)]:
            for loop in [op for op in kernel.walk(region_first=True) if isinstance(op, CarryingOp)]:  # inner ones first
                self._consider(kernel, loop, rewriter)

    def _consider(self, kernel: KernelOp, loop: CarryingOp, rewriter: TileRewriter) -> None:
        if is_in_map(loop) or not loop.space.rank:
            return
        guards = list(guards_of(loop))
        if not guards:
            return
        where = f"line {span_of(loop).line}: {loop.name.removeprefix('tile.')}"
        outcome = self._cut(loop, guards)
        if isinstance(outcome, Declined):
            rewriter.note(f"{where} stays whole: {outcome.reason}")
            return
        trips = loop.space.extents[0]
        lines = sorted({span_of(guard.op).line for guard in guards if guard.spared(outcome, trips)})
        rewriter.note(
            f"{where} of {trips} is cut before {outcome}, for the guards of line {', '.join(map(str, lines))}"
        )
        _rewrite(kernel, loop, outcome, rewriter)

    def _cut(self, loop: CarryingOp, guards: list[Guard]) -> int | Declined:
        """Before which iteration the second loop begins."""
        trips = loop.space.extents[0]
        cuts = {at for guard in guards for at in (guard.before, guard.after) if 0 < at < trips}
        best = max(sorted(cuts), key=lambda at: sum(guard.spared(at, trips) for guard in guards))
        reason = _out_of_order(loop) or _without_product(loop) or self._too_large(loop)
        return reason or self._too_little(loop, guards, best) or best

    def _too_large(self, loop: CarryingOp) -> Declined | None:
        size = sum(1 for _ in loop.walk())
        return Declined(f"{size} operations are too many to be compiled twice") if size > self.most else None

    def _too_little(self, loop: CarryingOp, guards: list[Guard], at: int) -> Declined | None:
        spared = sum(guard.spared(at, loop.space.extents[0]) for guard in guards) * _runs(loop)
        return Declined(f"{spared} questions are no reason to compile it twice") if spared < self.least else None


def _out_of_order(loop: CarryingOp) -> Declined | None:
    """A fold runs in an order of its own, or in any: two folds, one after the other, are another order."""
    if isinstance(loop, ReduceOp) and loop.policy.data is not Policy.FOLD_LEFT:
        return Declined(f"it folds as {loop.policy.data.value}, and two folds would group otherwise")
    return None


def _without_product(loop: CarryingOp) -> Declined | None:
    """What moves elements from memory to memory waits for memory, not for masks."""
    if any(isinstance(op, MmaOp) for op in loop.walk()):
        return None
    return Declined("it holds no product, whose operands could be read in place")


def _runs(loop: CarryingOp) -> int:
    """How often a launch comes to the loop, and to one iteration along its first axis."""
    count, around = prod(loop.space.extents[1:]), loop.parent_op()
    while around is not None:
        count *= around.space.volume if isinstance(around, RegionOp) else 1
        around = around.parent_op()
    return count


def _rewrite(kernel: KernelOp, loop: CarryingOp, at: int, rewriter: TileRewriter) -> None:
    first = _part(kernel, loop, at)
    rewriter.insert_before(loop, [first])
    second = _part(kernel, loop, loop.space.extents[0] - at)
    second.operands = first.results
    rewriter.insert_before(loop, [second])
    index, start = second.indices[0], ConstantOp(at, I64)
    moved = AddOp(index, start.result, I64)
    if (begin := second.body.block.first_op) is not None:
        rewriter.insert_before(begin, [start, moved])
        rewriter.forward(index, moved.result, past=moved)
    rewriter.replace_values(loop, second.results)


def _part(kernel: KernelOp, loop: CarryingOp, trips: int) -> CarryingOp:
    """A copy of the loop with another number of iterations along its first axis."""
    own = AxisAttr.of(fresh_dim(kernel), trips)
    label_like(kernel, own.dim, loop.space.dims[0])
    return type(loop).create(
        operands=loop.operands,
        result_types=loop.result_types,
        properties={**loop.properties, "space": SpaceAttr.of((own, *loop.space.axes[1:]))},
        regions=[Region(Retiling({}).block(loop.body.block))],
        location=loop.location,
    )

"""The pass `peel-blocks`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.access import guarded_axes
from tilewright.analysis.forms import forms_of
from tilewright.analysis.limits import limits_of
from tilewright.analysis.trips import Guard, guards_of
from tilewright.ir.location import span_of
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.elementwise import GeOp, LtOp, MinOp
from tilewright.ir.ops.memory import MemoryAllocOp
from tilewright.ir.ops.regions import KernelOp, ParallelOp, SerialOp, WhenOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.ir.types import BOOL, I64, AxisAttr, SpaceAttr
from tilewright.passes.dissolve_loops import Declined
from tilewright.passes.retile import Retiling, fresh_dim

__all__ = ["PeelBlocks"]


@dataclass(frozen=True)
class PeelBlocks(TilePass):
    """Gives the last block along a root axis a program text of its own, so that the others have no guards.

    Requires: a verified module.
    Ensures: every program does what it did, in one of two arms; the index is at most that of the last full block in
        the first arm, and that of the last block in the second.
    Rewrites: `parallel g:16 { store X[g * 64] }` with 1000 elements in X →
        `parallel g:16 { serial 1 { when g < 15; store X[min(g, 14) * 64] }; serial 1 { when g >= 15; store X[960] } }`.
    Declines when: limits say what the guards say, or an index below 0 keeps them; the program places data by hand, for
        both arms together; it asks fewer than `block` questions, one for each element of a guarded tile, or a launch
        would be spared fewer than `least`; or it has more than `most` operations, since all of them are compiled twice.
    """

    name: ClassVar[str] = "peel-blocks"
    block: int = 128
    least: int = 1 << 18
    most: int = 24

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for kernel in [op for op in module.walk() if isinstance(op, KernelOp)]:
            for root in [op for op in kernel.body.block.ops if isinstance(op, ParallelOp)]:
                self._consider(kernel, root, rewriter)

    def _consider(self, kernel: KernelOp, root: ParallelOp, rewriter: TileRewriter) -> None:
        found = [(place, guards) for place in range(root.space.rank) if (guards := list(_guards(kernel, root, place)))]
        if not found or not root.space.volume:
            return
        place, guards = max(found, key=lambda each: _spared(root, *each))
        where = f"line {span_of(root).line}: root axis {place}"
        reason = (
            _by_hand(root) or self._too_small(guards) or self._too_large(root) or self._too_little(root, place, guards)
        )
        if reason is not None:
            rewriter.note(f"{where} has one text for all blocks: {reason.reason}")
            return
        lines = ", ".join(str(line) for line in sorted({span_of(guard.op).line for guard in guards}))
        rewriter.note(f"{where} has a text of its own for the last block, for the guards of line {lines}")
        _rewrite(kernel, root, place, rewriter)

    def _too_small(self, guards: list[Guard]) -> Declined | None:
        """Programs that skip an arm are no lanes of one vector, and these may have to be."""
        asked = sum(guard.elements for guard in guards)
        return (
            Declined(f"a program asks {asked} questions, fewer than a branch is worth") if asked < self.block else None
        )

    def _too_large(self, root: ParallelOp) -> Declined | None:
        size = sum(1 for _ in root.walk())
        return Declined(f"{size} operations are too many to be compiled twice") if size > self.most else None

    def _too_little(self, root: ParallelOp, place: int, guards: list[Guard]) -> Declined | None:
        spared = _spared(root, place, guards)
        return Declined(f"{spared} questions are no reason to compile it twice") if spared < self.least else None


def _guards(kernel: KernelOp, root: ParallelOp, place: int) -> Iterator[Guard]:
    """The bounds that all blocks but the last one keep, and no limit proves."""
    found = [guard for guard in guards_of(root, place) if guard.before == root.space.extents[place] - 1]
    if not found:
        return
    forms = forms_of(kernel)
    limits = limits_of(root, forms)
    for guard in found:
        if isinstance(guard.op, LoadOp | StoreOp) and guard.axis in guarded_axes(guard.op, limits, forms):
            yield guard


def _spared(root: ParallelOp, place: int, guards: list[Guard]) -> int:
    """How many questions a launch does without, when all loops inside run once."""
    blocks = root.space.extents[place]
    return root.space.volume // blocks * (blocks - 1) * sum(guard.elements for guard in guards)


def _by_hand(root: ParallelOp) -> Declined | None:
    if any(isinstance(op, MemoryAllocOp) for op in root.walk()):
        return Declined("it places data by hand")
    return None


def _rewrite(kernel: KernelOp, root: ParallelOp, place: int, rewriter: TileRewriter) -> None:
    last = root.space.extents[place] - 1
    start, end = root.body.block.first_op, root.body.block.last_op
    if start is None or end is None:
        return
    index, bound, before = root.indices[place], ConstantOp(last, I64), ConstantOp(last - 1, I64)
    within = MinOp(index, before.result, I64)
    body = [op for op in root.body.block.ops if op is not end]
    arms = (LtOp(index, bound.result, BOOL), within), (GeOp(index, bound.result, BOOL), bound)
    rewriter.insert_before(start, [bound, before, within, *(condition for condition, _ in arms)])
    for condition, seen in arms:
        arm = _arm(kernel, body, condition.result, {index: seen.result})
        rewriter.insert_before(end, [arm])
    for op in reversed(body):
        rewriter.erase(op)


def _arm(kernel: KernelOp, body: list[Operation], condition: SSAValue, values: dict[SSAValue, SSAValue]) -> SerialOp:
    """The operations where a condition holds."""
    copying, block = Retiling({}, values), Block(arg_types=[I64])
    block.add_ops([WhenOp(condition), *(copying.copy(op) for op in body), YieldOp()])
    return SerialOp(SpaceAttr.of([AxisAttr.of(fresh_dim(kernel), 1)]), body=Region(block))

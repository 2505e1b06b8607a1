"""The pass `erase-dead-code`."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from tilewright.ir.effects import tree_effect
from tilewright.ir.ops.base import Effect
from tilewright.ir.ops.regions import CarryingOp
from tilewright.ir.rewrite import TilePass, TileRewriter

__all__ = ["EraseDeadCode", "erase_dead", "is_observable"]


@dataclass(frozen=True)
class EraseDeadCode(TilePass):
    """Removes operations that nothing observes.

    Requires: a verified module.
    Ensures: every operation left has a used result, writes storage, or holds or cuts a body.
    Rewrites: `%a = tile.exp %x` without a use of `%a` → nothing; also unused loads, memories, maps and pure loops.
    Declines when: the operation or anything inside it writes; it is a kernel, a parallel, a stage or a yield.
    """

    name: ClassVar[str] = "erase-dead-code"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for op in module.body.block.ops:
            for region in op.regions:
                erase_dead(region.block, rewriter)


def erase_dead(block: Block, rewriter: TileRewriter) -> None:
    """Erases what is dead in a block and the bodies inside it, last first, so that one sweep is enough."""
    op = block.last_op
    while op is not None:
        previous = op.prev_op
        if _is_dead(op):
            rewriter.erase(op)
        else:
            for region in op.regions:
                erase_dead(region.block, rewriter)
        op = previous


def is_observable(op: Operation) -> bool:
    """Whether the operation matters even when nothing uses its results."""
    return bool(tree_effect(op) & Effect.WRITE) or (not op.results and not isinstance(op, CarryingOp))


def _is_dead(op: Operation) -> bool:
    return not is_observable(op) and all(result.first_use is None for result in op.results)

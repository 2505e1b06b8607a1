"""`cse`: what was computed already is used again, and what nothing uses goes."""

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.xir import ops
from tilewright.xir.catalogue import COMMUTATIVE, PURE
from tilewright.xir.memory import ANYTHING, Region, read_region, written_regions
from tilewright.xir.rewrite import bodies, erase_dead, replace

__all__ = ["EliminateCommonSubexpressions"]


@dataclass(frozen=True, slots=True)
class EliminateCommonSubexpressions:
    """Requires: a verified module.

    Ensures: no pure operation repeats one whose result is visible; no pure operation or read is without use.
    Rewrites: `%a = add %x, %y ... %b = add %y, %x` -> uses of %b become %a, in the same and in nested blocks; a load
    repeats an equal one when nothing between them can have written that memory.
    Declines: operations with effects; loads over a write to the same allocation, or to any argument for arguments.
    """

    name: str = "cse"

    def apply(self, module: ModuleOp) -> int:
        changed = 0
        for body in bodies(module):
            scope = _Scope()
            scope.visit(body)
            changed += scope.merged + erase_dead(body)
        return changed


class _Scope:
    """Results by what computes them. Entries of a block leave with it, so that every hit dominates its use."""

    def __init__(self) -> None:
        self._known: dict[Hashable, SSAValue] = {}
        self._writes: dict[Region, int] = {}
        self.merged = 0

    def visit(self, block: Block) -> None:
        added: list[Hashable] = []
        for op in list(block.ops):
            key = self._key(op)
            if key is not None:
                found = self._known.get(key)
                if found is not None:
                    replace(op, [found])
                    self.merged += 1
                    continue
                self._known[key] = op.results[0]
                added.append(key)
            else:
                self._visit_effect(op)
        for key in added:
            del self._known[key]

    def _visit_effect(self, op: Operation) -> None:
        """What a body may write counts as written before the body, for its later trips, and after it."""
        written = written_regions(op)
        self._note(written)
        for region in op.regions:
            for block in region.blocks:
                self.visit(block)
        self._note(written)

    def _note(self, written: set[Region]) -> None:
        for region in written:
            self._writes[region] = self._writes.get(region, 0) + 1

    def _key(self, op: Operation) -> Hashable | None:
        """Equal for operations with equal results; None for operations that must stay."""
        kind = type(op)
        if kind in PURE:
            operands = tuple(map(id, op.operands))
            if kind in COMMUTATIVE:
                operands = tuple(sorted(operands))
            return kind, operands, op.results[0].type, tuple(op.properties.values())
        if isinstance(op, ops.LoadOp | ops.GatherOp):
            memory = self._writes.get(read_region(op), 0), self._writes.get(ANYTHING, 0)
            return kind, tuple(map(id, op.operands)), op.results[0].type, tuple(op.properties.values()), memory
        return None

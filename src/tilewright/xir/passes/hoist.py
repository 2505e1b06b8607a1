"""`hoist`: what does not change in a loop is computed before it."""

from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.xir import ops
from tilewright.xir.catalogue import PURE
from tilewright.xir.constants import known_int
from tilewright.xir.memory import ANYTHING, Region, read_region, written_regions
from tilewright.xir.rewrite import bodies

__all__ = ["HoistInvariants"]

_MAY_TRAP = frozenset({arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp})


@dataclass(frozen=True, slots=True)
class HoistInvariants:
    """Requires: a verified module.

    Ensures: no loop body computes, outside branches, a pure value from values that are all defined before the loop.
    Rewrites: `for { %a = mul %x, %y; ... }` -> `%a = mul %x, %y; for { ... }`, out of as many loops as possible; loads
    too, when the loop surely runs and writes nothing there.
    Declines: divisions, which may trap where the loop would not run; operations inside branches; other effects.
    """

    name: str = "hoist"

    def apply(self, module: ModuleOp) -> int:
        return sum(_hoist_block(body) for body in bodies(module))


def _hoist_block(block: Block) -> int:
    """Inner loops first, so that what leaves them can leave the outer ones too."""
    moved = 0
    for op in block.ops:
        for region in op.regions:
            moved += sum(_hoist_block(inner) for inner in region.blocks)
        if isinstance(op, scf.ForOp):
            moved += _hoist_loop(op)
    return moved


def _hoist_loop(loop: scf.ForOp) -> int:
    body, outside = loop.body.block, loop.parent_block()
    if outside is None:
        return 0
    inside: set[SSAValue] = set(body.args)
    written: set[Region] = written_regions(loop) if _surely_runs(loop) else {ANYTHING}
    moved = 0
    for op in list(body.ops):
        if _may_leave(op, written) and inside.isdisjoint(op.operands):
            body.detach_op(op)
            outside.insert_op_before(op, loop)
            moved += 1
        else:
            inside.update(op.results)
    return moved


def _may_leave(op: Operation, written: set[Region]) -> bool:
    if isinstance(op, ops.LoadOp | ops.GatherOp):
        return ANYTHING not in written and read_region(op) not in written
    return type(op) in PURE and type(op) not in _MAY_TRAP


def _surely_runs(loop: scf.ForOp) -> bool:
    low, high = known_int(loop.operands[0]), known_int(loop.operands[1])
    return low is not None and high is not None and low < high

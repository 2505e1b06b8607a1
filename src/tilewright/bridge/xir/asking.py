"""Which products ask for the lines of their result while they compute it.

A store to a line that is not near waits for it, and all stores after it wait in turn: those of the next panel among
them. Asked for in time, the line is there. What stays near needs no asking, and short chains have no time for it.
"""

from dataclasses import replace

from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.records import ContractPlan
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import DimAttr, dtype_of, space_of, view_type

__all__ = ["ask_ahead"]

_LEAST_STEPS = 128  # of k: with 64, asking took 3 % of a product on Zen 4
_LEAST_SUMS = 16  # vectors of a register tile, beside whose multiply-adds asking is free
_KIB = 1024


def ask_ahead(placement: Placement, root: ParallelOp) -> None:
    """Let products ask for the lines that they will store to, where those are not near."""
    operations = {position: op for op, position in placement.structure.position.items()}
    for op, plan in placement.contracts.items():
        sink = operations[plan.sink]
        if isinstance(op, MmaOp) and isinstance(sink, StoreOp):
            reason = _why(placement, root, op, plan, sink)
            if reason is not None:
                placement.contracts[op] = replace(plan, ahead=True, why=(*plan.why, reason))


def _why(placement: Placement, root: ParallelOp, op: MmaOp, plan: ContractPlan, sink: StoreOp) -> str | None:
    """Why lines are asked for, or None."""
    rows, vectors, _ = plan.tile
    steps = plan.blocking[0] or space_of(op.a).extent_of(DimAttr.of(plan.k)) or 0
    if rows * vectors < _LEAST_SUMS or steps < _LEAST_STEPS:
        return None
    size = space_of(sink.value).volume * root.space.volume * dtype_of(view_type(sink.view).element).itemsize
    if size <= placement.machine.l2_bytes:
        return None
    return f"lines of the result are asked for ahead: {size // _KIB} KiB of it are more than the second cache"

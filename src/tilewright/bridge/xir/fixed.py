"""What the caller fixed about products, and why it cannot hold."""

from typing import NoReturn

from xdsl.ir import Operation

from tilewright.bridge.xir.options import Packing, Program, XirOptions
from tilewright.core.codes.unsupported import PLAN_CONFLICT
from tilewright.core.errors import PlanError
from tilewright.core.machine import Machine
from tilewright.ir.location import span_of
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.ops.tiles import MmaOp

__all__ = ["check_products", "has_blocks", "refuse", "why_no_programs"]


def refuse(op: Operation, conflict: str) -> NoReturn:
    """Raises PlanError (TW427)."""
    raise PlanError(PLAN_CONFLICT.at(span_of(op), conflict=conflict))


def has_blocks(options: XirOptions) -> bool:
    """Whether blocks are asked for, between which sums leave the registers."""
    return options.packing in (Packing.ONE, Packing.BOTH) or bool(options.k_block or options.row_block)


def why_no_programs(root: ParallelOp, options: XirOptions) -> str | None:
    """Why lanes cannot be programs when the caller says how products are computed, or None."""
    if not _is_fixed(options) or not any(isinstance(op, MmaOp) for op in root.walk()):
        return None
    return "products are plain loops where lanes are programs, and packing, blocks or a register tile are asked for"


def check_products(root: ParallelOp, machine: Machine, options: XirOptions) -> None:
    """Refuses what contradicts the other constraints or the machine, whatever the plan."""
    product = next((op for op in root.walk() if isinstance(op, MmaOp)), None)
    if product is None or not _is_fixed(options):
        return
    reason = why_no_programs(root, options)
    if isinstance(options.lanes, Program) and reason is not None:
        refuse(product, f"lanes = {options.lanes}, but {reason}")
    rows, vectors = options.register_tile or (1, 1)
    needed = (rows + 1) * vectors + 1
    if needed > machine.vector_registers:
        tile = f"register_tile = ({rows}, {vectors}) takes {needed} vector registers"
        refuse(product, f"{tile}, and {machine.name} has {machine.vector_registers}")


def _is_fixed(options: XirOptions) -> bool:
    return has_blocks(options) or options.packing is not None or options.register_tile is not None

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

__all__ = ["check_products", "has_blocks", "is_fixed", "refuse", "why_no_programs"]

_PLAIN_LOOPS = "products are plain loops where lanes are programs, and packing, blocks or a register tile are asked for"


def refuse(op: Operation, conflict: str) -> NoReturn:
    """Raises PlanError (TW427)."""
    raise PlanError(PLAN_CONFLICT.at(span_of(op), conflict=conflict))


def has_blocks(options: XirOptions) -> bool:
    """Whether blocks are asked for, between which sums leave the registers."""
    return options.packing in (Packing.ONE, Packing.BOTH) or bool(options.k_block or options.row_block)


def why_no_programs(root: ParallelOp, options: XirOptions) -> str | None:
    """Why lanes cannot be programs when the caller says how products are computed, or None."""
    return _PLAIN_LOOPS if is_fixed(options) and _product_of(root) is not None else None


def check_products(root: ParallelOp, machine: Machine, options: XirOptions) -> None:
    """Refuses what contradicts the other constraints or the machine, whatever the plan."""
    product = _product_of(root) if is_fixed(options) else None
    if product is None:
        return
    if isinstance(options.lanes, Program):
        refuse(product, f"lanes = {options.lanes}, but {_PLAIN_LOOPS}")
    rows, vectors = options.register_tile or (1, 1)
    needed = (rows + 1) * vectors + 1
    if needed > machine.vector_registers:
        tile = f"register_tile = ({rows}, {vectors}) takes {needed} vector registers"
        refuse(product, f"{tile}, and {machine.name} has {machine.vector_registers}")


def _product_of(root: ParallelOp) -> MmaOp | None:
    return next((op for op in root.walk() if isinstance(op, MmaOp)), None)


def is_fixed(options: XirOptions) -> bool:
    """Whether the caller says how products are computed."""
    return has_blocks(options) or options.packing is not None or options.register_tile is not None

"""What one trip of an exported fold computes, read back from the TIRx: cells that name values on the way are undone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.bridge.tirx.copies import is_cell
from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Stmt

__all__ = ["FoldBody", "fold_body"]


@dataclass(frozen=True, slots=True)
class FoldBody:
    """`carry[0] = value`; `value` is made of the two loads: what is carried, and the next element."""

    carry: Buffer
    value: Expr
    operands: tuple[Expr, Expr]


def fold_body(door: Door, statements: Sequence[Stmt]) -> FoldBody | None:
    """None for statements that do anything else than to compute one value and replace what is carried."""
    t, ir = door.tirx, door.tvm.ir
    *steps, last = statements
    cells = list[tuple[Buffer, Expr | None]]()

    def known(buffer: Buffer) -> int | None:
        return next((place for place, (cell, _) in enumerate(cells) if cell.same_as(buffer)), None)

    def resolved(value: Expr) -> Expr:
        def visit(load: Any) -> Any:
            place = known(load.source)
            return load if place is None or cells[place][1] is None else cells[place][1]

        return door.ffi.structural_map(value, (ir.TensorLoad, visit))

    for step in steps:
        if isinstance(step, t.AllocBuffer):
            cells.append((step.buffer, None))
            continue
        place = known(step.buffer) if isinstance(step, t.BufferStore) else None
        if place is None or cells[place][1] is not None:
            return None
        cells[place] = step.buffer, resolved(step.value)
    if not isinstance(last, t.BufferStore) or known(last.buffer) is not None or not is_cell(t, last.buffer):
        return None
    value = resolved(last.value)
    operands = _operands(door, value, last.buffer)
    if operands is None or known(operands[1].source) is not None:
        return None
    return FoldBody(last.buffer, value, operands)


def _operands(door: Door, value: Expr, carry: Buffer) -> tuple[Expr, Expr] | None:
    """The load of what is carried, and the one other load."""
    loads = list[Expr]()
    door.ffi.structural_walk(value, [(door.tvm.ir.TensorLoad, loads.append)], order="pre")
    carried = [load for load in loads if load.source.same_as(carry)]
    others = [load for load in loads if not load.source.same_as(carry)]
    if not carried or not others or any(not door.ffi.structural_equal(load, others[0]) for load in others):
        return None
    return (carried[0], others[0]) if len(others[0].indices) == 1 else None

"""Scalars inside the body of a loop: in a pack, each lane has one of its own.

The exporter keeps a value that is used twice in a cell, a buffer of one element. It is made anew for every element, so
a pack may hold a vector of them, which LLVM makes a register.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.lanes import Lane
from tilewright.bridge.tirx.nodes import Buffer, Expr, Nodes, Stmt
from tilewright.bridge.tirx.stack import ADDRESSES

__all__ = ["Private", "private"]


@dataclass(frozen=True, slots=True)
class Private:
    """A body whose cells have an element a lane, at its slot; they are allocated outside."""

    cells: tuple[Buffer, ...]
    body: Stmt


def private(door: Door, lane: Lane, body: Stmt) -> Private:
    """The body with the cells that it allocates; a body that asks for addresses keeps them."""
    t, calls, found = door.tirx, list[Expr](), list[Buffer]()

    def enter(allocation: Stmt) -> None:
        if _is_cell(door, allocation.buffer):
            found.append(allocation.buffer)

    visits = [(t.AllocBuffer, enter), (door.tvm.ir.Call, calls.append)]
    door.ffi.structural_walk(body, visits, order="pre")
    if any(str(call.op.name) in ADDRESSES for call in calls):
        return Private((), body)
    cells = {cell: Nodes(door).like(cell, str(cell.name), [lane.width]) for cell in found}
    return Private(tuple(cells.values()), _spread(door, lane, cells, body))


def _is_cell(door: Door, buffer: Buffer) -> bool:
    t, shape = door.tirx, list(buffer.shape)
    return len(shape) == 1 and isinstance(shape[0], t.IntImm) and int(shape[0].value) == 1


def _spread(door: Door, lane: Lane, cells: Mapping[Buffer, Buffer], body: Stmt) -> Stmt:
    t, ffi = door.tirx, door.ffi

    def load(e: Expr) -> Expr:
        return t.BufferLoad(cells[e.source], [lane.slot]) if e.source in cells else e

    def store(statement: Stmt) -> Stmt:
        known = cells.get(statement.buffer)
        return statement if known is None else t.BufferStore(known, statement.value, [lane.slot])

    def sequence(statements: Stmt) -> Stmt:
        return Nodes(door).sequence(list(_without(t.AllocBuffer, cells, statements.seq)))

    spread = ffi.structural_map(body, [(door.tvm.ir.TensorLoad, load), (t.BufferStore, store)])
    return ffi.structural_map(spread, (t.SeqStmt, sequence))


def _without(kind: type, cells: Mapping[Buffer, Buffer], statements: Iterable[Stmt]) -> Iterable[Stmt]:
    return (each for each in statements if not (isinstance(each, kind) and each.buffer in cells))

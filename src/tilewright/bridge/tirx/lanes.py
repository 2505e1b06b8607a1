"""The proof that a pack of neighbours along one loop may go step by step together, as vectors.

It is made on the TIRx that stands there. Every access either takes neighbouring elements or one that all lanes share;
what one lane stores no other lane reads; every operation that differs by lane has a vector form with the same bits.
Whatever is not known to be so is a reason to leave the loop alone.
"""

from collections.abc import Iterable, Sequence
from math import gcd
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Nodes, Stmt

__all__ = ["LANE_GUARDS", "LAZY", "Lane", "LaneProof", "is_plain", "operands_of", "step_of"]

_STORED, _READ = "whether an element is stored differs by lane", "whether an element is read differs by lane"
LAZY = "prim.if_then_else"
LANE_GUARDS = frozenset({_STORED, _READ})
"""Reasons that a guard gives."""


class Lane:
    """The index of a loop that goes in packs of `width`, and how expressions depend on it.

    `slot` is the place of a lane inside its pack.
    """

    def __init__(self, door: Door, index: Expr, width: int) -> None:
        self._door, self.index, self.width = door, index, width
        self.slot = Nodes(door).var(f"{index.name}_slot", "int64")

    def slope(self, e: Expr) -> int | None:
        """By how much an expression grows with the lane; None where it is not known to be linear."""
        t = self._door.tirx
        match e:
            case t.Var():
                return int(self._is_it(e))
            case t.Add() | t.Sub():
                a, b = self.slope(e.a), self.slope(e.b)
                sign = 1 if isinstance(e, t.Add) else -1
                return None if a is None or b is None else a + sign * b
            case t.Mul() if isinstance(e.b, t.IntImm):
                a = self.slope(e.a)
                return None if a is None else a * int(e.b.value)
            case _:
                return None if self.varies(e) else 0

    def varies(self, e: Expr) -> bool:
        """Whether the lane stands in it."""
        found = list[Expr]()
        self._door.ffi.structural_walk(e, [(self._door.tirx.Var, found.append)], order="pre")
        return any(map(self._is_it, found))

    def _is_it(self, var: Expr) -> bool:
        return bool(var.same_as(self.index) or var.same_as(self.slot))


class LaneProof:
    """Of one loop. `apart` says that a promise keeps what is stored to apart from all other arguments."""

    def __init__(self, door: Door, lane: Lane, arguments: Sequence[Buffer], *, apart: bool) -> None:
        self.door, self.lane, self._arguments, self._apart = door, lane, arguments, apart
        self._inside: list[Lane] = []
        t = door.tirx
        self._plain = (
            *(t.Add, t.Sub, t.Mul, t.Div, t.Min, t.Max, t.EQ, t.LT, t.LE, t.GT, t.GE, t.And, t.Or, t.Not),
            *(t.Select, t.Cast, t.IntImm, t.FloatImm),
        )

    def reason_against(self, body: Stmt) -> str:
        """Why the body has no packs; empty if all of it is proved."""
        return self._statement(body) or self._hazard(body)

    # ---- statements

    def _statement(self, statement: Stmt) -> str:
        t = self.door.tirx
        match statement:
            case t.SeqStmt():
                return _first(self._statement(each) for each in statement.seq)
            case t.For():
                return self._loop(statement)
            case t.IfThenElse():
                if statement.else_case is not None or self.lane.varies(statement.condition):
                    return _STORED
                return self._statement(statement.then_case)
            case t.BufferStore():
                return self._store(statement) or self.value(statement.value)
            case t.AllocBuffer() | t.Bind():
                return "its body has temporaries"
            case _:
                return f"its body has a {type(statement).__name__}"

    def _loop(self, loop: Stmt) -> str:
        if not is_plain(self.door, loop):
            return "a loop in it has bounds that are not constant"
        self._inside.append(Lane(self.door, loop.loop_var, int(loop.extent.value)))
        return self._statement(loop.body)

    def _store(self, store: Stmt) -> str:
        if self.lane.slope(store.indices[-1]) == 0:
            return f"every lane stores to one place of {store.buffer.name}"
        reason = self.place(store.buffer, store.indices)
        own = step_of(self._inside, store.indices[-1])
        meet = own is None or 0 < own < self.lane.width
        return reason or (f"its lanes may meet in {store.buffer.name}" if meet else "")

    # ---- expressions

    def value(self, e: Expr) -> str:
        """Why an expression has no vector form."""
        t, ir = self.door.tirx, self.door.tvm.ir
        if not self.lane.varies(e) or isinstance(e, t.Var):
            return ""
        if isinstance(e, ir.TensorLoad):
            return self.place(e.source, e.indices)
        if isinstance(e, ir.Call):
            return self.call(e)
        if not isinstance(e, self._plain):
            return f"{type(e).__name__} has no vector form here"
        return _first(self.value(each) for each in operands_of(t, e))

    def call(self, call: Expr) -> str:
        """Why a call has no vector form."""
        name = str(call.op.name)
        if name == LAZY and self.lane.varies(call.args[0]):
            return self.lazily(call)
        if name != LAZY and not call.op.get_attr("TVectorizable"):
            what = f"the function {call.args[0].value}" if name == "tirx.call_pure_extern" else name
            return f"{what} has no vector form"
        return _first(self.value(each) for each in call.args)

    def lazily(self, _choice: Expr) -> str:
        """Why a lazy choice that differs by lane has no vector form."""
        return _READ

    # ---- places

    def place(self, buffer: Buffer, indices: Sequence[Expr]) -> str:
        """Why the lanes are neither neighbours in the buffer nor at one place of it."""
        *outer, last = (self.lane.slope(index) for index in indices)
        if any(slope != 0 for slope in outer) or last not in (0, 1):
            return f"its lanes are no neighbours in {buffer.name}"
        return ""

    # ---- one lane and the others

    def _hazard(self, body: Stmt) -> str:
        """Why a lane may read what another one stores."""
        t, ffi, ir = self.door.tirx, self.door.ffi, self.door.tvm.ir
        stores, loads = list[Any](), list[Any]()
        ffi.structural_walk(body, [(t.BufferStore, stores.append), (ir.TensorLoad, loads.append)], order="pre")
        places = [*((each.buffer, each.indices) for each in stores), *((each.source, each.indices) for each in loads)]
        return _first(self._meets(store, *place) for store in stores for place in places)

    def _meets(self, store: Stmt, buffer: Buffer, indices: Sequence[Expr]) -> str:
        if buffer.same_as(store.buffer):
            same = self.door.ffi.structural_equal(indices, store.indices)
            return "" if same else f"its lanes may read what others store to {buffer.name}"
        if not self._apart and self._is_argument(buffer) and self._is_argument(store.buffer):
            return f"{buffer.name} and {store.buffer.name} may overlap without noalias"
        return ""

    def _is_argument(self, buffer: Buffer) -> bool:
        return any(buffer.same_as(argument) for argument in self._arguments)


def is_plain(door: Door, loop: Stmt) -> bool:
    """Whether a loop takes so many steps of one in their order, known beforehand."""
    t = door.tirx
    bounds = isinstance(loop.min, t.IntImm) and isinstance(loop.extent, t.IntImm)
    unit = loop.step is None or (isinstance(loop.step, t.IntImm) and int(loop.step.value) == 1)
    return bounds and unit and loop.kind == t.ForKind.SERIAL


def step_of(loops: Iterable[Lane], e: Expr) -> int | None:
    """What every change of an expression that these loops make is a multiple of; None where it is not known."""
    slopes = [each.slope(e) for each in loops]
    known = [slope for slope in slopes if slope is not None]
    return gcd(*known) if len(known) == len(slopes) else None


def _first(reasons: Iterable[str]) -> str:
    return next((reason for reason in reasons if reason), "")


def operands_of(t: Any, e: Expr) -> Sequence[Expr]:
    """What an operator takes, in the order of its constructor."""
    if isinstance(e, t.Select):
        return e.condition, e.true_value, e.false_value
    if isinstance(e, t.Cast):
        return (e.value,)
    return (e.a,) if isinstance(e, t.Not) else (e.a, e.b)

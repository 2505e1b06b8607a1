"""The proof that a pack of neighbours along one loop may go step by step together, as vectors.

It is made on the TIRx that stands there. Every access either takes neighbouring elements or one that all lanes share;
what one lane stores no other lane reads; every operation that differs by lane has a vector form with the same bits.
Whatever is not known to be so is a reason to leave the loop alone.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Stmt

__all__ = ["LaneProof"]


class LaneProof:
    """Of one loop with the index `lane`. `apart` are the arguments that a promise keeps apart: none or all of them."""

    def __init__(self, door: Door, lane: Expr, arguments: Sequence[Buffer], *, apart: bool) -> None:
        self._door, self._lane, self._arguments, self._apart = door, lane, arguments, apart
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
        t = self._door.tirx
        match statement:
            case t.SeqStmt():
                return _first(self._statement(each) for each in statement.seq)
            case t.For():
                return self._loop(statement)
            case t.IfThenElse():
                if statement.else_case is not None or self._varies(statement.condition):
                    return "whether an element is stored differs by lane"
                return self._statement(statement.then_case)
            case t.BufferStore():
                if self._slope(statement.indices[-1]) == 0:
                    return f"every lane stores to one place of {statement.buffer.name}"
                return self._place(statement.buffer, statement.indices) or self._value(statement.value)
            case t.AllocBuffer() | t.Bind():
                return "its body has temporaries"
            case _:
                return f"its body has a {type(statement).__name__}"

    def _loop(self, loop: Stmt) -> str:
        t = self._door.tirx
        known = isinstance(loop.extent, t.IntImm) and isinstance(loop.min, t.IntImm) and loop.kind == t.ForKind.SERIAL
        return self._statement(loop.body) if known else "a loop in it has bounds that are not constant"

    # ---- expressions

    def _value(self, e: Expr) -> str:
        """Why an expression has no vector form."""
        t, ir = self._door.tirx, self._door.tvm.ir
        if not self._varies(e) or isinstance(e, t.Var):
            return ""
        if isinstance(e, ir.TensorLoad):
            return self._place(e.source, e.indices)
        if isinstance(e, ir.Call):
            return self._call(e)
        if not isinstance(e, self._plain):
            return f"{type(e).__name__} has no vector form here"
        return _first(self._value(each) for each in _operands(t, e))

    def _call(self, call: Expr) -> str:
        name = str(call.op.name)
        if name == "prim.if_then_else" and self._varies(call.args[0]):
            return "whether an element is read differs by lane"
        if name != "prim.if_then_else" and not call.op.get_attr("TVectorizable"):
            what = f"the function {call.args[0].value}" if name == "tirx.call_pure_extern" else name
            return f"{what} has no vector form"
        return _first(self._value(each) for each in call.args)

    # ---- places

    def _place(self, buffer: Buffer, indices: Sequence[Expr]) -> str:
        """Why the lanes are neither neighbours in the buffer nor at one place of it."""
        *outer, last = (self._slope(index) for index in indices)
        if any(slope != 0 for slope in outer) or last not in (0, 1):
            return f"its lanes are no neighbours in {buffer.name}"
        return ""

    def _slope(self, index: Expr) -> int | None:
        """By how much an index grows with the lane; None where it is not known to be linear."""
        t = self._door.tirx
        match index:
            case t.Var():
                return int(index.same_as(self._lane))
            case t.Add() | t.Sub():
                a, b = self._slope(index.a), self._slope(index.b)
                sign = 1 if isinstance(index, t.Add) else -1
                return None if a is None or b is None else a + sign * b
            case t.Mul() if isinstance(index.b, t.IntImm):
                a = self._slope(index.a)
                return None if a is None else a * int(index.b.value)
            case _:
                return None if self._varies(index) else 0

    def _varies(self, e: Expr) -> bool:
        """Whether the lane stands in it."""
        found = list[Expr]()
        self._door.ffi.structural_walk(e, [(self._door.tirx.Var, found.append)], order="pre")
        return any(var.same_as(self._lane) for var in found)

    # ---- one lane and the others

    def _hazard(self, body: Stmt) -> str:
        """Why a lane may read what another one stores."""
        t, ffi, ir = self._door.tirx, self._door.ffi, self._door.tvm.ir
        stores, loads = list[Any](), list[Any]()
        ffi.structural_walk(body, [(t.BufferStore, stores.append), (ir.TensorLoad, loads.append)], order="pre")
        places = [*((each.buffer, each.indices) for each in stores), *((each.source, each.indices) for each in loads)]
        return _first(self._meets(store, *place) for store in stores for place in places)

    def _meets(self, store: Stmt, buffer: Buffer, indices: Sequence[Expr]) -> str:
        if buffer.same_as(store.buffer):
            same = self._door.ffi.structural_equal(indices, store.indices)
            return "" if same else f"its lanes may read what others store to {buffer.name}"
        if not self._apart and self._is_argument(buffer) and self._is_argument(store.buffer):
            return f"{buffer.name} and {store.buffer.name} may overlap without noalias"
        return ""

    def _is_argument(self, buffer: Buffer) -> bool:
        return any(buffer.same_as(argument) for argument in self._arguments)


def _first(reasons: Iterable[str]) -> str:
    return next((reason for reason in reasons if reason), "")


def _operands(t: Any, e: Expr) -> Sequence[Expr]:
    if isinstance(e, t.Select):
        return e.condition, e.true_value, e.false_value
    if isinstance(e, t.Cast):
        return (e.value,)
    return (e.a,) if isinstance(e, t.Not) else (e.a, e.b)

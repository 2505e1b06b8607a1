"""Contracts for array functions, spent on TIRx. A note says where to look; what stands there is proved again.

for i, j: T[i * n + j] = expf(x)     ->   for i, j: T[i * n + j] = x;   exp(T, T, count)
c = identity; for j: c = c + T[b + j]  ->   c = identity; add(T + b, c, count)
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Nodes, Stmt
from tilewright.bridge.tirx.providers.arrays import FOLD, MAP, VERSION
from tilewright.bridge.tirx.providers.calls import call_of
from tilewright.bridge.tirx.providers.choices import ArrayMath, Convention
from tilewright.bridge.tirx.providers.fold_body import fold_body
from tilewright.bridge.tirx.providers.proofs import Nest, Proofs

__all__ = ["ArrayCalls"]

_EXP, _MATERIALIZED = "expf", "tile.materialized"
_MOST = (1 << 31) - 1
_IDENTITIES: Mapping[str, float] = MappingProxyType({"add": 0.0, "max": float("-inf"), "min": float("inf")})


class ArrayCalls:
    """One walk over the statements of a function: call sites by name, and why a note was not followed."""

    def __init__(self, door: Door, functions: ArrayMath) -> None:
        self._door, self._tirx, self._nodes = door, door.tirx, Nodes(door)
        self._proofs, self._functions = Proofs(door), functions
        self.sites: Counter[str] = Counter()
        self.declined: Counter[str] = Counter()

    def statement(self, statement: Stmt, before: Stmt | None = None) -> Stmt:
        """The statement with its calls; `before` stands right in front of it."""
        t = self._tirx
        match statement:
            case t.For():
                return self._loop(statement, before)
            case t.SeqStmt():
                return self._sequence(statement)
            case t.IfThenElse():
                otherwise = None if statement.else_case is None else self.statement(statement.else_case)
                return t.IfThenElse(statement.condition, self.statement(statement.then_case), otherwise)
            case _:
                return statement

    def _sequence(self, sequence: Stmt) -> Stmt:
        made, before = list[Stmt](), None
        for each in sequence.seq:
            made.append(self.statement(each, before))
            before = each
        return self._tirx.SeqStmt(made)

    def _loop(self, loop: Stmt, before: Stmt | None) -> Stmt:
        notes = loop.annotations
        if MAP in notes:
            found = self._map(loop, str(notes[MAP]))
        elif FOLD in notes:
            found = self._fold(loop, before, str(notes[FOLD]))
        else:
            return self._with_body(loop, self.statement(loop.body))
        if isinstance(found, str):
            self.declined[found] += 1
            return loop
        return found

    def _with_body(self, loop: Stmt, body: Stmt, without: Sequence[str] = ()) -> Stmt:
        notes = {key: value for key, value in dict(loop.annotations).items() if str(key) not in without}
        return self._tirx.For(loop.loop_var, loop.min, loop.extent, loop.kind, body, annotations=notes)

    # ---- maps

    def _map(self, loop: Stmt, contract: str) -> Stmt | str:
        if contract != f"exp/{VERSION}":
            return f"the contract {contract} is not known"
        nest = self._proofs.nest(loop)
        store: Any = None if nest is None else nest.statements[-1]
        if nest is None or not isinstance(store, self._tirx.BufferStore):
            return "exp: the loops are no rectangle around one store"
        argument = self._argument_of_exp(store.value)
        if argument is None:
            return "exp: what is stored is no exp"
        reason = self._objection(nest, store, argument)
        if reason:
            return reason
        filled, name = self._filled(loop, store, argument), self._functions.exp
        call = self._call(self._functions.maps_by, name, store.buffer, store.buffer, nest.volume)
        return self._tirx.SeqStmt([filled, call])

    def _objection(self, nest: Nest, store: Stmt, argument: Expr) -> str:
        buffer = store.buffer
        if str(buffer.scope()) != "local" or self._proofs.cells(buffer) != nest.volume:
            return "exp: the buffer is not as large as the loops"
        if nest.volume > _MOST:
            return "exp: it has more elements than a count of 32 bits"
        if len(store.indices) != 1 or not self._proofs.is_row_major(store.indices[0], nest):
            return "exp: elements are not stored one after the other"
        if any(self._proofs.mentions(each, buffer) for each in (*nest.statements[:-1], argument)):
            return "exp: the argument reads the result"
        return ""

    def _argument_of_exp(self, value: Expr) -> Expr | None:
        ir = self._door.tvm.ir
        if not isinstance(value, ir.Call) or not isinstance(value.op, ir.Op):
            return None
        named = str(value.op.name) == "tirx.call_pure_extern" and len(value.args) == 2
        is_exp = named and str(value.args[0].value) == _EXP and self._nodes.dtype(value) == "float32"
        return value.args[1] if is_exp else None

    def _filled(self, loop: Stmt, store: Stmt, argument: Expr) -> Stmt:
        """The same loops, which store the argument. They are no longer what their notes say."""
        t = self._tirx

        def visit(each: Any) -> Any:
            return t.BufferStore(each.buffer, argument, each.indices) if each.buffer.same_as(store.buffer) else each

        body = self._door.ffi.structural_map(loop.body, (t.BufferStore, visit))
        return self._with_body(loop, body, without=(MAP, _MATERIALIZED))

    # ---- folds

    def _fold(self, loop: Stmt, before: Stmt | None, contract: str) -> Stmt | str:
        kind = contract.removesuffix(f"/{VERSION}")
        if kind not in _IDENTITIES:
            return f"the contract {contract} is not known"
        nest = self._proofs.nest(loop)
        body = None if nest is None or len(nest.indices) != 1 else fold_body(self._door, nest.statements)
        if nest is None or body is None:
            return f"{kind}: the loop does more than to fold"
        if not self._begins_at_identity(before, body.carry, kind):
            return f"{kind}: the fold does not begin at its identity"
        if not any(self._is_step(kind, body.value, *pair) for pair in (body.operands, body.operands[::-1])):
            return f"{kind}: the step is another operation"
        element = body.operands[1]
        start = self._proofs.start_of_run(element.indices[0], nest.indices[0])
        if start is None or self._proofs.cells(element.source) is None:
            return f"{kind}: the elements do not lie one after the other"
        name = self._functions.folds[kind]
        return self._call(self._functions.folds_by, name, element.source, body.carry, nest.volume, start)

    def _begins_at_identity(self, before: Any, carry: Buffer, kind: str) -> bool:
        t = self._tirx
        if not isinstance(before, t.BufferStore) or not before.buffer.same_as(carry):
            return False
        value = before.value
        return isinstance(value, t.FloatImm) and str(float(value.value)) == str(_IDENTITIES[kind])

    def _is_step(self, kind: str, value: Expr, a: Expr, b: Expr) -> bool:
        """The exporter's form of the operation, NaN kept."""
        n = self._nodes
        if kind == "add":
            wanted = n.add(a, b)
        else:
            beyond = n.gt(a, b) if kind == "max" else n.lt(a, b)
            wanted = n.select(n.or_(beyond, n.ne(a, a)), a, b)
        return bool(self._door.ffi.structural_equal(value, wanted))

    # ---- calls

    def _call(
        self, convention: Convention, name: str, source: Buffer, target: Buffer, count: int, start: Expr | None = None
    ) -> Stmt:
        self.sites[name] += 1
        n, zero = self._nodes, self._nodes.i64(0)
        places = n.load(source, [zero if start is None else start]), n.load(target, [zero])
        return call_of(self._door, convention, name, *places, count)

"""Copies of proved loops at other indices: every loop in a copy has a variable of its own."""

from collections.abc import Mapping
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Expr, Nodes, Stmt

__all__ = ["Renewal"]


class Renewal:
    """Of one function, whose new variables it numbers."""

    def __init__(self, door: Door) -> None:
        self._door, self._t, self._n = door, door.tirx, Nodes(door)
        self._names = 0

    def index(self, prefix: str) -> Expr:
        """A variable that nothing else uses."""
        self._names += 1
        return self._n.var(f"{prefix}_{self._names}", "int64")

    def place(self, begin: int, number: Expr, size: int) -> Expr:
        """Where the group of a number begins, of groups of one size."""
        at = self._n.mul(number, self._n.i64(size))
        return self._n.add(self._n.i64(begin), at) if begin else at

    def loop(self, index: Expr, extent: int, body: Stmt, kind: Any) -> Stmt:
        """A loop from zero."""
        return self._t.For(index, self._n.i64(0), self._n.i64(extent), kind, body)

    def around(self, loop: Stmt, body: Stmt) -> Stmt:
        """The loop with another body."""
        notes = dict(loop.annotations)
        return self._t.For(loop.loop_var, loop.min, loop.extent, loop.kind, body, annotations=notes)

    def statement(self, statement: Stmt, known: Mapping[Expr, Expr]) -> Stmt:
        """A copy in which each known variable is its expression; made of loops, sequences, conditions and stores."""
        t = self._t
        match statement:
            case t.For():
                index = self.index("k")
                body = self.statement(statement.body, {**known, statement.loop_var: index})
                notes = dict(statement.annotations)
                first, extent = (self.expression(e, known) for e in (statement.min, statement.extent))
                return t.For(index, first, extent, statement.kind, body, annotations=notes)
            case t.SeqStmt():
                return t.SeqStmt([self.statement(each, known) for each in statement.seq])
            case t.IfThenElse():
                then, other = self.statement(statement.then_case, known), statement.else_case
                other = None if other is None else self.statement(other, known)
                return t.IfThenElse(self.expression(statement.condition, known), then, other)
            case _:
                indices = [self.expression(index, known) for index in statement.indices]
                return t.BufferStore(statement.buffer, self.expression(statement.value, known), indices)

    def expression(self, e: Expr, known: Mapping[Expr, Expr]) -> Expr:
        """The expression with the known variables replaced."""

        def known_or_same(var: Expr) -> Expr:
            return known.get(var, var)

        return self._door.ffi.structural_map(e, (self._t.Var, known_or_same))

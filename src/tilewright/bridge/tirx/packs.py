"""Automatic packs: 4 to 16 neighbours along the innermost axis of independent elements go as one vector.

Outer axes and each element's own loops stay in their order, so every element has the bits that it had. What is left
over at the end of the axis is done one by one.
"""

from collections.abc import Mapping
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.guards import MOST_GUARDS, Guarded, every_lane, guarded_by
from tilewright.bridge.tirx.lanes import LANE_GUARDS, Lane, LaneProof
from tilewright.bridge.tirx.nodes import Expr, Nodes, Stmt
from tilewright.bridge.tirx.ranges import Ranges
from tilewright.bridge.tirx.realised import Realised

__all__ = ["pack"]

INDEPENDENT = "tile.independent"
_LEAST, _MOST = 4, 16


def pack(door: Door, function: Any, *, noalias: bool) -> Realised:
    """The function with vector loops where they are proved, and a reason a nest that stays as it is."""
    packer = _Packer(door, function, apart=noalias)
    body = packer.statement(function.body)
    counters = {"packed nests": packer.packed, "ragged ends": packer.ends, "guarded packs": packer.specialised}
    return Realised(function.with_body(body), counters, tuple(dict.fromkeys(packer.declined)))


def width_of(extent: int) -> int:
    """Lanes of a pack: a power of two that goes at least once into the extent, 0 where there are too few elements."""
    if extent < _LEAST:
        return 0
    width = _LEAST
    while width < _MOST and extent >= 2 * width:
        width *= 2
    return width


class _Packer:
    """One walk over the nests of a function."""

    def __init__(self, door: Door, function: Any, *, apart: bool) -> None:
        self._door, self._t, self._n = door, door.tirx, Nodes(door)
        self._arguments, self._apart = list(function.params), apart
        self._ranges = Ranges(door, function.body)
        self.packed = self.ends = self.specialised = self._names = 0
        self.declined: list[str] = []

    def statement(self, statement: Stmt) -> Stmt:
        """The statement with its nests packed."""
        t = self._t
        match statement:
            case t.For():
                notes = statement.annotations
                rank = int(notes[INDEPENDENT]) if INDEPENDENT in notes else 0
                return self._nest(statement, rank) if rank else self._around(statement, self.statement(statement.body))
            case t.SeqStmt():
                return t.SeqStmt([self.statement(each) for each in statement.seq])
            case t.IfThenElse() if statement.else_case is None:
                return t.IfThenElse(statement.condition, self.statement(statement.then_case), None)
            case _:
                return statement

    def _nest(self, loop: Stmt, rank: int) -> Stmt:
        """The loop, `rank` loops from the innermost of its nest on."""
        if rank > 1 and isinstance(loop.body, self._t.For):
            return self._around(loop, self._nest(loop.body, rank - 1))
        lane, bare = Lane(self._door, loop.loop_var), Guarded((), loop.body)
        reason = "its nest is not rectangular" if rank > 1 else self._shape(loop) or self._proved(lane, bare.body)
        if reason in LANE_GUARDS:
            bare = guarded_by(self._door, lane, self._ranges, loop.body)
            reason = self._unguarded(lane, bare) if bare.guards else reason
        if reason:
            self.declined.append(f"no packs along {loop.loop_var.name}: {reason}")
            return self._around(loop, self.statement(loop.body))
        self.packed += 1
        self.specialised += bool(bare.guards)
        return self._packs(loop, lane, bare)

    def _shape(self, loop: Stmt) -> str:
        t = self._t
        if loop.kind != t.ForKind.SERIAL or not isinstance(loop.extent, t.IntImm):
            return "it is no plain loop"
        if not width_of(int(loop.extent.value)):
            return f"fewer than {_LEAST} elements"
        return ""

    def _proved(self, lane: Lane, body: Stmt) -> str:
        return LaneProof(self._door, lane, self._arguments, apart=self._apart).reason_against(body)

    def _unguarded(self, lane: Lane, bare: Guarded) -> str:
        if len(bare.guards) > MOST_GUARDS:
            return f"more than {MOST_GUARDS} guards differ by lane"
        return self._proved(lane, bare.body)

    def _packs(self, loop: Stmt, lane: Lane, bare: Guarded) -> Stmt:
        """Vector loops over whole packs, and one in order over the rest."""
        extent = int(loop.extent.value)
        width = width_of(extent)
        packs = self._index("q")
        first = self._n.mul(packs, self._n.i64(width))
        whole = self._lanes(loop, bare.body, first, width, self._t.ForKind.VECTORIZED)
        if bare.guards:
            hold = every_lane(self._door, lane, bare.guards, width, lambda at: self._n.add(first, self._n.i64(at)))
            slow = self._lanes(loop, loop.body, first, width, self._t.ForKind.SERIAL)
            whole = self._t.IfThenElse(hold, whole, slow)
        body = self._loop(packs, extent // width, whole, self._t.ForKind.SERIAL)
        if extent % width == 0:
            return body
        self.ends += 1
        rest = self._n.i64(extent - extent % width)
        return self._t.SeqStmt([body, self._lanes(loop, loop.body, rest, extent % width, self._t.ForKind.SERIAL)])

    def _lanes(self, loop: Stmt, body: Stmt, first: Expr, width: int, kind: Any) -> Stmt:
        """A body of the loop from an index on."""
        lane = self._index("l")
        return self._loop(lane, width, self._fresh(body, {loop.loop_var: self._n.add(first, lane)}), kind)

    def _fresh(self, statement: Stmt, known: Mapping[Expr, Expr]) -> Stmt:
        """A copy of a proved body with other indices: each loop in it gets a variable of its own."""
        t = self._t
        match statement:
            case t.For():
                index = self._index("k")
                body = self._fresh(statement.body, {**known, statement.loop_var: index})
                notes = dict(statement.annotations)
                return t.For(index, statement.min, statement.extent, statement.kind, body, annotations=notes)
            case t.SeqStmt():
                return t.SeqStmt([self._fresh(each, known) for each in statement.seq])
            case t.IfThenElse():
                then = self._fresh(statement.then_case, known)
                return t.IfThenElse(self._with(statement.condition, known), then, None)
            case _:
                indices = [self._with(index, known) for index in statement.indices]
                return t.BufferStore(statement.buffer, self._with(statement.value, known), indices)

    def _with(self, e: Expr, known: Mapping[Expr, Expr]) -> Expr:
        def known_or_same(var: Expr) -> Expr:
            return known.get(var, var)

        return self._door.ffi.structural_map(e, (self._t.Var, known_or_same))

    def _index(self, prefix: str) -> Expr:
        self._names += 1
        return self._n.var(f"{prefix}_{self._names}", "int64")

    def _loop(self, index: Expr, extent: int, body: Stmt, kind: Any) -> Stmt:
        return self._t.For(index, self._n.i64(0), self._n.i64(extent), kind, body)

    def _around(self, loop: Stmt, body: Stmt) -> Stmt:
        notes = dict(loop.annotations)
        return self._t.For(loop.loop_var, loop.min, loop.extent, loop.kind, body, annotations=notes)

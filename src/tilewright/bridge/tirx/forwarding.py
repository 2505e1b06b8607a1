"""Read-only forwarding: a tile that is only a copy of an argument is read from the argument, where it is used.

The copy may be guarded; the guard and the fill go along, and stay lazy. Nothing may change what is read between the
copy and its use: arguments that the kernel never stores to are kept apart from the others by the caller's promise
`noalias`, and buffers of our own have one store, which is done. Every use must follow its copy, at a place that is
proved to lie inside the tile. A copy whose guard reads another copy waits for the next round; rounds go on until
nothing changes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.bridge.tirx.copies import Copy, coordinates_of, copy_of
from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Nodes, Stmt
from tilewright.bridge.tirx.ranges import Ranges
from tilewright.bridge.tirx.realised import Realised
from tilewright.bridge.tirx.traffic import loads_in, stores_in, traffic_of

__all__ = ["forward_loads"]

SNAPSHOT = "tile.snapshot"
_LAZY = "prim.if_then_else"
_CHEAP = frozenset({_LAZY, "tirx.reinterpret"})
_NO_COPY = "it is no plain copy of an argument"


def forward_loads(door: Door, function: Any) -> Realised:
    """The function without the tiles that its readers do not need, and a reason a tile that stays.

    The caller has promised that what the kernel stores to overlaps no other argument.
    """
    tiles = rounds = 0
    finder = _Finder(door, function)
    while finder.found:
        tiles, rounds = tiles + len(finder.found), rounds + 1
        function = function.with_body(_forwarded(door, function.body, finder.found))
        finder = _Finder(door, function)
    counters = {"forwarded tiles": tiles, "rounds of forwarding": rounds}
    return Realised(function, counters, tuple(dict.fromkeys(finder.declined)))


Settled = frozenset[Buffer]
"""Buffers of our own whose only store stands in a statement before the one at hand."""


class _Finder:
    """One round: the copies that may go, each judged on its own."""

    def __init__(self, door: Door, function: Any) -> None:
        self._door, self._t = door, door.tirx
        self._arguments = frozenset[Buffer](function.params)
        self._traffic, self._ranges = traffic_of(door, function.body), Ranges(door, function.body)
        self.found: dict[Buffer, Copy] = {}
        self.declined: list[str] = []
        if self._traffic.opaque:
            self.declined.append(f"no tile is forwarded: the effects of {self._traffic.opaque} are not known")
        else:
            self._statement(function.body, frozenset())

    def _statement(self, statement: Stmt, settled: Settled) -> None:
        t = self._t
        match statement:
            case t.For() | t.AttrStmt():
                self._statement(statement.body, settled)
            case t.IfThenElse():
                self._statement(statement.then_case, settled)
            case t.SeqStmt():
                self._sequence(list(statement.seq), settled)
            case _:
                pass

    def _sequence(self, members: Sequence[Stmt], settled: Settled) -> None:
        t = self._t
        tiles = {each.buffer for each in members if isinstance(each, t.AllocBuffer) and SNAPSHOT in each.annotations}
        for place, member in enumerate(members):
            copy = copy_of(self._door, member)
            if copy is not None and copy.buffer in tiles:
                tiles.remove(copy.buffer)
                self._judge(copy, members[place + 1 :], settled)
            self._statement(member, settled)
            settled |= self._stored_once(member)
        self.declined += [f"{tile.name} is not forwarded: {_NO_COPY}" for tile in tiles]

    def _stored_once(self, member: Stmt) -> Settled:
        stored = frozenset(stores_in(self._door, member)) - self._arguments
        return frozenset(buffer for buffer in stored if self._traffic.stores[buffer] == 1)

    def _judge(self, copy: Copy, after: Sequence[Stmt], settled: Settled) -> None:
        if any(load.source in self.found for load in loads_in(self._door, copy.value)):
            return
        reason = self._source(copy.value, settled) or self._readers(copy, after)
        if reason:
            self.declined.append(f"{copy.buffer.name} is not forwarded: {reason}")
        else:
            self.found[copy.buffer] = copy

    def _source(self, value: Expr, settled: Settled) -> str:
        """Why the expression may not be evaluated later; empty for an argument behind a cheap guard."""
        ir, calls = self._door.tvm.ir, list[Expr]()
        source = value.args[1] if isinstance(value, ir.Call) and str(value.op.name) == _LAZY else value
        if not isinstance(source, ir.TensorLoad) or source.source not in self._arguments:
            return _NO_COPY
        self._door.ffi.structural_walk(value, [(ir.Call, calls.append)], order="pre")
        if any(str(call.op.name) not in _CHEAP for call in calls):
            return "its guard or fill calls a function"
        for load in loads_in(self._door, value):
            if load.source not in self._arguments and load.source not in settled:
                return f"its guard or its address reads {load.source.name}, which may change"
            if load.source in self._arguments and self._traffic.stores[load.source]:
                return f"the kernel stores to {load.source.name}"
        return ""

    def _readers(self, copy: Copy, after: Sequence[Stmt]) -> str:
        """Why a reader does not see what was copied."""
        if self._traffic.stores[copy.buffer] != 1:
            return "it is stored to in several places"
        readers = [load for each in after for load in loads_in(self._door, each) if load.source.same_as(copy.buffer)]
        if len(readers) != self._traffic.loads[copy.buffer]:
            return "it is read elsewhere than after its copy"
        return next(filter(None, (self._place(copy, reader) for reader in readers)), "")

    def _place(self, copy: Copy, reader: Expr) -> str:
        at = coordinates_of(self._door, reader.indices[0], copy.extents)
        if at is None or not all(self._ranges.of(e).within(n) for e, n in zip(at, copy.extents, strict=True)):
            return "a reader's place in it is not proved to lie inside"
        return ""


def _forwarded(door: Door, body: Stmt, copies: Mapping[Buffer, Copy]) -> Stmt:
    """The body with every read of the copies replaced, and without the copies."""
    t, ffi = door.tirx, door.ffi

    def read(load: Expr) -> Expr:
        copy = copies.get(load.source)
        if copy is None:
            return load
        found = coordinates_of(door, load.indices[0], copy.extents) or []
        at = dict(zip(copy.indices, found, strict=True))

        def index(var: Expr) -> Expr:
            return at.get(var, var)

        return ffi.structural_map(copy.value, (t.Var, index))

    def is_left(statement: Stmt) -> bool:
        if isinstance(statement, t.AllocBuffer):
            return statement.buffer not in copies
        copy = copy_of(door, statement)
        return copy is None or copy.buffer not in copies

    def sequence(statements: Stmt) -> Stmt:
        return Nodes(door).sequence([each for each in statements.seq if is_left(each)])

    read_anew = ffi.structural_map(body, (door.tvm.ir.TensorLoad, read))
    return ffi.structural_map(read_anew, (t.SeqStmt, sequence))

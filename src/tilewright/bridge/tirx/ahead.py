"""Pipelines with a window: what a later trip copies is asked for while the trips before it still compute.

A cut between two stages is proved: what stands before it could run ahead of what stands behind it. Then the copies of
arguments before the cut are known early, and a trip asks the caches for those of the trip `window - 1` further on. No
number changes, since asking has no result. A guard goes along, so that no address outside of an argument is formed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.bridge.tirx.copies import Copy, copy_of, is_cell
from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Nodes, Stmt
from tilewright.bridge.tirx.providers.proofs import Proofs
from tilewright.bridge.tirx.realised import Realised
from tilewright.bridge.tirx.traffic import loads_in, stores_in, traffic_of

__all__ = ["MOST_BYTES", "ask_ahead"]

PIPELINE, WINDOW, INTERVAL, STAGE = "tile.pipeline", "tile.window", "tile.interval", "tile.stage"
_LAZY = "prim.if_then_else"
_LINE_BYTES = 64
MOST_BYTES = 256 << 10
"""Of all trips that are asked for at once: a part of the second cache of any processor."""


def ask_ahead(door: Door, function: Any, *, noalias: bool) -> Realised:
    """The function with its requests, and a reason a pipeline or tile for which there are none."""
    pipelines = _Pipelines(door, frozenset(function.params), noalias=noalias)
    body = pipelines.statement(function.body)
    if not pipelines.found:
        return Realised(function)
    counters = {"tiles asked for ahead": pipelines.tiles}
    return Realised(function.with_body(body), counters, tuple(dict.fromkeys(pipelines.declined)))


class _DeclinedError(Exception):
    """Leaves a pipeline as it is, with the reason."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """The statements of a pipeline's body on both sides of a mark, and the buffers that each trip has anew."""

    before: tuple[Stmt, ...]
    behind: tuple[Stmt, ...]
    own: frozenset[Buffer]


class _Pipelines:
    """One walk over the loops of a function."""

    def __init__(self, door: Door, arguments: frozenset[Buffer], *, noalias: bool) -> None:
        self._door, self._t, self._n, self._proofs = door, door.tirx, Nodes(door), Proofs(door)
        self._arguments, self._noalias = arguments, noalias
        self.found = self.tiles = 0
        self.declined: list[str] = []

    def statement(self, statement: Stmt) -> Stmt:
        t = self._t
        match statement:
            case t.For():
                notes, extents = dict(statement.annotations), (statement.min, statement.extent)
                asks = PIPELINE in notes and int(notes[WINDOW]) > 1  # of the body as it is; inner ones come after
                body = self.statement(self._body(statement) if asks else statement.body)
                return t.For(statement.loop_var, *extents, statement.kind, body, annotations=notes)
            case t.SeqStmt():
                return t.SeqStmt([self.statement(each) for each in statement.seq])
            case t.IfThenElse():
                return t.IfThenElse(statement.condition, self.statement(statement.then_case), statement.else_case)
            case _:
                return statement

    def _body(self, loop: Stmt) -> Stmt:
        """The body of a pipeline that has a window."""
        self.found += 1
        try:
            cut, asked = self._asked(loop)
        except _DeclinedError as error:
            self.declined.append(f"nothing is asked for ahead in a pipeline of {int(loop.extent.value)} trips: {error}")
            return loop.body
        return self._n.sequence([*cut.before, asked, *cut.behind])

    def _asked(self, loop: Stmt) -> tuple[_Cut, Stmt]:
        distance = int(loop.annotations[WINDOW]) - 1
        if int(loop.annotations[INTERVAL]) != 1:
            raise _DeclinedError(f"its interval is {int(loop.annotations[INTERVAL])}")
        if int(loop.extent.value) <= distance:
            raise _DeclinedError("it has no more trips than its window")
        cut = self._proved(_cuts(self._t, loop.body))
        later = self._n.add(loop.loop_var, self._n.i64(distance))
        known = self._named(cut, {loop.loop_var: later})
        copies = [copy for each in cut.before if (copy := copy_of(self._door, each)) is not None]
        if distance * sum(_bytes(self._door, copy) for copy in copies) > MOST_BYTES:
            raise _DeclinedError(f"its window holds more than {MOST_BYTES >> 10} KiB")
        nests = [nest for copy in copies if (nest := self._nest(copy, loop.loop_var, known)) is not None]
        if not nests:
            raise _DeclinedError("no copy of an argument moves with its trips")
        self.tiles += len(nests)
        return cut, self._n.if_(self._n.lt(later, loop.extent), self._n.sequence(nests))

    # ---- cuts

    def _proved(self, cuts: Sequence[_Cut]) -> _Cut:
        """The last cut that holds; the reason of the first one that does not."""
        if not cuts:
            raise _DeclinedError("it has fewer than two stages")
        reasons = list[str]()
        for cut in reversed(cuts):
            reason = self._objection(cut)
            if not reason:
                return cut
            reasons.append(reason)
        raise _DeclinedError(reasons[-1])

    def _objection(self, cut: _Cut) -> str:
        """Why what stands before the cut may not run ahead of what stands behind it."""
        n = self._n
        opaque = traffic_of(self._door, n.sequence([*cut.before, *cut.behind])).opaque
        if opaque:
            return f"the effects of {opaque} are not known"
        before, behind = (_Touched.of(self._door, side, cut.own) for side in (cut.before, cut.behind))
        met = (before.written & (before.read | behind.read | behind.written)) | (behind.written & before.read)
        if met:
            return f"both sides of a cut touch {min(str(buffer.name) for buffer in met)}, or trips do"
        writes = (before.written | behind.written) & self._arguments
        if writes and not self._noalias:
            return f"{min(str(buffer.name) for buffer in writes)} is stored to, and may be another argument"
        return "" if before.handed & behind.taken else "nothing goes across a cut"

    # ---- what is asked for

    def _named(self, cut: _Cut, trip: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
        """The names and cells of a trip as expressions of a later one."""
        t, found = self._t, dict(trip)
        stores = Counter(buffer for each in (*cut.before, *cut.behind) for buffer in stores_in(self._door, each))
        once = {buffer for buffer in cut.own if stores[buffer] == 1 and is_cell(t, buffer)}
        for each in cut.before:
            if isinstance(each, t.Bind):
                found[each.var] = self._at(each.value, found)
            elif isinstance(each, t.BufferStore) and each.buffer in once:
                found[each.buffer] = self._at(each.value, found)
        return found

    def _at(self, value: Expr, known: Mapping[Expr, Expr]) -> Expr:
        def named(var: Expr) -> Expr:
            return var if self._t.is_buffer_var(var) else known.get(var, var)

        def cell(load: Expr) -> Expr:
            return known.get(load.source, load)

        ffi = self._door.ffi
        return ffi.structural_map(ffi.structural_map(value, (self._t.Var, named)), (self._door.tvm.ir.TensorLoad, cell))

    def _nest(self, copy: Copy, trip: Expr, known: Mapping[Expr, Expr]) -> Stmt | None:
        """Loops that ask for each line of what a later trip copies; None if that is no argument, or always the same."""
        ir = self._door.tvm.ir
        lazy = isinstance(copy.value, ir.Call) and str(copy.value.op.name) == _LAZY
        guard, load = (copy.value.args[0], copy.value.args[1]) if lazy else (None, copy.value)
        if not isinstance(load, ir.TensorLoad) or load.source not in self._arguments:
            return None
        there = [self._at(index, known) for index in load.indices]
        later = None if guard is None else self._at(guard, known)
        if not any(self._proofs.mentions(index, trip) for index in there):
            return None
        read = [each for place in (*there, later) if place is not None for each in loads_in(self._door, place)]
        line = self._line(copy, load)
        if read or line is None:
            reason = f"its place is read from {read[0].source.name}" if read else "its elements lie apart"
            self.declined.append(f"{copy.buffer.name} is not asked for ahead: {reason}")
            return None
        return self._loops(copy, line, self._n.load(load.source, there), later)

    def _line(self, copy: Copy, load: Expr) -> int | None:
        """The axis along which neighbours lie beside each other."""
        *outer, last = load.indices
        for axis, index in enumerate(copy.indices):
            along = self._proofs.start_of_run(last, index) is not None
            if along and not any(self._proofs.mentions(each, index) for each in outer):
                return axis
        return None

    def _loops(self, copy: Copy, line: int, at: Expr, guard: Expr | None) -> Stmt:
        n, t = self._n, self._t
        step = _LINE_BYTES // n.itemsize(n.dtype(at))
        fresh = {index: n.var(f"{index.name}a", "int64") for index in copy.indices}
        places = {
            index: n.mul(var, n.i64(step)) if axis == line else var for axis, (index, var) in enumerate(fresh.items())
        }
        made: Stmt = t.Evaluate(n.prefetch(self._at(at, places)))
        if guard is not None:
            made = n.if_(self._at(guard, places), made)
        for axis, (index, extent) in reversed(list(enumerate(zip(copy.indices, copy.extents, strict=True)))):
            made = n.for_(fresh[index], -(-extent // step) if axis == line else extent, made, {})
        return made


@dataclass(frozen=True, slots=True)
class _Touched:
    """Buffers that outlive a trip and are read or written, and those of the trip that are handed on or taken."""

    read: frozenset[Buffer]
    written: frozenset[Buffer]
    handed: frozenset[Buffer]
    taken: frozenset[Buffer]

    @staticmethod
    def of(door: Door, statements: Sequence[Stmt], own: frozenset[Buffer]) -> "_Touched":
        read = frozenset(load.source for each in statements for load in loads_in(door, each))
        written = frozenset(buffer for each in statements for buffer in stores_in(door, each))
        inner = own | _allocated(door, statements)
        return _Touched(read - inner, written - inner, written & own, read & own)


def _allocated(door: Door, statements: Sequence[Stmt]) -> frozenset[Buffer]:
    found = list[Stmt]()
    for each in statements:
        door.ffi.structural_walk(each, [(door.tirx.AllocBuffer, found.append)], order="pre")
    return frozenset(each.buffer for each in found)


def _cuts(t: Any, body: Stmt) -> list[_Cut]:
    """One at each mark but the first."""
    if not isinstance(body, t.SeqStmt):
        return []
    members = list(body.seq)
    own = frozenset(each.buffer for each in members if isinstance(each, t.AllocBuffer))
    marks = [at for at, each in enumerate(members) if isinstance(each, t.AttrStmt) and str(each.attr_key) == STAGE]
    return [_Cut(tuple(members[:at]), tuple(members[at:]), own) for at in marks[1:]]


def _bytes(door: Door, copy: Copy) -> int:
    size = Nodes(door).itemsize(str(copy.buffer.dtype))
    for extent in copy.extents:
        size *= extent
    return size

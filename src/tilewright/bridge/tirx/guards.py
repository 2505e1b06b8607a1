"""Guards that differ by lane: a pack in which all of them hold in every lane needs none of them.

Such a pack has two arms. The fast one is taken when the guards hold in all lanes, interior ones too, and stands without
them; the other is the loop as it was. Only whole numbers that are known before the pack are asked for early: nothing
that could trap, and nothing from memory. A condition that the loop does not evaluate in every lane anyway must also be
proved to stay inside 64 bits.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.lanes import LAZY, Lane
from tilewright.bridge.tirx.nodes import Expr, Nodes, Stmt
from tilewright.bridge.tirx.ranges import Ranges

__all__ = [
    "MOST_GUARDS",
    "Guarded",
    "Lanes",
    "conjuncts_of",
    "easiest_lane",
    "every_lane",
    "guarded_by",
    "settled",
    "too_many",
]

MOST_GUARDS = 8


@dataclass(frozen=True, slots=True)
class Guarded:
    """A body that is only right where all `guards` hold in every lane."""

    guards: tuple[Expr, ...]
    body: Stmt


@dataclass(frozen=True, slots=True)
class Lanes:
    """One side of a pack: its indices of a loop, from `first` on."""

    lane: Lane
    first: Expr
    width: int


def too_many(found: Guarded) -> str:
    """Why no pack is worth asking for so many guards; empty if it may be."""
    return f"more than {MOST_GUARDS} guards differ by element" if len(found.guards) > MOST_GUARDS else ""


def guarded_by(door: Door, lanes: Sequence[Lane], ranges: Ranges, body: Stmt) -> Guarded:
    """The body without the guards that differ by lane, as far as they may be asked for early."""
    finder = _Finder(door, lanes, ranges)
    finder.statement(body, certain=True)
    return Guarded(tuple(finder.guards), settled(door, finder.guards, body, holds=True))


def every_lane(door: Door, sides: Sequence[Lanes], guards: Iterable[Expr]) -> Expr:
    """That the guards hold everywhere in a pack. Along a side where a guard only gets harder, one lane decides."""
    n, terms = Nodes(door), list[Expr]()
    for guard in guards:
        for numbers in product(*(_deciding(door.tirx, side, guard) for side in sides)):
            at = {s.lane.index: n.add(s.first, n.i64(number)) for s, number in zip(sides, numbers, strict=True)}

            def index(var: Expr, at: Mapping[Expr, Expr] = at) -> Expr:
                return at.get(var, var)

            terms.append(door.ffi.structural_map(guard, (door.tirx.Var, index)))
    return reduce(door.tirx.And, terms)


def _deciding(t: Any, side: Lanes, guard: Expr) -> Iterable[int]:
    if not side.lane.varies(guard):
        return (0,)
    harder = _gets_harder(t, side.lane, guard)
    return range(side.width) if harder is None else (side.width - 1 if harder else 0,)


def easiest_lane(t: Any, lane: Lane, guard: Expr, width: int) -> int | None:
    """Where a guard holds if it does in any lane of a pack; None where that is not one place."""
    harder = _gets_harder(t, lane, guard)
    return None if harder is None else 0 if harder else width - 1


def _gets_harder(t: Any, lane: Lane, guard: Expr) -> bool | None:
    """Whether a guard that holds in a lane holds in those before it, or else in those after it; None for neither."""
    if not isinstance(guard, (t.LT, t.LE, t.GT, t.GE)):
        return None
    a, b = lane.slope(guard.a), lane.slope(guard.b)
    if a is None or b is None:
        return None
    return a >= b if isinstance(guard, (t.LT, t.LE)) else a <= b


class _Finder:
    """The guards of a body that may be asked for before it. `certain` is what every lane evaluates in any case."""

    def __init__(self, door: Door, lanes: Sequence[Lane], ranges: Ranges) -> None:
        self._door, self._t, self._lanes, self._ranges = door, door.tirx, lanes, ranges
        self._inside: list[Expr] = []
        self.guards: list[Expr] = []

    def statement(self, statement: Stmt, *, certain: bool) -> None:
        """Enters the guards of a statement."""
        t = self._t
        match statement:
            case t.SeqStmt():
                for each in statement.seq:
                    self.statement(each, certain=certain)
            case t.For():
                self._inside.append(statement.loop_var)
                runs = isinstance(statement.extent, t.IntImm) and int(statement.extent.value) > 0
                self.statement(statement.body, certain=certain and runs)
            case t.IfThenElse():
                self._condition(statement.condition, certain=certain)
                self.statement(statement.then_case, certain=False)
            case t.BufferStore():
                self._expression(statement.value, certain=certain)
            case _:
                pass

    def _expression(self, e: Expr, *, certain: bool) -> None:
        result = self._door.ffi.WalkResult

        def visit(call: Expr) -> Any:
            if str(call.op.name) != LAZY:
                return result.ADVANCE
            self._condition(call.args[0], certain=certain)
            for arm in call.args[1:]:
                self._expression(arm, certain=False)
            return result.SKIP

        self._door.ffi.structural_walk(e, [(self._door.tvm.ir.Call, visit)], order="pre")

    def _condition(self, condition: Expr, *, certain: bool) -> None:
        for guard in conjuncts_of(self._t, condition):
            known = any(self._door.ffi.structural_equal(guard, each) for each in self.guards)
            varies = any(lane.varies(guard) for lane in self._lanes)
            early = varies and self._is_plain(guard) and (certain or self._is_bounded(guard))
            if early and not known:
                self.guards.append(guard)

    def _is_bounded(self, guard: Expr) -> bool:
        t = self._t
        match guard:
            case t.And() | t.Or():
                return self._is_bounded(guard.a) and self._is_bounded(guard.b)
            case t.Not():
                return self._is_bounded(guard.a)
            case t.EQ() | t.LT() | t.LE() | t.GT() | t.GE():
                return self._ranges.is_known(guard.a) and self._ranges.is_known(guard.b)
            case _:
                return False

    def _is_plain(self, e: Expr) -> bool:
        """Whether it is made of whole numbers that are known before the pack, by what cannot trap."""
        t = self._t
        match e:
            case t.Var():
                return not any(e.same_as(index) for index in self._inside)
            case t.IntImm():
                return True
            case t.Not():
                return self._is_plain(e.a)
            case t.FloorDiv() | t.FloorMod():
                return self._is_plain(e.a) and isinstance(e.b, t.IntImm) and int(e.b.value) > 0
            case t.Add() | t.Sub() | t.Mul() | t.Min() | t.Max() | t.And() | t.Or():
                return self._is_plain(e.a) and self._is_plain(e.b)
            case t.EQ() | t.LT() | t.LE() | t.GT() | t.GE():
                return self._is_plain(e.a) and self._is_plain(e.b)
            case _:
                return False


def conjuncts_of(t: Any, condition: Expr) -> Iterator[Expr]:
    """What has to hold for a condition to hold."""
    if isinstance(condition, t.And):
        yield from conjuncts_of(t, condition.a)
        yield from conjuncts_of(t, condition.b)
    else:
        yield condition


def settled(door: Door, guards: Iterable[Expr], body: Stmt, *, holds: bool) -> Stmt:
    """The body with the guards taken for true, or in lazy choices for false."""
    t, ffi = door.tirx, door.ffi
    answer, never = t.IntImm("bool", int(holds)), t.IntImm("bool", 0)

    def truth(e: Expr) -> int | None:
        return int(e.value) if isinstance(e, t.IntImm) and str(e.ty) == "bool" else None

    def fact(e: Expr) -> Expr:
        return answer if any(ffi.structural_equal(e, guard) for guard in guards) else e

    def both(e: Expr) -> Expr:
        known = {truth(e.a): e.b, truth(e.b): e.a}
        return never if 0 in known else known.get(1, e)

    def arm(call: Expr) -> Expr:
        chosen = truth(call.args[0]) if str(call.op.name) == LAZY else None
        return call if chosen is None else call.args[1 if chosen else 2]

    def then(statement: Stmt) -> Stmt:
        return statement.then_case if truth(statement.condition) == 1 else statement

    facts = (t.EQ, t.LT, t.LE, t.GT, t.GE, t.Not, t.Or)
    return ffi.structural_map(body, [(facts, fact), (t.And, both), (door.tvm.ir.Call, arm), (t.IfThenElse, then)])

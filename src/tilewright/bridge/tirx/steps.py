"""Ordered loops with a guard that holds up to some step and not from there on: two loops that do not ask.

A block of K that ends outside a matrix is such a loop. Every step is taken, in its order; those beyond compute with the
fill.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.guards import conjuncts_of, settled
from tilewright.bridge.tirx.lanes import LAZY, Lane
from tilewright.bridge.tirx.nodes import Expr, Nodes, Stmt
from tilewright.bridge.tirx.ranges import Ranges

__all__ = ["Stretch", "stretches_of"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many steps of a loop from one on, and its body in those."""

    first: Expr
    count: Expr
    body: Stmt


def stretches_of(door: Door, ranges: Ranges, loop: Stmt, varies: Callable[[Expr], bool]) -> tuple[Stretch, ...]:
    """A loop in stretches, by a guard that does not vary between what goes through the loop together."""
    guard = next((each for each in _guards(door, loop.body) if _turns(door, ranges, loop, each, varies)), None)
    if guard is None:
        return (Stretch(loop.min, loop.extent, loop.body),)
    n, t = Nodes(door), door.tirx

    def at_first(var: Expr) -> Expr:
        return n.i64(0) if var.same_as(loop.loop_var) else var

    left = n.sub(guard.b, door.ffi.structural_map(guard.a, (t.Var, at_first)))
    steps = n.min(n.max(left, n.i64(0)), loop.extent)
    held, failed = (settled(door, [guard], loop.body, holds=holds) for holds in (True, False))
    return Stretch(n.i64(0), steps, held), Stretch(steps, n.sub(loop.extent, steps), failed)


def _guards(door: Door, body: Stmt) -> Iterator[Expr]:
    """What lazy choices ask, but for what conditions of statements ask too."""
    t, calls, conditions = door.tirx, list[Expr](), list[Stmt]()
    visits = [(door.tvm.ir.Call, calls.append), (t.IfThenElse, conditions.append)]
    door.ffi.structural_walk(body, visits, order="pre")
    asked = [guard for each in conditions for guard in conjuncts_of(t, each.condition)]
    for call in calls:
        if str(call.op.name) == LAZY:
            for guard in conjuncts_of(t, call.args[0]):
                if not any(door.ffi.structural_equal(guard, each) for each in asked):
                    yield guard


def _turns(door: Door, ranges: Ranges, loop: Stmt, guard: Expr, varies: Callable[[Expr], bool]) -> bool:
    """Whether it is `place + step < end` of known whole numbers that stay inside 64 bits."""
    t, inner = door.tirx, list[Any]()
    if not isinstance(guard, t.LT) or varies(guard) or int(loop.min.value):
        return False
    door.ffi.structural_walk(loop.body, [(t.For, inner.append)], order="pre")
    if any(Lane(door, each.loop_var, 1).varies(guard) for each in inner):
        return False
    step = Lane(door, loop.loop_var, 1)
    return step.slope(guard.a) == 1 and not step.varies(guard.b) and all(map(ranges.is_known, (guard.a, guard.b)))

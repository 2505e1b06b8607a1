"""Ordered loops in stretches: where a guard that all elements share ends, and where the loop stays as it is."""

from collections.abc import Callable
from typing import Any

import pytest

from examples.gallery.gemm import gemm
from tilewright.bridge.tirx import TirxOptions, TirxPlanner, lower
from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.lanes import Lane
from tilewright.bridge.tirx.nodes import Nodes
from tilewright.bridge.tirx.ranges import Ranges
from tilewright.bridge.tirx.steps import Stretch, stretches_of
from tilewright.tile import tensor_shape

Guard = Callable[[Nodes, Any, Any, Any], Any]
FORWARDED = TirxOptions(
    noalias=True, forward_readonly_tile_loads=True, auto_vectorize=True, planner=TirxPlanner(max_cpu_vector_lanes=128)
)


def test_a_block_that_ends_outside_asks_nothing_in_its_steps() -> None:
    kernel = gemm.capture(tensor_shape(16, 7), tensor_shape(7, 32), tensor_shape(16, 32), bm=16, bn=32, bk=4)
    assert "if_then_else" in lower(kernel, TirxOptions(noalias=True, forward_readonly_tile_loads=True)).text()
    assert "if_then_else" not in lower(kernel, FORWARDED).text()


def stretches(guard: Guard, *, first: int = 0, stored: bool = False) -> tuple[Nodes, Any, tuple[Stretch, ...]]:
    """Of a loop of 8 steps k over a read behind `guard(nodes, block, k, lane)`, block in 0..3."""
    n = Nodes(open_door())
    x, t = (n.buffer(name, "float32", [64], alignment=4) for name in "xt")
    block, k, lane = (n.var(name, "int64") for name in ("block", "k", "lane"))
    asked = guard(n, block, k, lane)
    body = n.store(t, n.lazily(asked, n.load(x, [k]), n.float_("float32", 2.5)), [lane])
    kind = n.door.tirx.ForKind.SERIAL
    loop = n.door.tirx.For(k, n.i64(first), n.i64(8), kind, n.if_(asked, body) if stored else body)
    ranges = Ranges(n.door, n.for_(block, 4, n.for_(lane, 16, loop, {}), {}))
    return n, block, stretches_of(n.door, ranges, loop, Lane(n.door, lane, 16).varies)


def ends(n: Nodes, block: Any, k: Any, _lane: Any) -> Any:
    """At the 11th step of all blocks."""
    return n.lt(n.add(n.mul(block, n.i64(8)), k), n.i64(11))


def of_a_lane(n: Nodes, _block: Any, k: Any, lane: Any) -> Any:
    return n.lt(n.add(lane, k), n.i64(11))


def of_the_unknown(n: Nodes, _block: Any, k: Any, _lane: Any) -> Any:
    return n.lt(n.add(n.var("free", "int64"), k), n.i64(11))


def begins(n: Nodes, _block: Any, k: Any, _lane: Any) -> Any:
    return n.ge(k, n.i64(3))


def every_other(n: Nodes, _block: Any, k: Any, _lane: Any) -> Any:
    return n.lt(n.mul(k, n.i64(2)), n.i64(11))


@pytest.mark.parametrize(("block", "steps"), [(0, 8), (1, 3), (2, 0), (3, 0)])
def test_every_step_is_taken_once_and_knows_its_guard(block: int, steps: int) -> None:
    n, index, found = stretches(ends)
    assert len(found) == 2

    def chosen(var: Any) -> Any:
        return n.i64(block) if var.same_as(index) else var

    def number(e: Any) -> int:
        at = n.door.ffi.structural_map(e, (n.door.tirx.Var, chosen))
        return int(n.door.tvm.sym.Analyzer().simplify(at).value)

    assert [(number(each.first), number(each.count)) for each in found] == [(0, steps), (steps, 8 - steps)]
    assert ["x[k]" in str(each.body) for each in found] == [True, False]
    assert ["2.5" in str(each.body) for each in found] == [False, True]


@pytest.mark.parametrize("guard", [of_a_lane, of_the_unknown, begins, every_other])
def test_a_guard_that_does_not_end_at_one_step_for_all_stays(guard: Guard) -> None:
    assert len(stretches(guard)[2]) == 1


def test_loops_from_elsewhere_and_stores_under_the_guard_stay() -> None:
    assert len(stretches(ends, first=1)[2]) == 1
    assert len(stretches(ends, stored=True)[2]) == 1

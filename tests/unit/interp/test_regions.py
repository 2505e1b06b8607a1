"""Serial regions, pipelines, parallels, manual memory."""

import numpy as np
import pytest

from tests.unit.interp.hand import Hand, View, space
from tilewright import interp
from tilewright.core.dtypes import f32, i32, i64
from tilewright.core.errors import EffectError, InternalError
from tilewright.ir.attrs import Policy
from tilewright.ir.ops.regions import KernelOp, WhenOp
from tilewright.ir.ops.tiles import ExtractOp
from tilewright.ir.types import SpaceAttr


def test_carries_are_replaced_at_once() -> None:
    h = Hand(x=View(i32, (2,)))
    with h.parallel(space(p=1)):
        with h.serial(space(k=3), h.const(1, i32), h.const(2, i32)) as loop:
            loop.yields(loop.carries[1], loop.carries[0])
        h.set(h.x, [h.index(0)], loop.results[0])
        h.set(h.x, [h.index(1)], loop.results[1])
    x = np.zeros(2, "i4")
    interp.run(h.kernel(), [x])
    assert x.tolist() == [2, 1]


@pytest.mark.parametrize("kind", ["serial", "pipeline", "reduce"])
def test_no_trips_keep_the_initial_values(kind: str) -> None:
    h = Hand(x=View(i32, (1,)))
    with h.parallel(space(p=1)) as p:
        with getattr(h, kind)(space(k=3, l=0), h.const(7, i32)) as loop:
            loop.yields(h.const(0, i32))
        h.set(h.x, p.indices, loop.results[0])
    x = np.zeros(1, "i4")
    interp.run(h.kernel(), [x])
    assert x[0] == 7


def test_iterations_are_lexicographic_in_axis_order() -> None:
    h = Hand(x=View(i64, (1,)))
    with h.parallel(space(p=1)) as p:
        with h.serial(space(a=2, b=3), h.index(0)) as loop:
            here = h.do("add", h.do("mul", loop.indices[0], h.index(3)), loop.indices[1])
            loop.yields(h.do("add", h.do("mul", loop.carries[0], h.index(10)), here))
        h.set(h.x, p.indices, loop.results[0])
    x = np.zeros(1, "i8")
    interp.run(h.kernel(), [x])
    assert x[0] == 12345


@pytest.mark.parametrize("order", [None, "reverse", 3])
def test_the_order_of_instances_is_asked_for_and_covers_all(order: int | str | None) -> None:
    h = Hand(x=View(i32, (6,)), n=View(i32, (1,)))
    with h.parallel(space(a=2, b=3)) as p:
        at = h.do("add", h.do("mul", p.indices[0], h.index(3)), p.indices[1])
        h.set(h.x, [at], h.get(h.n, h.index(0)))
        h.set(h.n, [h.index(0)], h.do("add", h.get(h.n, h.index(0)), h.const(1, i32)))
    x, n = np.full(6, -1, "i4"), np.zeros(1, "i4")
    interp.run(h.unverified(), [x, n], order=order, check=interp.Checks(races=False))  # type: ignore[arg-type]
    assert sorted(x.tolist()) == list(range(6))
    expected = {None: list(range(6)), "reverse": list(range(5, -1, -1))}.get(order)  # type: ignore[arg-type]
    assert x.tolist() == expected if expected else x.tolist() != list(range(6))


def test_nested_parallels_run_every_pair() -> None:
    h = Hand(x=View(i32, (2, 3)))
    with h.parallel(space(a=2)) as outer, h.parallel(space(b=3)) as inner:
        here = h.do("add", h.do("mul", outer.indices[0], h.index(3)), inner.indices[0])
        h.set(h.x, [outer.indices[0], inner.indices[0]], h.cast(here, i32))
    x = np.zeros((2, 3), "i4")
    interp.run(h.kernel(), [x], order=5)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_empty_parallel_does_nothing() -> None:
    h = Hand(x=View(i32, (1,)))
    with h.parallel(space(p=0)) as p:
        h.set(h.x, p.indices, h.const(1, i32))
    x = np.zeros(1, "i4")
    interp.run(h.kernel(), [x])
    assert x[0] == 0


def _memory(store_first: bool = True) -> Hand:
    h = Hand(x=View(f32, (2,)), y=View(f32, (2,)))
    with h.parallel(space(p=1)) as p:
        memory, state = h.memory(f32, space(m=2))
        if store_first:
            state = h.memory_store(memory, state, h.load(h.x, p.indices, space(m=2)))
        old = h.memory_load(memory, state)
        with h.serial(space(k=3), state) as loop:
            now = h.memory_load(memory, loop.carries[0])
            loop.yields(h.memory_store(memory, loop.carries[0], h.do("add", now, now)))
        h.store(h.y, p.indices, h.do("sub", h.memory_load(memory, loop.results[0]), old))
    return h


def test_memory_states_thread_through_loops_and_loads_are_snapshots() -> None:
    y = np.zeros(2, "f4")
    interp.run(_memory().kernel(), [np.asarray([1, 2], "f4"), y])
    assert y.tolist() == [7, 14]


def test_memory_is_poison_before_the_first_store() -> None:
    with pytest.raises(EffectError, match="it is loaded before the first store"):
        interp.run(_memory(store_first=False).unverified(), [np.zeros(2, "f4"), np.zeros(2, "f4")])


def test_memory_is_fresh_in_every_instance() -> None:
    h = Hand(x=View(f32, (2,)))
    with h.parallel(space(p=2)) as p:
        memory, state = h.memory(f32, space(m=1))
        written = h.memory_store(memory, state, h.const(1, f32, space(m=1)))
        h.store(h.x, p.indices, h.memory_load(memory, written))
    x = np.zeros(2, "f4")
    interp.run(h.kernel(), [x])
    assert x.tolist() == [1, 1]


def test_a_stale_memory_state_is_refused() -> None:
    h = Hand(x=View(f32, (1,)))
    with h.parallel(space(p=1)) as p:
        memory, state = h.memory(f32, space(m=1))
        first = h.memory_store(memory, state, h.const(1, f32, space(m=1)))
        h.memory_store(memory, first, h.const(2, f32, space(m=1)))
        h.store(h.x, p.indices, h.memory_load(memory, first))
    with pytest.raises(EffectError, match="not the one that the last store left"):
        interp.run(h.unverified(), [np.zeros(1, "f4")])


def test_an_operation_without_meaning_is_our_bug() -> None:
    h = Hand()
    h.put(KernelOp("inner", []))
    with pytest.raises(InternalError, match=r"tile\.kernel has no meaning inside a kernel"):
        interp.run(h.unverified(), [])


def test_a_value_that_escaped_its_region_is_our_bug() -> None:
    h = Hand(x=View(i32, (1,)))
    with h.parallel(space(p=1)):
        with h.map(i32, SpaceAttr.of(())) as points:
            inside = h.const(1, i32)
            points.yields(inside)
        h.set(h.x, [h.index(0)], inside)
    with pytest.raises(InternalError, match="used where it is not defined"):
        interp.run(h.unverified(), [np.zeros(1, "i4")])


def test_a_rank_zero_map_is_one_point() -> None:
    h = Hand(x=View(i32, (3,)), y=View(i32, (1,)))
    with h.parallel(space(p=1)) as p:
        total = h.fold(h.load(h.x, p.indices, space(m=3)), "m", "add", 0, Policy.FOLD_LEFT)
        h.set(h.y, p.indices, h.put(ExtractOp(total, [])).result)
    y = np.zeros(1, "i4")
    interp.run(h.kernel(), [np.asarray([1, 2, 3], "i4"), y])
    assert y[0] == 6


@pytest.mark.parametrize("kind", ["serial", "pipeline", "reduce"])
def test_an_iteration_ends_where_its_condition_is_false(kind: str) -> None:
    """Carries stay as they are, stores do not happen, and the next iteration goes on."""
    h = Hand(x=View(i64, (5,)), y=View(i64, (1,)))
    with h.parallel(space(p=1)) as p:
        with getattr(h, kind)(space(k=5), h.index(1), h.index(7)) as loop:
            k = loop.indices[0]
            h.put(WhenOp(h.do("ne", h.do("floor_mod", k, h.index(2)), h.index(0))))
            h.set(h.x, [k], loop.carries[0])
            loop.yields(h.do("add", loop.carries[0], k), loop.carries[0])
        h.set(h.y, p.indices, h.do("mul", loop.results[0], loop.results[1]))
    x, y = np.full(5, -1, "i8"), np.zeros(1, "i8")
    interp.run(h.kernel(), [x, y])
    assert x.tolist() == [-1, 1, -1, 2, -1]
    assert y[0] == 5 * 2


def test_only_the_innermost_region_ends_its_iteration() -> None:
    h = Hand(y=View(i64, (1,)))
    with h.parallel(space(p=1)) as p:
        with h.serial(space(a=3), h.index(0)) as outer:
            with h.serial(space(b=4), outer.carries[0]) as inner:
                h.put(WhenOp(h.do("lt", inner.indices[0], outer.indices[0])))
                inner.yields(h.do("add", inner.carries[0], h.index(1)))
            outer.yields(h.do("add", inner.results[0], h.index(100)))
        h.set(h.y, p.indices, outer.results[0])
    y = np.zeros(1, "i8")
    interp.run(h.kernel(), [y])
    assert y[0] == 300 + 0 + 1 + 2

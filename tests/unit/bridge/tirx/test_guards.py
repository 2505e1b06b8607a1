"""Guards that differ by lane: packs in which all hold go without them, the others as before."""

from typing import Any

import numpy as np
import pytest

from examples.gallery.gemm import gemm
from tilewright import tile
from tilewright.bridge.tirx import TirxOptions, compile
from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.guards import MOST_GUARDS, Lanes, every_lane
from tilewright.bridge.tirx.lanes import Lane
from tilewright.bridge.tirx.nodes import Nodes
from tilewright.bridge.tirx.packs import pack
from tilewright.bridge.tirx.realised import Realised
from tilewright.interp.run import run as interpret
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    axis,
    boolean,
    coord,
    f32,
    iota,
    parallel,
    shape,
    tensor_shape,
)

PACKED = TirxOptions(auto_vectorize=True)
BOTH = TirxOptions(noalias=True, forward_readonly_tile_loads=True, auto_vectorize=True)


@tile.kernel
def windows(X: ConstView1[f32], Y: View1[f32], *, start: int):
    """A window of X, 2.5 outside."""
    e = axis("e", 96)
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(e)).store(X.at(coord(start), shape(e)).load(fill=2.5) * 3.0)


@pytest.mark.parametrize("options", [PACKED, BOTH], ids=["packs", "forwarded"])
@pytest.mark.parametrize("start", [-21, 0, 7])
def test_every_pack_computes_what_it_did(start: int, options: TirxOptions) -> None:
    kernel = windows.capture(tensor_shape(70), tensor_shape(81), start=start)
    found = compile(kernel, options)
    assert found.lowered.plan.counters["guarded packs"] >= 1
    x = np.random.default_rng(1).standard_normal(70).astype("f4")
    want, got = np.zeros(81, "f4"), np.zeros(81, "f4")
    interpret(kernel, [x, want])
    found(x, got)
    assert want.tobytes() == got.tobytes()


@tile.kernel
def switched_off(X: ConstView2[boolean], Y: View2[boolean]):
    """Nothing of what a mask chose, in rows that end early."""
    m, n = axis("m", 4), axis("n", 7)
    for _ in parallel(shape(1)):
        chosen = X.at(coord(0, 0), shape(m, n)).load(fill=True, where=iota(n) < 8)
        Y.at(coord(0, 0), shape(m, n)).store(chosen & False)


def test_what_is_never_true_stays_so_where_the_guards_hold() -> None:
    """A conjunction with False is no guard that was asked for."""
    kernel = switched_off.capture(tensor_shape(4, 16, dtype=boolean), tensor_shape(4, 5, dtype=boolean))
    found = compile(kernel, PACKED)
    assert found.lowered.plan.counters["guarded packs"] >= 1
    got = np.ones((4, 5), np.bool_)
    found(np.ones((4, 16), np.bool_), got)
    assert not got.any()


def test_a_ragged_product_has_vector_multiply_adds_only_in_packs() -> None:
    kernel = gemm.capture(tensor_shape(9, 70), tensor_shape(70, 35), tensor_shape(9, 35), bm=8, bn=32, bk=64)
    found = compile(kernel, BOTH)
    assert "@llvm.fma.v16f32" in found.source
    assert "@llvm.fma.f32" not in found.source
    assert found.lowered.plan.counters["guarded packs"] == 2  # the product, and the store of its result
    scalar = compile(kernel, TirxOptions(noalias=True, forward_readonly_tile_loads=True)).source
    assert "@llvm.fma.f32" in scalar
    a, b = (
        np.random.default_rng(seed).standard_normal(size).astype("f4") for seed, size in ((1, (9, 70)), (2, (70, 35)))
    )
    want, got = np.zeros((9, 35), "f4"), np.zeros((9, 35), "f4")
    interpret(kernel, [a, b, want])
    found(a, b, got)
    assert want.tobytes() == got.tobytes()


# ---- when all lanes hold


def hold(guard: Any, first: int) -> bool:
    """Whether `guard(nodes, lane)` holds in the sixteen lanes from `first` on, as the pack asks."""
    n = Nodes(open_door())
    lane = n.var("lane", "int64")
    asked = every_lane(n.door, [Lanes(Lane(n.door, lane, 16), n.i64(first), 16)], [guard(n, lane)])
    return bool(int(n.door.tvm.sym.Analyzer().simplify(asked).value))


def below(n: Nodes, lane: Any) -> Any:
    return n.lt(lane, n.i64(20))


def above(n: Nodes, lane: Any) -> Any:
    return n.ge(lane, n.i64(4))


def falling(n: Nodes, lane: Any) -> Any:
    return n.le(n.i64(-4), n.sub(n.i64(12), lane))


def hole(n: Nodes, lane: Any) -> Any:
    return n.ne(lane, n.i64(9))


def stripes(n: Nodes, lane: Any) -> Any:
    return n.lt(n.floormod(lane, n.i64(32)), n.i64(16))


def either(n: Nodes, lane: Any) -> Any:
    return n.or_(n.lt(lane, n.i64(3)), n.gt(lane, n.i64(5)))


@pytest.mark.parametrize(
    ("guard", "begins"),
    [
        (below, {0: True, 4: True, 5: False}),
        (above, {3: False, 4: True, 9: True}),
        (falling, {0: True, 1: True, 2: False}),
        (hole, {0: False, 9: False, 10: True}),
        (stripes, {0: True, 32: True, 20: False, 24: False}),
        (either, {0: False, 6: True}),
    ],
)
def test_all_lanes_are_asked_interior_ones_too(guard: Any, begins: dict[int, bool]) -> None:
    assert {first: hold(guard, first) for first in begins} == begins


def test_one_lane_is_asked_where_it_decides() -> None:
    n = Nodes(open_door())
    lane, row = n.var("lane", "int64"), n.var("row", "int64")
    sides = [Lanes(Lane(n.door, row, 8), n.i64(0), 8), Lanes(Lane(n.door, lane, 16), n.i64(0), 16)]
    fits = n.lt(n.add(row, lane), n.i64(40))
    asked = every_lane(n.door, sides, [fits, n.ge(lane, n.i64(3))])
    assert str(asked).replace("T.int64", "") == "T.Add((0), (7)) + T.Add((0), (15)) < (40) and T.Add((0), (0)) >= (3)"


# ---- what is not asked for early


def packed(value: Any) -> Realised:
    """Of a loop of 16 that stores `value(nodes, lane, x, k)`, a sum over k in [0, trips)."""
    n = Nodes(open_door())
    x, y = (n.buffer(name, "float32", [64], alignment=4) for name in "xy")
    lane, k = n.var("lane", "int64"), n.var("k", "int64")
    store = n.store(y, value(n, lane, x, k), [lane])
    loop = n.for_(lane, 16, n.for_(k, 2, store, {}), {"tile.independent": 1})
    return pack(n.door, n.function("main", [x, y], loop, {}), noalias=True)


def guarded(n: Nodes, guard: Any, x: Any, lane: Any) -> Any:
    return n.lazily(guard, n.load(x, [lane]), n.float_("float32", 0.0))


def limit(n: Nodes, lane: Any, x: Any, _k: Any) -> Any:
    return guarded(n, n.lt(lane, n.i64(9)), x, lane)


def within_an_arm(n: Nodes, lane: Any, x: Any, k: Any) -> Any:
    """It is evaluated only where another guard holds, but it cannot overflow."""
    return n.lazily(n.lt(k, n.i64(1)), limit(n, lane, x, k), n.float_("float32", 1.0))


def too_large(n: Nodes, lane: Any, x: Any, _k: Any) -> Any:
    """It may leave 64 bits."""
    return guarded(n, n.lt(n.add(lane, n.var("free", "int64")), n.i64(9)), x, lane)


def too_large_within_an_arm(n: Nodes, lane: Any, x: Any, k: Any) -> Any:
    return n.lazily(n.lt(k, n.i64(1)), too_large(n, lane, x, k), n.float_("float32", 1.0))


def of_a_step(n: Nodes, lane: Any, x: Any, k: Any) -> Any:
    return guarded(n, n.lt(n.add(lane, k), n.i64(9)), x, lane)


def of_memory(n: Nodes, lane: Any, x: Any, _k: Any) -> Any:
    return guarded(n, n.gt(n.load(x, [lane]), n.float_("float32", 0.0)), x, lane)


def of_a_divisor(n: Nodes, lane: Any, x: Any, _k: Any) -> Any:
    return guarded(n, n.lt(n.floordiv(n.i64(9), lane), n.i64(3)), x, lane)


def of_many(n: Nodes, lane: Any, x: Any, _k: Any) -> Any:
    guard = n.lt(lane, n.i64(20))
    for more in range(MOST_GUARDS):
        guard = n.and_(guard, n.lt(lane, n.i64(30 + more)))
    return guarded(n, guard, x, lane)


@pytest.mark.parametrize(
    ("value", "early", "masked"),
    [
        (limit, 1, 1),
        (within_an_arm, 1, 1),
        (too_large, 1, 1),
        (too_large_within_an_arm, 0, 1),
        (of_a_step, 0, 1),
        (of_memory, 0, 1),
        (of_many, 0, 1),
        (of_a_divisor, 0, 0),
    ],
)
def test_only_what_cannot_go_wrong_is_asked_for_early(value: Any, early: int, masked: int) -> None:
    """A read that differs by lane and has no arm without guards goes under a mask, if its guard has a vector form."""
    found = packed(value)
    assert (found.counters["guarded packs"], found.counters["masked packs"]) == (early, masked)
    declined = [] if masked else ["whether an element is read differs by lane"]
    assert [line.partition(": ")[2] for line in found.declined] == declined


def test_a_loop_that_may_be_empty_says_nothing() -> None:
    n = Nodes(open_door())
    x, y = (n.buffer(name, "float32", [64], alignment=4) for name in "xy")
    lane, k = n.var("lane", "int64"), n.var("k", "int64")
    never = n.for_(k, 0, n.store(y, too_large(n, lane, x, k), [lane]), {})
    found = pack(n.door, n.function("main", [x, y], n.for_(lane, 16, never, {"tile.independent": 1}), {}), noalias=True)
    assert found.counters["guarded packs"] == 0

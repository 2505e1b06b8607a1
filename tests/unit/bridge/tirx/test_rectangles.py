"""Cartesian packs: rows that share an ordered loop, with the bits of rows that do not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from examples.gallery.gemm import gemm
from tilewright import tile
from tilewright.bridge.tirx import Compiled, TirxOptions, TirxPlanner, compile, lower
from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.nodes import Nodes
from tilewright.bridge.tirx.packs import pack
from tilewright.bridge.tirx.realised import Realised
from tilewright.bridge.tirx.rectangles import rows_of
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    ConstView3,
    View2,
    axis,
    coord,
    f32,
    mma,
    parallel,
    shape,
    tensor_shape,
)

WIDE = TirxPlanner(max_cpu_vector_lanes=128, max_cpu_stack_bytes=65536)
PACKED = TirxOptions(auto_vectorize=True, planner=WIDE)
FORWARDED = TirxOptions(auto_vectorize=True, planner=WIDE, noalias=True, forward_readonly_tile_loads=True)


@pytest.mark.parametrize(
    ("extent", "width", "budget", "rows"),
    [(64, 16, 128, 8), (64, 16, 64, 4), (64, 16, 32, 2), (7, 16, 128, 4), (1, 16, 128, 1), (64, 4, 128, 32)],
)
def test_rows_are_a_power_of_two_within_the_budget(extent: int, width: int, budget: int, rows: int) -> None:
    assert rows_of(extent, width, budget) == rows


def product(m: int, k: int, n: int, **tiles: int) -> Kernel:
    return gemm.capture(tensor_shape(m, k), tensor_shape(k, n), tensor_shape(m, n), **tiles)


def inner_loops(found: Compiled) -> list[str]:
    """Basic blocks with vector multiply-adds."""
    return [block for block in found.source.split("\n\n") if "@llvm.fma.v16f32(" in block]


def test_the_rows_of_a_product_stay_in_registers_and_share_their_loads() -> None:
    found = compile(product(32, 24, 32, bm=32, bn=32, bk=24), PACKED)
    assert found.lowered.plan.counters["packs of several rows"] == 1
    loops = [block for block in inner_loops(found) if "phi <16 x float>" in block]
    assert loops
    for block in loops:
        multiply_adds = block.count("@llvm.fma.v16f32(")
        assert block.count("phi <16 x float>") == 8
        assert block.count("load <16 x float>") == multiply_adds // 8
        assert "store" not in block


@pytest.mark.parametrize("options", [PACKED, FORWARDED], ids=["copies", "forwarded"])
@pytest.mark.parametrize("size", [(13, 5, 35), (8, 1, 16), (26, 12, 40)])
def test_every_rectangle_has_the_bits_of_the_ordered_product(size: tuple[int, int, int], options: TirxOptions) -> None:
    """Tiles of 13 x 35 elements leave rows and columns over; those at the edge of the matrix are padded."""
    kernel = product(*size, bm=13, bn=35, bk=5)
    found = compile(kernel, options)
    assert found.lowered.plan.counters["packs of several rows"] == 1
    m, k, n = size
    a, b = (np.random.default_rng(seed).standard_normal(s).astype("f4") for seed, s in ((1, (m, k)), (2, (k, n))))
    want, got = np.zeros((m, n), "f4"), np.zeros((m, n), "f4")
    interpret(kernel, [a, b, want])
    found(a, b, got)
    assert want.tobytes() == got.tobytes()


@tile.kernel
def bordered(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, top: int, left: int):
    """A product of windows that lie in part outside, with fills that are no zeros."""
    m, n, k = axis("m", 16), axis("n", 32), axis("k", 6)
    for _ in parallel(shape(1)):
        a = A.at(coord(top, 0), shape(m, k)).load(fill=2.5)
        b = B.at(coord(0, left), shape(k, n)).load(fill=-0.0)
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, tile.full(f32, shape(m, n), -0.0)))


@pytest.mark.parametrize(("top", "left"), [(-3, -5), (2, 7), (0, 0)])
def test_borders_keep_their_fill(top: int, left: int) -> None:
    kernel = bordered.capture(tensor_shape(16, 6), tensor_shape(6, 32), tensor_shape(16, 32), top=top, left=left)
    found = compile(kernel, FORWARDED)
    assert found.lowered.plan.counters["packs of several rows"] == 1
    a, b = (np.random.default_rng(seed).standard_normal(s).astype("f4") for seed, s in ((1, (16, 6)), (2, (6, 32))))
    want, got = np.zeros((16, 32), "f4"), np.zeros((16, 32), "f4")
    interpret(kernel, [a, b, want])
    found(a, b, got)
    assert want.tobytes() == got.tobytes()


@tile.kernel
def layers(X: ConstView3[f32], Y: View2[f32]):
    """Sums over the first axis, in order: each element has scalars of its own."""
    k, m, n = axis("k", X.shape[0]), axis("m", X.shape[1]), axis("n", X.shape[2])
    for _ in parallel(shape(1)):
        Y.at(coord(0, 0), shape(m, n)).store(tile.sum(X[coord(0, 0, 0), shape(k, m, n)], axis=k))


def test_every_row_has_its_own_scalars() -> None:
    found = compile(layers.capture(tensor_shape(7, 11, 37), tensor_shape(11, 37)), PACKED)
    assert found.lowered.plan.counters["packs of several rows"] == 1
    x = (np.random.default_rng(1).standard_normal((7, 11, 37)) * 1e3).astype("f4")
    want, got = np.zeros((11, 37), "f4"), np.zeros((11, 37), "f4")
    interpret(found.lowered.kernel, [x, want])
    found(x, got)
    assert want.tobytes() == got.tobytes()


@tile.kernel
def sums(X: ConstView1[f32], Y: View2[f32]):
    m, n = axis("m", 16), axis("n", 16)
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(n)]
        Y.at(coord(0, 0), shape(m, n)).store(tile.full(f32, shape(m, n), 1.0) + x)


def test_rows_without_an_ordered_loop_have_nothing_to_share() -> None:
    plan = lower(sums.capture(tensor_shape(16), tensor_shape(16, 16)), PACKED).plan
    assert plan.counters["packs of several rows"] == 0
    assert plan.counters["packed nests"] > 0
    assert not plan.declined


# ---- the proof on TIRx that no kernel of ours has

Element = Callable[[Nodes, Any, Any, Any, Any, Any], Any]


def packed(element: Element, *, first: int = 0, steps: int = 3) -> tuple[Realised, Nodes]:
    """Of `element(nodes, m, n, k, x, t)` in a nest of 16 x 16 from `first` on, a loop over k around it."""
    n = Nodes(open_door())
    x, t = (n.buffer(name, "float32", [4096], alignment=4) for name in "xt")
    row, column, k = (n.var(name, "int64") for name in "mnk")
    kind = n.door.tirx.ForKind.SERIAL
    body = n.for_(k, steps, element(n, row, column, k, x, t), {})
    for index, notes in ((column, {}), (row, {"tile.independent": n.door.tirx.IntImm("int32", 2)})):
        body = n.door.tirx.For(index, n.i64(first), n.i64(16), kind, body, annotations=notes)
    function = n.function("main", [x, t], body, {})
    return pack(n.door, function, noalias=True, budget=128), n


def place(n: Nodes, m: Any, column: Any, stride: int = 32) -> Any:
    return n.add(n.mul(m, n.i64(stride)), column)


def straight(n: Nodes, m: Any, column: Any, k: Any, x: Any, t: Any) -> Any:
    at = [place(n, m, column)]
    return n.store(t, n.add(n.load(t, at), n.load(x, [n.add(k, column)])), at)


def on_one_row(n: Nodes, _m: Any, column: Any, k: Any, x: Any, t: Any) -> Any:
    return n.store(t, n.load(x, [k]), [column])


def on_rows_that_meet(n: Nodes, m: Any, column: Any, k: Any, x: Any, t: Any) -> Any:
    return n.store(t, n.load(x, [k]), [place(n, m, column, stride=15)])


def on_rows_that_meet_in_time(n: Nodes, m: Any, column: Any, k: Any, x: Any, t: Any) -> Any:
    return n.store(t, n.load(x, [k]), [n.add(place(n, m, column), n.mul(k, n.i64(64)))])


def apart_in_time(n: Nodes, m: Any, column: Any, k: Any, x: Any, t: Any) -> Any:
    return n.store(t, n.load(x, [k]), [n.add(place(n, m, column), n.mul(k, n.i64(512)))])


def by_unknown_rows(n: Nodes, m: Any, column: Any, k: Any, x: Any, t: Any) -> Any:
    return n.store(t, n.load(x, [k]), [n.add(n.mul(n.floordiv(m, n.i64(2)), n.i64(32)), column)])


def stored_by_row(n: Nodes, m: Any, column: Any, k: Any, x: Any, t: Any) -> Any:
    return n.if_(n.gt(n.load(x, [m]), n.float_("float32", 0.0)), straight(n, m, column, k, x, t))


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        (straight, ""),
        (apart_in_time, ""),
        (on_one_row, "its rows may meet in t"),
        (on_rows_that_meet, "its rows may meet in t"),
        (on_rows_that_meet_in_time, "its rows may meet in t"),
        (by_unknown_rows, "its rows may meet in t"),
        (stored_by_row, "whether an element is stored differs by row"),
    ],
)
def test_the_proof_is_made_on_the_tirx_that_stands_there(element: Element, reason: str) -> None:
    found, _ = packed(element)
    assert found.counters["packed nests"] == 1  # one row at a time, where several are not proved
    assert found.counters["packs of several rows"] == int(not reason)
    assert [line.partition(": ")[2] for line in found.declined] == ([reason] if reason else [])


def run(found: Realised, n: Nodes) -> np.ndarray[Any, Any]:
    """The second argument afterwards."""
    x, t = np.arange(4096, dtype="f4"), np.zeros(4096, "f4")
    module = n.door.tirx.build(n.door.tvm.IRModule({"main": found.function}), target=n.door.tvm.target.Target("llvm"))
    module["main"](x, t)
    return t


def kept_by_row(n: Nodes, m: Any, column: Any, _k: Any, x: Any, t: Any) -> Any:
    """Rows from 6 on store nothing; what the others read differs by lane."""
    at, guard = [place(n, m, column)], n.lt(column, n.i64(12))
    read = n.lazily(guard, n.load(x, [column]), n.float_("float32", 0.5))
    return n.if_(n.lt(m, n.i64(6)), n.store(t, n.add(n.load(t, at), read), at))


def test_a_rectangle_in_which_rows_differ_goes_row_by_row() -> None:
    found, n = packed(kept_by_row)
    want = np.zeros((128, 32), "f4")
    want[:6, :16] = [3.0 * column if column < 12 else 1.5 for column in range(16)]
    assert run(found, n).tobytes() == want.tobytes()


def test_a_note_on_another_nest_changes_nothing() -> None:
    """It speaks of three loops, and there are two; what remains is what is proved of each."""
    n = Nodes(open_door())
    t = n.buffer("t", "float32", [16], alignment=4)
    m, column = n.var("m", "int64"), n.var("n", "int64")
    store = n.store(t, n.float_("float32", 1.0), [n.floordiv(n.add(m, column), n.i64(2))])
    notes = {"tile.independent": 3, "tile.mma": 2, "tile.fold": 1}
    nest = n.for_(m, 16, n.for_(column, 16, store, {}), notes)
    found = pack(n.door, n.function("main", [t], nest, {}), noalias=True, budget=128)
    assert found.counters["packed nests"] == 0
    assert [line.partition(": ")[2] for line in found.declined] == ["its nest is not rectangular"]
    assert "vectorized" not in str(found.function)


@pytest.mark.parametrize(("first", "steps"), [(0, 3), (5, 3), (0, 0)])
def test_loops_begin_where_they_did_and_may_be_empty(first: int, steps: int) -> None:
    want = np.zeros(4096, "f4")
    for row in range(first, first + 16):
        for column in range(first, first + 16):
            want[32 * row + column] = sum(k + column for k in range(steps))
    assert run(*packed(straight, first=first, steps=steps)).tobytes() == want.tobytes()

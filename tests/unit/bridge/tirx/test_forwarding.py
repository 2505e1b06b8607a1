"""Read-only forwarding: which tiles go, what their readers compute then, and why others stay."""

from typing import Any

import numpy as np
import pytest

from examples.gallery.gemm import gemm
from tests.unit.bridge.tirx.building import captured, shared
from tilewright import tile
from tilewright.bridge.tirx import Lowered, TirxOptions, compile, lower
from tilewright.bridge.tirx.copies import coordinates_of
from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.forwarding import forward_loads
from tilewright.bridge.tirx.nodes import Nodes
from tilewright.bridge.tirx.ranges import Ranges
from tilewright.core.errors import PlanError
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import Array
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    add,
    axis,
    coord,
    f32,
    i32,
    memory,
    parallel,
    reduce,
    shape,
    tensor_shape,
)

FORWARDED = TirxOptions(noalias=True, forward_readonly_tile_loads=True)


def tiles(found: Lowered) -> int:
    """Snapshots that are left."""
    return found.text().count('align=4, annotations={"tile.snapshot"')


def numbers(extent: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).standard_normal(extent).astype("f4")


def require_same(kernel: Kernel, *inputs: Array, out: int) -> Lowered:
    """The interpreter's bits, and the module that gave them."""
    found = compile(kernel, FORWARDED)
    want, got = np.full(out, 9, "f4"), np.full(out, 9, "f4")
    interpret(kernel, [*inputs, want])
    found(*inputs, got)
    assert want.tobytes() == got.tobytes()
    return found.lowered


# ---- what goes


def test_operands_of_a_product_are_read_where_they_lie() -> None:
    kernel = gemm.capture(*[tensor_shape(20, 20)] * 3, bm=8, bn=8, bk=8)
    plain, found = lower(kernel), lower(kernel, FORWARDED)
    assert (tiles(plain), tiles(found)) == (2, 0)
    assert found.plan.counters["forwarded tiles"] == 2
    assert found.plan.counters["rounds of forwarding"] == 1
    a, b = numbers(400).reshape(20, 20), numbers(400, 2).reshape(20, 20)
    results = [np.zeros((20, 20), "f4") for _ in range(2)]
    for options, c in zip((TirxOptions(), FORWARDED), results, strict=True):
        compile(kernel, options)(a, b, c)
    assert results[0].tobytes() == results[1].tobytes()


@tile.kernel
def padded(X: ConstView1[f32], Y: View1[f32], *, start: int = -3):
    """Elements outside of X are 2.5, and none of them is read."""
    e = axis("e", Y.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(e)).store(X.at(coord(start), shape(e)).load(fill=2.5) * 3.0)


@pytest.mark.parametrize("start", [-3, 0, 5, -20, 20])
def test_padding_goes_along_and_stays_lazy(start: int) -> None:
    found = require_same(padded.capture(tensor_shape(8), tensor_shape(12), start=start), numbers(8), out=12)
    assert found.plan.counters["forwarded tiles"] == 1


@tile.kernel
def masked(X: ConstView1[f32], K: ConstView1[f32], Y: View1[f32]):
    """A mask with holes, computed into a buffer before."""
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        keep = K[coord(0), shape(e)] > 0.0
        Y.at(coord(0), shape(e)).store(X.at(coord(0), shape(e)).load(where=keep, fill=-1.0) + 1.0)


def test_a_mask_that_was_computed_before_goes_along() -> None:
    found = require_same(masked.capture(*[tensor_shape(13)] * 3), numbers(13), numbers(13, 2), out=13)
    assert found.plan.counters["forwarded tiles"] == 2
    assert tiles(found) == 0


@tile.kernel
def moved(X: ConstView1[f32], K: ConstView1[i32], Y: View1[f32]):
    """Where the tile begins is a number that is read from memory once."""
    e = axis("e", Y.shape[0])
    for _ in parallel(shape(1)):
        start = tile.cast(tile.i64, K[tile.scalar(tile.i64, 0)].load())
        Y.at(coord(0), shape(e)).store(X[coord(start), shape(e)])


@pytest.mark.parametrize("start", [0, 3, -4, 1 << 20])
def test_a_cell_that_is_stored_to_once_may_be_read_later(start: int) -> None:
    kernel = moved.capture(tensor_shape(8), tensor_shape(1), tensor_shape(8))
    assert require_same(kernel, numbers(8), np.array([start], "i4"), out=8).plan.counters["forwarded tiles"] == 1


# ---- what stays


@tile.kernel
def in_place(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(e)).store(X[coord(0), shape(e)] + Y[coord(0), shape(e)])


@tile.kernel
def filled(X: ConstView1[f32], Y: View1[f32]):
    """The fill is a function of a number."""
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        fill = tile.exp(tile.scalar(f32, 1.5) + X[tile.scalar(tile.i64, 0)].load())
        Y.at(coord(0), shape(e)).store(X.at(coord(2), shape(e)).load(fill=fill))


@tile.kernel
def kept(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        place = memory(f32, shape(e))
        place.store(X[coord(0), shape(e)])
        Y.at(coord(0), shape(e)).store(place.load())


DECLINED = {
    "the kernel stores to Y": in_place,
    "its guard or fill calls a function": filled,
    "it is no plain copy of an argument": kept,
}


@pytest.mark.parametrize("reason", DECLINED)
def test_what_is_not_proved_stays_and_says_why(reason: str) -> None:
    kernel = DECLINED[reason].capture(*captured(9))
    found = require_same(kernel, numbers(9), out=9)
    (line,) = [line for line in found.plan.declined if reason in line]
    assert line in found.plan.render()
    assert tiles(found) == 1


def test_without_the_promise_the_option_is_refused_by_name() -> None:
    with pytest.raises(PlanError, match="forward_readonly_tile_loads") as caught:
        TirxOptions(forward_readonly_tile_loads=True)
    assert caught.value.diagnostic.code.id == "TW427"


def test_without_the_option_nothing_goes() -> None:
    found = lower(shared.capture(*captured(16)), TirxOptions(noalias=True))
    assert tiles(found) == 1
    assert "forwarded tiles" not in found.plan.counters


@tile.kernel
def summed(X: ConstView2[f32], Y: View1[f32]):
    """A fold reads its tile at places of its own."""
    r, c = axis("r", X.shape[0]), axis("c", X.shape[1])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(r)).store(reduce(X[coord(0, 0), shape(r, c)], c, add))


def test_a_fold_reads_the_argument() -> None:
    kernel = summed.capture(tensor_shape(3, 5), tensor_shape(3))
    assert require_same(kernel, numbers(15).reshape(3, 5), out=3).plan.counters["forwarded tiles"] == 1


# ---- TIRx that no kernel of ours has


def function(n: Nodes, statements: Any) -> Any:
    """`y[i] = t[i]` after `t[i] = x[i]`, as `statements(n, x, y, t, copy, reader)` arranges them."""
    x, y, t = (n.buffer(name, "float32", [4], alignment=4, scope="local" if name == "t" else "") for name in "xyt")
    i, j = n.var("i", "int64"), n.var("j", "int64")
    copy = n.for_(i, 4, n.store(t, n.load(x, [i]), [i]), {})
    reader = n.for_(j, 4, n.store(y, n.load(t, [j]), [j]), {})
    head = n.allocate(t, {"tile.snapshot": 1})
    return n.function("main", [x, y], n.sequence([head, *statements(n, x, t, copy, reader)]), {})


def before(_n: Nodes, _x: Any, _t: Any, copy: Any, reader: Any) -> Any:
    return [reader, copy]


def twice(n: Nodes, _x: Any, t: Any, copy: Any, reader: Any) -> Any:
    return [copy, n.store(t, n.float_("float32", 1.0), [n.i64(0)]), reader]


def beyond(n: Nodes, _x: Any, t: Any, copy: Any, reader: Any) -> Any:
    k = n.var("k", "int64")
    return [copy, reader, n.for_(k, 5, n.store(reader.body.buffer, n.load(t, [k]), [n.i64(0)]), {})]


def changing(n: Nodes, x: Any, t: Any, copy: Any, reader: Any) -> Any:
    """The guard reads a number that changes before the reader comes."""
    u = n.buffer("u", "float32", [1], alignment=4)
    one = n.store(u, n.float_("float32", 1.0), [n.i64(0)])
    holds = n.gt(n.load(u, [n.i64(0)]), n.float_("float32", 0.0))
    value = n.lazily(holds, n.load(x, [copy.loop_var]), n.float_("float32", 0.0))
    guarded = n.for_(copy.loop_var, 4, n.store(t, value, [copy.loop_var]), {})
    return [n.allocate(u, {}), one, guarded, one, reader]


def chained(n: Nodes, x: Any, t: Any, copy: Any, reader: Any) -> Any:
    """The guard reads another copy."""
    s, i = n.buffer("s", "float32", [4], alignment=4, scope="local"), n.var("i", "int64")
    first = n.for_(i, 4, n.store(s, n.load(x, [i]), [i]), {})
    holds = n.gt(n.load(s, [copy.loop_var]), n.float_("float32", 0.0))
    value = n.lazily(holds, n.load(x, [copy.loop_var]), n.float_("float32", 0.0))
    guarded = n.for_(copy.loop_var, 4, n.store(t, value, [copy.loop_var]), {})
    return [n.allocate(s, {"tile.snapshot": 1}), first, guarded, reader]


def test_a_copy_whose_guard_reads_another_copy_waits_for_the_next_round() -> None:
    n = Nodes(open_door())
    found = forward_loads(n.door, function(n, chained))
    assert (found.counters["forwarded tiles"], found.counters["rounds of forwarding"]) == (2, 2)
    assert "alloc" not in str(found.function)


def unknown(n: Nodes, x: Any, _t: Any, copy: Any, reader: Any) -> Any:
    return [copy, n.door.tirx.Evaluate(n.door.tirx.call_packed("somewhere", x)), reader]


def plain(_n: Nodes, _x: Any, _t: Any, copy: Any, reader: Any) -> Any:
    return [copy, reader]


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (plain, ""),
        (before, "it is read elsewhere than after its copy"),
        (twice, "it is stored to in several places"),
        (beyond, "a reader's place in it is not proved to lie inside"),
        (changing, "its guard or its address reads u, which may change"),
        (unknown, "are not known"),
    ],
)
def test_the_proof_is_made_on_the_tirx_that_stands_there(statements: Any, reason: str) -> None:
    n = Nodes(open_door())
    found = forward_loads(n.door, function(n, statements))
    assert found.counters["forwarded tiles"] == int(not reason)
    assert all(reason in line for line in found.declined)
    assert bool(found.declined) == bool(reason)


def test_intervals_of_indices() -> None:
    n = Nodes(open_door())
    i, name, free = n.var("i", "int64"), n.var("v", "int64"), n.var("free", "int64")
    named = n.bind(name, n.add(n.mul(i, n.i64(3)), n.i64(-2)))
    ranges = Ranges(n.door, n.for_(i, 5, n.sequence([named, n.marker("tile.stage", "x")]), {}))

    def bounds(e: Any) -> tuple[int, int]:
        return ranges.of(e).low, ranges.of(e).high

    assert bounds(name) == (-2, 10)
    assert bounds(n.sub(n.i64(4), i)) == (0, 4)
    assert bounds(n.floordiv(name, n.i64(4))) == (-1, 2)
    assert bounds(n.floormod(i, n.i64(5))) == (0, 4)
    assert bounds(n.floormod(name, n.i64(5))) == (0, 4)
    assert bounds(n.max(n.min(free, n.i64(7)), n.i64(0))) == (0, 7)
    assert ranges.of(n.add(free, n.i64(1))) == ranges.of(free)  # anything


def test_coordinates_are_read_from_the_form_of_a_place() -> None:
    n = Nodes(open_door())
    i, j = n.var("i", "int64"), n.var("j", "int64")
    place = n.add(n.mul(i, n.i64(8)), n.add(j, n.i64(1)))
    (row, column) = coordinates_of(n.door, place, (4, 8)) or []
    assert row.same_as(i)
    assert column.same_as(place.b)
    assert coordinates_of(n.door, place, (4, 16)) is None
    assert coordinates_of(n.door, n.mul(i, n.i64(8)), (4, 8)) is None

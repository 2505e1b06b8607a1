"""Automatic packs: which loops become vectors, that they compute the same bits, and why others stay as they are."""

from typing import Any

import numpy as np
import pytest

from examples.gallery.gemm import gemm, gemm_bt
from tests.unit.bridge.tirx.building import captured, compiled, shared, staged
from tilewright import tile
from tilewright.bridge.tirx import Lowered, TirxOptions, TirxPlanner, compile, lower
from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.lanes import Lane, LaneProof
from tilewright.bridge.tirx.nodes import Nodes
from tilewright.bridge.tirx.rows import width_of
from tilewright.core.errors import PlanError
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    axis,
    boolean,
    coord,
    f32,
    parallel,
    shape,
    tensor_shape,
)

PACKED = TirxOptions(auto_vectorize=True)


@pytest.mark.parametrize(
    ("extent", "width"), [(1, 0), (3, 0), (4, 4), (7, 4), (8, 8), (15, 8), (16, 16), (31, 16), (1000, 16)]
)
def test_a_pack_is_a_power_of_two_from_4_to_16(extent: int, width: int) -> None:
    assert width_of(extent) == width


@pytest.mark.parametrize(("extent", "ends"), [(16, 0), (17, 2), (4, 0), (6, 2)])
def test_whole_packs_are_vectors_and_the_rest_is_done_one_by_one(extent: int, ends: int) -> None:
    found = compiled(shared.capture(*captured(extent), expensive=False), PACKED)
    counters = found.lowered.plan.counters
    assert counters["packed nests"] == 3  # the load, the shared tile, the store
    assert counters["ragged ends"] == ends + bool(ends)
    assert f"T.vectorized(T.int64({width_of(extent)}))" in found.lowered.text()
    x, y = np.linspace(-3, 3, extent, dtype="f4"), np.zeros(extent, "f4")
    found(x, y)
    assert y.tobytes() == ((x - 1) * (x - 1)).tobytes()


def product(extent: int) -> Kernel:
    return gemm.capture(*[tensor_shape(extent, extent)] * 3, bm=extent, bn=extent, bk=extent)


def test_a_product_becomes_vector_multiply_adds_in_the_order_of_k() -> None:
    plain, packed = compiled(product(32)), compiled(product(32), PACKED)
    assert "llvm.fma.v16f32" in packed.source
    assert "@llvm.fma.f32" not in packed.source
    a, b = (np.random.default_rng(seed).standard_normal((32, 32)).astype("f4") for seed in (1, 2))
    results = [np.zeros((32, 32), "f4") for _ in range(2)]
    for each, c in zip((plain, packed), results, strict=True):
        each(a, b, c)
    assert results[0].tobytes() == results[1].tobytes()


def test_without_the_option_nothing_is_packed() -> None:
    found = lower(product(32))
    assert "vectorized" not in found.text()
    assert "packed nests" not in found.plan.counters


def test_packs_contradict_no_plan() -> None:
    with pytest.raises(PlanError, match="auto_vectorize") as caught:
        TirxOptions(auto_vectorize=True, planner=TirxPlanner(enabled=False))
    assert caught.value.diagnostic.code.id == "TW427"


# ---- scalars of a body


@tile.kernel
def squeezed(X: ConstView1[f32], Y: View1[f32]):
    """Values that are used twice, floats and truths."""
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        x = tile.maximum(X[coord(0), shape(e)] * 2.0, 0.5)
        Y.at(coord(0), shape(e)).store(tile.where(x < 2.0, x * x, x))


@tile.kernel
def columns(X: ConstView2[f32], Y: View1[f32]):
    """Sums of columns, in order."""
    r, c = axis("r", X.shape[0]), axis("c", X.shape[1])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(c)).store(tile.sum(X[coord(0, 0), shape(r, c)], axis=r))


def test_every_lane_has_its_own_scalars() -> None:
    found = compile(squeezed.capture(*captured(70)), PACKED)
    assert not found.lowered.plan.declined
    x = np.random.default_rng(1).standard_normal(70).astype("f4")
    x[5] = np.nan
    want, got = np.zeros(70, "f4"), np.zeros(70, "f4")
    interpret(found.lowered.kernel, [x, want])
    found(x, got)
    assert want.tobytes() == got.tobytes()


def test_folds_of_columns_are_vectors_and_keep_their_order() -> None:
    kernel = columns.capture(tensor_shape(9, 37), tensor_shape(37))
    found = compile(kernel, PACKED)
    assert not found.lowered.plan.declined
    assert "fadd <16 x float>" in found.source
    x = (np.random.default_rng(1).standard_normal((9, 37)) * 1e3).astype("f4")
    want, got = np.zeros(37, "f4"), np.zeros(37, "f4")
    interpret(kernel, [x, want])
    found(x, got)
    assert want.tobytes() == got.tobytes()


# ---- what is declined


@tile.kernel
def masked(X: ConstView1[f32], K: ConstView1[boolean], Y: View1[f32], *, stores: bool = False):
    """Where to read, or to store, lies in memory."""
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        keep = K[coord(0), shape(e)]
        if stores:
            Y.at(coord(0), shape(e)).store(X[coord(0), shape(e)], where=keep)
        else:
            Y.at(coord(0), shape(e)).store(X.at(coord(0), shape(e)).load(where=keep, fill=-1.0))


MASKED = tensor_shape(16), tensor_shape(16, dtype=boolean), tensor_shape(16)
DECLINED = {
    "the function expf has no vector form": shared.capture(*captured(16)),
    "its lanes are no neighbours in": gemm_bt.capture(*[tensor_shape(8, 8)] * 3, bm=8, bn=8, bk=8),
    "whether an element is stored differs by lane": masked.capture(*MASKED, stores=True),
    "fewer than 4 elements": shared.capture(*captured(3), expensive=False),
}


@pytest.mark.parametrize("reason", DECLINED)
def test_what_is_not_proved_stays_as_it_is_and_says_why(reason: str) -> None:
    found = lower(DECLINED[reason], PACKED)
    assert [line for line in found.plan.declined if reason in line]
    assert reason in found.plan.render()


def vectors(found: Lowered) -> int:
    return found.text().count("T.vectorized")


def test_only_the_nest_that_is_declined_stays() -> None:
    assert vectors(lower(staged.capture(*captured(16)), PACKED)) == 2
    assert vectors(lower(shared.capture(*captured(16)), PACKED)) == 2  # not the one with exp


# ---- the proof on TIRx that no kernel of ours has


def proof(statement: Any, *, apart: bool) -> str:
    """Of `statement(nodes, lane, x, y, t)`: x and y are arguments."""
    n = Nodes(open_door())
    x, y, t = (n.buffer(name, "float32", [64], alignment=4) for name in "xyt")
    lane = n.var("lane", "int64")
    return LaneProof(n.door, Lane(n.door, lane, 16), [x, y], apart=apart).reason_against(statement(n, lane, x, y, t))


def shifted(n: Nodes, lane: Any, _x: Any, _y: Any, t: Any) -> Any:
    return n.store(t, n.load(t, [lane]), [n.add(lane, n.i64(1))])


def straight(n: Nodes, lane: Any, x: Any, y: Any, _t: Any) -> Any:
    return n.store(y, n.load(x, [lane]), [lane])


def spread(n: Nodes, lane: Any, x: Any, _y: Any, t: Any) -> Any:
    return n.store(t, n.load(x, [n.mul(lane, n.i64(2))]), [lane])


def gathered(n: Nodes, lane: Any, x: Any, y: Any, t: Any) -> Any:
    return n.store(t, n.load(x, [n.cast("int64", n.load(y, [lane]))]), [lane])


def one_place(n: Nodes, lane: Any, x: Any, _y: Any, t: Any) -> Any:
    return n.store(t, n.load(x, [lane]), [n.i64(0)])


def up_to_the_lane(n: Nodes, lane: Any, _x: Any, _y: Any, t: Any) -> Any:
    body = n.store(t, n.float_("float32", 1.0), [lane])
    k = n.var("k", "int64")
    return n.door.tirx.For(k, n.i64(0), lane, n.door.tirx.ForKind.SERIAL, body)


def bound(n: Nodes, lane: Any, x: Any, y: Any, _t: Any) -> Any:
    named = n.var("named", "int64")
    return n.sequence([n.bind(named, n.i64(1)), n.store(y, n.load(x, [lane]), [n.add(named, lane)])])


def over_each_other(n: Nodes, lane: Any, x: Any, _y: Any, t: Any) -> Any:
    """In order, each lane leaves its own element behind; together, the last step would."""
    k = n.var("k", "int64")
    return n.for_(k, 4, n.store(t, n.load(x, [lane]), [n.add(lane, k)]), {})


def far_apart(n: Nodes, lane: Any, x: Any, _y: Any, t: Any) -> Any:
    k = n.var("k", "int64")
    return n.for_(k, 4, n.store(t, n.load(x, [lane]), [n.add(lane, n.mul(k, n.i64(16)))]), {})


@pytest.mark.parametrize(
    ("statement", "apart", "reason"),
    [
        (bound, True, "its body has temporaries"),
        (over_each_other, True, "its lanes may meet in t"),
        (far_apart, True, ""),
        (straight, True, ""),
        (straight, False, "may overlap without noalias"),
        (shifted, True, "its lanes may read what others store to t"),
        (spread, True, "its lanes are no neighbours in x"),
        (gathered, True, "its lanes are no neighbours in x"),
        (one_place, True, "every lane stores to one place of t"),
        (up_to_the_lane, True, "bounds that are not constant"),
    ],
)
def test_the_proof_is_made_on_the_tirx_that_stands_there(statement: Any, apart: bool, reason: str) -> None:
    found = proof(statement, apart=apart)
    assert reason in found
    assert bool(found) == bool(reason)

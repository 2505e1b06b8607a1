"""Reducers of the user's own: their expansion, their results, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest

from tests.unit.lang.shapes import every, only
from tilewright import tile
from tilewright.core.errors import TileTypeError
from tilewright.interp.run import run
from tilewright.ir.attrs import Policy
from tilewright.ir.ops.elementwise import SubOp
from tilewright.ir.ops.regions import ReduceOp
from tilewright.ir.ops.tiles import MapOp, ScanOp
from tilewright.tile import (
    ConstView1,
    ConstView2,
    StateReducer,
    View1,
    View2,
    axis,
    coord,
    f32,
    fold_left,
    fold_right,
    i64,
    iota,
    ordered_tree,
    parallel,
    reduce,
    reducer,
    scan,
    shape,
    tensor_shape,
    where,
    zeros,
)

argmax = reducer(
    state=(f32, i64),
    identity=(-math.inf, -1),
    merge=lambda a, b: (where(b[0] > a[0], b[0], a[0]), where(b[0] > a[0], b[1], a[1])),
    commutative=False,
    name="argmax",
)
minus = reducer(state=f32, identity=0, merge=lambda a, b: a - b, associative=False, commutative=False, name="minus")


def chan(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979)."""
    count = a[0] + b[0]
    choose: Any = where  # its overloads cannot choose among operands of any type
    safe = choose(count == 0.0, 1.0, count)
    gap = b[1] - a[1]
    return count, a[1] + gap * b[0] / safe, a[2] + b[2] + gap * gap * a[0] * b[0] / safe


spread = reducer(
    state=(f32, f32, f32),
    identity=(0, 0, 0),
    lift=lambda x: (1.0, x, 0.0),
    merge=chan,
    finish=lambda s: s[2] / s[0],
)


@tile.kernel
def places(X: ConstView2[f32], V: View1[f32], I: View1[i64], J: View2[i64]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(m, n)]
        value, index = reduce((x, iota(n)), n, argmax, policy=ordered_tree)
        V.at(coord(0), shape(m)).store(value)
        I.at(coord(0), shape(m)).store(index)
        J.at(coord(0, 0), shape(m, n)).store(scan((x, iota(n)), n, argmax, policy=fold_left)[1])


def test_several_states_are_folded_and_scanned_together() -> None:
    x = np.array([[1, 5, 2, 5], [7, 0, 7, 1]], np.float32)
    kernel = places.capture(tensor_shape(2, 4), tensor_shape(2), tensor_shape(2), tensor_shape(2, 4))
    v, i, j = np.zeros(2, np.float32), np.zeros(2, np.int64), np.zeros((2, 4), np.int64)
    run(kernel, [x, v, i, j])
    assert (v.tolist(), i.tolist()) == ([5, 7], [1, 0])
    assert j.tolist() == [[0, 1, 1, 1], [0, 0, 0, 0]]


def test_a_fold_is_a_map_of_a_fold_for_each_state() -> None:
    kernel = places.capture(tensor_shape(2, 4), tensor_shape(2), tensor_shape(2), tensor_shape(2, 4))
    folds = every(kernel, ReduceOp)
    assert [op.policy.data for op in folds] == [Policy.ORDERED_TREE] * 2
    assert all(len(op.carries) == 2 and isinstance(op.parent_op(), MapOp) for op in folds)
    assert len(only(kernel, ScanOp).tiles) == 2


def test_a_fold_with_an_end_is_one_fold() -> None:
    @tile.kernel
    def k(X: ConstView1[f32], V: View1[f32], R: View1[f32]):
        n, one = axis("n", 6), axis("one", 1)
        for _ in parallel(shape(1)):
            x = X[coord(0), shape(n)]
            V.at(coord(0), shape(one)).store(zeros(f32, shape(one)) + reduce(x, n, spread))
            R.at(coord(0), shape(n)).store(scan(x, n, spread))

    kernel = k.capture(tensor_shape(6), tensor_shape(1), tensor_shape(6))
    assert len(every(kernel, ReduceOp)) == 1
    x = np.array([1, 2, 4, 8, 16, 1], np.float32)
    v, r = np.zeros(1, np.float32), np.zeros(6, np.float32)
    run(kernel, [x, v, r])
    np.testing.assert_allclose(v[0], x.var(), rtol=1e-6)
    np.testing.assert_allclose(r, [x[: i + 1].var() for i in range(6)], rtol=1e-6)


@pytest.mark.parametrize(("policy", "expected"), [(fold_left, -6.0), (fold_right, 2.0)])
def test_a_fold_from_either_side_keeps_its_operands(policy: Policy, expected: float) -> None:
    @tile.kernel
    def k(X: ConstView1[f32], Y: View1[f32]):
        n = axis("n", 3)
        for _ in parallel(shape(1)):
            Y[0].store(reduce(X[coord(0), shape(n)], n, minus, policy=policy).scalar())

    kernel = k.capture(tensor_shape(3), tensor_shape(1))
    step, y = only(kernel, SubOp), np.zeros(1, np.float32)
    assert (step.lhs if policy is fold_left else step.rhs) is only(kernel, ReduceOp).carries[0]
    run(kernel, [np.array([1, 2, 3], np.float32), y])
    assert y[0] == expected


def test_a_fold_over_nothing_gives_the_identity() -> None:
    @tile.kernel
    def k(Y: View1[i64]):
        m, n = axis("m", 2), axis("n", 0)
        for _ in parallel(shape(1)):
            Y.at(coord(0), shape(m)).store(reduce((zeros(f32, shape(m, n)), iota(n)), n, argmax, policy="fold_left")[1])

    y = np.zeros(2, np.int64)
    run(k.capture(tensor_shape(2)), [y])
    assert y.tolist() == [-1, -1]


def folded(own: StateReducer[Any], policy: Policy | str = ordered_tree) -> Any:
    @tile.kernel
    def k(X: ConstView1[f32]):
        n = axis("n", 3)
        for _ in parallel(shape(1)):
            reduce(X[coord(0), shape(n)], n, own, policy=policy)

    return k.capture(tensor_shape(3))


@pytest.mark.parametrize(
    ("own", "policy", "law"),
    [
        (argmax, "unordered_tree", "commutative"),
        (minus, "unordered_tree", "associative"),
        (minus, "ordered_tree", "associative"),
    ],
)
def test_a_policy_needs_its_law(own: StateReducer[Any], policy: str, law: str) -> None:
    with pytest.raises(TileTypeError, match=law) as caught:
        folded(own, policy)
    assert caught.value.diagnostic.code.number == 226


@pytest.mark.parametrize(
    "own",
    [
        reducer(state=(f32, i64), identity=(0, 0), merge=lambda a, _: a),  # one tile gives one element
        reducer(state=f32, identity=0, merge=lambda a, b: (a, b)),
        reducer(state=f32, identity=0, merge=lambda a, b: a > b),
        reducer(state=f32, identity=0, lift=lambda _: zeros(f32, shape(2)), merge=lambda a, b: a + b),
        reducer(state=(f32,), identity=(0,), merge=lambda a, _: a, finish=lambda _: 1.0),
    ],
)
def test_states_of_other_types_are_refused(own: StateReducer[Any]) -> None:
    with pytest.raises(TileTypeError) as caught:
        folded(own)
    assert caught.value.diagnostic.code.number == 225


def test_identities_and_states_pair_up() -> None:
    with pytest.raises(TileTypeError) as caught:
        reducer(state=(f32, i64), identity=(0,), merge=lambda a, _: a)
    assert caught.value.diagnostic.code.number == 225


SCALE = 2.0


def _weigh(a: Any, b: Any) -> Any:
    return a + b * SCALE


weighed = reducer(state=f32, identity=0, merge=_weigh, associative=False, commutative=False)


@tile.kernel
def sums(X: ConstView1[f32], Y: View1[f32]):
    n = axis("n", 3)
    for _ in parallel(shape(1)):
        Y[0].store(reduce(X[coord(0), shape(n)], n, weighed, policy=fold_left).scalar())


def test_a_direct_call_watches_what_the_functions_of_a_reducer_read(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.zeros(1, np.float32)
    sums(np.ones(3, np.float32), y)
    assert y[0] == 6.0
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    sums(np.ones(3, np.float32), y)
    assert y[0] == 15.0

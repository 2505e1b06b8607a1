"""A loop over blocks of a folded axis becomes one fold, and stays a loop for each reason the pass knows."""

import pytest

from examples.gallery.gemm import gemm
from tests.unit.passes.tiling import applied, notes_of, same_meaning
from tilewright import tile
from tilewright.ir.ops.regions import PipelineOp, ReduceOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import space_of
from tilewright.passes.dissolve_loops import DissolveLoops
from tilewright.tile import (
    ConstView2,
    View1,
    View2,
    add,
    axis,
    cdiv,
    coord,
    f32,
    maximum,
    mma,
    parallel,
    shape,
    tensor_shape,
    zeros,
)


def test_a_blocked_product_becomes_one_product() -> None:
    kernel = gemm.capture(tensor_shape(20, 17), tensor_shape(17, 9), tensor_shape(20, 9), bm=8, bn=8, bk=4)
    after, notes = applied(kernel, DissolveLoops())
    assert "dissolved: its accumulations fold over one axis of 20" in notes
    products = [op for op in after.op.walk() if isinstance(op, MmaOp)]
    assert not [op for op in after.op.walk() if isinstance(op, PipelineOp)]
    assert [space_of(op.a).extents for op in products] == [(8, 20)]
    assert same_meaning(kernel, after)


@tile.kernel
def row_sums(X: ConstView2[f32], Y: View1[f32], *, policy: str):
    r, c = axis("r", 3), axis("c", 4)
    for nest in parallel(shape(axis("g", cdiv(X.shape[0], 3)))):
        total = zeros(f32, shape(r))
        for step in nest.reduce(shape(axis("s", cdiv(X.shape[1], 4))), policy=policy):
            total = total + tile.reduce(X[coord(nest.index() * 3, step.index() * 4), shape(r, c)], c, add)
        Y.at(coord(nest.index() * 3), shape(r)).store(total)


def test_partial_folds_of_the_same_kind_regroup() -> None:
    kernel = row_sums.capture(tensor_shape(7, 10), tensor_shape(7), policy="unordered_tree")
    after, notes = applied(kernel, DissolveLoops())
    assert "fold over one axis of 12" in notes
    assert len([op for op in after.op.walk() if isinstance(op, ReduceOp)]) == 1


@pytest.mark.parametrize("policy", ["ordered_tree", "fold_left"])
def test_sums_of_floats_keep_the_order_of_the_loop(policy: str) -> None:
    """Each trip adds one rounded sum to the total; a sum over all trips at once would be another one."""
    kernel = row_sums.capture(tensor_shape(7, 10), tensor_shape(7), policy=policy)
    after, notes = applied(kernel, DissolveLoops())
    assert "rounded once a trip" in notes
    assert len([op for op in after.op.walk() if isinstance(op, ReduceOp)]) == 2


@tile.kernel
def two_axes(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 2)
    for nest in parallel(shape(axis("g", 1))):
        acc = zeros(f32, shape(m, n))
        s, t = axis("s", 2), axis("t", 2)
        for step in nest.serial(shape(s, t)):
            at = (step.index(s) * 2 + step.index(t)) * 2
            acc = mma(A[coord(0, at), shape(m, k)], B[coord(at, 0), shape(k, n)], acc)
        C.at(coord(0, 0), shape(m, n)).store(acc)


@tile.kernel
def writes(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 2)
    for nest in parallel(shape(axis("g", 1))):
        acc = zeros(f32, shape(m, n))
        for step in nest.serial(shape(axis("s", 4))):
            acc = mma(A[coord(0, step.index() * 2), shape(m, k)], B[coord(step.index() * 2, 0), shape(k, n)], acc)
            C.at(coord(0, 0), shape(m, n)).store(acc)


@tile.kernel
def read_twice(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 2)
    for nest in parallel(shape(axis("g", 1))):
        acc = zeros(f32, shape(m, n))
        for step in nest.serial(shape(axis("s", 4))):
            a, b = A[coord(0, step.index() * 2), shape(m, k)], B[coord(step.index() * 2, 0), shape(k, n)]
            acc = mma(a, b, acc) + acc
        C.at(coord(0, 0), shape(m, n)).store(acc)


@tile.kernel
def scaled_first(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 2)
    for nest in parallel(shape(axis("g", 1))):
        acc = zeros(f32, shape(m, n))
        for step in nest.serial(shape(axis("s", 4))):
            a, b = A[coord(0, step.index() * 2), shape(m, k)], B[coord(step.index() * 2, 0), shape(k, n)]
            acc = acc + mma(a, b, zeros(f32, shape(m, n))) * 0.5
        C.at(coord(0, 0), shape(m, n)).store(acc)


@tile.kernel
def block_maxima(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 2)
    for nest in parallel(shape(axis("g", 1))):
        acc = zeros(f32, shape(m, n))
        for step in nest.serial(shape(axis("s", 4))):
            a, b = A[coord(0, step.index() * 2), shape(m, k)], B[coord(step.index() * 2, 0), shape(k, n)]
            acc = mma(a - tile.reduce(a, k, maximum), b, acc)
        C.at(coord(0, 0), shape(m, n)).store(acc)


@tile.kernel
def overlapping(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 2)
    for nest in parallel(shape(axis("g", 1))):
        acc = zeros(f32, shape(m, n))
        for step in nest.serial(shape(axis("s", 4))):
            acc = mma(A[coord(0, step.index()), shape(m, k)], B[coord(step.index() * 2, 0), shape(k, n)], acc)
        C.at(coord(0, 0), shape(m, n)).store(acc)


@tile.kernel
def weighted(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 2)
    for nest in parallel(shape(axis("g", 1))):
        acc = zeros(f32, shape(m, n))
        for step in nest.serial(shape(axis("s", 4))):
            a, b = A[coord(0, step.index() * 2), shape(m, k)], B[coord(step.index() * 2, 0), shape(k, n)]
            acc = mma(a * tile.cast(f32, step.index()), b, acc)
        C.at(coord(0, 0), shape(m, n)).store(acc)


@tile.kernel
def from_outside(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 2)
    for nest in parallel(shape(axis("g", 1))):
        acc = zeros(f32, shape(m, n))
        weight = A[coord(0, 0), shape(m, k)]
        for step in nest.serial(shape(axis("s", 4))):
            a, b = A[coord(0, step.index() * 2), shape(m, k)], B[coord(step.index() * 2, 0), shape(k, n)]
            acc = mma(a * weight, b, acc)
        C.at(coord(0, 0), shape(m, n)).store(acc)


_SHAPES = (tensor_shape(4, 8), tensor_shape(8, 4), tensor_shape(4, 4))
_KEPT = {
    "it has several axes": two_axes.capture(*_SHAPES),
    "its body writes": writes.capture(*_SHAPES),
    "carry 0 is read by more than its own accumulation": read_twice.capture(*_SHAPES),
    "carry 0 is not combined with a fold of the same kind": scaled_first.capture(*_SHAPES),
    "the blocked axis is folded inside an iteration too": block_maxima.capture(*_SHAPES),
    "sees the iteration other than as a position along the blocked axis": overlapping.capture(*_SHAPES),
    "a tile from outside has the blocked axis": from_outside.capture(*_SHAPES),
}


@pytest.mark.parametrize("reason", _KEPT)
def test_a_loop_is_kept_and_says_why(reason: str) -> None:
    assert reason in notes_of(_KEPT[reason], DissolveLoops())


def test_an_iteration_that_is_a_number_is_no_position() -> None:
    assert "sees the iteration" in notes_of(weighted.capture(*_SHAPES), DissolveLoops())

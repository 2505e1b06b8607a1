"""A root axis over blocks and its tile axis become one, and stay two for each reason the pass knows."""

import pytest

from examples.gallery.gemm import gemm
from tests.unit.passes.tiling import applied, notes_of, same_meaning
from tilewright import tile
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.types import space_of
from tilewright.passes.coalesce_axes import CoalesceAxes
from tilewright.passes.dissolve_loops import DissolveLoops
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    add,
    axis,
    cdiv,
    coord,
    f32,
    iota,
    parallel,
    shape,
    tensor_shape,
    where,
)


def test_user_blocks_are_forgotten() -> None:
    kernel = gemm.capture(tensor_shape(20, 6), tensor_shape(6, 9), tensor_shape(20, 9), bm=8, bn=4, bk=8)
    after, notes = applied(kernel, DissolveLoops(), CoalesceAxes())
    assert "coalesced with its tile axis into one of 24" in notes
    roots = [op for op in after.op.walk() if isinstance(op, ParallelOp)]
    stores = [op for op in after.op.walk() if isinstance(op, StoreOp)]
    assert [root.space.rank for root in roots] == [0]
    assert [space_of(op.value).extents for op in stores] == [(24, 12)]
    assert same_meaning(kernel, after)


@tile.kernel
def diagonal(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 3), axis("c", X.shape[1])
    for nest in parallel(shape(axis("g", cdiv(X.shape[0], 3)))):
        at = coord(nest.index() * 3, 0)
        x = X[at, shape(r, c)]
        Y.at(at, shape(r, c)).store(where(iota(c) <= iota(r) + nest.index() * 3, x, 0.0))


def test_positions_in_comparisons_move_along() -> None:
    kernel = diagonal.capture(tensor_shape(7, 7), tensor_shape(7, 7))
    after, notes = applied(kernel, CoalesceAxes())
    assert "into one of 9" in notes
    assert same_meaning(kernel, after)


@tile.kernel
def per_block(X: ConstView1[f32], W: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 4)
    for nest in parallel(shape(axis("g", 3))):
        at = coord(nest.index() * 4)
        Y.at(at, shape(e)).store(X[at, shape(e)] * W[nest.index()].load())


@tile.kernel
def per_lane(X: ConstView1[f32], W: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 4)
    for nest in parallel(shape(axis("g", 3))):
        at = coord(nest.index() * 4)
        Y.at(at, shape(e)).store(X[at, shape(e)] * W[coord(0), shape(e)])


@tile.kernel
def folded(X: ConstView1[f32], W: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 4)
    for nest in parallel(shape(axis("g", 3))):
        at = coord(nest.index() * 4)
        x = X[at, shape(e)]
        Y.at(at, shape(e)).store(x - tile.reduce(x, e, add))


@tile.kernel
def two_writes(X: ConstView1[f32], W: View1[f32], Y: View1[f32]):
    e = axis("e", 4)
    for nest in parallel(shape(axis("g", 3))):
        at = coord(nest.index() * 4)
        Y.at(at, shape(e)).store(X[at, shape(e)])
        W[nest.index()].store(1.0)


@tile.kernel
def one_a_program(X: ConstView1[f32], W: ConstView1[f32], Y: View1[f32]):
    for nest in parallel(shape(axis("g", 3))):
        Y[nest.index()].store(X[nest.index()].load() + W[0].load())


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (per_block, "sees the block other than as part of a position along the tile axis"),
        (per_lane, "sees the block other than as part of a position along the tile axis"),
        (folded, "folds the tile axis"),
        (two_writes, "writes without the tile axis"),
        (one_a_program, "no store is blocked along it"),
    ],
    ids=lambda item: getattr(item, "__name__", None),
)
def test_an_axis_is_kept_and_the_pass_says_why(kernel: tile.TileKernel, reason: str) -> None:
    captured = kernel.capture(*[tensor_shape(12)] * 3)
    assert reason in notes_of(captured, CoalesceAxes())


def test_an_empty_axis_is_kept() -> None:
    kernel = diagonal.capture(tensor_shape(0, 7), tensor_shape(0, 7))
    assert "it is empty" in notes_of(kernel, CoalesceAxes())

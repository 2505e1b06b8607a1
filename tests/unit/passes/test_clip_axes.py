"""Axes shrink to what can be seen, and keep their length for each reason the pass knows."""

import pytest

from examples.gallery.gemm import gemm
from tests.unit.passes.tiling import applied, notes_of, same_meaning
from tilewright import tile
from tilewright.ir.ops.elementwise import AddOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import space_of
from tilewright.passes.clip_axes import ClipAxes
from tilewright.passes.coalesce_axes import CoalesceAxes
from tilewright.passes.dissolve_loops import DissolveLoops
from tilewright.passes.fold_constants import FoldConstants
from tilewright.tile import (
    ConstView2,
    View1,
    View2,
    add,
    axis,
    coord,
    exp,
    f32,
    maximum,
    mma,
    parallel,
    scan,
    shape,
    tensor_shape,
    zeros,
)

ALL = (DissolveLoops(), CoalesceAxes(), FoldConstants(), ClipAxes())


def test_a_ragged_product_loses_its_padding() -> None:
    kernel = gemm.capture(tensor_shape(13, 7), tensor_shape(7, 9), tensor_shape(13, 9), bm=8, bn=8, bk=8)
    after, notes = applied(kernel, *ALL)
    assert "axis of 16 clipped to 13" in notes
    products = [op for op in after.op.walk() if isinstance(op, MmaOp)]
    assert [(space_of(op.a).extents, space_of(op.b).extents) for op in products] == [((13, 7), (7, 9))]
    assert same_meaning(kernel, after)


@tile.kernel
def strict(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 8)
    for _ in parallel(shape(axis("g", 1))):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        c = C[coord(0, 0), shape(m, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, c, reassociate=False))


def test_zero_products_that_go_leave_their_plus_zero() -> None:
    kernel = strict.capture(tensor_shape(4, 5), tensor_shape(5, 4), tensor_shape(4, 4))
    after, _ = applied(kernel, ClipAxes())
    assert any(isinstance(op, AddOp) and space_of(op.result).rank == 2 for op in after.op.walk())
    assert same_meaning(kernel, after)


@tile.kernel
def sums(X: ConstView2[f32], Y: View1[f32], *, fill: float = 0.0, fold: tile.Reducer = add, shift: int = 0):
    r, c = axis("r", 4), axis("c", 8)
    for _ in parallel(shape(axis("g", 1))):
        x = X.at(coord(0, shift), shape(r, c)).load(fill=fill)
        Y.at(coord(0), shape(r)).store(tile.reduce(x, c, fold))


@pytest.mark.parametrize(("fill", "fold"), [(0.0, add), (float("-inf"), maximum)])
def test_a_fold_of_identities_is_clipped(fill: float, fold: tile.Reducer) -> None:
    kernel = sums.capture(tensor_shape(4, 5), tensor_shape(4), fill=fill, fold=fold)
    after, notes = applied(kernel, ClipAxes())
    assert "axis of 8 clipped to 5" in notes
    assert same_meaning(kernel, after)


@pytest.mark.parametrize(("fill", "fold"), [(1.0, add), (0.0, maximum)])
def test_a_fold_that_sees_the_fill_is_kept(fill: float, fold: tile.Reducer) -> None:
    kernel = sums.capture(tensor_shape(4, 5), tensor_shape(4), fill=fill, fold=fold)
    assert "not known to be the identity beyond the clip" in notes_of(kernel, ClipAxes())


def test_a_shifted_load_is_no_reason_to_clip() -> None:
    kernel = sums.capture(tensor_shape(4, 5), tensor_shape(4), shift=1)
    assert "clipped" not in notes_of(kernel, ClipAxes())


@tile.kernel
def normalised(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", 8)
    for _ in parallel(shape(axis("g", 1))):
        x = X[coord(0, 0), shape(r, c)]
        e = exp(x - tile.reduce(x, c, maximum))
        Y.at(coord(0, 0), shape(r, c)).store(e / tile.reduce(e, c, add))


@tile.kernel
def scanned(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", 8)
    for _ in parallel(shape(axis("g", 1))):
        Y.at(coord(0, 0), shape(r, c)).store(scan(X[coord(0, 0), shape(r, c)], c, add))


@tile.kernel
def mirrored(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", 8)
    for _ in parallel(shape(axis("g", 1))):
        x = X[coord(0, 0), shape(r, c)]
        Y.at(coord(0, 0), shape(r, c)).store(tile.flip(x, c))


@tile.kernel
def elsewhere(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", 8)
    for _ in parallel(shape(axis("g", 1))):
        Y.at(coord(0, 1), shape(r, c)).store(X[coord(0, 0), shape(r, c)])


@tile.kernel
def placed(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", 8)
    for _ in parallel(shape(axis("g", 1))):
        at = tile.cast(tile.i64, X[0, 0].load())
        Y.at(coord(0, at), shape(r, c)).store(1.0)


@tile.kernel
def scaled(X: ConstView2[f32], Y: View2[f32]):
    r, c, k = axis("r", 4), axis("c", 5), axis("k", 8)
    for _ in parallel(shape(axis("g", 1))):
        a = X[coord(0, 0), shape(r, k)] + 1.0
        b = X[coord(0, 0), shape(k, c)]
        Y.at(coord(0, 0), shape(r, c)).store(mma(a, b, zeros(f32, shape(r, c))))


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (normalised, "not known to be the identity beyond the clip"),
        (scanned, "scans it"),
        (mirrored, "reads single elements along it"),
        (elsewhere, "stores it elsewhere"),
        (placed, "stores it elsewhere"),
        (scaled, "multiplies something that is not known to be 0 beyond the clip"),
    ],
    ids=lambda item: getattr(item, "__name__", None),
)
def test_an_axis_keeps_its_length_and_the_pass_says_why(kernel: tile.TileKernel, reason: str) -> None:
    captured = kernel.capture(tensor_shape(4, 5), tensor_shape(4, 5))
    assert reason in notes_of(captured, ClipAxes())

"""An independent axis is cut into blocks; one that is not independent is the planner's mistake."""

import pytest

from examples.gallery.gemm import gemm
from tests.unit.passes.tiling import applied, same_meaning
from tilewright import tile
from tilewright.core.errors import InternalError
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.types import space_of
from tilewright.passes.clip_axes import ClipAxes
from tilewright.passes.coalesce_axes import CoalesceAxes
from tilewright.passes.dissolve_loops import DissolveLoops
from tilewright.passes.fold_constants import FoldConstants
from tilewright.passes.strip_axis import StripAxis
from tilewright.tile import ConstView2, View2, add, axis, coord, f32, iota, parallel, shape, tensor_shape, where

FORGET = (DissolveLoops(), CoalesceAxes(), FoldConstants(), ClipAxes())


def axes_of(kernel: Kernel) -> list[int]:
    """The dimension numbers of the first store, in its order."""
    store = next(op for op in kernel.op.walk() if isinstance(op, StoreOp))
    return [dim.number for dim in space_of(store.value).dims]


@pytest.mark.parametrize("block", [1, 4, 5, 13, 20])
def test_blocks_of_any_size_mean_the_same(block: int) -> None:
    kernel = gemm.capture(tensor_shape(13, 7), tensor_shape(7, 9), tensor_shape(13, 9), bm=8, bn=8, bk=8)
    merged, _ = applied(kernel, *FORGET)
    rows, columns = axes_of(merged)
    cut, notes = applied(merged, StripAxis(rows, block), StripAxis(columns, 4))
    root = next(op for op in cut.op.walk() if isinstance(op, ParallelOp))
    assert root.space.extents == (-(-13 // block), 3)
    assert f"axis of 13 stripped into {-(-13 // block)} blocks of {block}" in notes
    assert same_meaning(kernel, cut)


@tile.kernel
def triangle(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 7), axis("c", 7)
    for _ in parallel(shape(axis("g", 1))):
        x = X[coord(0, 0), shape(r, c)]
        Y.at(coord(0, 0), shape(r, c)).store(where(iota(c) <= iota(r), x, 0.0))


def test_positions_count_from_the_start_of_the_axis() -> None:
    kernel = triangle.capture(tensor_shape(7, 7), tensor_shape(7, 7))
    rows, columns = axes_of(kernel)
    cut, _ = applied(kernel, StripAxis(rows, 3), StripAxis(columns, 2))
    assert same_meaning(kernel, cut)


@tile.kernel
def sums(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 7), axis("c", 7)
    for _ in parallel(shape(axis("g", 1))):
        x = X[coord(0, 0), shape(r, c)]
        Y.at(coord(0, 0), shape(r, c)).store(x - tile.reduce(x, c, add))


def test_a_folded_axis_is_not_cut() -> None:
    kernel = sums.capture(tensor_shape(7, 7), tensor_shape(7, 7))
    rows, columns = axes_of(kernel)
    assert same_meaning(kernel, applied(kernel, StripAxis(rows, 2))[0])
    with pytest.raises(InternalError, match="folds the axis"):
        applied(kernel, StripAxis(columns, 2))

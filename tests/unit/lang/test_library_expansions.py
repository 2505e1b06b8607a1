"""What library functions are made of: core operations, in the number and kind that their descriptions say."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.differential.library import cases, cases_places
from tests.differential.library.harness import Case, case, kernel_of
from tests.unit.lang.shapes import all_names, every, only
from tilewright import tile
from tilewright.analysis.folds import ClosedFold, closed_fold_of
from tilewright.core.errors import TileTypeError
from tilewright.ir.attrs import Policy
from tilewright.ir.dialect import TILE_OPS
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.regions import ReduceOp, SerialOp
from tilewright.ir.ops.tiles import MapOp, MmaOp, ScanOp
from tilewright.ir.types import dtype_of, element_of, space_of
from tilewright.tile import Tile, axis, f32, i64, shape

ALL: dict[str, Case] = {
    **cases.FOLDS, **cases.NORMALIZED, **cases.SCANS, **cases.SORTS, **cases_places.PLACES, **cases_places.WINDOWS,
}  # fmt: skip
CORE = {op.name.removeprefix("tile.") for op in TILE_OPS} | {"builtin.module"}
ax, normal, rows = cases.ax, cases.normal, cases.rows


def of(work: Callable[[Any], Any], *extents: int, dtype: str = "f4", out: Sequence[int] = (), to: str = "") -> Kernel:
    """The call on one tile of these extents; its result has the extents `out` and the type `to`."""
    given = normal(*extents).astype(dtype)
    return kernel_of(case(work, [given], normal(*(out or extents)).astype(to or dtype)))


def folds(kernel: Kernel) -> list[ClosedFold]:
    found = [closed_fold_of(op) for op in every(kernel, MapOp)]
    return [each for each in found if isinstance(each, ClosedFold)]


@pytest.mark.parametrize("name", ALL)
def test_every_function_is_core_operations(name: str) -> None:
    assert set(all_names(kernel_of(ALL[name]))) <= CORE


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_a_sum_is_one_closed_fold_in_f32(dtype: str) -> None:
    kernel = of(rows(tile.sum), 3, 9, dtype=dtype, out=(3,))
    (fold,) = folds(kernel)
    assert (fold.merge, dtype_of(element_of(fold.map.result))) == ("add", f32)


def test_argmax_is_two_closed_folds() -> None:
    assert [fold.merge for fold in folds(of(rows(tile.argmax), 3, 9, out=(3,), to="i8"))] == ["max", "min"]


def test_any_and_all_fold_truth_values() -> None:
    kernel = of(lambda t: tile.all(t > 0, ax(t, 1)) | tile.any(t > 1, ax(t, 1)), 3, 9, out=(3,), to="?")
    assert [fold.merge for fold in folds(kernel)] == ["logical_and", "logical_or"]


def test_welford_is_one_ordered_fold_that_carries_two_tiles() -> None:
    kernel = of(lambda t: tile.welford(t, ax(t, 1))[1], 3, 9, out=(3,))
    fold = only(kernel, ReduceOp)
    assert (fold.policy.data, len(fold.carries)) == (Policy.FOLD_LEFT, 2)


def test_running_folds_are_scans() -> None:
    kernel = of(rows(tile.cumprod, exclusive=True, reverse=True, policy="ordered_tree"), 3, 9, dtype="f2")
    scan = only(kernel, ScanOp)
    assert (scan.exclusive.value.data, scan.reverse.value.data, scan.policy.data) == (-1, -1, Policy.ORDERED_TREE)
    assert dtype_of(element_of(scan.tiles[0])) == f32


@pytest.mark.parametrize(("dtype", "carried"), [("f4", 1), ("f2", 1), ("u4", 1), ("f8", 2), ("i8", 2)])
def test_a_sort_is_one_loop_over_its_stages(dtype: str, carried: int) -> None:
    loops = [only(of(rows(tile.sort), 2, extent, dtype=dtype), SerialOp) for extent in (16, 64)]
    assert [loop.space.volume for loop in loops] == [4 * 5 // 2, 6 * 7 // 2]
    assert [dtype_of(element_of(each)) for each in loops[0].carries] == [i64] * (carried + 2)
    assert len({len(list(loop.walk())) for loop in loops}) == 1


def test_top_k_sorts_once() -> None:
    assert len(every(of(lambda t: tile.topk(t, ax(t, 1), axis("k", 3))[0], 2, 9, out=(2, 3)), SerialOp)) == 1


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_convolution_is_one_contraction(groups: int) -> None:
    x, w = cases_places.PIC, cases_places.FILTER[:4, : 4 // groups].copy()
    answer = cases_places.conv(x, w, groups=groups)
    mma = only(kernel_of(case(lambda x, w: tile.conv2d(x, w, groups=groups), [x, w], answer)), MmaOp)
    batched = [
        item.extent for item in space_of(mma.c).axes if item in space_of(mma.a).axes and item in space_of(mma.b).axes
    ]
    assert batched == [groups]


def test_a_pooling_is_one_closed_fold_over_both_axes_of_its_windows() -> None:
    (fold,) = folds(of(lambda t: tile.max_pool2d(t, (2, 3)), 1, 2, 8, 9, out=(1, 2, 4, 3)))
    assert (fold.merge, fold.reduce.space.extents) == ("max", (2, 3))


def test_windows_inside_the_tile_are_not_guarded() -> None:
    inside = of(lambda t: tile.window(t, ax(t, 1), axis("o", 7), axis("s", 3)), 2, 9, out=(2, 7, 3))
    across = of(lambda t: tile.window(t, ax(t, 1), axis("o", 8), axis("s", 3)), 2, 9, out=(2, 8, 3))
    assert "select" not in all_names(inside)
    assert "select" in all_names(across)


WRONG: dict[str, tuple[Callable[[Tile], Any], str]] = {
    "a foreign axis": (lambda t: tile.sort(t, axis("other", 5)), "TW214"),
    "more than there are": (lambda t: tile.topk(t, ax(t, 1), axis("k", 6))[0], "TW216"),
    "a place that is no integer": (lambda t: tile.gather(t, t, ax(t, 1)), "TW208"),
    "numbers as conditions": (lambda t: tile.any(t, ax(t, 1)), "TW217"),
    "a split that does not fit": (lambda t: tile.split_axis(t, ax(t, 1), axis("a", 2), axis("b", 2)), "TW216"),
    "a merge that does not fit": (lambda t: tile.merge_axes(t, ax(t, 0), ax(t, 1), axis("m", 16)), "TW216"),
    "parts that do not fit": (lambda t: tile.concatenate([t, t], [ax(t, 1)] * 2, axis("o", 9)), "TW216"),
    "an image of two axes": (lambda t: tile.max_pool2d(t, 2), "TW216"),
    "a formula without a result": (lambda t: tile.einsum("ij", t), "TW216"),
    "a letter for too few axes": (lambda t: tile.einsum("i->i", t), "TW216"),
    "a letter with two extents": (lambda t: tile.einsum("ij,jk->ik", t, t), "TW209"),
    "the argmax of nothing": (lambda t: tile.argmax(tile.zeros(f32, shape(a := axis("a", 0))), a), "TW215"),
    "the max of nothing": (lambda t: tile.max(tile.zeros(f32, shape(a := axis("a", 0))), a), "TW215"),
}


@pytest.mark.parametrize("name", WRONG)
def test_calls_that_do_not_fit_are_refused(name: str) -> None:
    work, code = WRONG[name]
    with pytest.raises(TileTypeError, match=code) as caught:
        of(work, 3, 5)
    assert caught.value.diagnostic.span.file == __file__


def test_channels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TileTypeError, match="TW203"):
        kernel_of(case(lambda x, w: tile.conv2d(x, w, groups=2), [cases_places.PIC, cases_places.FILTER], normal(1)))

"""Loads, stores and updates: how they are written, and which operation each spelling makes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.lang.shapes import all_names, every, only
from tilewright import tile
from tilewright.core.errors import CaptureError, EffectError, TileTypeError
from tilewright.interp import run
from tilewright.ir.attrs import Bounds, UpdateKind
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.tile import (
    ConstView2,
    View1,
    View2,
    axis,
    bounds,
    coord,
    f32,
    i32,
    i64,
    iota,
    maximum,
    minimum,
    parallel,
    shape,
    tensor_shape,
    zeros,
)  # fmt: skip

Work = Callable[[Any, Any, Any], object]
untyped: Any = tile  # the cases work on Any


def capture(work: Work, *, rows: int = 4, columns: int = 7) -> Kernel:
    """A kernel that does `work(A, C, nest)` once, on views [rows, columns]."""

    @tile.kernel
    def one(A: ConstView2[f32], C: View2[f32]):
        for nest in parallel(shape(axis("g", 1))):
            work(A, C, nest)

    return one.capture(tensor_shape(rows, columns), tensor_shape(rows, columns))


def test_four_spellings_of_a_load_are_one_operation() -> None:
    def work(A: Any, C: Any, nest: Any) -> None:
        here, block = coord(1, 2), shape(axis("m", 3), axis("n", 5))
        loads = [A[here, block], A.at(here, block).load(), A(here, block).load(), A[here, block, bounds.assume]]
        assert len({repr(load.shape) for load in loads}) == 1

    loads = every(capture(work), LoadOp)
    assert [load.bounds.data for load in loads] == [Bounds.ZERO, Bounds.ZERO, Bounds.ZERO, Bounds.ASSUME]
    assert len({load.result.type for load in loads}) == 1
    assert all(load.fill is None and load.mask is None for load in loads)


def test_a_load_has_a_fill_and_a_mask() -> None:
    def work(A: Any, C: Any, nest: Any) -> None:
        m, n = axis("m", 3), axis("n", 5)
        x = A.at(coord(0, 0), shape(m, n)).load(fill=float("-inf"), where=iota(n) < 3)
        C.at(coord(0, 0), shape(m, n)).store(x, where=iota(m) > 0)

    kernel = capture(work)
    assert only(kernel, LoadOp).fill is not None
    assert only(kernel, LoadOp).mask is not None
    A, C = np.ones((4, 7), np.float32), np.zeros((4, 7), np.float32)
    run(kernel, [A, C])
    expected = np.zeros((4, 7))
    expected[1:3, :5] = [1, 1, 1, -np.inf, -np.inf]
    assert np.array_equal(C, expected)


@pytest.mark.parametrize("fill", [1, 2.5])
def test_a_fill_takes_the_type_of_the_view(fill: float) -> None:
    kernel = capture(lambda A, C, nest: A.at(coord(-9, 0), shape(2, 2)).load(fill=fill))
    assert only(kernel, LoadOp).fill is not None
    with pytest.raises(TileTypeError, match="TW205"):
        capture(lambda A, C, nest: A.at(coord(0, 0), shape(2, 2)).load(fill=nest.index()))


def works(*each: Work) -> list[Work]:
    """The cases of a parametrised test, typed."""
    return list(each)


Make = Callable[[Any, Any], Any]


def makes(*each: tuple[Make, Any]) -> list[tuple[Make, Any]]:
    """The same for what is stored, with what comes of it."""
    return list(each)


def store_of(make: Make) -> Callable[[Any, Any, Any], None]:
    def work(A: Any, C: Any, nest: Any) -> None:
        m, n = axis("m", 4), axis("n", 7)
        C.at(coord(0, 0), shape(m, n)).store(make(m, n))

    return work


@pytest.mark.parametrize(
    ("make", "maps"),
    makes(
        (lambda m, n: zeros(f32, shape(m, n)), 0),
        (lambda m, n: zeros(f32, shape(n, m)), 1),  # by identity: the order changes
        (lambda m, n: zeros(f32, shape(n)), 1),  # repeated
        (lambda m, n: zeros(f32, shape()), 1),
        (lambda m, n: zeros(f32, shape(4, 7)), 1),  # by position
        (lambda m, n: 1.0, 0),
        (lambda m, n: zeros(f32, shape()).scalar(), 1),
    ),
)
def test_a_stored_value_is_brought_into_the_block(make: Make, maps: int) -> None:
    kernel = capture(store_of(make))
    assert all_names(kernel).count("map") == maps
    assert len(every(kernel, StoreOp)) == 1


@pytest.mark.parametrize(
    ("make", "code"),
    makes(
        (lambda m, n: zeros(f32, shape(3, 7)), "TW216"),
        (lambda m, n: zeros(i32, shape(m, n)), "TW205"),
        (lambda m, n: True, "TW206"),
        (lambda m, n: "x", "TW207"),
    ),
)
def test_a_stored_value_that_does_not_fit(make: Make, code: str) -> None:
    with pytest.raises(TileTypeError, match=code):
        capture(store_of(make))


def test_elements_are_loaded_and_stored_under_a_condition() -> None:
    def work(A: Any, C: Any, nest: Any) -> None:
        i = nest.index()
        C[i, 0].store(A[i - 1, 0].load(where=i > 0), where=i < 3)

    kernel = capture(work)
    load, store = only(kernel, LoadElementOp), only(kernel, StoreElementOp)
    assert (load.predicate is None, load.fill is None, store.predicate is None) == (False, False, False)


@pytest.mark.parametrize(
    "work",
    works(
        lambda A, C, nest: C[0, 0] + 1.0,
        lambda A, C, nest: 1.0 + C[0, 0],
        lambda A, C, nest: -C[0, 0],
        lambda A, C, nest: C.at(coord(0, 0), shape(1, 1)) * 2.0,
        lambda A, C, nest: bool(C),
        lambda A, C, nest: A + A,
        lambda A, C, nest: nest + 1,
        lambda A, C, nest: coord(0, nest) and A[coord(0, nest), shape(1, 1)],
        lambda A, C, nest: nest[0],
        lambda A, C, nest: C.at(coord(0, 0), shape(1, 1)).store(A),
        lambda A, C, nest: untyped.where(A, 1.0, 0.0),
    ),
)
def test_handles_are_no_values(work: Work) -> None:
    with pytest.raises(CaptureError, match="TW117"):
        capture(work)


@pytest.mark.parametrize(
    "work",
    works(
        lambda A, C, nest: A[0, 0].store(1.0),
        lambda A, C, nest: A.at(coord(0, 0), shape(1, 1)).store(1.0),
        lambda A, C, nest: A.at(coord(0, 0), shape(1, 1)).update(1.0, reducer=tile.add),
        lambda A, C, nest: A.update(coord(0, 0), 1.0, reducer=tile.add),
    ),
)
def test_a_const_view_is_not_written(work: Work) -> None:
    with pytest.raises(EffectError, match="TW351"):
        capture(work)


@pytest.mark.parametrize(
    "work",
    works(
        lambda A, C, nest: A[0],
        lambda A, C, nest: A[0, 0, 0],
        lambda A, C, nest: A[coord(0, 0), shape(2)],
        lambda A, C, nest: A[coord(0, 0, 0), shape(2, 2)],
        lambda A, C, nest: C.update(coord(0), 1.0, reducer=tile.add),
    ),
)
def test_a_view_is_addressed_along_all_its_axes(work: Work) -> None:
    with pytest.raises(TileTypeError, match="TW210"):
        capture(work)


def test_a_tile_access_takes_a_coord_and_a_shape() -> None:
    for work in works(lambda A, C, nest: A[(0, 0), shape(2, 2)], lambda A, C, nest: A.at(coord(0, 0), (2, 2))):
        with pytest.raises(TileTypeError, match="TW207"):
            capture(work)


def test_extents_are_host_numbers() -> None:
    seen: list[Any] = []
    capture(lambda A, C, nest: seen.extend([A.shape, A.strides, A.dtype, A.name]))
    assert seen == [(4, 7), (7, 1), f32, "A"]


@pytest.mark.parametrize(
    ("reducer", "kind"),
    [(tile.add, UpdateKind.ADD), (minimum, UpdateKind.MINIMUM), (maximum, UpdateKind.MAXIMUM)],
)
def test_an_update_has_its_reducer(reducer: tile.Reducer, kind: UpdateKind) -> None:
    kernel = capture(lambda A, C, nest: C.update(coord(0, nest.index()), 1.0, reducer=reducer))
    assert only(kernel, UpdateOp).reducer.data is kind


def test_updates_of_points_are_a_histogram() -> None:
    @tile.kernel
    def histogram(X: tile.ConstView1[i64], H: View1[f32]):
        n = axis("n", X.shape[0])
        for nest in parallel(shape(axis("g", 2))):
            x = X[coord(0), shape(n)]
            H.update(coord(x), 1.0, reducer=tile.add, where=(iota(n) % 2) == nest.index())

    X, H = np.array([0, 1, 1, 3, 1], np.int64), np.zeros(4, np.float32)
    run(histogram.capture(tensor_shape(5), tensor_shape(4)), [X, H])
    assert H.tolist() == [1.0, 3.0, 0.0, 1.0]


def test_an_update_of_a_block_adds_at_its_place() -> None:
    def work(A: Any, C: Any, nest: Any) -> None:
        m, n = axis("m", 2), axis("n", 3)
        C.at(coord(3, 5), shape(m, n)).update(A[coord(0, 0), shape(m, n)], reducer=tile.add)

    A, C = np.arange(28, dtype=np.float32).reshape(4, 7), np.ones((4, 7), np.float32)
    run(capture(work), [A, C])
    expected = np.ones((4, 7))
    expected[3, 5:] += A[0, :2]
    assert np.array_equal(C, expected)


def test_a_store_that_all_instances_make_is_refused() -> None:
    @tile.kernel
    def racing(C: View2[f32]):
        for nest in parallel(shape(axis("i", 10))):
            C[0, 1].store(tile.cast(f32, nest.index()))

    with pytest.raises(EffectError, match="several iterations write one location") as caught:
        racing.capture(tensor_shape(4, 4))
    assert "reduce" in str(caught.value)
    assert "C[0, 1].store" in str(caught.value)

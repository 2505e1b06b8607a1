"""Folds whose answers tell every order apart, to the bit; ranks and running sums at widths around those of vectors."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.differential.on_device import run_on_device
from tilewright import tile
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.tile import ConstView2, ConstView3, View1, View2, axis, coord, f32, i64, parallel, scalar, shape

F32 = np.float32
LARGE = F32(2**24)
Array = Any


def both(kernel: Kernel, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """What machine code leaves in the outputs, which is what the interpreter leaves, to the bit."""
    here, there = ([each.copy() for each in outputs] for _ in range(2))
    interpret(kernel, [*inputs, *here])
    run_on_device(kernel, [each.ctypes.data for each in (*inputs, *there)], threads=8)
    assert [each.tobytes() for each in here] == [each.tobytes() for each in there]
    return there


@tile.kernel
def side_by_side(X: ConstView3[f32], L: View1[f32], R: View1[f32], U: View1[f32], N: View1[f32], *, seed: float):
    """From the left, from the right, in any order (the largest), and a fold inside a fold."""
    outer, inner = axis("outer", X.shape[1]), axis("inner", X.shape[2])
    for nest in parallel(shape(X.shape[0])):
        row = nest.index()
        left = right = total = scalar(f32, seed)
        largest = scalar(f32, float("-inf"))
        for step in nest.reduce(shape(outer, inner), policy=tile.fold_left):
            left = left + X[row, step.index(outer), step.index(inner)].load()
        for step in nest.reduce(shape(outer, inner), policy=tile.fold_right):
            right = X[row, step.index(outer), step.index(inner)].load() + right
        for step in nest.reduce(shape(outer, inner)):
            largest = tile.maximum(largest, X[row, step.index(outer), step.index(inner)].load())
        for some in nest.reduce(shape(outer), policy=tile.fold_left):
            for step in some.reduce(shape(inner), policy=tile.fold_left):
                total = total + X[row, some.index(), step.index()].load()
        for view, value in ((L, left), (R, right), (U, largest), (N, total)):
            view[row].store(value)


@pytest.mark.parametrize("seed", [0.0, -0.0, 3.0])
@pytest.mark.parametrize(("outer", "inner"), [(0, 3), (2, 0), (1, 1), (1, 3), (2, 3), (3, 5)])
def test_folds_side_by_side_keep_their_order_and_the_sign_of_nothing(outer: int, inner: int, seed: float) -> None:
    cycle = np.array([2**24, 1, -(2**24), 0.5, -1], F32)
    x = np.stack([np.resize(np.roll(cycle, by), (outer, inner)) for by in range(3)]).reshape(3, outer, inner)
    shapes = [tile.tensor_shape(*x.shape), *[tile.tensor_shape(3)] * 4]
    left, right, largest, nested = both(side_by_side.capture(*shapes, seed=seed), [x], [np.zeros(3, F32)] * 4)
    for row in range(3):
        flat = list(x[row].reshape(-1))
        forth, back = F32(seed), F32(seed)
        for a, b in zip(flat, reversed(flat), strict=True):
            forth, back = forth + a, b + back
        for got, want in ((left, forth), (nested, forth), (right, back), (largest, max(flat, default=-np.inf))):
            assert got[row].tobytes() == F32(want).tobytes()


@tile.kernel
def two_sums(X: ConstView2[f32], U: View1[f32], L: View1[f32]):
    r, c = axis("r", 1), axis("c", X.shape[1])
    for nest in parallel(shape(X.shape[0])):
        x = X[coord(nest.index(), 0), shape(r, c)]
        U.at(coord(nest.index()), shape(r)).store(tile.reduce(x, c, tile.add))
        L.at(coord(nest.index()), shape(r)).store(tile.reduce(x, c, tile.add, policy=tile.fold_left))


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("width", [15, 37])
def test_an_ordered_fold_beside_a_free_one_swallows_every_one(width: int, fast_math: bool) -> None:
    """2^24, ones, -2^24: from the left nothing is left of the ones, in another order some of them may be."""
    x = np.ones((3, width), F32)
    x[:, 0], x[:, -1] = LARGE, -LARGE
    kernel = two_sums.capture(tile.tensor_shape(*x.shape), tile.tensor_shape(3), tile.tensor_shape(3))
    free, ordered = np.full(3, np.nan, F32), np.full(3, np.nan, F32)
    shader = tile.compile(tw.create_device("simd"), kernel, fast_math=fast_math)
    two_sums.with_options(fast_math=fast_math)(x, free, ordered)
    assert shader.metadata.error is None
    assert ordered.tobytes() == np.zeros(3, F32).tobytes()
    assert np.all((free >= 0) & (free <= width - 1))


# ------------------------------------------------------------------------------------------------------------- ranking

WIDTHS = (1, 2, 32, 64, 128)


def ranked(width: int) -> Array:
    """Rows of 31 values with ties, of signed zeros, of one value, and of different ones."""
    rng = np.random.default_rng(width)
    ties = rng.integers(0, 31, width) / 8 - 2
    zeros = np.where(np.arange(width) % 2 == 0, 0.0, -0.0)
    return np.stack([ties, zeros, np.full(width, 1.5), rng.permutation(width) / 4]).astype(F32)


@tile.kernel
def ordered_rows(X: ConstView2[f32], V: View2[f32], P: View2[i64], *, largest: bool):
    r, c, k = axis("r", 2), axis("c", X.shape[1]), axis("k", V.shape[1])
    for nest in parallel(shape(X.shape[0] // 2)):
        here = coord(nest.index() * 2, 0)
        values, places = tile.topk(X[here, shape(r, c)], c, k, largest=largest)
        V.at(here, shape(r, k)).store(values)
        P.at(here, shape(r, k)).store(places)


@tile.kernel
def sorted_columns(X: ConstView2[f32], V: View2[f32], P: View2[i64], *, largest: bool):
    c, r = axis("c", X.shape[0]), axis("r", X.shape[1])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(c, r)]
        V.at(coord(0, 0), shape(c, r)).store(tile.sort(x, c, descending=largest))
        P.at(coord(0, 0), shape(c, r)).store(tile.argsort(x, c, descending=largest))


def order_of(row: Array, *, largest: bool) -> list[int]:
    """The places of a stable order in which the two zeros are equal."""
    return sorted(range(len(row)), key=lambda i: float(-row[i] if largest else row[i]) + 0.0)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(
    ("width", "count"), [(w, k) for w, k in product(WIDTHS, (1, 7, 16)) if k <= w] + [(w, w) for w in WIDTHS]
)
def test_the_first_of_an_order_are_stable_to_the_bit(width: int, count: int, largest: bool) -> None:
    x = ranked(width)
    shapes = [tile.tensor_shape(4, width), tile.tensor_shape(4, count), tile.tensor_shape(4, count, dtype=i64)]
    kernel = ordered_rows.capture(*shapes, largest=largest)
    values, places = both(kernel, [x], [np.full((4, count), np.nan, F32), np.full((4, count), -9, np.int64)])
    want = np.array([order_of(row, largest=largest)[:count] for row in x])
    assert np.array_equal(places, want)
    assert values.tobytes() == np.take_along_axis(x, want, 1).tobytes()


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("height", [32, 33])
def test_an_axis_that_is_not_the_last_is_sorted_too(height: int, largest: bool) -> None:
    x = np.ascontiguousarray(ranked(height).T)
    shapes = [tile.tensor_shape(height, 4), tile.tensor_shape(height, 4), tile.tensor_shape(height, 4, dtype=i64)]
    kernel = sorted_columns.capture(*shapes, largest=largest)
    values, places = both(kernel, [x], [np.full(x.shape, np.nan, F32), np.full(x.shape, -9, np.int64)])
    want = np.array([order_of(row, largest=largest) for row in x.T]).T
    assert np.array_equal(places, want)
    assert values.tobytes() == np.take_along_axis(x, want, 0).tobytes()


# -------------------------------------------------------------------------------------------------------- running sums


@tile.kernel
def running(X: ConstView2[f32], Y: View2[f32], *, policy: str, across: bool):
    a, b = axis("a", X.shape[0]), axis("b", X.shape[1])
    for _ in parallel(shape(1)):
        y = tile.cumsum(X[coord(0, 0), shape(a, b)], a if across else b, policy=policy)
        Y.at(coord(0, 0), shape(a, b)).store(y)


Extents = tuple[int, int, bool]
SHAPES: list[Extents] = [*((3, width, False) for width in WIDTHS), (32, 3, True), (33, 3, True)]


@pytest.mark.parametrize("policy", ["fold_left", "ordered_tree"])
@pytest.mark.parametrize(("rows", "columns", "across"), SHAPES)
def test_running_sums_in_order_to_the_bit_and_in_a_tree_within_its_bound(
    rows: int, columns: int, across: bool, policy: str
) -> None:
    x = np.random.default_rng(rows * columns).standard_normal((rows, columns)).astype(F32)
    extents = tile.tensor_shape(rows, columns)
    (y,) = both(running.capture(extents, extents, policy=policy, across=across), [x], [np.full(x.shape, np.nan, F32)])
    along = 0 if across else 1
    if policy == "fold_left":
        assert y.tobytes() == np.cumsum(x, axis=along, dtype=F32).tobytes()
    units: list[float] = [n * 2.0**-24 / (1 - n * 2.0**-24) for n in range(1, x.shape[along] + 1)]
    bound = np.cumsum(abs(x), axis=along, dtype="f8") * np.array(units).reshape((-1, 1) if across else (1, -1))
    assert np.all(abs(y - np.cumsum(x, axis=along, dtype="f8")) <= bound)

"""Loads of several vectors and rows come before their stores: in place, shifted, and on overlapping arguments."""

import numpy as np
import pytest

from tilewright.tile import (
    ConstView1,
    ConstView2,
    Use,
    View2,
    XirOptions,
    axis,
    coord,
    f32,
    kernel,
    parallel,
    shape,
)

SHAPES = [(8, 256), (7, 300), (64, 129)]


@kernel
def scaled(X: View2[f32], w: ConstView1[f32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        X.at(coord(0, 0), shape(m, n)).store(X[coord(0, 0), shape(m, n)] * w[coord(0), shape(n)])


@kernel
def shifted(X: View2[f32], w: ConstView1[f32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1] - 1)
    for _ in parallel(shape(1)):
        left, right = X[coord(0, 0), shape(m, n)], X[coord(0, 1), shape(m, n)]
        X.at(coord(0, 1), shape(m, n)).store(left * w[coord(0), shape(n)] + right)


@kernel
def copied(X: ConstView2[f32], w: ConstView1[f32], Y: View2[f32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        Y.at(coord(0, 0), shape(m, n)).store(X[coord(0, 0), shape(m, n)] * w[coord(0), shape(n)])


@pytest.mark.parametrize("abreast", [None, *Use])
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_no_store_comes_before_a_load_of_what_it_changes(rows: int, columns: int, abreast: Use | None) -> None:
    options = XirOptions(abreast=abreast)
    random = np.random.default_rng(0)
    x, w = random.standard_normal((rows, columns), "f4"), random.standard_normal(columns, "f4")
    same = x.copy()
    scaled.with_options(xir=options)(same, w)
    assert (same == x * w).all()
    moved, weights = x.copy(), w[:-1].copy()
    shifted.with_options(xir=options)(moved, weights)
    assert (moved[:, 1:] == x[:, :-1] * weights + x[:, 1:]).all()
    memory = random.standard_normal(rows * columns + 16, "f4")
    source, target = (memory[start : start + rows * columns].reshape(rows, columns) for start in (0, 16))
    expected = source * w
    copied.with_options(xir=options)(source, w, target)
    assert (target == expected).all()

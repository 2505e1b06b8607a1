"""`debug=True` finds at run time what compiled code leaves unspecified, and names the place."""

import numpy as np
import pytest

from tilewright import tile
from tilewright.core.errors import EffectError
from tilewright.tile import ConstView1, View1, axis, coord, f32, i32, i64, parallel, shape


@tile.kernel
def picked(X: ConstView1[f32], I: ConstView1[i32], Y: View1[f32]):
    for nest in parallel(shape(axis("i", Y.shape[0]))):
        Y[nest.index()].store(X[tile.cast(i64, I[nest.index()].load())].load())


@tile.kernel
def raced(X: ConstView1[f32], I: ConstView1[i32], Y: View1[f32]):
    for nest in parallel(shape(axis("i", X.shape[0]))):
        Y[tile.cast(i64, I[nest.index()].load())].store(X[nest.index()].load())


@tile.kernel
def doubled(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 4)
    for nest in parallel(shape(axis("g", 3))):
        at = coord(nest.index() * 4)
        Y.at(at, shape(e)).store(X[at, shape(e)] * 2.0)


def test_a_right_kernel_computes_the_same() -> None:
    x, y = np.arange(10, dtype="f4"), np.full(20, np.nan, "f4")
    doubled.with_options(debug=True)(x, y[::2])
    assert np.array_equal(y[::2], 2 * x)
    assert np.all(np.isnan(y[1::2]))


def test_an_index_outside_names_array_dimension_index_extent_and_program() -> None:
    x, index, y = np.array([10, 20, 30], "f4"), np.array([0, -1, 2], "i4"), np.zeros(3, "f4")
    with pytest.raises(EffectError) as caught:
        picked.with_options(debug=True)(x, index, y)
    text = str(caught.value)
    assert all(part in text for part in ("X", "-1", "3", "axis X.0", "i=1", "test_debug.py"))


def test_two_programs_that_write_one_cell_are_reported() -> None:
    x, index, y = np.ones(3, "f4"), np.array([0, 1, 1], "i4"), np.zeros(3, "f4")
    with pytest.raises(EffectError) as caught:
        raced.with_options(debug=True)(x, index, y)
    text = str(caught.value)
    assert "TW341" in text
    assert "Y" in text

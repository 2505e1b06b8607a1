"""Writes to computed places, on the interpreter and in machine code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.differential.library.harness import Array
from tests.differential.on_device import run_on_device
from tilewright import interp, tile
from tilewright.numerics.arrays import from_numpy
from tilewright.tile import ConstView1, ConstView2, View1, View2, axis, coord, i64, parallel, shape, tensor_shape

Runner = Callable[[Any, list[Array]], None]


def on_interpreter(kernel: Any, arrays: list[Array]) -> None:
    interp.run(kernel, arrays)


def on_device(kernel: Any, arrays: list[Array]) -> None:
    run_on_device(kernel, [array.ctypes.data for array in arrays])


def captured(definition: Any, arrays: list[Array]) -> Any:
    return definition.capture(*(tensor_shape(*each.shape, dtype=from_numpy(each.dtype)) for each in arrays))


@tile.kernel
def scattered_rows(X: ConstView2, places: ConstView1[i64], Y: View2):
    """Y[places[i], j] = X[i, j] where X is not negative."""
    i, j = axis("i", X.shape[0]), axis("j", X.shape[1])
    for _ in parallel(shape(axis("g", 1))):
        x, where_to = X[coord(0, 0), shape(i, j)], places[coord(0), shape(i)]
        tile.scatter(Y, coord(where_to, tile.iota(j)), x, where=x >= 0)


@tile.kernel
def scattered_one(X: ConstView1, Y: View2):
    """One element for each of X, at a column of the host's."""
    i = axis("i", X.shape[0])
    for _ in parallel(shape(axis("g", 1))):
        tile.scatter(Y, coord(tile.iota(i), 1), X[coord(0), shape(i)])


@tile.kernel
def added(places: ConstView1[i64], Y: View1):
    """Y[places[i]] += 1, from as many programs."""
    i, g = axis("i", 4), axis("g", places.shape[0] // 4)
    for nest in parallel(shape(g)):
        tile.scatter_add(Y, coord(places[coord(nest.index() * 4), shape(i)]), tile.full(Y.dtype, shape(i), 1))


@pytest.mark.parametrize("run", [on_interpreter, on_device])
@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "i8"])
def test_the_last_of_several_wins_and_what_is_outside_is_left_alone(run: Runner, dtype: str) -> None:
    x = np.random.default_rng(3).integers(-2, 9, (7, 5)).astype(dtype)
    places = np.asarray([2, 0, 2, -1, 6, 4, 2**40])
    y = np.full((6, 5), 50, dtype)
    expected = y.copy()
    for row, place in zip(x, places, strict=True):
        if 0 <= place < 6:
            expected[place] = np.where(row >= 0, row, expected[place])
    run(captured(scattered_rows, [x, places, y]), [x, places, y])
    assert (y == expected).all()


@pytest.mark.parametrize("run", [on_interpreter, on_device])
def test_a_host_coordinate_is_checked_too(run: Runner) -> None:
    x = np.arange(1, 5, dtype="f4")
    for columns in (3, 1):
        y = np.zeros((3, columns), "f4")
        run(captured(scattered_one, [x, y]), [x, y])
        assert y.sum() == (6 if columns == 3 else 0)


@pytest.mark.parametrize("run", [on_interpreter, on_device])
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_c44_a_scatter_of_ones_counts(run: Runner, dtype: str) -> None:
    places = np.asarray([0, 1, 1, 9, 3, 1, -1, 0])
    y = np.zeros(4, dtype)
    run(captured(added, [places, y]), [places, y])
    assert y.tolist() == [2, 3, 0, 1]

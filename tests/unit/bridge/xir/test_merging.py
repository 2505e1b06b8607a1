"""Rows without a gap between them run as one, and only those."""

import numpy as np
import pytest

from tests.unit.bridge.xir.planning import label_of, planned
from tilewright import tile
from tilewright.bridge.xir.options import Use, XirOptions
from tilewright.bridge.xir.records import NestPlan
from tilewright.ir.kernel import Kernel
from tilewright.tile import View1, View2, View3, axis, cast, cdiv, coord, exp, f32, iota, parallel, shape, tensor_shape


@tile.kernel
def rows(X: View2[f32], B: View1[f32], Y: View2[f32], *, case: str = "plain", bm: int = 8, extra: int = 0):
    """Y = 2 X in blocks of rows, or something that differs from row to row."""
    m, n = axis("m", bm), axis("n", Y.shape[1] + extra)
    for nest in parallel(shape(axis("g", cdiv(Y.shape[0], bm)))):
        at = coord(nest.index() * bm, 0)
        value = X[at, shape(m, n)] * 2.0
        if case == "bias":
            value = value + B[coord(0), shape(n)]
        if case == "numbered":
            value = value + cast(f32, iota(n))
        if case == "kept":
            value = exp(value) - tile.reduce(exp(value), n, tile.add)
        Y.at(at, shape(m, n)).store(value)


@tile.kernel
def blocks(X: View3[f32], Y: View3[f32]):
    a, b, c = (axis(name, extent) for name, extent in zip("abc", X.shape, strict=True))
    for _ in parallel(shape(axis("one", 1))):
        Y.at(coord(0, 0, 0), shape(a, b, c)).store(X[coord(0, 0, 0), shape(a, b, c)] + 1.0)


@tile.kernel
def twice(X: View2[f32], Y: View2[f32], Z: View2[f32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(axis("one", 1))):
        value = exp(X[coord(0, 0), shape(m, n)])
        Y.at(coord(0, 0), shape(m, n)).store(value + 1.0)
        Z.at(coord(0, 0), shape(m, n)).store(value * value)


def store_of(kernel: Kernel) -> NestPlan:
    made = planned(kernel)
    (nest,) = (nest for nest in made.decisions.nests.values() if nest.what == "store")
    return nest


def captured(m: int, n: int, case: str = "plain", *, gap: int = 0, apart: int = 0, extra: int = 0) -> Kernel:
    """`gap` elements between rows of X, `apart` between those of Y, and tiles `extra` elements wider than both."""
    x, y = tensor_shape(m, n, strides=(n + gap, 1)), tensor_shape(m, n, strides=(n + apart, 1))
    return rows.capture(x, tensor_shape(n), y, case=case, extra=extra)


@pytest.mark.parametrize(("m", "n"), [(16, 3), (37, 3), (8, 64), (13, 1)])
def test_rows_of_dense_views_go_as_one(m: int, n: int) -> None:
    kernel = captured(m, n)
    nest = store_of(kernel)
    assert [label_of(kernel, dim) for dim in nest.merged] == (["m"] if n > 1 else [])


def test_all_axes_of_a_dense_block_do() -> None:
    kernel = blocks.capture(tensor_shape(5, 3, 7), tensor_shape(5, 3, 7))
    nest = store_of(kernel)
    assert [label_of(kernel, dim) for dim in nest.merged] == ["a", "b"]
    assert "along c, through b without a gap, through a without a gap" in planned(kernel).render()


@pytest.mark.parametrize("case", ["bias", "numbered", "kept"])
def test_what_differs_from_row_to_row_does_not(case: str) -> None:
    assert not store_of(captured(16, 3, case)).merged


@pytest.mark.parametrize(("gap", "apart", "extra"), [(1, 0, 0), (0, 1, 0), (0, 0, 2), (2, 2, 2)])
def test_rows_apart_and_rows_that_end_early_do_not(gap: int, apart: int, extra: int) -> None:
    assert not store_of(captured(16, 3, gap=gap, apart=apart, extra=extra)).merged


def test_rows_of_a_buffer_do_not() -> None:
    """They are padded to whole vectors."""
    made = planned(twice.capture(*[tensor_shape(16, 3)] * 3), XirOptions(recompute=Use.NEVER))
    assert any(not place.inline for place in made.decisions.places.values())
    assert [nest.merged for nest in made.decisions.nests.values() if nest.what == "store"] == [(), ()]


@pytest.mark.parametrize("case", ["plain", "bias", "numbered", "kept"])
@pytest.mark.parametrize(("m", "n"), [(16, 3), (37, 3), (1009, 5), (8, 64), (3, 17), (0, 4), (5, 1)])
def test_every_element_is_right(m: int, n: int, case: str) -> None:
    rng = np.random.default_rng(2)
    x, b, y = (
        rng.standard_normal((m, n)).astype("f4"),
        rng.standard_normal(n).astype("f4"),
        np.full((m + 1, n), 7, "f4"),
    )
    rows(x, b, y[:m], case=case)
    expected = x * 2
    match case:
        case "bias":
            expected = expected + b
        case "numbered":
            expected = expected + np.arange(n, dtype="f4")
        case "kept":
            expected = np.exp(expected) - np.exp(expected).sum(1, keepdims=True)
        case _:
            pass
    assert np.allclose(y[:m], expected, rtol=1e-5, atol=1e-5)
    assert (y[m] == 7).all()

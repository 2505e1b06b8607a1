"""Sibling root parallels run in order: what one wrote, the next one reads, on every thread count."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import tile
from tilewright.interp.run import run as interpret
from tilewright.passes.split_phases import phases_of
from tilewright.tile import ConstView2, View1, View2, add, axis, cdiv, coord, f32, parallel, shape, tensor_shape


@tile.kernel
def centred(X: ConstView2[f32], M: View1[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", X.shape[1])
    for nest in parallel(shape(axis("g", cdiv(X.shape[0], 4)))):
        at = nest.index() * 4
        M.at(coord(at), shape(r)).store(tile.reduce(X[coord(at, 0), shape(r, c)], c, add) / float(X.shape[1]))
    e = axis("e", 8)
    for nest in parallel(shape(axis("row", X.shape[0]), axis("part", cdiv(X.shape[1], 8)))):
        row, part = nest.coords()
        one = axis("one", 1)
        at = coord(X.shape[0] - 1 - row, part * 8)
        mean = M[X.shape[0] - 1 - row].load()
        Y.at(at, shape(one, e)).store(X[at, shape(one, e)] - mean)


def test_phases_are_kernels_with_the_same_parameters() -> None:
    kernel = centred.capture(tensor_shape(10, 21), tensor_shape(10), tensor_shape(10, 21))
    first, second = phases_of(kernel)
    assert [p.name for p in first.parameters] == [p.name for p in second.parameters] == ["X", "M", "Y"]
    assert first.hash != second.hash


@pytest.mark.parametrize("shape_", [(10, 21), (1, 1), (0, 5), (33, 64)])
def test_the_second_phase_sees_what_the_first_one_wrote(shape_: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape_).astype("f4")
    mean, y = np.full(shape_[0], np.nan, "f4"), np.full(shape_, np.nan, "f4")
    kernel = centred.capture(tensor_shape(*shape_), tensor_shape(shape_[0]), tensor_shape(*shape_))
    want = [x.copy(), mean.copy(), y.copy()]
    interpret(kernel, want)
    centred(x, mean, y)
    bound = 64 * 2.0**-23 * np.abs(x).max(initial=0.0)
    assert np.all(np.abs(y - want[2]) <= bound)


def test_the_report_counts_launches() -> None:
    kernel = centred.capture(tensor_shape(10, 21), tensor_shape(10), tensor_shape(10, 21))
    shader = tile.compile(tw.create_device("simd"), kernel)
    assert shader.metadata.realization["launches"] == 2
    assert "phase 1 of 2" in shader.explain()
    assert [argument.usage for argument in shader.metadata.arguments] == [
        tw.Usage.READ,
        tw.Usage.READ_WRITE,
        tw.Usage.WRITE,
    ]

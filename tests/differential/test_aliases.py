"""A program's load is a snapshot, also where the plan cuts the program and where arguments share memory."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import tile
from tilewright.lang.spaces import Axis
from tilewright.tile import ConstView1, ConstView2, Tile, View1, View2, axis, coord, f32, parallel, shape


def turned(t: Tile, r: Axis, c: Axis) -> Tile:
    """The same elements in a space of the other order, read one by one."""
    return tile.map(f32, shape(c, r), lambda p: t.at(coord(p.index(r), p.index(c))))


@tile.kernel
def transposed(x: ConstView2[f32], y: View2[f32]):
    r, c = axis("r", 64), axis("c", 64)
    for _ in parallel(shape(1)):
        y.at(coord(0, 0), shape(c, r)).store(turned(x[coord(0, 0), shape(r, c)], r, c))


@tile.kernel
def transposed_in_place(x: View2[f32]):
    r, c = axis("r", 64), axis("c", 64)
    for _ in parallel(shape(1)):
        x.at(coord(0, 0), shape(c, r)).store(turned(x[coord(0, 0), shape(r, c)], r, c))


@tile.kernel
def shifted(x: ConstView1[f32], y: View1[f32]):
    e = axis("e", 20_000)
    for _ in parallel(shape(1)):
        y.at(coord(1), shape(e)).store(x[coord(0), shape(e)])


@tile.kernel
def shifted_in_place(x: View1[f32]):
    e = axis("e", 20_000)
    for _ in parallel(shape(1)):
        x.at(coord(1), shape(e)).store(x[coord(0), shape(e)])


@tile.kernel
def written_twice(x: ConstView1[f32], y: View1[f32], z: View1[f32]):
    e = axis("e", 20_000)
    for _ in parallel(shape(1)):
        y.at(coord(0), shape(e)).store(x[coord(0), shape(e)])
        z.at(coord(1), shape(e)).store(x[coord(0), shape(e)] + 1.0)


@tile.kernel
def one_more(x: ConstView1[f32], y: View1[f32]):
    e = axis("e", x.shape[0])
    for _ in parallel(shape(1)):
        y.at(coord(0), shape(e)).store(x[coord(0), shape(e)] + 1.0)


def values(*extents: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(extents, np.float32)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_transpose_may_replace_its_operand(in_place: bool) -> None:
    x = values(64, 64)
    expected = x.T.copy()
    transposed_in_place(x) if in_place else transposed(x, x)
    assert np.array_equal(x, expected)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_shift_may_replace_its_operand(in_place: bool) -> None:
    x = values(20_001)
    expected = np.concatenate([x[:1], x[:-1]])
    shifted_in_place(x) if in_place else shifted(x, x)
    assert np.array_equal(x, expected)


def test_the_second_store_to_shared_memory_stays() -> None:
    x, y = values(20_000), np.zeros(20_001, np.float32)
    written_twice(x, y[:20_000], y)
    assert np.array_equal(y, np.concatenate([x[:1], x + 1]))


def test_operands_that_interleave_with_the_result() -> None:
    around = values(40_002)
    expected = around.copy()
    expected[3::2] = around[0:-2:2]
    shifted(around[0::2], around[1::2])
    assert np.array_equal(around, expected)


def test_one_is_added_in_place() -> None:
    """Input and output are one array by default; no promise that they differ is part of the kernel."""
    x = values(17)
    expected = x + 1
    one_more(x, x)
    assert np.array_equal(x, expected)
    kernel = one_more.capture(tile.tensor_shape(17), tile.tensor_shape(17))
    assert not tile.compile(tw.create_device("simd"), kernel).metadata.disjoint_writes

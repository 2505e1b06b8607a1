"""Elements gigabytes apart: addresses have 64 bits. The memory is mapped, and few of its pages are touched."""

import mmap
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tilewright import tile
from tilewright.numerics.arrays import Array
from tilewright.tile import ConstView1, ConstView2, View1, View2, axis, cdiv, coord, full, parallel, shape, u8

pytestmark = pytest.mark.slow

GUARD = 4096


def mapped(size: int) -> Array:
    """That many bytes of which only touched pages exist."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)


@tile.kernel
def copy(x: ConstView2[u8], y: View2[u8], *, rows: int = 3):
    r, c = axis("r", rows), axis("c", x.shape[1])
    for nest in parallel(shape(axis("g", cdiv(x.shape[0], rows)))):
        at = coord(nest.index() * rows, 0)
        y.at(at, shape(r, c)).store(x[at, shape(r, c)])


@tile.kernel
def filled(y: View1[u8]):
    i = axis("i", 1 << 16)
    for nest in parallel(shape(axis("g", cdiv(y.shape[0], 1 << 16)))):
        y.at(coord(nest.index() * (1 << 16)), shape(i)).store(full(u8, shape(i), 7))


@tile.kernel
def marks(x: ConstView1[u8], y: View1[u8]):
    for nest in parallel(shape(axis("i", 4))):
        i = nest.index() + 32
        y[nest.index()].store(x[(i - 32) * 67108864].load())


def test_rows_a_gigabyte_apart() -> None:
    """Both ways: the far rows are read, then written."""
    strides: Any = (1 << 30, 1)
    far = as_strided(mapped(3 * (1 << 30) + 16), (4, 16), strides)
    near = np.arange(64, dtype=np.uint8).reshape(4, 16)
    far[...] = near
    found = np.full((4, 16), 255, np.uint8)
    copy(far, found)
    assert np.array_equal(found, near)
    far[...] = 0
    copy(near[::-1].copy(), far)
    assert np.array_equal(far, near[::-1])


def test_rows_a_gigabyte_apart_as_columns() -> None:
    strides: Any = (1, 1 << 30)
    far = as_strided(mapped(3 * (1 << 30) + 16), (16, 4), strides)
    near = np.arange(64, dtype=np.uint8).reshape(16, 4)
    copy(near, far)
    found = np.zeros((16, 4), np.uint8)
    copy(far, found)
    assert np.array_equal(found, near)


def test_a_fill_past_two_gigabytes() -> None:
    size = (1 << 31) + 16
    around = mapped(size + GUARD)
    filled(around[:size])
    assert around[0] == around[size // 2] == around[size - 1] == 7
    assert not around[size:].any()


def test_an_index_is_never_formed_in_32_bits() -> None:
    far = mapped(3 * (1 << 26) + 1)
    for mark in range(4):
        far[mark << 26] = 11 + mark
    found = np.zeros(4, np.uint8)
    marks(far, found)
    assert found.tolist() == [11, 12, 13, 14]

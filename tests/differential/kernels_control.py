"""Kernels that branch on values and take numbers: masks, guards and merges in every lowering."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    Scalar,
    View1,
    View2,
    add,
    axis,
    boolean,
    cast,
    coord,
    f16,
    f32,
    i32,
    i64,
    iota,
    maximum,
    parallel,
    reduce,
    scalar,
    scalar_shape,
    shape,
    tensor_shape,
    u8,
    where,
    zeros,
)

__all__ = ["ARGUMENTS", "KERNELS"]

KERNELS: dict[str, Kernel] = {}
ARGUMENTS: dict[str, Callable[[], list[Any]]] = {}
"""What a kernel runs on, made anew each time."""


def _data(*shape: int, dtype: Any = np.float32, low: int = -9, high: int = 9) -> Any:
    return np.random.default_rng(11).integers(low, high, shape).astype(dtype)


@tile.kernel
def chain(A: ConstView2[f32], C: View2[f32], D: View1[i32]):
    m, n = axis("m", 3), axis("n", 21)
    for nest in parallel(shape(5)):
        i = nest.index()
        x = A[coord(i * 3, 0), shape(m, n)]
        if i == 0:
            y = x + 1.0
        elif i % 2 == 0:
            y = x * 2.0
        else:
            y = x
            if i > 2:
                y = -y
                C.at(coord(i * 3, 0), shape(m, n)).store(y - 0.5)
        if i < 4 and x.at(coord(0, 0)) < 5.0:
            C.at(coord(i * 3, 0), shape(m, n)).store(y)
            D[i].store(cast(i32, A[i * 3 - 1, 2].load() if i > 0 else A[0, 0].load()))
        else:
            D[i].store(-7)


KERNELS["chains of arms"] = chain.capture(tensor_shape(14, 20), tensor_shape(14, 20), tensor_shape(5))
ARGUMENTS["chains of arms"] = lambda: [_data(14, 20), np.zeros((14, 20), np.float32), np.zeros(5, np.int32)]


@tile.kernel
def by_point(A: ConstView2[f32], B: ConstView1[f32], C: View2[f32], R: View1[f32]):
    m, n = axis("m", 4), axis("n", 19)
    for nest in parallel(shape(2)):
        at = coord(nest.index() * 4, 0)
        x = A[at, shape(m, n)]
        y = scalar(f32, 0.25)
        if x > 2.0:
            b = B[coord(0), shape(n)]
            y = x * b
            C.at(at, shape(m, n)).store(y)
            if x + iota(n).astype(f32) > 12.0:
                C.at(at, shape(m, n)).store(0.0 - y)
        elif x < -4.0:
            y = x / 8.0
        R.at(coord(nest.index() * 4), shape(m)).store(reduce(y * zeros(f32, shape(m, n)) + y, n, maximum))


KERNELS["tiles of conditions"] = by_point.capture(
    tensor_shape(8, 19), tensor_shape(19), tensor_shape(8, 19), tensor_shape(8)
)
ARGUMENTS["tiles of conditions"] = lambda: [
    _data(8, 19), _data(19), np.ones((8, 19), np.float32), np.zeros(8, np.float32)
]  # fmt: skip


@tile.kernel
def regions(A: ConstView1[i32], C: View1[i32], T: View1[i32], *, programs: int = 5):
    for nest in parallel(shape(programs)):
        i = nest.index()
        total, best = scalar(i32, 0), scalar(i32, -100)
        if i != 1:
            for step in nest.serial(shape(axis("k", 7))):
                v = A[i + step.index()].load()
                if v > best:
                    best = v
                elif v % 2 == 0 and step.index() > 2:
                    total = total + 100 // (v if v != 0 else 1)
                C[i * 7 + step.index()].store(total + best)
        else:
            total = total + 3
        T[i].store(total, where=best != total)


KERNELS["regions under arms"] = regions.capture(tensor_shape(12), tensor_shape(35), tensor_shape(5))
ARGUMENTS["regions under arms"] = lambda: [
    _data(12, dtype=np.int32), np.full(35, 77, np.int32), np.full(5, 77, np.int32)
]  # fmt: skip


@tile.kernel
def divisions(A: ConstView1[i32], B: ConstView1[i32], C: View1[i32], D: View1[i32]):
    e = axis("e", 23)
    for nest in parallel(shape(3)):
        at = coord(nest.index() * 23)
        a, b = A[at, shape(e)], B[at, shape(e)]
        q = a
        if b != 0:
            q = a // b + a % b
        D.at(at, shape(e)).store(q)
        place = cast(i64, b.at(coord(3)))
        if place >= 0 and place < 23:
            C[nest.index()].store(a.at(coord(place)))


KERNELS["divisions and places under arms"] = divisions.capture(
    tensor_shape(69), tensor_shape(69), tensor_shape(3), tensor_shape(69)
)
ARGUMENTS["divisions and places under arms"] = lambda: [
    _data(69, dtype=np.int32, low=-50, high=50), _data(69, dtype=np.int32, low=-2, high=3),
    np.full(3, -99, np.int32), np.zeros(69, np.int32),
]  # fmt: skip


@tile.kernel
def updates(A: ConstView1[i32], C: View1[i32]):
    e = axis("e", 11)
    for nest in parallel(shape(4)):
        a = A[coord(nest.index() * 11), shape(e)]
        if nest.index() > 0:
            C.update(coord(cast(i64, a % 5)), a, reducer=add)
            if a > 3:
                C.update(coord(5), a, reducer=add)
            C.update(coord(6), 1, reducer=add)


KERNELS["updates under arms"] = updates.capture(tensor_shape(44), tensor_shape(7))
ARGUMENTS["updates under arms"] = lambda: [_data(44, dtype=np.int32), np.zeros(7, np.int32)]


@tile.kernel
def numbers(
    n: Scalar[i64], A: ConstView2[f32], alpha: Scalar[f32], small: Scalar[f16], C: View2[f32],
    flip: Scalar[boolean], shift: Scalar[u8],
):  # fmt: skip
    m, k = axis("m", 4), axis("k", 16)
    for nest in parallel(shape(axis("gm", 4), axis("gk", 3))):
        row, column = nest.coords()
        x = A[coord(row * 4, column * 16), shape(m, k)]
        place = iota(k) + column * 16
        y = where(place < n, x * alpha + cast(f32, small), -1.0)
        if flip:
            y = y * 2.0
        first = A[row, n].load(where=n < 37, fill=0.5)
        C.at(coord(row * 4, column * 16 + cast(i64, shift)), shape(m, k)).store(y + first)


KERNELS["numbers"] = numbers.capture(
    scalar_shape(), tensor_shape(15, 37), scalar_shape(), scalar_shape(), tensor_shape(15, 40), scalar_shape(),
    scalar_shape(),
)  # fmt: skip
ARGUMENTS["numbers"] = lambda: [
    np.array(29), _data(15, 37), np.array(0.1, np.float32), np.array(1 / 3, np.float16),
    np.zeros((15, 40), np.float32), np.array(True), np.array(2, np.uint8),
]  # fmt: skip

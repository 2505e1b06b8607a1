"""Kernels whose regions skip iterations, and arguments that would show a skipped block that was looked at."""

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
    axis,
    cdiv,
    coord,
    f32,
    i64,
    iota,
    maximum,
    mma,
    parallel,
    reduce,
    scalar,
    scalar_shape,
    shape,
    tensor_shape,
    where,
    zeros,
)

__all__ = ["ARGUMENTS", "KERNELS"]

KERNELS: dict[str, Kernel] = {}
ARGUMENTS: dict[str, Callable[[], list[Any]]] = {}
"""What a kernel runs on, made anew each time. Whole numbers: every order of a sum has the same bits."""


def _lower(rows: int, columns: int, poison: float) -> Any:
    """Whole numbers on and below the diagonal, and above it what nobody may multiply by zero."""
    data = np.random.default_rng(5).integers(-9, 9, (rows, columns)).astype(np.float32)
    block_of = np.arange(columns)[None, :] // 32 * 32 > np.arange(rows)[:, None] // 32 * 32 + 31
    return np.where(block_of, np.float32(poison), data)


def _data(*extents: int) -> Any:
    return np.random.default_rng(6).integers(-9, 9, extents).astype(np.float32)


@tile.kernel
def triangle(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], T: View1[f32]):
    """Several carries: products, peaks, and a count in a register."""
    (M, K), N = A.shape, B.shape[1]
    gm, gk = axis("gm", cdiv(M, 32)), axis("gk", cdiv(K, 32))
    m, k, n = axis("m", 32), axis("k", 32), axis("n", N)
    for nest in parallel(shape(gm)):
        m0 = nest.index() * 32
        acc, top, steps = zeros(f32, shape(m, n)), zeros(f32, shape(m)), scalar(f32, 0.0)
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * 32
            if k0 <= m0 + 31:
                a = where(iota(k) + k0 <= iota(m) + m0, A[coord(m0, k0), shape(m, k)], 0.0)
                top = maximum(top, reduce(a, k, maximum))
                acc = mma(a, B[coord(k0, 0), shape(k, n)], acc)
                steps = steps + 1.0
        C.at(coord(m0, 0), shape(m, n)).store(acc + steps)
        T.at(coord(m0), shape(m)).store(top)


def _triangle(name: str, rows: int, columns: int, poison: float) -> None:
    views = (rows, columns), (columns, 19), (rows, 19), (rows,)
    KERNELS[name] = triangle.capture(*(tensor_shape(*extents) for extents in views))
    ARGUMENTS[name] = lambda: [
        _lower(rows, columns, poison), _data(columns, 19), np.zeros((rows, 19), np.float32), np.zeros(rows, np.float32)
    ]  # fmt: skip


_triangle("nan above the diagonal", 96, 96, np.nan)
_triangle("infinity above the diagonal", 96, 96, np.inf)
_triangle("ragged", 75, 110, np.nan)
_triangle("more rows than columns", 110, 43, np.nan)


@tile.kernel
def stored(A: ConstView2[f32], C: View2[f32], *, only: int = 1):
    """Nothing is carried; stores and a nested loop stand in the arm."""
    m, n = axis("m", 8), axis("n", 70)
    for nest in parallel(shape(3)):
        m0 = nest.index() * 8
        for step in nest.serial(shape(axis("s", 4))):
            if step.index() % 2 == nest.index() % 2:
                x = A[coord(m0, 0), shape(m, n)]
                for twice in step.serial(shape(axis("t", 3))):
                    x = x * 2.0 + step.index().astype(f32)
                    if twice.index() >= only:
                        C.at(coord(m0 + 24 * step.index(), 0), shape(m, n)).store(x)


KERNELS["stores and a loop in the arm"] = stored.capture(tensor_shape(22, 65), tensor_shape(96, 65))
ARGUMENTS["stores and a loop in the arm"] = lambda: [_data(22, 65), np.full((96, 65), 77, np.float32)]


@tile.kernel
def nested(first: Scalar[i64], A: ConstView2[f32], L: ConstView1[i64], C: View2[f32], *, trips: int = 5):
    """Both loops skip, the inner one by a number read before it, the outer one by an argument."""
    m, n = axis("m", 16), axis("n", 40)
    for nest in parallel(shape(2)):
        m0, acc = nest.index() * 16, zeros(f32, shape(m, n))
        limit = L[nest.index()].load()
        for outer in nest.serial(shape(axis("a", 3))):
            if outer.index() >= first:
                for inner in outer.serial(shape(axis("b", trips))):
                    if inner.index() < limit:
                        acc = acc * 2.0 + A[coord(m0, inner.index() * 40), shape(m, n)]
        C.at(coord(m0, 0), shape(m, n)).store(acc)


def _nested() -> list[Any]:
    a = _data(32, 200)
    a[:16, 80:], a[16:, 160:] = np.nan, np.inf
    return [np.int64(1), a, np.array([2, 4]), np.zeros((32, 40), np.float32)]


for _name, _trips in (("loops in loops", 5), ("no trips", 0)):
    KERNELS[_name] = nested.capture(
        scalar_shape(i64), tensor_shape(32, 200), tensor_shape(2), tensor_shape(32, 40), trips=_trips
    )
    ARGUMENTS[_name] = _nested


@tile.kernel
def folded(A: ConstView2[f32], C: View2[f32], *, policy: str):
    """Two axes, from either side; the condition is no bound of one axis."""
    m, n, s, t = axis("m", 16), axis("n", 40), axis("s", 3), axis("t", 4)
    for nest in parallel(shape(2)):
        acc = zeros(f32, shape(m, n))
        for step in nest.reduce(shape(s, t), policy=policy):
            place = step.index(s) * 4 + step.index(t)
            if place % 3 != nest.index():
                acc = acc * 2.0 + A[coord(0, place * 40), shape(m, n)]
        C.at(coord(nest.index() * 16, 0), shape(m, n)).store(acc)


for _policy in ("fold_left", "fold_right"):
    KERNELS[_policy] = folded.capture(tensor_shape(16, 480), tensor_shape(32, 40), policy=_policy)
    ARGUMENTS[_policy] = lambda: [_data(16, 480), np.zeros((32, 40), np.float32)]

"""Kernels of the cases, written by hand so that they need nothing but the IR, and arrays inside guard bands."""

from collections.abc import Callable

import numpy as np
from xdsl.ir import SSAValue

from tests.unit.interp.hand import Hand, View, space
from tilewright import interp
from tilewright.core.dtypes import DType, f32, i32, i64
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import from_numpy, numpy_dtype

GUARD = -731.25
_BAND = 16


class Banded:
    """An output filled with NaN (the largest number where there is none) between two guard bands."""

    def __init__(self, shape: tuple[int, ...], dtype: type[DType] = f32) -> None:
        size = int(np.prod(shape))
        kind = numpy_dtype(dtype)
        self.memory = np.full(size + 2 * _BAND, int(GUARD) if dtype.is_integer else GUARD).astype(kind)
        self.guard = self.memory[:_BAND].tobytes()
        self.array = self.memory[_BAND : _BAND + size].reshape(shape)
        self.array[...] = np.nan if dtype.is_float else np.iinfo(kind).max if dtype.is_integer else False

    def intact(self) -> bool:
        return self.memory[:_BAND].tobytes() == self.guard == self.memory[-_BAND:].tobytes()


def result(kernel: Kernel, inputs: list[np.ndarray], out: Banded) -> np.ndarray:
    """Runs twice, in two orders, and once point by point; all agree and the guards stay."""
    start = out.array.copy()
    answers: list[np.ndarray] = []
    for how in ({}, {"order": "reverse"}, {"lanes": 1} if out.array.size < 4096 else {"order": "reverse"}):
        out.array[...] = start
        interp.run(kernel, [*inputs, out.array], **how)  # type: ignore[arg-type]
        answers.append(out.array.copy())
    assert out.intact()
    assert all(answer.tobytes() == answers[0].tobytes() for answer in answers)
    return answers[0]


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def ramps(M: int, K: int, N: int) -> tuple[np.ndarray, np.ndarray]:
    i, k, j = np.arange(M)[:, None], np.arange(K), np.arange(N)
    return ((7 * i + 3 * k) % 11).astype("f4"), ((5 * k[:, None] + 2 * j) % 13).astype("f4")


def gemm(M: int, K: int, N: int, bm: int, bn: int, bk: int, *, transposed: bool = False) -> Kernel:
    """C = A B in tiles, or its transpose."""
    out = View(f32, (N, M) if transposed else (M, N))
    h = Hand(A=View(f32, (M, K), const=True), B=View(f32, (K, N), const=True), C=out)
    with h.parallel(space(x=cdiv(M, bm), y=cdiv(N, bn))) as p:
        m0, n0 = h.do("mul", p.indices[0], h.index(bm)), h.do("mul", p.indices[1], h.index(bn))
        with h.pipeline(space(z=cdiv(K, bk)), h.const(0, f32, space(m=bm, n=bn))) as steps:
            k0 = h.do("mul", steps.indices[0], h.index(bk))
            a, b = h.load(h.A, [m0, k0], space(m=bm, k=bk)), h.load(h.B, [k0, n0], space(k=bk, n=bn))
            steps.yields(h.mma(a, b, steps.carries[0]))
        if not transposed:
            h.store(h.C, [m0, n0], steps.results[0])
        else:
            with h.map(f32, space(n=bn, m=bm)) as turned:
                turned.yields(h.extract(steps.results[0], turned.indices[1], turned.indices[0]))
            h.store(h.C, [n0, m0], turned.results[0])
    return h.kernel()


def blocks(
    n: int,
    tile: int,
    body: Callable[[Hand, SSAValue], SSAValue],
    *,
    dtype: type[DType] = f32,
    fill: float | None = None,
) -> Kernel:
    """`y[block] = body(h, x[block])` for every block of a vector."""
    h = Hand(x=View(dtype, (n,), const=True), y=View(dtype, (n,)))
    with h.parallel(space(p=cdiv(n, tile))) as p:
        at = [h.do("mul", p.indices[0], h.index(tile))]
        value = None if fill is None else h.const(fill, dtype)
        h.store(h.y, at, body(h, h.load(h.x, at, space(m=tile), fill=value)))
    return h.kernel()


def fold_vector(n: int, tile: int, op: str, seed: float, *, dtype: type[DType] = f32) -> Kernel:
    """One number from a vector: a pipelined running fold of padded tiles, then a fold of the last tile."""
    h = Hand(x=View(dtype, (n,), const=True), y=View(dtype, (1,)))
    with h.parallel(space(p=1)) as p:
        with h.pipeline(space(z=cdiv(n, tile)), h.const(seed, dtype, space(m=tile))) as steps:
            at = [h.do("mul", steps.indices[0], h.index(tile))]
            part = h.load(h.x, at, space(m=tile), fill=h.const(seed, dtype))
            steps.yields(h.do(op, steps.carries[0], part))
        h.set(h.y, p.indices, h.extract(h.fold(steps.results[0], "m", op, seed)))
    return h.kernel()


def arg_extremum(n: int, compare: str) -> Kernel:
    """The place of the first extremum of a vector; the first NaN wins."""
    h = Hand(x=View(f32, (n,), const=True), y=View(i64, (1,)))
    with h.parallel(space(p=1)) as p:
        first = h.get(h.x, h.index(0))
        with h.reduce(space(k=n), first, h.index(0)) as fold:
            best, at = fold.carries
            item = h.get(h.x, fold.indices[0])
            held = h.do("isnan", best)
            better = h.do("logical_or", h.do(compare, item, best), h.do("isnan", item))
            take = h.do("logical_and", better, h.do("logical_not", held))
            fold.yields(h.do("select", take, item, best), h.do("select", take, fold.indices[0], at))
        h.set(h.y, p.indices, fold.results[1])
    return h.kernel()


def scan_in_place(n: int, tile: int) -> Kernel:
    """x becomes its inclusive sums: tile after tile, the last sum carried along."""
    h = Hand(x=View(i32, (n,)))
    with h.parallel(space(p=1)), h.serial(space(z=cdiv(n, tile)), h.const(0, i32)) as steps:
        at = [h.do("mul", steps.indices[0], h.index(tile))]
        with h.scan([h.load(h.x, at, space(k=tile))], [steps.carries[0]], "k") as body:
            body.yields(h.do("add", *h.builder.block.args))
        h.store(h.x, at, body.results[0])
        steps.yields(h.extract(body.results[0], h.index(tile - 1)))
    return h.kernel()


def scan_vector(
    x: np.ndarray, combine: Callable[[Hand, SSAValue, SSAValue], SSAValue], *, reverse: bool = False
) -> Kernel:
    """`y = scan(x)` from 0 with the body `combine(h, state, item)`."""
    dtype = from_numpy(x.dtype)
    h = Hand(x=View(dtype, x.shape, const=True), y=View(dtype, x.shape))
    with h.parallel(space(p=1)) as p:
        tile = h.load(h.x, p.indices, space(k=len(x)))
        with h.scan([tile], [h.const(0, dtype)], "k", reverse=reverse) as body:
            body.yields(combine(h, *h.builder.block.args))
        h.store(h.y, p.indices, body.results[0])
    return h.kernel()

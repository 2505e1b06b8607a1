"""Products of every pair of operand and accumulator types, in any order of axes, whole and ragged: bit for bit."""

import numpy as np
import pytest

from tests.differential.on_device import run_on_device
from tests.differential.strided import LAYOUTS, lay_out, restrided
from tilewright import tile
from tilewright.bridge.xir.options import PROGRAM, XirOptions
from tilewright.core.dtypes import (
    DType,
    bf16,
    f16,
    f32,
    f64,
    float8_e4m3fn,
    float8_e5m2,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
)
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.tile import ConstView2, View2, axis, cast, cdiv, coord, full, mma, parallel, shape, tensor_shape

PAIRS = [
    (f16, f16, f32), (bf16, bf16, f32), (f16, bf16, f32), (float8_e4m3fn, float8_e5m2, f32), (f32, f16, f64),
    (f64, f64, f32), (i8, i8, i32), (u8, u8, i32), (u8, i8, i32), (i8, u8, i32), (u8, u8, u32), (i16, u16, i64),
    (i32, i32, i32), (i64, u8, i32), (u8, i8, f32), (u16, u16, f64), (i8, i8, i8), (u8, u8, u8),
]  # fmt: skip
SIZES = [(1, 1, 1), (7, 9, 11), (40, 33, 70)]


@tile.kernel
def product(A: ConstView2, B: ConstView2, C: View2, *, dtype: type[DType], swap: bool, bm: int, bn: int, bk: int):
    """C += A B, or with `swap` the product of A[k, m] and B[n, k]."""
    M, N = C.shape
    K = A.shape[0] if swap else A.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = cast(dtype, C[coord(m0, n0), shape(m, n)])
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            a = A[coord(k0, m0), shape(k, m)] if swap else A[coord(m0, k0), shape(m, k)]
            b = B[coord(n0, k0), shape(n, k)] if swap else B[coord(k0, n0), shape(k, n)]
            acc = mma(a, b, acc, reassociate=False)
        C.at(coord(m0, n0), shape(m, n)).store(cast(C.dtype, acc))


def made(types: tuple[type[DType], type[DType], type[DType]], sizes: tuple[int, int, int], *, swap: bool) -> Kernel:
    (a, b, c), (M, N, K) = types, sizes
    shapes = [(K, M), (N, K), (M, N)] if swap else [(M, K), (K, N), (M, N)]
    views = [tensor_shape(*extents, dtype=dtype) for extents, dtype in zip(shapes, (a, b, c), strict=True)]
    block = (2, 2, 4) if M < 16 else (16, 32, 8)
    return product.capture(*views, dtype=c, swap=swap, bm=block[0], bn=block[1], bk=block[2])


def require_equal(kernel: Kernel, *, threads: int = 2, options: XirOptions | None = None) -> None:
    want, got = lay_out(kernel.parameters), lay_out(kernel.parameters)
    for memory in (*want, *got):
        if memory.array.dtype == np.uint8:
            memory.around[...] |= 0x80  # a zero-extension that is none shows
    interpret(kernel, [memory.array for memory in want])
    run_on_device(kernel, [memory.address for memory in got], threads=threads, options=options)
    for parameter, a, b in zip(kernel.parameters, want, got, strict=True):
        assert a.same_bytes(b), parameter.name


@pytest.mark.parametrize("swap", [False, True], ids=["as written", "transposed"])
@pytest.mark.parametrize("types", PAIRS, ids=str)
def test_a_product(types: tuple[type[DType], type[DType], type[DType]], swap: bool) -> None:
    for sizes in SIZES[-1:] if swap else SIZES:
        require_equal(made(types, sizes, swap=swap))


@pytest.mark.parametrize("types", [(u8, u8, i32), (bf16, bf16, f32)], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_product_of_views(types: tuple[type[DType], type[DType], type[DType]], layout: str) -> None:
    require_equal(restrided(made(types, (40, 33, 70), swap=False), LAYOUTS[layout]), threads=8)


@pytest.mark.parametrize("types", [(u8, i8, i32), (float8_e4m3fn, f16, f32)], ids=str)
def test_a_product_with_programs_as_lanes(types: tuple[type[DType], type[DType], type[DType]]) -> None:
    require_equal(made(types, (7, 9, 11), swap=False), options=XirOptions(lanes=PROGRAM))


def test_an_accumulator_of_another_type_than_the_result() -> None:
    """Sums of 4096 half-width ones are exact: the accumulator is wide, the result is rounded once."""

    @tile.kernel
    def sums(A: ConstView2[f16], B: ConstView2[f16], C: View2[f16]):
        m, n, k = axis("m", 4), axis("n", 16), axis("k", A.shape[1])
        for _ in parallel(shape(1)):
            acc = mma(A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)], full(f32, shape(m, n), 0))
            C.at(coord(0, 0), shape(m, n)).store(cast(f16, acc))

    C = np.zeros((4, 16), np.float16)
    sums(np.ones((4, 4096), np.float16), np.ones((4096, 16), np.float16), C)
    assert (C == 4096).all()

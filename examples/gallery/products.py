"""More matrix products: batched, into a C that has something in it, in narrow types, through memory placed by hand."""

from tilewright import tile
from tilewright.tile import (
    ConstView2,
    ConstView3,
    View2,
    View3,
    axis,
    cdiv,
    coord,
    f16,
    f32,
    i8,
    i32,
    memory,
    mma,
    padded,
    parallel,
    permuted,
    shape,
    zeros,
)  # fmt: skip


@tile.kernel
def batched_gemm(A: ConstView3[f32], B: ConstView3[f32], C: View3[f32], *, bm: int = 32, bn: int = 32, bk: int = 32):
    """C[i] = A[i] B[i]; the batch is an axis of all three tiles."""
    (G, M, K), N = A.shape, B.shape[2]
    gb, gm, gn, gk = axis("gb", G), axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    b, m, n, k = axis("b", 1), axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gb, gm, gn)):
        item, m0, n0 = nest.index(gb), nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(b, m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            acc = mma(A[coord(item, m0, k0), shape(b, m, k)], B[coord(item, k0, n0), shape(b, k, n)], acc)
        C.at(coord(item, m0, n0), shape(b, m, n)).store(acc)


@tile.kernel
def gemm_plus(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int = 32, bn: int = 32, bk: int = 32):
    """C += A B: the chain of sums starts from what C holds."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = C[coord(m0, n0), shape(m, n)]
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            acc = mma(A[coord(m0, k0), shape(m, k)], B[coord(k0, n0), shape(k, n)], acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def gemm_ordered(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int = 64, bn: int = 64, bk: int = 64):
    """C = A B where every sum goes from the first k to the last: the same bits in every plan and on every route."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            a, b = A[coord(m0, k0), shape(m, k)], B[coord(k0, n0), shape(k, n)]
            acc = mma(a, b, acc, reassociate=False)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def gemm_f16(A: ConstView2[f16], B: ConstView2[f16], C: View2[f32], *, bm: int = 32, bn: int = 32, bk: int = 32):
    """Half operands, f32 sums."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            acc = mma(A[coord(m0, k0), shape(m, k)], B[coord(k0, n0), shape(k, n)], acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def gemm_i8(A: ConstView2[i8], B: ConstView2[i8], C: View2[i32], *, bm: int = 32, bn: int = 32, bk: int = 32):
    """Bytes multiplied into 32-bit sums."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(i32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            acc = mma(A[coord(m0, k0), shape(m, k)], B[coord(k0, n0), shape(k, n)], acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def gemm_memory(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int = 16, bn: int = 16, bk: int = 16):
    """The operands pass through memory placed by hand: As with padded rows, Bs column by column."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        As = memory(f32, padded(shape(m, k), 1), "private")
        Bs = memory(f32, permuted(shape(k, n), n, k), "private")
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            step.stage("load")
            As.store(A[coord(m0, k0), shape(m, k)])
            Bs.store(B[coord(k0, n0), shape(k, n)])
            step.stage("compute")
            acc = mma(As.load(), Bs.load(), acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)

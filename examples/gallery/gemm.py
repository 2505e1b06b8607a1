"""Matrix products: C = A B, and the same with A or B stored transposed."""

from tilewright import tile
from tilewright.tile import ConstView2, View2, axis, cdiv, coord, f32, mma, parallel, shape, zeros


@tile.kernel
def gemm(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int = 64, bn: int = 64, bk: int = 64):
    """C = A B, in blocks."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            step.stage("load")
            a = A[coord(m0, k0), shape(m, k)]  # one load: a snapshot, zero-filled outside
            b = B[coord(k0, n0), shape(k, n)]
            step.stage("compute")
            acc = mma(a, b, acc)  # carried by assignment
        C.at(coord(m0, n0), shape(m, n)).store(acc)  # the only kind of write


@tile.kernel
def gemm_at(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int = 64, bn: int = 64, bk: int = 64):
    """The first operand is stored as A[k, m]: its tile has the axes in that order, and mma goes by their identity."""
    (K, M), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            step.stage("load")
            a = A[coord(k0, m0), shape(k, m)]
            b = B[coord(k0, n0), shape(k, n)]
            step.stage("compute")
            acc = mma(a, b, acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def gemm_bt(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int = 64, bn: int = 64, bk: int = 64):
    """The second operand is stored as B[n, k]."""
    (M, K), N = A.shape, B.shape[0]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            step.stage("load")
            a = A[coord(m0, k0), shape(m, k)]
            b = B[coord(n0, k0), shape(n, k)]
            step.stage("compute")
            acc = mma(a, b, acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def gemm_atbt(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int = 64, bn: int = 64, bk: int = 64):
    """Both operands are stored transposed: A[k, m] and B[n, k]."""
    (K, M), N = A.shape, B.shape[0]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            step.stage("load")
            a = A[coord(k0, m0), shape(k, m)]
            b = B[coord(n0, k0), shape(n, k)]
            step.stage("compute")
            acc = mma(a, b, acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)

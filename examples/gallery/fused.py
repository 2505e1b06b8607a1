"""Matrix products with something before, between or after them: activations, a softmax, another layout."""

from tilewright import tile
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View2,
    axis,
    boolean,
    cast,
    cdiv,
    coord,
    f32,
    gelu,
    i8,
    mma,
    parallel,
    shape,
    sigmoid,
    where,
    zeros,
)  # fmt: skip


@tile.kernel
def gemm_bias_gelu(
    A: ConstView2[f32], B: ConstView2[f32], bias: ConstView1[f32], C: View2[f32],
    *, bm: int = 64, bn: int = 64, bk: int = 64,
):  # fmt: skip
    """C = gelu(A B + bias), by the tanh approximation."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            acc = mma(A[coord(m0, k0), shape(m, k)], B[coord(k0, n0), shape(k, n)], acc)
        C.at(coord(m0, n0), shape(m, n)).store(gelu(acc + bias[coord(n0), shape(n)], "tanh"))


@tile.kernel
def glu(
    X: ConstView2[f32], W: ConstView2[f32], V: ConstView2[f32], Y: View2[f32],
    *, bm: int = 64, bn: int = 64, bk: int = 64,
):  # fmt: skip
    """Y = (X W) * sigmoid(X V): two products of one operand. Dauphin et al. (2017)."""
    (M, K), N = X.shape, W.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        value, gate = zeros(f32, shape(m, n)), zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            x = X[coord(m0, k0), shape(m, k)]
            value = mma(x, W[coord(k0, n0), shape(k, n)], value)
            gate = mma(x, V[coord(k0, n0), shape(k, n)], gate)
        Y.at(coord(m0, n0), shape(m, n)).store(value * sigmoid(gate))


@tile.kernel
def mlp(
    X: ConstView2[f32], W: ConstView2[f32], V: ConstView2[f32], Y: View2[f32],
    *, bm: int = 64, bh: int = 64, bk: int = 64,
):  # fmt: skip
    """Y = gelu(X W) V: a block of hidden units is made, used, and never stored."""
    (M, K), H, E = X.shape, W.shape[1], V.shape[1]
    gm, gh, gk = axis("gm", cdiv(M, bm)), axis("gh", cdiv(H, bh)), axis("gk", cdiv(K, bk))
    m, h, k, e = axis("m", bm), axis("h", bh), axis("k", bk), axis("e", E)
    for nest in parallel(shape(gm)):
        m0 = nest.index() * bm
        out = zeros(f32, shape(m, e))
        for block in nest.serial(shape(gh)):
            h0 = block.index() * bh
            hidden = zeros(f32, shape(m, h))
            for step in block.pipeline(shape(gk), window=2):
                k0 = step.index() * bk
                hidden = mma(X[coord(m0, k0), shape(m, k)], W[coord(k0, h0), shape(k, h)], hidden)
            out = mma(gelu(hidden, "tanh"), V[coord(h0, 0), shape(h, e)], out)
        Y.at(coord(m0, 0), shape(m, e)).store(out)


@tile.kernel
def gemm_softmax(A: ConstView2[f32], B: ConstView2[f32], Y: View2[f32], *, bm: int = 32, bk: int = 64):
    """Y = softmax(A B), row by row: a program makes whole rows."""
    (M, K), N = A.shape, B.shape[1]
    gm, gk = axis("gm", cdiv(M, bm)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", N), axis("k", bk)
    for nest in parallel(shape(gm)):
        m0 = nest.index() * bm
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            acc = mma(A[coord(m0, k0), shape(m, k)], B[coord(k0, 0), shape(k, n)], acc)
        Y.at(coord(m0, 0), shape(m, n)).store(tile.softmax(acc, n))


@tile.kernel
def gemm_transposed(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int = 64, bn: int = 64, bk: int = 64):
    """C = transpose(A B): C is stored as C[n, m]."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            acc = mma(A[coord(m0, k0), shape(m, k)], B[coord(k0, n0), shape(k, n)], acc)
        C.at(coord(n0, m0), shape(n, m)).store(tile.transpose(acc, n, m))


@tile.kernel
def gemm_scaled(
    A: ConstView2[f32], scale: ConstView1[f32], B: ConstView2[f32], C: View2[f32],
    *, bm: int = 64, bn: int = 64, bk: int = 64,
):  # fmt: skip
    """C = (A * scale) B: each column of A is scaled on its way into the product."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            a = A[coord(m0, k0), shape(m, k)] * scale[coord(k0), shape(k)]
            acc = mma(a, B[coord(k0, n0), shape(k, n)], acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def gemm_dequantised(
    A: ConstView2[f32], Q: ConstView2[i8], scale: ConstView1[f32], C: View2[f32],
    *, bm: int = 64, bn: int = 64, bk: int = 64,
):  # fmt: skip
    """C = A W^T, where row n of W is scale[n] times bytes: the weights are never in memory as numbers."""
    (M, K), N = A.shape, Q.shape[0]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            weights = cast(f32, Q[coord(n0, k0), shape(n, k)]) * scale[coord(n0), shape(n)]
            acc = mma(A[coord(m0, k0), shape(m, k)], weights, acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def gemm_masked(
    A: ConstView2[f32], B: ConstView2[f32], keep: ConstView2[boolean], C: View2[f32],
    *, bm: int = 64, bn: int = 64, bk: int = 64,
):  # fmt: skip
    """C = A B, where elements of B count only where `keep` says so."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            at = coord(k0, n0)
            kept = where(keep[at, shape(k, n)], B[at, shape(k, n)], 0.0)
            acc = mma(A[coord(m0, k0), shape(m, k)], kept, acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)

"""Elementwise kernels over matrices of any size: one tile a program, ragged edges guarded by the load and the store."""

from tilewright import tile
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    axis,
    cdiv,
    coord,
    exp,
    f32,
    gelu,
    parallel,
    shape,
    silu,
)  # fmt: skip


@tile.kernel
def add(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int = 8, bn: int = 256):
    """C = A + B."""
    M, N = C.shape
    gm, gn = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn))
    m, n = axis("m", bm), axis("n", bn)
    for nest in parallel(shape(gm, gn)):
        here = coord(nest.index(gm) * bm, nest.index(gn) * bn)
        C.at(here, shape(m, n)).store(A[here, shape(m, n)] + B[here, shape(m, n)])


@tile.kernel
def add_vectors(A: ConstView1[f32], B: ConstView1[f32], C: View1[f32], *, bn: int = 256):
    """C = A + B, of one axis."""
    N = C.shape[0]
    g, n = axis("g", cdiv(N, bn)), axis("n", bn)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * bn)
        C.at(here, shape(n)).store(A[here, shape(n)] + B[here, shape(n)])


@tile.kernel
def bias_gelu_residual(
    X: ConstView2[f32], bias: ConstView1[f32], R: ConstView2[f32], Y: View2[f32],
    *, bm: int = 8, bn: int = 256, approximate: str = "tanh",
):  # fmt: skip
    """Y = gelu(X + bias) + R, by the tanh approximation or exactly (`approximate="erf"`)."""
    M, N = Y.shape
    gm, gn = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn))
    m, n = axis("m", bm), axis("n", bn)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        x = X[coord(m0, n0), shape(m, n)] + bias[coord(n0), shape(n)]
        r = R[coord(m0, n0), shape(m, n)]
        Y.at(coord(m0, n0), shape(m, n)).store(gelu(x, approximate) + r)


@tile.kernel
def swiglu(X: ConstView2[f32], G: ConstView2[f32], Y: View2[f32], *, bm: int = 8, bn: int = 256):
    """Y = silu(G) * X."""
    M, N = Y.shape
    gm, gn = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn))
    m, n = axis("m", bm), axis("n", bn)
    for nest in parallel(shape(gm, gn)):
        here = coord(nest.index(gm) * bm, nest.index(gn) * bn)
        Y.at(here, shape(m, n)).store(silu(G[here, shape(m, n)]) * X[here, shape(m, n)])


@tile.kernel
def copy(X: ConstView2, Y: View2, *, bm: int = 8, bn: int = 256):
    """Y = X, whatever the element type."""
    M, N = Y.shape
    gm, gn = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn))
    m, n = axis("m", bm), axis("n", bn)
    for nest in parallel(shape(gm, gn)):
        here = coord(nest.index(gm) * bm, nest.index(gn) * bn)
        Y.at(here, shape(m, n)).store(X[here, shape(m, n)])


@tile.kernel
def scaled_sum(A: ConstView2[f32], B: ConstView2[f32], Y: View2[f32], *, bm: int = 8, bn: int = 256):
    """Y = A / 0.4 + B: a division stays one."""
    M, N = Y.shape
    gm, gn = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn))
    m, n = axis("m", bm), axis("n", bn)
    for nest in parallel(shape(gm, gn)):
        here = coord(nest.index(gm) * bm, nest.index(gn) * bn)
        Y.at(here, shape(m, n)).store(A[here, shape(m, n)] / 0.4 + B[here, shape(m, n)])


@tile.kernel
def clamp(X: ConstView2[f32], Y: View2[f32], *, bm: int = 8, bn: int = 256, low: float = -0.5, high: float = 0.5):
    """Y = X moved into low ... high."""
    M, N = Y.shape
    gm, gn = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn))
    m, n = axis("m", bm), axis("n", bn)
    for nest in parallel(shape(gm, gn)):
        here = coord(nest.index(gm) * bm, nest.index(gn) * bn)
        Y.at(here, shape(m, n)).store(tile.clamp(X[here, shape(m, n)], low, high))


@tile.kernel
def exponential(X: ConstView2[f32], Y: View2[f32], *, bm: int = 8, bn: int = 256):
    """Y = exp(X)."""
    M, N = Y.shape
    gm, gn = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn))
    m, n = axis("m", bm), axis("n", bn)
    for nest in parallel(shape(gm, gn)):
        here = coord(nest.index(gm) * bm, nest.index(gn) * bn)
        Y.at(here, shape(m, n)).store(exp(X[here, shape(m, n)]))

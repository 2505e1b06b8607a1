"""Losses, averaged over each row; one number a row is stored."""

from tilewright import tile
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    abs,
    axis,
    cdiv,
    coord,
    exp,
    f32,
    gather,
    i64,
    iota,
    log,
    log_softmax,
    mean,
    parallel,
    relu,
    shape,
    softmax,
    where,
)  # fmt: skip


@tile.kernel
def mse(X: ConstView2[f32], T: ConstView2[f32], L: View1[f32], *, rows: int = 4):
    """The mean squared error."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        d = X[coord(m0, 0), shape(r, c)] - T[coord(m0, 0), shape(r, c)]
        L.at(coord(m0), shape(r)).store(mean(d * d, c))


@tile.kernel
def mae(X: ConstView2[f32], T: ConstView2[f32], L: View1[f32], *, rows: int = 4):
    """The mean absolute error."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        d = X[coord(m0, 0), shape(r, c)] - T[coord(m0, 0), shape(r, c)]
        L.at(coord(m0), shape(r)).store(mean(abs(d), c))


@tile.kernel
def huber(X: ConstView2[f32], T: ConstView2[f32], L: View1[f32], *, rows: int = 4, delta: float = 0.75):
    """Half the square of a small error, linear beyond `delta`. Huber (1964)."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        d = abs(X[coord(m0, 0), shape(r, c)] - T[coord(m0, 0), shape(r, c)])
        loss = where(d <= delta, d * d * 0.5, (d - delta * 0.5) * delta)
        L.at(coord(m0), shape(r)).store(mean(loss, c))


@tile.kernel
def bce(X: ConstView2[f32], T: ConstView2[f32], L: View1[f32], *, rows: int = 4):
    """Binary cross entropy of logits: max(x, 0) - x t + log(1 + exp(-|x|))."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        x, t = X[coord(m0, 0), shape(r, c)], T[coord(m0, 0), shape(r, c)]
        L.at(coord(m0), shape(r)).store(mean(relu(x) - x * t + log(exp(-abs(x)) + 1.0), c))


@tile.kernel
def cross_entropy(X: ConstView2[f32], labels: ConstView1[i64], L: View1[f32], *, rows: int = 4):
    """Minus the log of the softmax at each row's label."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        x = X[coord(m0, 0), shape(r, c)]
        L.at(coord(m0), shape(r)).store(-gather(log_softmax(x, c), labels[coord(m0), shape(r)], c))


@tile.kernel
def cross_entropy_gradient(X: ConstView2[f32], labels: ConstView1[i64], G: View2[f32], *, rows: int = 4):
    """The gradient of the mean cross entropy: (softmax - one at the label) / number of rows."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        x = X[coord(m0, 0), shape(r, c)]
        hit = (labels[coord(m0), shape(r)] == iota(c)).astype(f32)
        G.at(coord(m0, 0), shape(r, c)).store((softmax(x, c) - hit) * (1.0 / M))

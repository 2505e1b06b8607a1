"""Row programs: each program takes a few whole rows."""

from tilewright import tile
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    abs,
    add,
    axis,
    boolean,
    cdiv,
    coord,
    exp,
    f32,
    i64,
    maximum,
    minimum,
    parallel,
    reduce,
    scalar,
    shape,
    where,
)  # fmt: skip

NEGATIVE_INFINITY = float("-inf")


@tile.kernel
def softmax(X: ConstView2[f32], Y: View2[f32], *, rows: int = 4):
    """Y = exp(X - max) over its sum, row by row."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * rows, 0)
        x = X[here, shape(r, c)]
        e = exp(x - reduce(x, c, maximum))  # one tile, read twice
        Y.at(here, shape(r, c)).store(e / reduce(e, c, add))


@tile.kernel
def masked_softmax(X: ConstView2[f32], keep: ConstView2[boolean], Y: View2[f32], *, rows: int = 4):
    """Elements whose mask is False take no part; a row without any gives zeros."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * rows, 0)
        x = where(keep[here, shape(r, c)], X[here, shape(r, c)], NEGATIVE_INFINITY)
        Y.at(here, shape(r, c)).store(tile.softmax(x, c))


@tile.kernel
def layer_norm(
    X: ConstView2[f32], weight: ConstView1[f32], bias: ConstView1[f32], Y: View2[f32],
    *, rows: int = 4, eps: float = 1e-5,
):  # fmt: skip
    """Rows with mean 0 and variance 1, times a weight, plus a bias."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * rows, 0)
        w, b = weight[coord(0), shape(c)], bias[coord(0), shape(c)]
        Y.at(here, shape(r, c)).store(tile.layer_norm(X[here, shape(r, c)], c, w, b, eps=eps))


@tile.kernel
def rms_norm(X: ConstView2[f32], weight: ConstView1[f32], Y: View2[f32], *, rows: int = 4, eps: float = 1e-5):
    """Rows with a mean square of 1, times a weight."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * rows, 0)
        w = weight[coord(0), shape(c)]
        Y.at(here, shape(r, c)).store(tile.rms_norm(X[here, shape(r, c)], c, w, eps=eps))


@tile.kernel
def row_sum(X: ConstView2[f32], S: View1[f32], *, rows: int = 4):
    """The library fold: one tile, folded over one axis."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        S.at(coord(m0), shape(r)).store(reduce(X[coord(m0, 0), shape(r, c)], c, add))


@tile.kernel
def column_sum(X: ConstView2[f32], S: View1[f32], *, columns: int = 64):
    """The same along the other axis: each program takes a few whole columns."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(N, columns)), axis("r", M), axis("c", columns)
    for nest in parallel(shape(g)):
        n0 = nest.index() * columns
        S.at(coord(n0), shape(c)).store(reduce(X[coord(0, n0), shape(r, c)], r, add))


@tile.kernel
def row_sum_region(X: ConstView2[f32], S: View1[f32], *, policy: str = "unordered_tree"):
    """The region form: a variable carried through a fold, in the order that `policy` permits."""
    M, N = X.shape
    i, j = axis("i", M), axis("j", N)
    for nest in parallel(shape(i)):
        total = scalar(f32, 0.0)
        for step in nest.reduce(shape(j), policy=policy):
            total = total + X[nest.index(), step.index()].load()
        S[nest.index()].store(total)


@tile.kernel
def row_folds(
    X: ConstView2[f32], top: View1[f32], low: View1[f32], size: View1[f32], span: View1[f32], middle: View1[f32],
    *, rows: int = 4,
):  # fmt: skip
    """Five folds of one tile: largest, smallest, sum and largest of the absolute values, mean."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        x = X[coord(m0, 0), shape(r, c)]
        top.at(coord(m0), shape(r)).store(reduce(x, c, maximum))
        low.at(coord(m0), shape(r)).store(reduce(x, c, minimum))
        size.at(coord(m0), shape(r)).store(reduce(abs(x), c, add))
        span.at(coord(m0), shape(r)).store(reduce(abs(x), c, maximum))
        middle.at(coord(m0), shape(r)).store(tile.mean(x, c))


@tile.kernel
def argmax(X: ConstView2[f32], P: View1[i64], *, rows: int = 4):
    """The place of the first largest element of each row."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        P.at(coord(m0), shape(r)).store(tile.argmax(X[coord(m0, 0), shape(r, c)], c))


@tile.kernel
def residual_layer_norm(
    X: ConstView2[f32], R: ConstView2[f32], weight: ConstView1[f32], bias: ConstView1[f32], S: View2[f32],
    Y: View2[f32], *, rows: int = 4, eps: float = 1e-5,
):  # fmt: skip
    """S = X + R and Y = layer_norm(S): one sum, stored and normalized."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * rows, 0)
        s = X[here, shape(r, c)] + R[here, shape(r, c)]
        S.at(here, shape(r, c)).store(s)
        w, b = weight[coord(0), shape(c)], bias[coord(0), shape(c)]
        Y.at(here, shape(r, c)).store(tile.layer_norm(s, c, w, b, eps=eps))


@tile.kernel
def rope(X: ConstView2[f32], cosine: ConstView2[f32], sine: ConstView2[f32], Y: View2[f32], *, rows: int = 4):
    """Rotary embedding, split-half: the two halves of a row are the real and imaginary parts. Su et al. (2021)."""
    M, N = X.shape
    half = N // 2
    g, r, h = axis("g", cdiv(M, rows)), axis("r", rows), axis("h", half)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        a, b = X[coord(m0, 0), shape(r, h)], X[coord(m0, half), shape(r, h)]
        c, s = cosine[coord(m0, 0), shape(r, h)], sine[coord(m0, 0), shape(r, h)]
        Y.at(coord(m0, 0), shape(r, h)).store(a * c - b * s)
        Y.at(coord(m0, half), shape(r, h)).store(b * c + a * s)

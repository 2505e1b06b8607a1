"""Row programs: each program takes a few whole rows."""

from tilewright import tile
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    add,
    axis,
    boolean,
    cdiv,
    coord,
    exp,
    f32,
    maximum,
    parallel,
    reduce,
    scalar,
    shape,
    where,
)  # fmt: skip

NEGATIVE_INFINITY = float("-inf")


@tile.kernel
def softmax(X: ConstView2[f32], Y: View2[f32], *, rows: int = 4):
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
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * rows, 0)
        w, b = weight[coord(0), shape(c)], bias[coord(0), shape(c)]
        Y.at(here, shape(r, c)).store(tile.layer_norm(X[here, shape(r, c)], c, w, b, eps=eps))


@tile.kernel
def rms_norm(X: ConstView2[f32], weight: ConstView1[f32], Y: View2[f32], *, rows: int = 4, eps: float = 1e-5):
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
def row_sum_region(X: ConstView2[f32], S: View1[f32], *, policy: str = "unordered_tree"):
    """The region form: a variable carried through a fold, in the order that `policy` permits."""
    M, N = X.shape
    i, j = axis("i", M), axis("j", N)
    for nest in parallel(shape(i)):
        total = scalar(f32, 0.0)
        for step in nest.reduce(shape(j), policy=policy):
            total = total + X[nest.index(), step.index()].load()
        S[nest.index()].store(total)

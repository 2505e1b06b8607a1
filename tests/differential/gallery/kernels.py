"""What the gallery has in another form: products onto a constant, softmax of an expression, attention by folds."""

from tilewright import tile
from tilewright.tile import (
    ConstView2,
    ConstView4,
    View2,
    View4,
    add,
    axis,
    cdiv,
    coord,
    exp,
    f32,
    full,
    iota,
    maximum,
    mma,
    parallel,
    reduce,
    shape,
    where,
    zeros,
)  # fmt: skip

__all__ = ["attention_by_folds", "product_onto", "scaled_softmax"]

LOWEST = -1e30


@tile.kernel
def product_onto(
    A: ConstView2[f32], B: ConstView2[f32], C: View2[f32],
    *, start: float, at: bool = False, bt: bool = False, bm: int, bn: int, bk: int,
):  # fmt: skip
    """C = start + A B, with A stored as A[k, m] and B as B[n, k] where told."""
    M, N = C.shape
    K = A.shape[0] if at else A.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn)), axis("gk", cdiv(K, bk))
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * bm, nest.index(gn) * bn
        acc = full(f32, shape(m, n), start)
        for step in nest.pipeline(shape(gk), window=1):
            k0 = step.index() * bk
            a = A[coord(k0, m0), shape(k, m)] if at else A[coord(m0, k0), shape(m, k)]
            b = B[coord(n0, k0), shape(n, k)] if bt else B[coord(k0, n0), shape(k, n)]
            acc = mma(a, b, acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def scaled_softmax(X: ConstView2[f32], Y: View2[f32]):
    """The softmax of 0.75 x + 0.125, a row a program."""
    M, N = X.shape
    r, c = axis("r", 1), axis("c", N)
    for nest in parallel(shape(M)):
        here = coord(nest.index(), 0)
        v = X[here, shape(r, c)] * 0.75 + 0.125
        e = exp(v - reduce(v, c, maximum))
        Y.at(here, shape(r, c)).store(e / reduce(e, c, add))


@tile.kernel
def attention_by_folds(
    Q: ConstView4[f32], K: ConstView4[f32], V: ConstView4[f32], O: View4[f32],
    *, bq: int, bk: int, scores_by_fold: bool, values_by_fold: bool,
):  # fmt: skip
    """Grouped causal attention whose products are sums of products where told."""
    (B, H, S, D), (G, T), E = Q.shape, K.shape[1:3], V.shape[3]
    gb, gh, gq, gk = axis("gb", B), axis("gh", H), axis("gq", cdiv(S, bq)), axis("gk", cdiv(T, bk))
    b, h, q, k, d, e = axis("b", 1), axis("h", 1), axis("q", bq), axis("k", bk), axis("d", D), axis("e", E)
    for nest in parallel(shape(gb, gh, gq)):
        item, head, q0 = nest.index(gb), nest.index(gh), nest.index(gq) * bq
        group = head // (H // G)
        query = Q[coord(item, head, q0, 0), shape(b, h, q, d)]
        top, total, out = full(f32, shape(b, h, q), LOWEST), zeros(f32, shape(b, h, q)), zeros(f32, shape(b, h, q, e))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            keys = K[coord(item, group, k0, 0), shape(b, h, k, d)]
            values = V[coord(item, group, k0, 0), shape(b, h, k, e)]
            seen = (iota(k) + k0 <= iota(q) + q0 + (T - S)) & (iota(k) + k0 < T)
            if scores_by_fold:
                products = reduce(query * keys, d, add)
            else:
                products = mma(query, keys, zeros(f32, shape(b, h, q, k)))
            scores = where(seen, products * D**-0.5, LOWEST)
            peak = maximum(top, reduce(scores, k, maximum))
            weights = where(seen, exp(scores - peak), 0.0)
            fade = exp(top - peak)
            total = total * fade + reduce(weights, k, add)
            faded = out * fade
            out = faded + reduce(weights * values, k, add) if values_by_fold else mma(weights, values, faded)
            top = peak
        O.at(coord(item, head, q0, 0), shape(b, h, q, e)).store(out / total)

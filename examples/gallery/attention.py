"""Attention with an online softmax: keys and values pass by in blocks, and the scores are never stored.

Q, K and V are [heads, positions, width], heads counting batches too. Milakov and Gimelshein, "Online normalizer
calculation for softmax" (2018); Dao et al., "FlashAttention" (2022).
"""

from tilewright import tile
from tilewright.tile import (
    ConstView3,
    ConstView4,
    View3,
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

LOWEST = -1e30  # below every score, and far enough from -inf that differences stay numbers


@tile.kernel
def attention(
    Q: ConstView3[f32], K: ConstView3[f32], V: ConstView3[f32], O: View3[f32],
    *, bq: int = 32, bk: int = 32, scale: float | None = None, causal: bool = False,
):  # fmt: skip
    """O = softmax(Q K^T * scale) V; with `causal` a position sees itself and those before it."""
    (H, S, D), T, E = Q.shape, K.shape[1], V.shape[2]
    factor = D**-0.5 if scale is None else scale
    gh, gq, gk = axis("gh", H), axis("gq", cdiv(S, bq)), axis("gk", cdiv(T, bk))
    h, q, k, d, e = axis("h", 1), axis("q", bq), axis("k", bk), axis("d", D), axis("e", E)
    for nest in parallel(shape(gh, gq)):
        head, q0 = nest.index(gh), nest.index(gq) * bq
        query = Q[coord(head, q0, 0), shape(h, q, d)]
        top = full(f32, shape(h, q), LOWEST)
        total = zeros(f32, shape(h, q))
        out = zeros(f32, shape(h, q, e))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            reached = k0 <= q0 + (bq - 1) if causal else True  # blocks that no position of this one sees are skipped
            step.stage("load")
            if reached:
                keys = K[coord(head, k0, 0), shape(h, k, d)]
                values = V[coord(head, k0, 0), shape(h, k, e)]
                step.stage("scores")
                seen = iota(k) + k0 < T
                if causal:  # a host value: one of two kernels is captured
                    seen = seen & (iota(k) + k0 <= iota(q) + q0)
                scores = where(seen, mma(query, keys, zeros(f32, shape(h, q, k))) * factor, LOWEST)
                peak = maximum(top, reduce(scores, k, maximum))
                weights = where(seen, exp(scores - peak), 0.0)
                step.stage("update")
                fade = exp(top - peak)
                total = total * fade + reduce(weights, k, add)
                out = mma(weights, values, out * fade)
                top = peak
        O.at(coord(head, q0, 0), shape(h, q, e)).store(out / total)


@tile.kernel
def grouped_attention(
    Q: ConstView4[f32], K: ConstView4[f32], V: ConstView4[f32], O: View4[f32],
    *, bq: int = 16, bk: int = 32, scale: float | None = None,
):  # fmt: skip
    """Causal attention whose heads share keys in groups; the queries are the last positions.

    Q is [batch, heads, queries, width], K and V are [batch, key heads, positions, width]. With as many queries as
    positions this is a prefill, with one it is a step of decoding. Ainslie et al., "GQA" (2023).
    """
    (B, H, S, D), (G, T), E = Q.shape, K.shape[1:3], V.shape[3]
    factor = D**-0.5 if scale is None else scale
    gb, gh, gq, gk = axis("gb", B), axis("gh", H), axis("gq", cdiv(S, bq)), axis("gk", cdiv(T, bk))
    b, h, q, k, d, e = axis("b", 1), axis("h", 1), axis("q", bq), axis("k", bk), axis("d", D), axis("e", E)
    for nest in parallel(shape(gb, gh, gq)):
        item, head, q0 = nest.index(gb), nest.index(gh), nest.index(gq) * bq
        group = head // (H // G)
        query = Q[coord(item, head, q0, 0), shape(b, h, q, d)]
        top = full(f32, shape(b, h, q), LOWEST)
        total = zeros(f32, shape(b, h, q))
        out = zeros(f32, shape(b, h, q, e))
        for step in nest.pipeline(shape(gk), window=2):
            k0 = step.index() * bk
            if k0 <= q0 + (bq - 1) + (T - S):  # some query of this block sees a key of that one
                keys = K[coord(item, group, k0, 0), shape(b, h, k, d)]
                values = V[coord(item, group, k0, 0), shape(b, h, k, e)]
                seen = (iota(k) + k0 <= iota(q) + q0 + (T - S)) & (iota(k) + k0 < T)
                scores = where(seen, mma(query, keys, zeros(f32, shape(b, h, q, k))) * factor, LOWEST)
                peak = maximum(top, reduce(scores, k, maximum))
                weights = where(seen, exp(scores - peak), 0.0)
                fade = exp(top - peak)
                total = total * fade + reduce(weights, k, add)
                out = mma(weights, values, out * fade)
                top = peak
        O.at(coord(item, head, q0, 0), shape(b, h, q, e)).store(out / total)

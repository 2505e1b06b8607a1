"""Library calls with known answers: sizes of 1, odd sizes, powers of two, NaN, infinities, ties, empty axes."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tests.differential.library.harness import Array, Case, case
from tilewright import tile
from tilewright.tile import Tile, axis

NAN, INF = math.nan, math.inf
BF16 = ml_dtypes.bfloat16


def normal(*shape: int, seed: int = 5) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def whole(*shape: int, dtype: Any = "i4", low: int = -9, high: int = 10) -> Array:
    return np.random.default_rng(11).integers(low, high, shape).astype(dtype)


def ax(t: Tile, place: int) -> Any:
    return t.shape.axes[place]


def rows(function: Callable[..., Any], **options: Any) -> Callable[[Tile], Any]:
    """The function along the last axis."""
    return lambda t: function(t, ax(t, -1), **options)


X, H, I = normal(5, 37), normal(5, 37).astype("f2"), whole(5, 37)
W = X.astype("f8")
B = I > 3
SPECIAL = np.asarray([[3, NAN, 1, INF, -INF, NAN, 0.0, -0.0, 3], [2, 2, 1, 1, -1, -1, -0.0, 0.0, 2]], "f4")
FOLDS: dict[str, Case] = {
    "sum": case(rows(tile.sum), [X], W.sum(1), dtype="f4", ulps=37, scale=np.abs(W).sum(1).max()),
    "sum of f16 rounds once": case(rows(tile.sum), [np.full((2, 4096), 1, "f2")], np.full(2, 4096, "f2")),
    "sum of bf16 rounds once": case(rows(tile.sum), [np.full((2, 600), 1, BF16)], np.full(2, 600).astype(BF16)),
    "sum of integers": case(rows(tile.sum), [I], I.sum(1, dtype="i4")),
    "sum over nothing": case(rows(tile.sum), [np.zeros((3, 0), "f4")], np.zeros(3, "f4")),
    "prod of integers": case(rows(tile.prod), [I], I.prod(1, dtype="i4")),
    "prod over nothing": case(rows(tile.prod), [np.zeros((3, 0), "i8")], np.ones(3, "i8")),
    "max": case(rows(tile.max), [SPECIAL], SPECIAL.max(1)),
    "min of bytes": case(rows(tile.min), [I.astype("i1")], I.astype("i1").min(1)),
    "max of unsigned": case(rows(tile.max), [I.astype("u4")], I.astype("u4").max(1)),
    "bits in all": case(lambda t: tile.reduce(t, ax(t, 1), tile.bitwise_and), [I | 6], np.bitwise_and.reduce(I | 6, 1)),
    "bits in any": case(lambda t: tile.reduce(t, ax(t, 0), tile.bitwise_or), [I], np.bitwise_or.reduce(I, 0)),
    "parity": case(lambda t: tile.reduce(t, ax(t, 1), tile.bitwise_xor), [I], np.bitwise_xor.reduce(I, 1)),
    "unsigned bits": case(
        lambda t: tile.reduce(t, ax(t, 1), tile.bitwise_and), [I.astype("u1") | 1],
        np.bitwise_and.reduce(I.astype("u1") | 1, 1),
    ),
    "any": case(lambda t: tile.any(t > 8, ax(t, 1)), [I], (I > 8).any(1)),
    "all": case(lambda t: tile.all(t > -9, ax(t, 1)), [I], (I > -9).all(1)),
    "any over nothing": case(rows(tile.any), [np.zeros((2, 0), "?")], np.zeros(2, "?")),
    "all over nothing": case(rows(tile.all), [np.zeros((2, 0), "?")], np.ones(2, "?")),
    "argmax": case(rows(tile.argmax), [X], X.argmax(1)),
    "argmin": case(rows(tile.argmin), [X], X.argmin(1)),
    "argmax of special values": case(rows(tile.argmax), [SPECIAL], SPECIAL.argmax(1)),
    "argmin of special values": case(rows(tile.argmin), [SPECIAL], SPECIAL.argmin(1)),
    "argmax of ties": case(rows(tile.argmax), [np.asarray([[3, 2, 2, 3, 2, 4, 3, 1, 4, 1]])], np.asarray([5])),
    "argmax of f16": case(rows(tile.argmax), [H], H.argmax(1)),
    "argmax of columns": case(lambda t: tile.argmax(t, ax(t, 0)), [I], I.argmax(0)),
    "mean": case(rows(tile.mean), [X], W.mean(1), dtype="f4", ulps=2, scale=np.abs(W).sum(1).max()),
    "mean of f16": case(rows(tile.mean), [H], H.astype("f8").mean(1), dtype="f2", ulps=1),
    "var": case(rows(tile.var), [X], W.var(1), dtype="f4", ulps=40),
    "welford": case(rows(tile.welford), [X], W.mean(1), W.var(1), dtype="f4", ulps=40, scale=2.0),
    "welford, corrected": case(
        rows(tile.welford, correction=1), [X + 1000], (X + 1000).astype("f8").mean(1),
        (X + 1000).astype("f8").var(1, ddof=1), dtype="f4", ulps=40, scale=1000.0,
    ),
    "welford of one": case(rows(tile.welford, correction=1), [X[:, :1]], X[:, 0], np.full(5, NAN, "f4")),
    "welford of nothing": case(rows(tile.welford), [X[:, :0].copy()], np.full(5, NAN, "f4"), np.full(5, NAN, "f4")),
}  # fmt: skip


def softmax(x: Array, keep: Any = True) -> Array:
    x = np.where(keep, x, -INF)
    top = x.max(1, keepdims=True)
    e = np.exp(x - np.where(np.isfinite(top), top, 0))
    return e / np.where(e.sum(1, keepdims=True) == 0, 1, e.sum(1, keepdims=True))


KEEP = whole(5, 37, dtype="u1", low=0, high=2).astype("?")
KEEP[2] = False
with np.errstate(divide="ignore"):
    LOG_SOFTMAX, LOG_MASKED = np.log(softmax(W)), np.log(softmax(W, KEEP))
    LSE, LSE_MASKED = np.log(np.exp(W).sum(1)), np.log(np.where(KEEP, np.exp(W), 0).sum(1))
SHARE = 0.5 * (1 + np.vectorize(math.erf)(W / math.sqrt(2)))
NORMALIZED: dict[str, Case] = {
    "softmax": case(rows(tile.softmax), [X], softmax(W), dtype="f4", ulps=12),
    "softmax of f16": case(rows(tile.softmax), [H], softmax(H.astype("f8")), dtype="f2", ulps=1),
    "softmax of large": case(rows(tile.softmax), [X * 1e4], softmax(W * 1e4), dtype="f4", ulps=4),
    "masked softmax": case(
        lambda t, k: tile.softmax(t, ax(t, 1), where=tile.relabel(k, t.shape)), [X, KEEP], softmax(W, KEEP),
        dtype="f4", ulps=12,
    ),
    "softmax of -inf": case(rows(tile.softmax), [np.full((2, 5), -INF, "f4")], np.zeros((2, 5), "f4")),
    "softmax of columns": case(lambda t: tile.softmax(t, ax(t, 0)), [X], softmax(W.T).T, dtype="f4", ulps=12),
    "softmax of all": case(
        lambda t: tile.softmax(t, t.shape.axes), [X], softmax(W.reshape(1, -1)).reshape(W.shape), dtype="f4", ulps=30
    ),
    "log_softmax": case(rows(tile.log_softmax), [X], LOG_SOFTMAX, dtype="f4", ulps=4),
    "masked log_softmax": case(
        lambda t, k: tile.log_softmax(t, ax(t, 1), where=tile.relabel(k, t.shape)), [X, KEEP], LOG_MASKED,
        dtype="f4", ulps=4,
    ),
    "logsumexp": case(rows(tile.logsumexp), [X], LSE, dtype="f4", ulps=4),
    "masked logsumexp": case(
        lambda t, k: tile.logsumexp(t, ax(t, 1), where=tile.relabel(k, t.shape)), [X, KEEP], LSE_MASKED,
        dtype="f4", ulps=4,
    ),
    "layer_norm": case(
        rows(tile.layer_norm), [X], (W - W.mean(1, keepdims=True)) / np.sqrt(W.var(1, keepdims=True) + 1e-5),
        dtype="f4", ulps=40,
    ),
    "rms_norm": case(
        rows(tile.rms_norm), [X], W / np.sqrt((W * W).mean(1, keepdims=True) + 1e-5), dtype="f4", ulps=20
    ),
    "relu": case(tile.relu, [SPECIAL], np.maximum(SPECIAL, 0)),
    "relu of integers": case(tile.relu, [I], np.maximum(I, 0)),
    "leaky_relu": case(lambda t: tile.leaky_relu(t, 0.25), [X], np.where(X < 0, X * np.float32(0.25), X)),
    "elu": case(tile.elu, [X], np.where(W < 0, np.exp(W) - 1, W), dtype="f4", ulps=2),
    "softplus": case(tile.softplus, [X * 40], np.logaddexp(W * 40, 0), dtype="f4", ulps=2),
    "silu": case(tile.silu, [X], W / (1 + np.exp(-W)), dtype="f4", ulps=4),
    "gelu": case(tile.gelu, [X], W * SHARE, dtype="f4", ulps=4),
    "gelu of f16": case(
        lambda t: tile.gelu(t, "tanh"), [H],
        (h := H.astype("f8")) * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3))), dtype="f2", ulps=1,
    ),
    "clamp": case(lambda t: tile.clamp(t, -1.0, 2.0), [SPECIAL], np.clip(SPECIAL, -1, 2)),
    "clamp below": case(lambda t: tile.clamp(t, low=0), [I], np.clip(I, 0, None)),
}  # fmt: skip


def scans(x: Array, ufunc: Any, *, exclusive: bool = False, reverse: bool = False, start: Any = 0) -> Array:
    x = x[:, ::-1] if reverse else x
    y = ufunc.accumulate(x, axis=1, dtype=x.dtype)
    if exclusive:
        y = np.concatenate([np.full_like(y[:, :1], start), y[:, :-1]], 1)
    return y[:, ::-1] if reverse else y


C49 = np.asarray([[1, 2, 3, 4, 5, 6, 7, 8]], "f4")
SCANS: dict[str, Case] = {
    "cumsum": case(rows(tile.cumsum), [I], scans(I, np.add)),
    "exclusive cumsum": case(rows(tile.cumsum, exclusive=True), [I], scans(I, np.add, exclusive=True)),
    "reverse cumsum": case(rows(tile.cumsum, reverse=True), [C49], np.asarray([[36, 35, 33, 30, 26, 21, 15, 8]], "f4")),
    "reverse cumsum of seven": case(
        rows(tile.cumsum, reverse=True), [C49[:, :7].copy()], np.asarray([[28, 27, 25, 22, 18, 13, 7]], "f4")
    ),
    "exclusive reverse cumprod": case(
        rows(tile.cumprod, exclusive=True, reverse=True), [I],
        scans(I, np.multiply, exclusive=True, reverse=True, start=1),
    ),
    "cumsum of f16 rounds once": case(
        rows(tile.cumsum), [np.full((1, 3000), 1, "f2")], np.arange(1, 3001)[None].astype("f2")
    ),
    "cummax": case(rows(tile.cummax), [SPECIAL], np.maximum.accumulate(SPECIAL, 1)),
    "reverse cummin": case(rows(tile.cummin, reverse=True), [X], scans(X, np.minimum, reverse=True)),
    "cumsum of columns": case(lambda t: tile.cumsum(t, ax(t, 0)), [I], I.cumsum(0, dtype="i4")),
    "cumsum of nothing": case(rows(tile.cumsum), [np.zeros((2, 0), "f4")], np.zeros((2, 0), "f4")),
}  # fmt: skip


def ordered(x: Array, *, descending: bool = False) -> Array:
    """The places of a stable sort with NaN last either way, by Python's own sort."""

    def places(row: Any) -> list[int]:
        values: list[Any] = row.astype("f8").tolist() if row.dtype.kind in "fV" else row.tolist()
        sign = -1 if descending else 1

        def key(i: int) -> tuple[bool, Any]:
            return values[i] != values[i], sign * values[i] if values[i] == values[i] else 0

        return sorted(range(len(values)), key=key)

    return np.asarray([places(row) for row in x], "i8").reshape(x.shape)


def sorting(x: Array, name: str) -> dict[str, Case]:
    up, down = ordered(x), ordered(x, descending=True)
    return {
        f"sort {name}": case(rows(tile.sort), [x], np.take_along_axis(x, up, 1)),
        f"argsort {name} descending": case(rows(tile.argsort, descending=True), [x], down),
    }


def best(n: int, k: int, *, largest: bool = True) -> Case:
    x = whole(3, n, low=-5, high=6).astype("f4") / 4
    places = ordered(x, descending=largest)[:, :k]
    return case(
        lambda t: tile.topk(t, ax(t, 1), axis("k", k), largest=largest),
        [x],
        np.take_along_axis(x, places, 1),
        places,
    )


EXTREMES = np.asarray([[-(2**63), 2**63 - 1, 0, -1, 2**63 - 1, 5, 2**62]], "i8")
SORTS: dict[str, Case] = {
    **sorting(X, "37 floats"),
    **sorting(SPECIAL, "special values"),
    **sorting(SPECIAL.astype("f2"), "special f16"),
    **sorting(SPECIAL.astype("f8"), "special f64"),
    **sorting(whole(3, 16), "16 integers"),
    **sorting(whole(3, 7, dtype="u1", low=0, high=256), "bytes"),
    **sorting(np.asarray([[2**32 - 1, 0, 2**31, 5, 2**31 - 1]], "u4"), "u32"),
    **sorting(EXTREMES, "i64"),
    **sorting(EXTREMES.view("u8"), "u64"),
    **sorting(normal(2, 1), "one element"),
    **sorting(np.zeros((2, 0), "f4"), "nothing"),
    "sort columns": case(lambda t: tile.sort(t, ax(t, 0)), [X], np.sort(X, 0)),
    **{f"topk {n} {k}": best(n, k) for n, k in ((1, 1), (7, 1), (7, 3), (7, 7), (16, 8), (33, 5), (65, 64), (65, 65))},
    "bottom k": best(33, 5, largest=False),
}  # fmt: skip

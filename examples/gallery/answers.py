"""The exact answers of the gallery in float64, each with the bound that its kernel's roundings allow."""

import math
from collections.abc import Sequence

import numpy as np

from examples.gallery.attention import LOWEST
from examples.gallery.entry import Array
from tilewright.tools.running_error import ROUNDOFF, Running, exact

EPSILON = 1e-5


def product(a: Array, b: Array) -> Running:
    return exact(a) @ exact(b)


def product_plus(a: Array, b: Array, c: Array) -> Running:
    return exact(c).plus_product(exact(a), exact(b))


def product_bias_gelu(a: Array, b: Array, bias: Array) -> Running:
    return gelu(exact(a) @ exact(b) + exact(bias))


def glu(x: Array, w: Array, v: Array) -> Running:
    return (exact(x) @ exact(w)) * (exact(x) @ exact(v)).sigmoid()


def mlp(x: Array, w: Array, v: Array) -> Running:
    return gelu(exact(x) @ exact(w)) @ exact(v)


def product_softmax(a: Array, b: Array) -> Running:
    return softmax_of(exact(a) @ exact(b))


def product_scaled(a: Array, scale: Array, b: Array) -> Running:
    return (exact(a) * exact(scale)) @ exact(b)


def product_dequantised(a: Array, q: Array, scale: Array) -> Running:
    return exact(a) @ (exact(q.T.astype("f4")) * exact(scale))


def product_masked(a: Array, b: Array, keep: Array) -> Running:
    return exact(a) @ exact(np.where(keep, b, np.float32(0)))


def scaled_sum(a: Array, b: Array) -> Running:
    return exact(a) / 0.4 + exact(b)


def clamped(x: Array) -> Running:
    return exact(np.clip(x, np.float32(-0.5), np.float32(0.5)))


def gelu(v: Running) -> Running:
    """By the tanh approximation."""
    inner = (v + v * v * v * 0.044715) * math.sqrt(2 / math.pi)
    return v * 0.5 * (inner.tanh() + 1.0)


def bias_gelu_residual(x: Array, bias: Array, r: Array) -> Running:
    return gelu(exact(x) + exact(bias)) + exact(r)


def bias_gelu_residual_erf(x: Array, bias: Array, r: Array) -> Running:
    v = exact(x) + exact(bias)
    return v * 0.5 * ((v * math.sqrt(0.5)).erf() + 1.0) + exact(r)


def swiglu(x: Array, g: Array) -> Running:
    v = exact(g)
    return v * v.sigmoid() * exact(x)


def softmax_of(v: Running) -> Running:
    e = (v - v.max()).exp()
    return e / e.sum()


def softmax(x: Array) -> Running:
    return softmax_of(exact(x))


def masked_softmax(x: Array, keep: Array) -> Running:
    v = exact(x)
    top = exact(np.where(keep, x, -math.inf).max(-1, keepdims=True, initial=-1e30))
    e = (v - top).where(keep, -1e4).exp().where(keep, 0.0)
    total = e.sum()
    return e / total.where(total.value > 0, 1.0)


def layer_norm(v: Running, weight: Array, bias: Array) -> Running:
    count = float(v.value.shape[-1])
    centred = v - v.sum() / count
    return centred * ((centred * centred).sum() / count + EPSILON).rsqrt() * exact(weight) + exact(bias)


def rms_norm(x: Array, weight: Array) -> Running:
    v = exact(x)
    return v * ((v * v).sum() / float(x.shape[-1]) + EPSILON).rsqrt() * exact(weight)


def residual_layer_norm(x: Array, r: Array, weight: Array, bias: Array) -> Sequence[Running]:
    total = exact(x) + exact(r)
    return exact(x + r), layer_norm(total, weight, bias)


def row_sum(x: Array) -> Running:
    return _flat(exact(x).sum())


def column_sum(x: Array) -> Running:
    return row_sum(x.T)


def row_folds(x: Array) -> Sequence[Running]:
    size, middle = exact(abs(x)).sum(), exact(x).sum() / float(x.shape[-1])
    return exact(x.max(1)), exact(x.min(1)), _flat(size), exact(abs(x).max(1)), _flat(middle)


def rope(x: Array, cosine: Array, sine: Array) -> Running:
    a, b = (exact(part) for part in np.split(x, 2, 1))
    c, s = exact(cosine), exact(sine)
    halves = a * c - b * s, b * c + a * s
    return Running(np.concatenate([h.value for h in halves], 1), np.concatenate([h.error for h in halves], 1))


def mse(x: Array, t: Array) -> Running:
    d = exact(x) - exact(t)
    return _mean(d * d)


def mae(x: Array, t: Array) -> Running:
    return _mean(abs(exact(x) - exact(t)))


def huber(x: Array, t: Array) -> Running:
    """Both branches agree where they meet, so the larger bound covers a choice on the other side."""
    d = abs(exact(x) - exact(t))
    near, far = d * d * 0.5, (d - 0.375) * 0.75
    value = np.where(d.value <= 0.75, near.value, far.value)
    return _mean(Running(value, np.maximum(near.error, far.error)))


def bce(x: Array, t: Array) -> Running:
    v = exact(x)
    rest = (exact(-abs(x)).exp() + 1.0).log()
    return _mean(exact(np.maximum(x, 0)) - v * exact(t) + rest)


def cross_entropy(x: Array, labels: Array) -> Running:
    v = exact(x)
    shifted = v - v.max()
    logs = shifted - shifted.exp().sum().log()
    at = (np.arange(len(x)), labels)
    return Running(-logs.value[at], logs.error[at])


def cross_entropy_gradient(x: Array, labels: Array) -> Running:
    hit = np.eye(x.shape[1], dtype="f8")[labels]
    return (softmax(x) - exact(hit)) * (1.0 / len(x))


def attention(q: Array, k: Array, v: Array, *, block: int = 32, causal: bool = True) -> Running:
    """Block by block, as the kernel does; the queries are the last positions."""
    positions, keys, width = q.shape[-2], k.shape[-2], q.shape[-1]
    query = exact(q)
    top = exact(np.full((*q.shape[:-1], 1), LOWEST))
    total, out = exact(np.zeros(top.value.shape)), exact(np.zeros((*q.shape[:-1], v.shape[-1])))
    visible = np.tri(positions, keys, keys - positions if causal else keys, dtype=np.bool_)
    for start in range(0, keys, block):
        here = np.s_[..., start : start + block, :]
        seen = visible[:, start : start + block]
        scores = (query @ exact(k[here]).transposed() * width**-0.5).where(seen, LOWEST)
        peak = top.maximum(scores.max())
        weights = (scores - peak).exp().where(seen, 0.0)
        fade = (top - peak).exp()
        total = total * fade + weights.sum()
        out = (out * fade).plus_product(weights, exact(v[here]))
        top = peak
    return out / total


def grouped_attention(q: Array, k: Array, v: Array) -> Running:
    shared = q.shape[1] // k.shape[1]
    return attention(q, np.repeat(k, shared, 1), np.repeat(v, shared, 1))


def conv(x: Array, w: Array, *, padding: int, stride: int = 1) -> Running:
    """Windows times filters."""
    (n, _, _, _), (o, _, kh, kw) = x.shape, w.shape
    seen = _windows(_padded(x, padding), kh, kw)[:, :, ::stride, ::stride]
    oh, ow = seen.shape[2:4]
    found = exact(seen.transpose(0, 2, 3, 1, 4, 5).reshape(n * oh * ow, -1)) @ exact(w.reshape(o, -1).T)
    return Running(*(part.reshape(n, oh, ow, o).transpose(0, 3, 1, 2) for part in (found.value, found.error)))


def conv_last(x: Array, w: Array, *, padding: int = 1) -> Running:
    found = conv(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), padding=padding)
    return Running(*(part.transpose(0, 2, 3, 1) for part in (found.value, found.error)))


def depthwise_pool(x: Array, w: Array) -> Running:
    parts = [conv(x[:, c : c + 1], w[c : c + 1], padding=1) for c in range(len(w))]
    value, error = (np.concatenate(each, 1) for each in zip(*((p.value, p.error) for p in parts), strict=True))
    return Running(*(_windows(each, 2, 2)[:, :, ::2, ::2].max((4, 5)) for each in (value, error)))


def sobel(x: Array) -> Running:
    padded = np.pad(x, 1)
    m, n = x.shape
    (a, b, c), (d, _, f), (g, h, i) = (
        [exact(padded[dy : dy + m, dx : dx + n]) for dx in range(3)] for dy in range(3)
    )  # fmt: skip
    across = (c - a) + (f - d) * 2.0 + (i - g)
    down = (g - a) + (h - b) * 2.0 + (i - c)
    return (across * across + down * down).sqrt()


def median(x: Array) -> Running:
    return exact(np.median(np.lib.stride_tricks.sliding_window_view(np.pad(x, 1), (3, 3)), (2, 3)))


def top_k(x: Array, count: int) -> Sequence[Running]:
    places = np.argsort(-x, 1, kind="stable")[:, :count]
    return exact(np.take_along_axis(x, places, 1)), exact(places)


def row_scan(x: Array) -> Running:
    wide = x.astype("f8")
    return Running(wide.cumsum(1), abs(wide).cumsum(1) * _growth(x.shape[1]))


def recurrence(a: Array, x: Array) -> Running:
    """A term has a product and a sum a step, and one more of both a block."""
    return Running(_recurrence(a, x), _recurrence(abs(a), abs(x)) * _growth(4 * x.shape[1]))


def _recurrence(a: Array, x: Array) -> Array:
    h = np.zeros(x.shape)
    for place in range(x.shape[1]):
        h[:, place] = a[:, place] * (h[:, place - 1] if place else 0.0) + x[:, place]
    return h


def segment_sums(x: Array, numbers: Array, buckets: int) -> Running:
    belongs = exact(np.eye(max(buckets, int(numbers.max()) + 1))[:buckets, numbers])
    return belongs @ exact(x)


def nested(x: Array) -> Running:
    _, steps, stages, folded = x.shape
    weights = 0.5 ** np.arange(steps - 1, -1, -1.0)[:, None, None]
    size = (abs(x) * weights).sum((1, 2, 3), dtype="f8")
    return Running((x * weights).sum((1, 2, 3)), _growth(folded + steps * (stages + 1)) * size)


def _growth(count: int) -> float:
    return count * ROUNDOFF / (1 - count * ROUNDOFF)


def _flat(folded: Running) -> Running:
    return Running(folded.value[..., 0], folded.error[..., 0])


def _mean(v: Running) -> Running:
    return _flat(v.sum() / float(v.value.shape[-1]))


def _padded(x: Array, padding: int) -> Array:
    return np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))


def _windows(x: Array, rows: int, columns: int) -> Array:
    return np.lib.stride_tricks.sliding_window_view(x, (rows, columns), (2, 3))

"""NumPy: what one writes without a compiler. Products and sums write into a given array."""

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.peers.peer import Job, Peer, Prepared, several
from examples.gallery.entry import Array

__all__ = ["PEER"]

_ROOT = np.float32(math.sqrt(2 / math.pi))
EPSILON = np.float32(1e-5)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    e /= e.sum(-1, keepdims=True)
    return e


def masked_softmax(x: Array, keep: Array) -> Array:
    top = np.max(x, -1, keepdims=True, initial=np.float32(-1e30), where=keep)
    e = np.exp(np.where(keep, x - top, np.float32(-np.inf)))
    total = e.sum(-1, keepdims=True)
    e /= np.where(total > 0, total, 1)
    return e


def rms_norm(x: Array, weight: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weight


def layer_norm(x: Array, weight: Array, bias: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + EPSILON) * weight + bias


def residual_layer_norm(x: Array, r: Array, weight: Array, bias: Array) -> tuple[Array, Array]:
    total = x + r
    return total, layer_norm(total, weight, bias)


def gelu(v: Array) -> Array:
    return 0.5 * v * (1 + np.tanh(_ROOT * (v + np.float32(0.044715) * v * v * v)))


def swiglu(x: Array, g: Array) -> Array:
    return g / (1 + np.exp(-g)) * x


def rope(x: Array, cosine: Array, sine: Array) -> Array:
    half = x.shape[1] // 2
    a, b = x[:, :half], x[:, half:]
    out = np.empty_like(x)
    out[:, :half] = a * cosine - b * sine
    out[:, half:] = b * cosine + a * sine
    return out


def cross_entropy(x: Array, labels: Array) -> Array:
    shifted = x - x.max(-1, keepdims=True)
    return np.log(np.exp(shifted).sum(-1)) - shifted[np.arange(len(x)), labels]


def cross_entropy_gradient(x: Array, labels: Array) -> Array:
    g = softmax(x)
    g[np.arange(len(x)), labels] -= 1
    g *= np.float32(1 / len(x))
    return g


def attention(q: Array, k: Array, v: Array, *, causal: bool) -> Array:
    scores = q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1] ** -0.5)
    if causal:
        scores[:, ~np.tri(q.shape[1], k.shape[1], dtype=bool)] = -np.inf
    return softmax(scores) @ v


_JOBS: Mapping[str, Job] = MappingProxyType(
    {
        "gemm_bias_gelu": lambda a, b, bias: gelu(a @ b + bias),
        "softmax": softmax,
        "masked_softmax": masked_softmax,
        "rms_norm": rms_norm,
        "layer_norm": layer_norm,
        "residual_layer_norm": residual_layer_norm,
        "gelu_tanh_residual": lambda x, bias, r: gelu(x + bias) + r,
        "swiglu": swiglu,
        "rope": rope,
        "cross_entropy": cross_entropy,
        "cross_entropy_gradient": cross_entropy_gradient,
        "attention_full": lambda q, k, v: attention(q, k, v, causal=False),
        "attention_causal": lambda q, k, v: attention(q, k, v, causal=True),
    }
)
_INTO: Mapping[str, Job] = MappingProxyType(
    {
        "gemm": np.matmul,
        "gemm_at": lambda a, b, out: np.matmul(a.T, b, out=out),
        "gemm_bt": lambda a, b, out: np.matmul(a, b.T, out=out),
        "gemm_atbt": lambda a, b, out: np.matmul(a.T, b.T, out=out),
        "batched_gemm": np.matmul,
        "row_sum": lambda x, out: np.sum(x, 1, out=out),
    }
)


def _prepare(job: str, inputs: Sequence[Array], results: Sequence[Array], _: int) -> Prepared:
    run: Callable[..., Any]
    if job not in _INTO:
        run = _JOBS[job]
        return lambda: run(*inputs)
    run, out = _INTO[job], results[0]
    return lambda: run(*inputs, out=out)


def _about() -> str:
    if find_spec("threadpoolctl") is None:
        return f"NumPy {np.__version__}"
    pools: list[Any] = import_module("threadpoolctl").threadpool_info()
    blas = [f"{p['internal_api']} {p['version']} {p.get('architecture', '')}" for p in pools if p["user_api"] == "blas"]
    return ", ".join([f"NumPy {np.__version__}", *sorted(set(blas))])


PEER = Peer("numpy", {**_JOBS, **_INTO}, _prepare, several, _about)

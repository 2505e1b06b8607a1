"""Numba: loops over rows as one writes them, with its fast math, in parallel where there is more than one thread."""

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.peers.peer import Job, Peer, Prepared
from examples.gallery.entry import Array

__all__ = ["PEER"]

numba: Any = import_module("numba")
prange: Any = numba.prange
ONE, HALF, EPSILON = np.float32(1), np.float32(0.5), np.float32(1e-5)
ROOT, CUBE, LOWEST = np.float32(math.sqrt(2 / math.pi)), np.float32(0.044715), np.float32(-1e30)


def softmax(x: Array, y: Array) -> None:
    for i in prange(x.shape[0]):
        top, total = LOWEST, np.float32(0)
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        for j in range(x.shape[1]):
            y[i, j] = math.exp(x[i, j] - top)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] /= total


def masked_softmax(x: Array, keep: Array, y: Array) -> None:
    for i in prange(x.shape[0]):
        top, total = LOWEST, np.float32(0)
        for j in range(x.shape[1]):
            top = max(top, x[i, j] if keep[i, j] else LOWEST)
        for j in range(x.shape[1]):
            y[i, j] = math.exp(x[i, j] - top) if keep[i, j] else np.float32(0)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] /= total if total > 0 else ONE


def rms_norm(x: Array, weight: Array, y: Array) -> None:
    for i in prange(x.shape[0]):
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j] * x[i, j]
        scale = ONE / np.sqrt(total / np.float32(x.shape[1]) + EPSILON)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * scale * weight[j]


def layer_norm(x: Array, weight: Array, bias: Array, y: Array) -> None:
    for i in prange(x.shape[0]):
        total, squares = np.float32(0), np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        mean = total / np.float32(x.shape[1])
        for j in range(x.shape[1]):
            squares += (x[i, j] - mean) * (x[i, j] - mean)
        scale = ONE / np.sqrt(squares / np.float32(x.shape[1]) + EPSILON)
        for j in range(x.shape[1]):
            y[i, j] = (x[i, j] - mean) * scale * weight[j] + bias[j]


def gelu_tanh_residual(x: Array, bias: Array, r: Array, y: Array) -> None:
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            v = x[i, j] + bias[j]
            y[i, j] = HALF * v * (ONE + np.float32(math.tanh(ROOT * (v + CUBE * v * v * v)))) + r[i, j]


def gelu_erf_residual(x: Array, bias: Array, r: Array, y: Array) -> None:
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            v = x[i, j] + bias[j]
            y[i, j] = HALF * v * (ONE + np.float32(math.erf(v * np.float32(math.sqrt(0.5))))) + r[i, j]


def swiglu(x: Array, g: Array, y: Array) -> None:
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = g[i, j] / (ONE + np.float32(math.exp(-g[i, j]))) * x[i, j]


def rope(x: Array, cosine: Array, sine: Array, y: Array) -> None:
    half = x.shape[1] // 2
    for i in prange(x.shape[0]):
        for j in range(half):
            y[i, j] = x[i, j] * cosine[i, j] - x[i, j + half] * sine[i, j]
            y[i, j + half] = x[i, j + half] * cosine[i, j] + x[i, j] * sine[i, j]


def cross_entropy(x: Array, labels: Array, y: Array) -> None:
    for i in prange(x.shape[0]):
        top, total = LOWEST, np.float32(0)
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        for j in range(x.shape[1]):
            total += np.float32(math.exp(x[i, j] - top))
        y[i] = np.float32(math.log(total)) + top - x[i, labels[i]]


def row_sum(x: Array, y: Array) -> None:
    for i in prange(x.shape[0]):
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        y[i] = total


_LOOPS = (
    softmax, masked_softmax, rms_norm, layer_norm, gelu_tanh_residual, gelu_erf_residual, swiglu, rope, cross_entropy,
    row_sum,
)  # fmt: skip
_JOBS: Mapping[str, Job] = MappingProxyType({loop.__name__: loop for loop in _LOOPS})


def _prepare(job: str, inputs: Sequence[Array], results: Sequence[Array], threads: int) -> Prepared:
    if threads > 1:
        numba.set_num_threads(threads)
    run = numba.njit(_JOBS[job], parallel=threads > 1, fastmath=True, error_model="numpy")
    out = results[0]
    run(*inputs, out)

    def once() -> Array:
        run(*inputs, out)
        return out

    return once


PEER = Peer("numba", _JOBS, _prepare, lambda result: [result], lambda: f"Numba {numba.__version__}")

"""What the demo runs: kernels of the gallery, arrays for them, and for each the exact answer with its bound."""

import importlib.util
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.compile import TileKernel

from .running_error import Running, exact

__all__ = ["CASES", "GALLERY", "Case", "load_kernel"]

GALLERY = Path(__file__).resolve().parents[3] / "examples" / "gallery"
Array = npt.NDArray[np.float32]
_LOWEST = -1e30


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel on arrays of these shapes. `exact` follows the kernel's formula; `numpy` is what one would write."""

    title: str
    module: str
    kernel: str
    shapes: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]
    exact: Callable[..., Running]
    numpy: Callable[..., Array]
    config: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def inputs(self) -> list[Array]:
        """The same arrays every time."""
        rng = np.random.default_rng(2024)
        return [rng.standard_normal(shape, np.float32) for shape in self.shapes]


def load_kernel(case: Case) -> TileKernel:
    """The kernel of a case, from the gallery of this checkout. Raises FileNotFoundError where there is none."""
    return getattr(_module(case.module), case.kernel)


def _module(name: str) -> ModuleType:
    known = f"tilewright_gallery_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, GALLERY / f"{name}.py")
        if spec is None or spec.loader is None:
            raise FileNotFoundError(GALLERY / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[known] = module
    return sys.modules[known]


def _gemm(a: Array, b: Array) -> Running:
    return exact(a) @ exact(b)


def _bias_gelu_residual(x: Array, bias: Array, r: Array) -> Running:
    v = exact(x) + exact(bias)
    inner = (v + v * v * v * 0.044715) * math.sqrt(2 / math.pi)
    return v * 0.5 * (inner.tanh() + 1.0) + exact(r)


def _bias_gelu_residual_numpy(x: Array, bias: Array, r: Array) -> Array:
    v = x + bias
    return 0.5 * v * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (v + np.float32(0.044715) * v * v * v))) + r


def _softmax(x: Array) -> Running:
    v = exact(x)
    e = (v - v.max()).exp()
    return e / e.sum()


def _softmax_numpy(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _layer_norm(x: Array, weight: Array, bias: Array) -> Running:
    count = float(x.shape[-1])
    v = exact(x)
    centred = v - v.sum() / count
    scaled = centred * ((centred * centred).sum() / count + 1e-5).rsqrt()
    return scaled * exact(weight) + exact(bias)


def _layer_norm_numpy(x: Array, weight: Array, bias: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(1e-5)) * weight + bias


def _attention(q: Array, k: Array, v: Array) -> Running:
    """Block by block, as the kernel does: the bound grows with the number of blocks."""
    block, (heads, positions, width) = 32, q.shape
    query, places = exact(q), np.arange(positions, dtype=np.int64)
    top = exact(np.full((heads, positions, 1), _LOWEST))
    total, out = exact(np.zeros((heads, positions, 1))), exact(np.zeros(q.shape))
    for start in range(0, positions, block):
        here = np.s_[:, start : start + block]
        seen = np.less_equal.outer(places[start : start + block], places).T
        scores = (query @ exact(k[here]).transposed() * width**-0.5).where(seen, _LOWEST)
        peak = top.maximum(scores.max())
        weights = (scores - peak).exp().where(seen, 0.0)
        fade = (top - peak).exp()
        total = total * fade + weights.sum()
        out = (out * fade).plus_product(weights, exact(v[here]))
        top = peak
    return out / total


def _attention_numpy(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1] ** -0.5)
    scores[:, ~np.tri(q.shape[1], k.shape[1], dtype=bool)] = -np.inf
    return _softmax_numpy(scores) @ v


_HEADS: Any = (8, 512, 64)
CASES: tuple[Case, ...] = (
    Case("GEMM", "gemm", "gemm", ((1000, 999), (999, 1001)), (1000, 1001), _gemm, np.matmul),
    Case(
        "bias, GELU, residual", "elementwise", "bias_gelu_residual", ((1024, 1024), (1024,), (1024, 1024)),
        (1024, 1024), _bias_gelu_residual, _bias_gelu_residual_numpy,
    ),
    Case("softmax", "rows", "softmax", ((1024, 1024),), (1024, 1024), _softmax, _softmax_numpy),
    Case(
        "LayerNorm", "rows", "layer_norm", ((1024, 1024), (1024,), (1024,)), (1024, 1024), _layer_norm,
        _layer_norm_numpy,
    ),
    Case(
        "causal attention", "attention", "attention", (_HEADS,) * 3, _HEADS, _attention, _attention_numpy,
        MappingProxyType({"causal": True}),
    ),
)  # fmt: skip

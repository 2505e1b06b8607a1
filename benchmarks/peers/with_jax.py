"""JAX on the CPU: every job jitted, its arguments on the device, its result waited for."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.peers.peer import Job, Peer, Prepared, several
from examples.gallery.entry import Array

__all__ = ["PEER"]

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)  # labels are i64; everything else states f32


def _rms_norm(x: Any, weight: Any) -> Any:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * weight


def _layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + np.float32(1e-5)) * weight + bias


def _residual_layer_norm(x: Any, r: Any, weight: Any, bias: Any) -> Any:
    total = x + r
    return total, _layer_norm(total, weight, bias)


def _masked_softmax(x: Any, keep: Any) -> Any:
    return jnp.nan_to_num(jax.nn.softmax(jnp.where(keep, x, -jnp.inf), -1))


def _rope(x: Any, cosine: Any, sine: Any) -> Any:
    a, b = jnp.split(x, 2, 1)
    return jnp.concatenate((a * cosine - b * sine, b * cosine + a * sine), 1)


def _cross_entropy(x: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(x, -1), labels[:, None], 1)[:, 0]


def _cross_entropy_gradient(x: Any, labels: Any) -> Any:
    hit = jax.nn.one_hot(labels, x.shape[1], dtype=x.dtype)
    return (jax.nn.softmax(x, -1) - hit) * np.float32(1 / len(x))


def _attention(q: Any, k: Any, v: Any, *, causal: bool) -> Any:
    scores = jnp.einsum("hqd,hkd->hqk", q, k) * np.float32(q.shape[-1] ** -0.5)
    if causal:
        scores = jnp.where(np.tri(q.shape[1], k.shape[1], dtype=bool), scores, -jnp.inf)
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, -1), v)


def _gelu(x: Any, bias: Any, r: Any, *, approximate: bool) -> Any:
    return jax.nn.gelu(x + bias, approximate=approximate) + r


_JOBS: Mapping[str, Job] = MappingProxyType(
    {
        "gemm": lambda a, b: a @ b,
        "gemm_at": lambda a, b: a.T @ b,
        "gemm_bt": lambda a, b: a @ b.T,
        "gemm_atbt": lambda a, b: a.T @ b.T,
        "batched_gemm": lambda a, b: a @ b,
        "gemm_bias_gelu": lambda a, b, bias: jax.nn.gelu(a @ b + bias, approximate=True),
        "softmax": lambda x: jax.nn.softmax(x, -1),
        "masked_softmax": _masked_softmax,
        "rms_norm": _rms_norm,
        "layer_norm": _layer_norm,
        "residual_layer_norm": _residual_layer_norm,
        "gelu_tanh_residual": lambda x, bias, r: _gelu(x, bias, r, approximate=True),
        "gelu_erf_residual": lambda x, bias, r: _gelu(x, bias, r, approximate=False),
        "swiglu": lambda x, g: jax.nn.silu(g) * x,
        "rope": _rope,
        "cross_entropy": _cross_entropy,
        "cross_entropy_gradient": _cross_entropy_gradient,
        "row_sum": lambda x: x.sum(1),
        "attention_full": lambda q, k, v: _attention(q, k, v, causal=False),
        "attention_causal": lambda q, k, v: _attention(q, k, v, causal=True),
    }
)


def _prepare(job: str, inputs: Sequence[Array], _: Sequence[Array], __: int) -> Prepared:
    given, run = [jax.device_put(each) for each in inputs], jax.jit(_JOBS[job])
    jax.block_until_ready(run(*given))
    return lambda: jax.block_until_ready(run(*given))


def _arrays(result: Any) -> list[Array]:
    return [np.asarray(each) for each in several(result)]


PEER = Peer("jax", _JOBS, _prepare, _arrays, lambda: f"JAX {jax.__version__}")

"""PyTorch, eager: its own functions, in place of nothing that it has not."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast

import ml_dtypes
import numpy as np

from benchmarks.peers.peer import Job, Peer, Prepared, several
from examples.gallery.entry import Array

__all__ = ["JOBS", "PEER", "about", "arrays", "tensors", "torch"]

torch: Any = import_module("torch")
functional: Any = torch.nn.functional
torch.set_grad_enabled(False)


def _rms_norm(x: Any, weight: Any) -> Any:
    return functional.rms_norm(x, weight.shape, weight, 1e-5)


def _masked_softmax(x: Any, keep: Any) -> Any:
    return torch.nan_to_num(torch.softmax(x.masked_fill(~keep, float("-inf")), -1))


def _residual_layer_norm(x: Any, r: Any, weight: Any, bias: Any) -> Any:
    total = x + r
    return total, functional.layer_norm(total, weight.shape, weight, bias)


def _rope(x: Any, cosine: Any, sine: Any) -> Any:
    a, b = x.chunk(2, 1)
    return torch.cat((a * cosine - b * sine, b * cosine + a * sine), 1)


def _cross_entropy_gradient(x: Any, labels: Any) -> Any:
    g = torch.softmax(x, -1)
    g[torch.arange(len(x)), labels] -= 1
    return g / len(x)


def _attention(q: Any, k: Any, v: Any, *, causal: bool) -> Any:
    return functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]


def _conv_last(x: Any, w: Any) -> Any:
    """Both are channels last in memory already, so the permutations cost nothing."""
    return functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1).permute(0, 2, 3, 1)


JOBS: Mapping[str, Job] = MappingProxyType(
    {
        "gemm": torch.mm,
        "gemm_at": lambda a, b: torch.mm(a.t(), b),
        "gemm_bt": lambda a, b: torch.mm(a, b.t()),
        "gemm_atbt": lambda a, b: torch.mm(a.t(), b.t()),
        "batched_gemm": torch.bmm,
        "gemm_bias_gelu": lambda a, b, bias: functional.gelu(torch.addmm(bias, a, b), approximate="tanh"),
        "softmax": lambda x: torch.softmax(x, -1),
        "masked_softmax": _masked_softmax,
        "rms_norm": _rms_norm,
        "layer_norm": lambda x, w, b: functional.layer_norm(x, w.shape, w, b),
        "residual_layer_norm": _residual_layer_norm,
        "gelu_tanh_residual": lambda x, bias, r: functional.gelu(x + bias, approximate="tanh") + r,
        "gelu_erf_residual": lambda x, bias, r: functional.gelu(x + bias) + r,
        "swiglu": lambda x, g: functional.silu(g) * x,
        "rope": _rope,
        "cross_entropy": lambda x, labels: functional.cross_entropy(x, labels, reduction="none"),
        "cross_entropy_gradient": _cross_entropy_gradient,
        "row_sum": lambda x: x.sum(1),
        "column_sum": lambda x: x.sum(0),
        "attention_full": lambda q, k, v: _attention(q, k, v, causal=False),
        "attention_causal": lambda q, k, v: _attention(q, k, v, causal=True),
        "glu": lambda x, w, v: (x @ w) * torch.sigmoid(x @ v),
        "mlp": lambda x, w, v: functional.gelu(x @ w, approximate="tanh") @ v,
        "gemm_softmax": lambda a, b: torch.softmax(a @ b, -1),
        "gemm_transposed": lambda a, b: torch.mm(b.t(), a.t()),
        "gemm_scaled": lambda a, scale, b: torch.mm(a * scale, b),
        "conv_last": _conv_last,
        "transpose": lambda x: x.t().contiguous(),
        "copy": lambda x: x.clone(),
    }
)
_INTO: Mapping[str, Job] = MappingProxyType(
    {
        "gemm": torch.mm,
        "gemm_at": lambda a, b, out: torch.mm(a.t(), b, out=out),
        "gemm_bt": lambda a, b, out: torch.mm(a, b.t(), out=out),
        "gemm_atbt": lambda a, b, out: torch.mm(a.t(), b.t(), out=out),
        "batched_gemm": torch.bmm,
        "transpose": lambda x, out: out.copy_(x.t()),
        "copy": lambda x, out: out.copy_(x),
    }
)


def tensors(given: Sequence[Array]) -> list[Any]:
    """The same memory as tensors."""
    return [_tensor(array) for array in given]


def _tensor(array: Array) -> Any:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def arrays(result: Any) -> list[Array]:
    """Tensors as arrays."""
    return [(each.float() if each.dtype == torch.bfloat16 else each).numpy() for each in several(result)]


def about() -> str:
    """The version and what it multiplies with."""
    mkl = "MKL" if torch.backends.mkl.is_available() else "no MKL"
    dnn = "oneDNN" if torch.backends.mkldnn.is_available() else "no oneDNN"
    return f"PyTorch {torch.__version__}, {mkl}, {dnn}, {torch.get_num_threads()} threads"


def _prepare(job: str, inputs: Sequence[Array], results: Sequence[Array], threads: int) -> Prepared:
    torch.set_num_threads(threads)
    given, run = tensors(inputs), cast("Callable[..., Any]", _INTO.get(job, JOBS[job]))
    if job not in _INTO:
        return lambda: run(*given)
    (out,) = tensors(results)
    return lambda: run(*given, out=out)


PEER = Peer("torch", JOBS, _prepare, arrays, about)

"""Row kernels: normalizations, activations, losses, at five shapes; and a plain sum."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from benchmarks.rows.row import Bar, Race, Row
from examples.gallery import answers
from examples.gallery.elementwise import bias_gelu_residual, swiglu
from examples.gallery.entry import Array, Entry, Make, Result, chance, normal, places
from examples.gallery.losses import cross_entropy, cross_entropy_gradient
from examples.gallery.rows import layer_norm, masked_softmax, residual_layer_norm, rms_norm, rope, row_sum, softmax
from tilewright.tile import TileKernel
from tilewright.tools.running_error import Running, exact

__all__ = ["ROWS", "SHAPES", "residual_layer_norm_entry", "row_sum_entry", "softmax_entry"]

GROUP = "row kernels"
SHAPES = ((17, 257), (128, 512), (1024, 1024), (3, 50257), (4096, 4096))
SMALL = (7, 50)
COLD = 1 << 20  # elements; from here on a matrix does not stay in the inner caches

Sized = Callable[[int, int], Entry]


def _matrices(kernel: TileKernel, answer: Callable[..., Any], *inputs: Callable[[int, int], Make]) -> Sized:
    """Entries of a kernel whose only result is a matrix."""
    return lambda m, n: Entry(kernel, tuple(make(m, n) for make in inputs), (Result((m, n)),), answer)


def _row(_: int, n: int) -> Make:
    return normal(n)


def _half(m: int, n: int) -> Make:
    return normal(m, n // 2)


def _labels(m: int, n: int) -> Make:
    return places(m, below=n)


def softmax_entry(m: int, n: int) -> Entry:
    """The gallery's softmax of an m x n matrix."""
    return Entry(softmax, (normal(m, n),), (Result((m, n)),), answers.softmax)


def _layer_norm(x: Array, weight: Array, bias: Array) -> Running:
    return answers.layer_norm(exact(x), weight, bias)


def residual_layer_norm_entry(m: int, n: int) -> Entry:
    """The gallery's norm of a sum of two m x n matrices."""
    inputs, results = (normal(m, n), normal(m, n), normal(n), normal(n)), (Result((m, n)), Result((m, n)))
    return Entry(residual_layer_norm, inputs, results, answers.residual_layer_norm)


def _gelu(approximate: str, answer: Callable[..., Any]) -> Sized:
    config = MappingProxyType({"approximate": approximate})
    return lambda m, n: Entry(
        bias_gelu_residual, (normal(m, n), normal(n), normal(m, n)), (Result((m, n)),), answer, config
    )


def _cross_entropy(m: int, n: int) -> Entry:
    return Entry(cross_entropy, (normal(m, n), places(m, below=n)), (Result((m,)),), answers.cross_entropy)


def row_sum_entry(m: int, n: int) -> Entry:
    """The gallery's sums of the rows of an m x n matrix."""
    return Entry(row_sum, (normal(m, n),), (Result((m,)),), answers.row_sum)


JOBS: dict[str, Sized] = {
    "softmax": softmax_entry,
    "masked_softmax": _matrices(masked_softmax, answers.masked_softmax, normal, chance),
    "rms_norm": _matrices(rms_norm, answers.rms_norm, normal, _row),
    "layer_norm": _matrices(layer_norm, _layer_norm, normal, _row, _row),
    "residual_layer_norm": residual_layer_norm_entry,
    "gelu_tanh_residual": _gelu("tanh", answers.bias_gelu_residual),
    "gelu_erf_residual": _gelu("erf", answers.bias_gelu_residual_erf),
    "swiglu": _matrices(swiglu, answers.swiglu, normal, normal),
    "rope": _matrices(rope, answers.rope, normal, _half, _half),
    "cross_entropy": _cross_entropy,
    "cross_entropy_gradient": _matrices(
        cross_entropy_gradient, answers.cross_entropy_gradient, normal, _labels
    ),
}  # fmt: skip


def _race(job: str, made: Sized, shape: tuple[int, int], group: str, *bars: Bar) -> Race:
    m, n = shape
    return Race(
        name=f"{job.replace('_', ' ')} {m}x{n}",
        group=group,
        job=job,
        entry=made(m, n),
        small=made(*SMALL),
        bars=bars,
        cold=m * n >= COLD,
        quick=shape == (128, 512) or (shape == (1024, 1024) and job in {"softmax", "layer_norm"}),
    )


def _shape(job: str, m: int, n: int) -> tuple[int, int]:
    """A rotary embedding has pairs: its rows are even."""
    return (m, n - n % 2) if job == "rope" else (m, n)


ROWS: tuple[Row, ...] = (
    *(
        _race(job, made, _shape(job, m, n), GROUP, Bar(1.0, starred=True))
        for job, made in JOBS.items()
        for m, n in SHAPES
    ),
    *(
        _race("row_sum", row_sum_entry, shape, "row sum", Bar(1.05, starred=True, threads=1), Bar(1.15, threads=2))
        if shape == (4096, 4096)
        else _race("row_sum", row_sum_entry, shape, "row sum", Bar(1.05, starred=True))
        for shape in SHAPES
    ),
)  # fmt: skip

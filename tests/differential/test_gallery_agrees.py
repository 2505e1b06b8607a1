"""The gallery on every route: interpreter, XIR interpreter, and machine code on 1, 2 and 8 threads.

The XIR of a plan and the machine code made from it compute the same bits, whatever the plan and the threads. They agree
with the interpreter bit for bit where the order of every rounding is fixed; elsewhere each of them is within the bound
that running error analysis derives for the data.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

from examples.gallery import attention, elementwise, gemm, rows
from tests.differential.on_device import run_on_device
from tilewright.backends.llvm.machine import host_machine
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.retile import retile
from tilewright.interp import Checks
from tilewright.interp import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.ir.rewrite import run_pipeline as run_tile_passes
from tilewright.numerics.arrays import Array
from tilewright.passes.pipelines import CANONICAL
from tilewright.tile import TileKernel, tensor_shape
from tilewright.tools.demo_cases import CASES
from tilewright.tools.running_error import Running, exact
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

THREADS = (1, 2, 8)
M, K, N = 37, 29, 41


@dataclass(frozen=True)
class Case:
    """A kernel on inputs of these shapes. `bound` is the derivation where the order of roundings is not fixed."""

    kernel: TileKernel
    inputs: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]
    bound: Callable[..., Running] | None = None
    config: dict[str, Any] = field(default_factory=dict[str, Any])


def _sum(x: Array) -> Running:
    total = exact(x).sum()
    return Running(total.value[:, 0], total.error[:, 0])


def _sigmoid(x: Running) -> Running:
    return exact(1.0) / ((x * -1.0).exp() + 1.0)


def _swiglu(x: Array, g: Array) -> Running:
    gate = exact(g)
    return gate * _sigmoid(gate) * exact(x)


def _masked_softmax(x: Array, keep: Array) -> Running:
    """Rows without an element are zeros, exactly."""
    lowest = np.where(keep, x, np.inf).min(initial=0.0)
    e = (exact(x) - exact(np.where(keep, x, lowest).max(1, keepdims=True))).exp().where(keep, 0.0)
    total = e.sum()
    return e / Running(np.where(keep.any(1, keepdims=True), total.value, 1.0), total.error)


def _rms_norm(x: Array, w: Array) -> Running:
    v = exact(x)
    return v * ((v * v).sum() / float(x.shape[1]) + 1e-5).rsqrt() * exact(w)


def _attention(q: Array, k: Array, v: Array) -> Running:
    """In one block, as the extents below are."""
    scores = exact(q) @ exact(k).transposed() * q.shape[-1] ** -0.5
    weights = (scores - scores.max()).exp()
    return (weights @ exact(v)) / weights.sum()


DEMO = {case.kernel: case.exact for case in CASES}
LINES, HEADS = ((M, N), (N,)), ((2, 21, 8), (2, 21, 8), (2, 21, 5))
GALLERY = {
    "gemm": Case(gemm.gemm, ((M, K), (K, N)), (M, N), config={"bm": 16, "bn": 32, "bk": 8}),
    "gemm_at": Case(gemm.gemm_at, ((K, M), (K, N)), (M, N), config={"bm": 16, "bn": 32, "bk": 8}),
    "gemm_bt": Case(gemm.gemm_bt, ((M, K), (N, K)), (M, N), config={"bm": 16, "bn": 32, "bk": 8}),
    "gemm_atbt": Case(gemm.gemm_atbt, ((K, M), (N, K)), (M, N), config={"bm": 16, "bn": 32, "bk": 8}),
    "add": Case(elementwise.add, ((M, N), (M, N)), (M, N)),
    "bias_gelu_residual": Case(elementwise.bias_gelu_residual, (*LINES, (M, N)), (M, N), DEMO["bias_gelu_residual"]),
    "swiglu": Case(elementwise.swiglu, ((M, N), (M, N)), (M, N), _swiglu),
    "softmax": Case(rows.softmax, ((M, N),), (M, N), DEMO["softmax"]),
    "masked_softmax": Case(rows.masked_softmax, ((M, N), (M, N)), (M, N), _masked_softmax),
    "layer_norm": Case(rows.layer_norm, ((M, N), (N,), (N,)), (M, N), DEMO["layer_norm"]),
    "rms_norm": Case(rows.rms_norm, LINES, (M, N), _rms_norm),
    "row_sum": Case(rows.row_sum, ((M, N),), (M,), _sum),
    "row_sum_region": Case(rows.row_sum_region, ((M, N),), (M,), _sum),
    "row_sum_in_order": Case(rows.row_sum_region, ((M, N),), (M,), config={"policy": "fold_left"}),
    "attention": Case(attention.attention, HEADS, (2, 21, 5), _attention),
    "causal_attention": Case(
        attention.attention, ((2, 21, 8),) * 3, (2, 21, 8), DEMO["attention"], {"causal": True, "bq": 8}
    ),
}


@cache
def captured(name: str) -> Kernel:
    case = GALLERY[name]
    return case.kernel.capture(*(tensor_shape(*shape) for shape in (*case.inputs, case.result)), **case.config)


@cache
def inputs(name: str) -> tuple[Array, ...]:
    rng = np.random.default_rng(11)
    made: list[Array] = [rng.standard_normal(shape, np.float32) for shape in GALLERY[name].inputs]
    if name == "masked_softmax":
        made[1] = rng.random(made[1].shape) < 0.6
        made[1][3] = False
    return tuple(made)


def arguments(name: str) -> list[Array]:
    """The inputs, and NaN where the result goes."""
    return [*(x.copy() for x in inputs(name)), np.full(GALLERY[name].result, np.nan, np.float32)]


@cache
def interpreted(name: str) -> Array:
    arrays = arguments(name)
    interpret(captured(name), arrays, check=Checks(poison=(captured(name).parameters[-1].name,)))
    return arrays[-1]


@cache
def in_xir(name: str, threads: int) -> Array:
    """What the XIR interpreter makes of the module that the device compiles."""
    kernel = Kernel(captured(name).module.clone(), name)
    run_tile_passes(kernel.module, CANONICAL)
    kernel, _ = retile(kernel, threads, host_machine())
    lowered = lower(kernel, plan(kernel, host_machine(), threads=threads))
    run_pipeline(lowered.module, CPU_PIPELINE)
    arrays = arguments(name)
    run_xir(lowered.module, [arrays[i].reshape(-1) for i in lowered.argument_order])
    return arrays[-1]


def on_device(name: str, threads: int) -> Array:
    arrays = arguments(name)
    run_on_device(captured(name), [array.ctypes.data for array in arrays], threads=threads)
    for given, after in zip(inputs(name), arrays, strict=False):
        assert np.array_equal(given, after)
    return arrays[-1]


def bits(array: Array) -> Array:
    return array.view(np.uint32)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", GALLERY)
def test_machine_code_computes_the_bits_of_its_xir(name: str, threads: int) -> None:
    assert np.array_equal(bits(on_device(name, threads)), bits(in_xir(name, threads)))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", [name for name, case in GALLERY.items() if case.bound is None])
def test_where_every_order_is_fixed_all_routes_give_the_interpreters_bits(name: str, threads: int) -> None:
    assert np.array_equal(bits(in_xir(name, threads)), bits(interpreted(name)))


@pytest.mark.parametrize("name", [name for name, case in GALLERY.items() if case.bound is not None])
def test_elsewhere_every_route_is_within_the_derived_bound(name: str) -> None:
    derive = GALLERY[name].bound
    assert derive is not None
    answer = derive(*inputs(name))
    for result in (interpreted(name), *(in_xir(name, threads) for threads in THREADS)):
        assert (abs(result - answer.value) <= answer.error).all()


def test_the_bounds_are_worth_something() -> None:
    """No bound is wider than 2**-14 of the largest result, so a float16 anywhere would break it."""
    for name, case in GALLERY.items():
        if case.bound is not None:
            answer = case.bound(*inputs(name))
            assert answer.error.max() <= 2.0**-14 * abs(answer.value).max(), name

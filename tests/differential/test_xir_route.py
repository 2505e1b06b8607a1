"""Every kernel, lowered in every way the plan offers, computes what the TileIR interpreter computes.

Bit for bit, where the order of operations is fixed; which NaN a NaN is, nothing fixes.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.differential import (
    kernels_carries,
    kernels_columns,
    kernels_folds,
    kernels_fusion,
    kernels_lanes,
    kernels_products,
    kernels_snapshots,
    kernels_squares,
    kernels_windows,
    route_kernels,
)
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.options import PROGRAM, XirOptions, element
from tilewright.bridge.xir.plan import plan
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512, GENERIC_NEON, Machine
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.numerics.arrays import Array, numpy_dtype
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

KERNELS: dict[str, Kernel] = {
    **route_kernels.KERNELS,
    **kernels_carries.KERNELS,
    **kernels_columns.KERNELS,
    **kernels_folds.KERNELS,
    **kernels_fusion.KERNELS,
    **kernels_lanes.KERNELS,
    **kernels_products.KERNELS,
    **kernels_snapshots.KERNELS,
    **kernels_squares.KERNELS,
    **kernels_windows.KERNELS,
}
WAYS: dict[str, tuple[Machine, XirOptions, bool]] = {
    "avx512": (GENERIC_AVX512, XirOptions(), False),
    "avx2": (GENERIC_AVX2, XirOptions(lanes=element()), False),
    "neon": (GENERIC_NEON, XirOptions(lanes=element()), False),
    "one lane": (GENERIC_AVX2, XirOptions(lanes=element(), lane_width=1), False),
    "programs": (GENERIC_AVX512, XirOptions(lanes=PROGRAM, block_size=32), False),
    "programs of 4 lanes": (GENERIC_AVX512, XirOptions(lanes=PROGRAM, block_size=8, lane_width=4), False),
    "programs of one lane": (GENERIC_AVX512, XirOptions(lanes=PROGRAM, block_size=4, lane_width=1), False),
    "aliases": (GENERIC_AVX512, XirOptions(lanes=element()), True),
}
FIRST = ("avx512", "programs of 4 lanes")
"""The ways in which every kernel goes at once; the rest of the product is for `make test-all`."""
REGROUPED = {"row folds", "row folds of one column"}
"""Kernels whose float sums may be regrouped.

One program computes at most 71 terms, so 71 units in the last place of the sum of magnitudes bound the difference.
"""


def arguments(parameters: tuple[Parameter, ...]) -> list[Array]:
    rng = np.random.default_rng(7)
    return [_argument(rng, parameter) for parameter in parameters]


def _argument(rng: np.random.Generator, parameter: Parameter) -> Array:
    dtype, shape = numpy_dtype(parameter.element), parameter.shape
    if parameter.element.kind == "float":
        return rng.standard_normal(shape).astype(dtype)
    if parameter.element.kind == "bool":
        return rng.random(shape) < 0.5
    low, high = (0, 200) if parameter.element.kind == "uint" else (-50, 50)
    return rng.integers(low, high, shape).astype(dtype)


@cache
def expected(name: str) -> list[Array]:
    arrays = arguments(KERNELS[name].parameters)
    interpret(KERNELS[name], arrays)
    return arrays


def computed(kernel: Kernel, way: str) -> list[Array]:
    machine, options, may_alias = WAYS[way]
    lowered = lower(kernel, plan(kernel, machine, options, threads=2, may_alias=may_alias))
    run_pipeline(lowered.module, CPU_PIPELINE)
    arrays = arguments(kernel.parameters)
    run_xir(lowered.module, [arrays[i].reshape(-1) for i in lowered.argument_order])
    return arrays


def marks_of(name: str, *, first: bool) -> list[pytest.MarkDecorator]:
    """The few kernels that cover everything run in full every time, the many that look for trouble in part."""
    return [] if first or name in route_kernels.KERNELS else [pytest.mark.slow]


@pytest.mark.parametrize(
    ("name", "way"),
    [pytest.param(name, way, marks=marks_of(name, first=way in FIRST)) for name in KERNELS for way in WAYS],
)
def test_the_route_computes_what_the_interpreter_computes(name: str, way: str) -> None:
    for parameter, want, got in zip(
        KERNELS[name].parameters, expected(name), computed(KERNELS[name], way), strict=True
    ):
        if name in REGROUPED and parameter.name == "S":
            bound = 71 * 2.0**-24 * np.abs(expected(name)[0]).sum(axis=1)
            assert np.all(np.abs(got - want) <= bound)
        else:
            assert same_bits(want, got), parameter.name


def same_bits(a: Array, b: Array) -> bool:
    raw: Any = np.uint8
    numbers = ~((a != a) & (b != b))  # noqa: PLR0124  a NaN is what differs from itself
    return bool(np.array_equal(a[numbers].reshape(-1).view(raw), b[numbers].reshape(-1).view(raw)))


@pytest.mark.parametrize("name", route_kernels.KERNELS)
def test_lowering_twice_gives_the_same_module(name: str) -> None:
    kernel = KERNELS[name]
    texts = {str(lower(kernel, plan(kernel, GENERIC_AVX512, threads=2)).module) for _ in range(2)}
    assert len(texts) == 1


def test_programs_of_one_lane_are_scalar_code() -> None:
    machine, options, _ = WAYS["programs of one lane"]
    texts = [str(lower(kernel, plan(kernel, machine, options, threads=2)).module) for kernel in KERNELS.values()]
    assert not [text for text in texts if "vector<" in text]

"""Products that compute operands while their panels are packed have the bits that the interpreter has."""

from functools import cache

import pytest

from tests.differential.kernels_prologues import KERNELS
from tests.differential.test_xir_route import arguments, same_bits
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.options import Packing, Use, XirOptions, element
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.records import Fill
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512, GENERIC_NEON, Machine
from tilewright.interp.run import run as interpret
from tilewright.numerics.arrays import Array
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

WAYS: dict[str, tuple[Machine, XirOptions]] = {
    "the plan": (GENERIC_AVX512, XirOptions(lanes=element())),
    "fused": (GENERIC_AVX512, XirOptions(lanes=element(), fusion=Use.WHEREVER_LEGAL)),
    "fused, short blocks": (
        GENERIC_AVX512,
        XirOptions(lanes=element(), fusion=Use.WHEREVER_LEGAL, packing=Packing.BOTH, k_block=17, row_block=13),
    ),
    "fused, 8 lanes": (GENERIC_AVX2, XirOptions(lanes=element(), fusion=Use.WHEREVER_LEGAL)),
    "fused, 4 lanes": (
        GENERIC_NEON,
        XirOptions(lanes=element(), fusion=Use.WHEREVER_LEGAL, register_tile=(5, 1), packing=Packing.BOTH),
    ),
    "fused, one lane": (GENERIC_AVX2, XirOptions(lanes=element(), fusion=Use.WHEREVER_LEGAL, lane_width=1)),
}
KEPT = {"overwritten before the product", "overwritten by the product", "a product of 0 steps, scaled"}
"""Kernels whose operands cannot be computed any later than they are, or are empty."""
FIRST = "fused"
"""The way in which every kernel goes at once."""


@cache
def expected(name: str) -> list[Array]:
    arrays = arguments(KERNELS[name].parameters)
    interpret(KERNELS[name], arrays)
    return arrays


@pytest.mark.parametrize("way", [pytest.param(way, marks=[] if way == FIRST else pytest.mark.slow) for way in WAYS])
@pytest.mark.parametrize("name", KERNELS)
def test_the_bits_are_those_of_the_interpreter(name: str, way: str) -> None:
    kernel, (machine, options) = KERNELS[name], WAYS[way]
    chosen = plan(kernel, machine, options, threads=1)
    fills = [fill for item in chosen.decisions.contracts.values() for fill in (item.a_fill, item.b_fill)]
    if options.fusion is Use.WHEREVER_LEGAL:
        assert any(isinstance(fill, Fill) for fill in fills) == (name not in KEPT), fills
    lowered = lower(kernel, chosen)
    run_pipeline(lowered.module, CPU_PIPELINE)
    arrays = arguments(kernel.parameters)
    run_xir(lowered.module, [arrays[i].reshape(-1) for i in lowered.argument_order])
    for parameter, want, got in zip(kernel.parameters, expected(name), arrays, strict=True):
        assert same_bits(want, got), parameter.name

"""Kernels in tiles of the plan's own choosing compute what the interpreter computes of the user's, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from examples.gallery.gemm import gemm
from tests.differential.test_xir_route import KERNELS, REGROUPED, arguments, expected, marks_of, same_bits
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.retile import retile
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512, GENERIC_NEON, Machine
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import Array
from tilewright.tile import tensor_shape
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

SHAPES = [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (1, 40, 9), (3, 70, 7), (5, 150, 3), (17, 9, 33), (70, 70, 70)]


def computed(kernel: Kernel, machine: Machine, threads: int) -> list[Array]:
    """What the retiled kernel leaves in the arguments."""
    cut, _ = retile(kernel, threads, machine)
    lowered = lower(cut, plan(cut, machine, threads=threads))
    run_pipeline(lowered.module, CPU_PIPELINE)
    arrays = arguments(kernel.parameters)
    run_xir(lowered.module, [arrays[i].reshape(-1) for i in lowered.argument_order])
    return arrays


@pytest.mark.parametrize(
    ("name", "threads"),
    [
        pytest.param(name, threads, marks=marks_of(name, first=False))
        for name in KERNELS
        if name not in REGROUPED
        for threads in (1, 3)
    ],
)
def test_a_retiled_kernel_computes_the_same(name: str, threads: int) -> None:
    got = computed(KERNELS[name], GENERIC_AVX512, threads)
    for parameter, want, have in zip(KERNELS[name].parameters, expected(name), got, strict=True):
        assert same_bits(want, have), parameter.name


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks_of(name, first=False)) for name in KERNELS if name not in REGROUPED]
)
def test_stores_past_the_caches_write_the_same(name: str) -> None:
    """On a machine without a last cache every store that may go past it does; its vectors are short."""
    got = computed(KERNELS[name], replace(GENERIC_NEON, l3_bytes=0), 1)
    for parameter, want, have in zip(KERNELS[name].parameters, expected(name), got, strict=True):
        assert same_bits(want, have), parameter.name


@pytest.mark.parametrize("machine", [GENERIC_AVX512, GENERIC_AVX2, GENERIC_NEON], ids=lambda m: m.name)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_user_blocks_do_not_change_a_bit(shape: tuple[int, int, int], machine: Machine) -> None:
    m, n, k = shape
    found: list[Array] = []
    for block in (16, 48):
        kernel = gemm.capture(tensor_shape(m, k), tensor_shape(k, n), tensor_shape(m, n), bm=block, bn=block, bk=block)
        want = arguments(kernel.parameters)
        interpret(kernel, want)
        got = computed(kernel, machine, 2)
        assert np.array_equal(want[2].view(np.uint32), got[2].view(np.uint32))
        found.append(got[2])
    assert same_bits(*found)

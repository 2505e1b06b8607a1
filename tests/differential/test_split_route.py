"""Loops that are cut wherever that is legal compute what they did, in machine-like code, bit for bit."""

import numpy as np
import pytest

from tests.differential.kernels_splits import KERNELS
from tests.differential.test_xir_route import arguments, same_bits
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.retile import AFTER_STRIPS, retile
from tilewright.core.machine import GENERIC_AVX512
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.ir.rewrite import run_pipeline as run_tile_passes
from tilewright.numerics.arrays import Array
from tilewright.passes.split_loops import SplitLoops
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline


def inputs(kernel: Kernel, share: float) -> list[Array]:
    """Numbers, of which a share is NaN or infinite."""
    rng, arrays = np.random.default_rng(11), arguments(kernel.parameters)
    for array in arrays:
        array[rng.random(array.shape) < share] = rng.choice([np.nan, np.inf, -np.inf])
    return arrays


@pytest.mark.parametrize("name", KERNELS)
def test_a_cut_loop_computes_the_same(name: str) -> None:
    kernel = KERNELS[name]
    cut, _ = retile(kernel, 1, GENERIC_AVX512)
    run_tile_passes(cut.module, (SplitLoops(least=0), *AFTER_STRIPS))
    lowered = lower(cut, plan(cut, GENERIC_AVX512, threads=1))
    run_pipeline(lowered.module, CPU_PIPELINE)
    for share in (0.0, 0.1):
        want, got = inputs(kernel, share), inputs(kernel, share)
        interpret(kernel, want)
        run_xir(lowered.module, [got[i].reshape(-1) for i in lowered.argument_order])
        for parameter, a, b in zip(kernel.parameters, want, got, strict=True):
            assert same_bits(a, b), parameter.name

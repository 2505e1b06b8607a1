"""Loops cut, blocks peeled and axes unified wherever that is legal: all compute what they did, bit for bit."""

import numpy as np
import pytest

from tests.differential import kernels_peels, kernels_splits, kernels_unified
from tests.differential.test_xir_route import arguments, same_bits
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.retile import AFTER_STRIPS, retile
from tilewright.core.machine import GENERIC_AVX512
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.ir.rewrite import TilePass
from tilewright.ir.rewrite import run_pipeline as run_tile_passes
from tilewright.numerics.arrays import Array
from tilewright.passes.peel_blocks import PeelBlocks
from tilewright.passes.split_loops import SplitLoops
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

PEEL = PeelBlocks(block=0, least=0, most=100)


def inputs(kernel: Kernel, share: float) -> list[Array]:
    """Numbers, of which a share is NaN or infinite."""
    rng, arrays = np.random.default_rng(11), arguments(kernel.parameters)
    for array in arrays:
        array[rng.random(array.shape) < share] = rng.choice([np.nan, np.inf, -np.inf])
    return arrays


@pytest.mark.parametrize(
    ("kernel", "passes"),
    [
        *[pytest.param(kernel, (SplitLoops(least=0),), id=name) for name, kernel in kernels_splits.KERNELS.items()],
        *[pytest.param(kernel, (PEEL,), id=name) for name, kernel in kernels_peels.KERNELS.items()],
        *[pytest.param(kernel, (), id=name) for name, kernel in kernels_unified.KERNELS.items()],
    ],
)
def test_tiles_made_by_passes_compute_the_same(kernel: Kernel, passes: tuple[TilePass, ...]) -> None:
    """`passes` where those of the route find that it is too little to be worth it."""
    tiles, _ = retile(kernel, 1, GENERIC_AVX512)
    run_tile_passes(tiles.module, (*passes, *AFTER_STRIPS))
    lowered = lower(tiles, plan(tiles, GENERIC_AVX512, threads=1))
    run_pipeline(lowered.module, CPU_PIPELINE)
    for share in (0.0, 0.1):
        want, got = inputs(kernel, share), inputs(kernel, share)
        interpret(kernel, want)
        run_xir(lowered.module, [got[i].reshape(-1) for i in lowered.argument_order])
        for parameter, a, b in zip(kernel.parameters, want, got, strict=True):
            assert same_bits(a, b), parameter.name

"""Code of full blocks masks nothing: counted while it runs, one program after the other."""

from collections.abc import Callable
from unittest.mock import patch

import pytest

from examples.gallery.gemm import gemm
from tests.differential.kernels_peels import made as scaled
from tests.differential.route_kernels import saxpy
from tests.differential.test_xir_route import arguments
from tilewright.bridge.xir.lower.kernel import Lowered, lower
from tilewright.bridge.xir.options import XirOptions, element
from tilewright.bridge.xir.plan import plan
from tilewright.core.machine import GENERIC_AVX512
from tilewright.ir.kernel import Kernel
from tilewright.ir.rewrite import TilePass
from tilewright.ir.rewrite import run_pipeline as run_tile_passes
from tilewright.passes.decide_comparisons import DecideComparisons
from tilewright.passes.fold_constants import FoldConstants
from tilewright.passes.peel_blocks import PeelBlocks
from tilewright.tile import tensor_shape
from tilewright.xir import interp
from tilewright.xir.ops import LoadOp, StoreOp
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

PEELED = (PeelBlocks(block=0, least=0, most=100), FoldConstants(), DecideComparisons())


def masked(kernel: Kernel, *passes: TilePass) -> list[bool]:
    """Whether any access of a program is masked, program by program."""
    module = kernel.module.clone()
    run_tile_passes(module, passes)
    tiles = Kernel(module, kernel.name)
    lowered = lower(tiles, plan(tiles, GENERIC_AVX512, XirOptions(lanes=element(), block_size=1), threads=1))
    run_pipeline(lowered.module, CPU_PIPELINE)
    return [_is_masked(lowered, kernel, task) for task in range(lowered.tasks)]


def _is_masked(lowered: Lowered, kernel: Kernel, task: int) -> bool:
    found: list[str] = []

    def noting(make: Callable[..., Callable[[object], None]]) -> Callable[..., Callable[[object], None]]:
        def made(op: LoadOp | StoreOp, *rest: object) -> Callable[[object], None]:
            step = make(op, *rest)

            def noted(env: object) -> None:
                if op.mask is not None:
                    found.append(op.name)
                step(env)

            return noted

        return made

    arrays = arguments(kernel.parameters)
    steps = {name: noting(vars(interp)[name]) for name in ("_masked_read", "_masked_write")}
    with patch.dict(vars(interp), steps):
        interp.run(lowered.module, [arrays[i].reshape(-1) for i in lowered.argument_order], [task])
    return bool(found)


def test_a_limit_masks_in_the_last_block_only() -> None:
    kernel = saxpy.capture(tensor_shape(107), tensor_shape(107))
    assert masked(kernel) == [False, False, False, True]


@pytest.mark.parametrize(("rows", "columns"), [(32, 43), (43, 32)])
def test_a_product_masks_in_the_last_block_only(rows: int, columns: int) -> None:
    """Columns have lanes: their last block is masked, that of rows takes fewer of them."""
    shapes = tensor_shape(rows, 16), tensor_shape(16, columns), tensor_shape(rows, columns)
    found = masked(gemm.capture(*shapes, bm=16, bn=16, bk=16))
    assert found == [False, False, True, False, False, True] if columns == 43 else [False] * 6


def test_a_block_that_is_read_across_is_masked_unless_its_last_one_is_peeled() -> None:
    kernel = scaled(2, 43, bn=16)
    assert masked(kernel) == [True, True, True]
    assert masked(kernel, *PEELED) == [False, False, True]

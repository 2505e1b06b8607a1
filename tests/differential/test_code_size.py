"""Tiles are loops, not expansions: the code of a kernel does not grow with its tiles."""

from dataclasses import replace
from itertools import product

import pytest

from examples.gallery.attention import attention
from examples.gallery.elementwise import bias_gelu_residual
from examples.gallery.gemm import gemm
from examples.gallery.rows import softmax
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.options import PROGRAM, Packing, Program, Use, XirOptions
from tilewright.bridge.xir.plan import plan
from tilewright.core.machine import GENERIC_AVX512
from tilewright.ir.kernel import Kernel
from tilewright.tile import tensor_shape
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

FUNCTION_OPERATIONS = 2000  # the budget of one function


def kernel_of(name: str, size: int) -> Kernel:
    """With tiles of this extent, and views of three tiles along each axis."""
    whole = 3 * size
    match name:
        case "gemm":
            return gemm.capture(*[tensor_shape(whole, whole)] * 3, bm=size, bn=size, bk=size)
        case "softmax":
            return softmax.capture(*[tensor_shape(12, whole)] * 2)
        case "bias_gelu_residual":
            square = tensor_shape(whole, whole)
            return bias_gelu_residual.capture(square, tensor_shape(whole), square, square, bm=size, bn=size)
        case _:
            return attention.capture(*[tensor_shape(2, whole, 64)] * 4, bq=size, bk=size, causal=True)


def operations(kernel: Kernel, options: XirOptions) -> int:
    """Of all functions."""
    module = lower(kernel, plan(kernel, GENERIC_AVX512, options, threads=2)).module
    run_pipeline(module, CPU_PIPELINE)
    return sum(1 for _ in module.walk())


def options(recompute: Use | None, fusion: Use | None, packing: Packing) -> XirOptions:
    """Where operands lie is fixed, and how products are blocked: larger ones may be worth panels, and tiles that leave
    edges. Vectors go one by one, since short rows have fewer of them side by side.
    """
    scratch = 1 << 30
    return XirOptions(
        recompute=recompute, fusion=fusion, packing=packing, register_tile=(8, 2), max_scratch_bytes=scratch,
        abreast=Use.NEVER,
    )  # fmt: skip


NAMES, LANES, PLACES = ("gemm", "softmax", "bias_gelu_residual", "attention"), (None, PROGRAM), (None, *Use)
OTHER_PLACES = ("attention", PROGRAM, None)  # small rows are recomputed and large ones kept: a tenth more operations


@pytest.mark.parametrize(
    ("name", "lanes", "recompute"), [each for each in product(NAMES, LANES, PLACES) if each != OTHER_PLACES]
)
def test_larger_tiles_are_no_more_code(name: str, lanes: Program | None, recompute: Use | None) -> None:
    """Blocks of a cache and their edges may differ by a few operations; 64 times the elements may not."""
    fixed = options(recompute, Use.NEVER, Packing.IN_PLACE)
    if lanes is not None:
        fixed = replace(fixed, lanes=lanes, packing=None, register_tile=None)
    small, large = (operations(kernel_of(name, size), fixed) for size in (64, 512))
    assert large < 1.1 * small
    assert large < FUNCTION_OPERATIONS


@pytest.mark.parametrize("recompute", PLACES)
@pytest.mark.parametrize("fusion", [None, Use.WHEREVER_LEGAL])
@pytest.mark.parametrize("sizes", [(128, 384), (256, 1024)])
def test_larger_tiles_are_no_more_code_with_operands_in_panels(
    sizes: tuple[int, int], fusion: Use | None, recompute: Use | None
) -> None:
    fixed = options(recompute, fusion, Packing.ONE)
    small, large = (operations(kernel_of("attention", size), fixed) for size in sizes)
    assert large < 1.1 * small
    assert large < FUNCTION_OPERATIONS


def test_larger_tiles_are_no_more_code_with_vectors_side_by_side() -> None:
    small, large = (operations(kernel_of("bias_gelu_residual", size), XirOptions()) for size in (128, 512))
    assert large < 1.1 * small


@pytest.mark.parametrize("name", ["gemm", "attention"])
def test_panels_and_edges_of_a_plan_are_a_few_functions(name: str) -> None:
    """What an open plan adds for a large product: a copy, and tiles at two edges."""
    small, large = (operations(kernel_of(name, size), XirOptions(max_scratch_bytes=1 << 30)) for size in (64, 512))
    assert large < 2.3 * small
    assert large < FUNCTION_OPERATIONS

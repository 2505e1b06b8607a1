"""Contractions with lanes along k: every sum is right at every edge, and nothing beyond the operands is seen."""

import numpy as np
import pytest
from xdsl.dialects import math
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.dialects.scf import YieldOp
from xdsl.ir import Attribute, Block

from tests.unit.xir.passes.test_expand_contract import Array, extent, matrix, strides_of
from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import FuncOp, KernelOp
from tilewright.xir.passes.expand_contract import ExpandContract
from tilewright.xir.passes.runner import run_pipeline
from tilewright.xir.types import I64, BufferType
from tilewright.xir.values import storage_dtype
from tilewright.xir.verify import verify

GUARD, LANES = 2, 4
Shape = tuple[int, int, int]


def layouts(shape: Shape, results: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Of A, B and C: extents and strides; A and B with k innermost."""
    m, n, k = shape
    b_column, b_k = strides_of("padded", (n, k))
    return [((m, k), strides_of("padded", (m, k))), ((k, n), (b_k, b_column)), ((m, n), strides_of(results, (m, n)))]


def module_of(
    shape: Shape, tile: tuple[int, int], *, element: Attribute = f32, from_zero: bool = True, results: str = "rows",
    doubled: bool = False,
) -> ModuleOp:  # fmt: skip
    """With `doubled` sums start from 1 instead of C, and are stored twice as large."""
    placed = layouts(shape, results)
    kernel = KernelOp("k", [BufferType.of(element, extent(*each) + 2 * GUARD) for each in placed], 1)
    b = XirBuilder(kernel.body.block)
    operands = [value for argument in kernel.body.block.args[:-1] for value in (argument, b.i64(GUARD))]
    (_, (a_row, a_k)), (_, (b_k, b_column)), (_, (c_row, c_column)) = placed
    strides = (a_row, a_k, b_k, b_column, c_row, c_column)
    made = b.contract(operands, shape, strides, (*tile, 1), from_zero=from_zero, along=LANES)
    if doubled:
        for region, kinds in ((made.start, [I64, I64]), (made.finish, [I64, I64, element])):
            region.add_block(Block(arg_types=kinds))
            with b.at(region.block):
                one = b.const(element, 1)
                b.insert(YieldOp(b.fadd(region.block.args[2], region.block.args[2]) if len(kinds) > 2 else one))
    b.return_()
    return ModuleOp([kernel])


def answer(module: ModuleOp, shape: Shape, element: Attribute, results: str) -> tuple[Array, Array, Array]:
    """What the module makes of whole numbers, whose sums are exact in any order; and C before, and A B."""
    run_pipeline(module, [ExpandContract()])
    rng, memories = np.random.default_rng(3), list[Array]()
    for own, stride in layouts(shape, results):
        memory = np.full(extent(own, stride) + 2 * GUARD, np.nan).astype(storage_dtype(element))
        matrix(memory, own, stride)[...] = rng.integers(-50, 50, own)
        memories.append(memory)
    (a, b, c) = (matrix(m, *each) for m, each in zip(memories, layouts(shape, results), strict=True))
    before, product = c.copy(), a @ b
    run(module, memories)
    outside = memories[2].copy()
    matrix(outside, *layouts(shape, results)[2])[...] = np.nan
    assert np.isnan(outside).all()
    return c, before, product


@pytest.mark.parametrize("tile", [(1, 1), (8, 1), (3, 2), (4, 4)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 70), (9, 1, 16), (5, 3, 7), (8, 4, 35), (7, 9, 4)])
@pytest.mark.parametrize("from_zero", [True, False])
def test_every_shape(shape: Shape, tile: tuple[int, int], from_zero: bool) -> None:
    found, before, product = answer(module_of(shape, tile, from_zero=from_zero), shape, f32, "rows")
    assert np.array_equal(found, product if from_zero else before + product)


@pytest.mark.parametrize("results", ["rows", "columns", "padded", "strided"])
@pytest.mark.parametrize("element", [f32, f64])
def test_every_layout_of_results(results: str, element: Attribute) -> None:
    module = module_of((5, 3, 11), (4, 2), element=element, results=results)
    found, _, product = answer(module, (5, 3, 11), element, results)
    assert np.array_equal(found, product)


def test_bodies_start_and_finish_each_sum() -> None:
    module = module_of((5, 3, 11), (4, 2), from_zero=False, doubled=True)
    found, _, product = answer(module, (5, 3, 11), f32, "rows")
    assert np.array_equal(found, 2 * (product + 1))


def test_a_small_tile_has_several_chains() -> None:
    """A single sum would wait for each of its multiply-adds."""
    module = module_of((1, 1, 64), (8, 1))
    run_pipeline(module, [ExpandContract()])
    (dot,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    assert sum(isinstance(op, math.FmaOp) for op in dot.walk()) == 8


@pytest.mark.parametrize("fault", ["k apart", "several lanes", "blocks"])
def test_what_excludes_lanes_along_k_is_refused(fault: str) -> None:
    kernel = KernelOp("k", [BufferType.of(f32, 64)] * 3, 1)
    b = XirBuilder(kernel.body.block)
    operands = [value for argument in kernel.body.block.args[:-1] for value in (argument, b.i64(0))]
    strides = (4, 2 if fault == "k apart" else 1, 1, 4, 4, 1)
    lanes, blocking = 4 if fault == "several lanes" else 1, (2, 0, 0) if fault == "blocks" else (0, 0, 0)
    b.contract(operands, (4, 4, 4), strides, (1, 1, lanes), from_zero=True, blocking=blocking, along=LANES)
    b.return_()
    assert [found.message for found in verify(ModuleOp([kernel])) if "contract-along" in found.message]

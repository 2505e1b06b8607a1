"""A first kernel packs panels into memory of the launch, and the contraction of the second one finds them ready."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.scf import YieldOp
from xdsl.ir import Block

from tests.unit.xir.passes.test_computed_panels import expected
from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import KernelOp
from tilewright.xir.pack_op import PackOp
from tilewright.xir.passes.expand_contract import ExpandContract
from tilewright.xir.passes.runner import run_pipeline
from tilewright.xir.text import parse_module, print_module
from tilewright.xir.types import I64, BufferType
from tilewright.xir.verify import verify_or_raise

ROWS, VECTORS, LANES = 4, 2, 4
WIDTH = VECTORS * LANES


def entries(shape: tuple[int, int, int]) -> tuple[KernelOp, KernelOp]:
    """Both kernels over A, B and C, and panels of A and of B."""
    m, n, k = shape
    a_size, b_size = -(-m // ROWS) * ROWS * k, -(-n // WIDTH) * WIDTH * k
    buffers = [BufferType.of(f32, size) for size in (m * k, k * n, m * n)]
    buffers += [BufferType.of(f32, size, "launch") for size in (a_size, b_size)]
    return KernelOp("panels", buffers, 1), KernelOp("k", buffers, 1)


def pack(kernel: KernelOp, shape: tuple[int, int, int], *, computed: bool) -> None:
    m, n, k = shape
    b = XirBuilder(kernel.body.block)
    first, second, _, rows, columns, _ = kernel.body.block.args
    for row in range(0, m, ROWS):
        place = (rows, b.i64(row * k))
        b.insert(PackOp((first, b.i64(row * k)), b.i64(row), place, (k, min(ROWS, m - row), ROWS, 4), (1, k)))
    for column in range(0, n, WIDTH):
        place, extents = (columns, b.i64(column * k)), (k, min(WIDTH, n - column), WIDTH, LANES)
        source = None if computed else (second, b.i64(column))
        made = b.insert(PackOp(source, b.i64(column), place, extents, (0, 0) if computed else (n, 1)))
        for region, count in ((made.body, 2), (made.tail, 3)) if computed else ():
            block = Block(arg_types=[I64] * count)
            region.add_block(block)
            with b.at(block):
                mask = b.first_lanes(block.args[2], LANES) if count > 2 else None
                index = b.add(b.mul(block.args[0], n), block.args[1])
                b.insert(YieldOp(b.load(second, index, LANES, mask=mask)))
    b.return_()


def module_of(shape: tuple[int, int, int], blocking: tuple[int, int, int], *, computed: bool) -> ModuleOp:
    n = shape[1]
    first, second = entries(shape)
    pack(first, shape, computed=computed)
    b = XirBuilder(second.body.block)
    _, _, c, rows, columns, _ = second.body.block.args
    operands = [rows, b.i64(0), columns, b.i64(0), c, b.i64(0)]
    strides = (0, 0, 0, 0, n, 1)
    b.contract(operands, shape, strides, (ROWS, VECTORS, LANES), from_zero=True, blocking=blocking, ready=(True, True))
    b.return_()
    module = ModuleOp([first, second])
    verify_or_raise(module)
    return module


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("blocking", [(0, 0, 0), (5, 4, 1), (3, 8, 2)])
def test_the_sums_are_those_of_the_elements(blocking: tuple[int, int, int], *, computed: bool) -> None:
    rng = np.random.default_rng(3)
    for m, n, k in ((1, 1, 1), (9, 19, 13), (8, 16, 5), (3, 5, 9)):
        module = module_of((m, n, k), blocking, computed=computed)
        run_pipeline(module, [ExpandContract()])
        verify_or_raise(module)
        a, b = (rng.standard_normal(size).astype(np.float32) for size in ((m, k), (k, n)))
        c = np.full((m, n), np.nan, np.float32)
        run(module, [a.ravel(), b.ravel(), c.reshape(-1)])
        np.testing.assert_array_equal(c, expected(a, b))


def test_both_kernels_print_and_parse() -> None:
    text = print_module(module_of((9, 19, 13), (5, 4, 1), computed=True))
    assert print_module(parse_module(text)) == text

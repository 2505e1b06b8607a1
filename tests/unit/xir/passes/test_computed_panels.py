"""Operands that are computed into panels: the same chains as over their elements in memory, none read outside."""

from itertools import product

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.scf import YieldOp
from xdsl.ir import Block, SSAValue

from tilewright.core.dtypes import f32 as number
from tilewright.numerics.arrays import Array
from tilewright.numerics.fma import fma
from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import CallOp, ContractOp, FuncOp, KernelOp, Side
from tilewright.xir.passes.expand_contract import ExpandContract
from tilewright.xir.passes.runner import run_pipeline
from tilewright.xir.types import I64, BufferType
from tilewright.xir.verify import verify_or_raise

Strides = tuple[int, int]
TILE = (4, 2, 4)
BLOCKS = [(0, 0, 0), (5, 0, 0), (5, 6, 1), (7, 3, 0), (4, 5, 2)]


def fill(b: XirBuilder, side: Side, source: SSAValue, scale: SSAValue, strides: Strides) -> None:
    """`source * scale` by the two coordinates of a body, the lanes along what lies side by side."""
    for region, count in ((side.body, 2), *([] if side.turned else [(side.tail, 3)])):
        block = Block(arg_types=[I64] * count)
        region.add_block(block)
        with b.at(block):
            first, second, *used = block.args
            mask = b.first_lanes(used[0], side.lanes) if used else None
            index = b.add(b.mul(first, strides[0]), b.mul(second, strides[1]))
            value = b.load(source, index, side.lanes, mask=mask)
            b.insert(YieldOp(b.fmul(value, b.broadcast(scale, side.lanes))))


def module_of(
    shape: tuple[int, int, int], blocking: tuple[int, int, int], computed: str, turned: tuple[bool, bool]
) -> ModuleOp:
    """C = (2 A) B, A (2 B) or (2 A) (2 B), where an operand that is not turned lies so that its columns do."""
    m, n, k = shape
    kernel = KernelOp("k", [BufferType.of(f32, size) for size in (m * k, k * n, m * n)], 1)
    b = XirBuilder(kernel.body.block)
    first, second, third, _ = kernel.body.block.args
    scale = b.fadd(b.const(f32, 1.0), b.const(f32, 1.0))
    a_strides: Strides = (k, 1) if turned[0] else (1, m)
    b_strides: Strides = (1, k) if turned[1] else (n, 1)
    a = [None, None] if "a" in computed else [first, b.i64(0)]
    other = [None, None] if "b" in computed else [second, b.i64(0)]
    flags = (turned[0] and "a" in computed, turned[1] and "b" in computed)
    strides = (a_strides[0], a_strides[1], b_strides[0], b_strides[1], n, 1)
    operands = [*a, *other, third, b.i64(0)]
    made = b.contract(operands, shape, strides, TILE, from_zero=True, blocking=blocking, turned=flags)
    for name, side, source, moves in zip("ab", made.sides, (first, second), (a_strides, b_strides), strict=True):
        if name in computed:
            fill(b, side, source, scale, moves)
    b.return_()
    module = ModuleOp([kernel])
    verify_or_raise(module)
    return module


def expected(a: Array, b: Array) -> Array:
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        c = fma(number, a[:, k : k + 1], b[k : k + 1], c)
    return c


def shortest(k: int, block: int) -> int:
    return k % block or block if 0 < block < k else k


@pytest.mark.parametrize("computed", ["a", "b", "ab"])
@pytest.mark.parametrize("turned", list(product((False, True), repeat=2)))
@pytest.mark.parametrize("blocking", BLOCKS)
def test_the_sums_are_those_of_the_elements(
    computed: str, turned: tuple[bool, bool], blocking: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(5)
    for m, n, k in ((1, 1, 4), (9, 17, 13), (8, 16, 5), (3, 5, 9), (6, 11, 0), (0, 4, 4)):
        if any(turned) and shortest(k, blocking[0]) < 4 * (k > 0):
            continue
        module = module_of((m, n, k), blocking, computed, turned)
        run_pipeline(module, [ExpandContract()])
        a, b = (rng.standard_normal(size).astype(np.float32) for size in ((m, k), (k, n)))
        c = np.full((m, n), np.nan, np.float32)
        flat = [(a if turned[0] else a.T).ravel(), (b.T if turned[1] else b).ravel(), c.reshape(-1)]
        run(module, flat)
        scaled = (a * np.float32(2) if "a" in computed else a, b * np.float32(2) if "b" in computed else b)
        np.testing.assert_array_equal(c, expected(*scaled))


def test_one_block_of_each_size_is_computed_by_one_function() -> None:
    module = module_of((9, 40, 13), (5, 4, 1), "b", (False, False))
    run_pipeline(module, [ExpandContract()])
    functions = {op.sym_name.data for op in module.walk() if isinstance(op, FuncOp)}
    called = [op.callee.data for op in module.walk() if isinstance(op, CallOp)]
    fills = {name for name in functions if name.startswith("computed_panel")}
    assert fills == {"computed_panel_8_0"}
    assert set(called) <= functions
    assert not any(isinstance(op, ContractOp) for op in module.walk())

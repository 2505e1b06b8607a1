"""Chains over several folded axes, with the sums in registers all the way and every chain in the written order."""

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, f32

from tilewright.core import dtypes
from tilewright.numerics.arrays import Array
from tilewright.numerics.fma import fma
from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import KernelOp
from tilewright.xir.ops import StoreOp as XirStoreOp
from tilewright.xir.passes.expand_contract import ExpandContract
from tilewright.xir.passes.runner import run_pipeline
from tilewright.xir.types import BufferType
from tilewright.xir.verify import verify

TAPS = (3, 2)


def windows(m: int, n: int, k: int, *, from_zero: bool, columns: bool = False) -> tuple[ModuleOp, list[Array]]:
    """C[i, j] over (p, q, k) of X[(i + p) * k' + q, k] and W[p, q, k, j], and arrays for it; C may lie by columns."""
    rng = np.random.default_rng(m * 100 + n * 10 + k)
    x = rng.standard_normal(((m + TAPS[0]) * (k + 1) + k + 2,)).astype("f4")
    w = rng.standard_normal((*TAPS, k, n)).astype("f4")
    c = rng.standard_normal((n, m) if columns else (m, n)).astype("f4")
    kernel = KernelOp("k", [BufferType.of(f32, each.size) for each in (x, w, c)], 1)
    b = XirBuilder(kernel.body.block, FileLineColLoc(StringAttr("k.py"), IntAttr(1), IntAttr(1)))
    kernel.location = b.place
    operands = [value for argument in kernel.body.block.args[:-1] for value in (argument, b.i64(0))]
    strides = (k + 1, 1, n, 1, *((1, m) if columns else (n, 1)))
    folds = [(TAPS[0], k + 1, TAPS[1] * k * n), (TAPS[1], 1, k * n)]
    b.contract(operands, (m, n, k), strides, (4, 2, 4), from_zero=from_zero, folds=folds)
    b.return_()
    return ModuleOp([kernel]), [x, w, c]


def chain(x: Array, w: Array, start: Array) -> Array:
    (m, _), (_, _, k, _) = start.shape, w.shape
    rows = np.array([[row * (k + 1)] for row in range(m)])
    sums = start
    for p in range(TAPS[0]):
        for q in range(TAPS[1]):
            for step in range(k):
                sums = fma(dtypes.f32, x[rows + p * (k + 1) + q + step], w[p, q, step][None], sums)
    return sums


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (4, 8, 3), (5, 11, 2), (9, 3, 1), (3, 17, 0), (4, 1, 5)])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("from_zero", [False, True])
def test_every_element_is_one_chain_in_order(m: int, n: int, k: int, *, columns: bool, from_zero: bool) -> None:
    module, (x, w, c) = windows(m, n, k, from_zero=from_zero, columns=columns)
    start = c.T if columns else c
    expected = chain(x, w, np.zeros_like(start) if from_zero else start.copy())
    run_pipeline(module, [ExpandContract()])
    run(module, [each.reshape(-1) for each in (x, w, c)])
    np.testing.assert_array_equal((c.T if columns else c).view("u4"), expected.view("u4"))


def test_sums_are_stored_once() -> None:
    module, _ = windows(4, 8, 3, from_zero=True)
    run_pipeline(module, [ExpandContract()])
    stores = [op for op in module.walk() if isinstance(op, XirStoreOp)]
    assert len(stores) == 8
    assert not any(isinstance(op.parent_op(), scf.ForOp) for op in stores)


@pytest.mark.parametrize(("fold", "refused"), [((3, 4, 8), False), ((3, 40, 8), True), ((3, 4, 80), True)])
def test_bounds_include_the_folds(fold: tuple[int, int, int], *, refused: bool) -> None:
    kernel = KernelOp("k", [BufferType.of(f32, 64)] * 3, 1)
    b = XirBuilder(kernel.body.block, FileLineColLoc(StringAttr("k.py"), IntAttr(1), IntAttr(1)))
    kernel.location = b.place
    operands = [value for argument in kernel.body.block.args[:-1] for value in (argument, b.i64(0))]
    b.contract(operands, (4, 8, 3), (4, 1, 8, 1, 8, 1), (4, 2, 4), from_zero=True, folds=[fold])
    b.return_()
    assert bool(verify(ModuleOp([kernel]))) is refused

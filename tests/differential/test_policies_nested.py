"""Orders that meet: loops around folds, products in a fixed order, and reducers of one's own, in machine code."""

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.differential.kernels_policies import LICENSES
from tests.differential.on_device import run_on_device
from tilewright import tile
from tilewright.backends.llvm.kernel import compile_kernel
from tilewright.core.abi import CompileOptions
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView2,
    View1,
    View2,
    add,
    axis,
    coord,
    f32,
    fold_left,
    fold_right,
    full,
    i64,
    iota,
    mma,
    ordered_tree,
    parallel,
    reduce,
    reducer,
    scan,
    shape,
    tensor_shape,
    where,
    zeros,
)

LARGE = 2.0**24  # one more is no number of f32: adding 1 again and again changes nothing


def results(kernel: Kernel, inputs: list[Any], outputs: list[Any], threads: int | None) -> list[Any]:
    """Fresh outputs after a run, in the interpreter for no threads."""
    arrays = [*inputs, *(np.zeros_like(each) for each in outputs)]
    if threads is None:
        interpret(kernel, arrays)
    else:
        run_on_device(kernel, [array.ctypes.data for array in arrays], threads=threads)
    return arrays[len(inputs) :]


@tile.kernel
def in_serial(X: ConstView2[f32], Y: View1[f32]):
    m, e = axis("m", 4), axis("e", 16)
    for nest in parallel(shape(axis("g", 1))):
        total = full(f32, shape(m), LARGE)
        for step in nest.serial(shape(8)):
            total = total + reduce(X[coord(0, step.index() * 16), shape(m, e)], e, add)
        Y.at(coord(0), shape(m)).store(total)


@tile.kernel
def in_pipeline(X: ConstView2[f32], Y: View1[f32]):
    m, e = axis("m", 4), axis("e", 16)
    for nest in parallel(shape(axis("g", 1))):
        total = full(f32, shape(m), LARGE)
        for step in nest.pipeline(shape(8), window=2):
            total = total + reduce(X[coord(0, step.index() * 16), shape(m, e)], e, add)
        Y.at(coord(0), shape(m)).store(total)


@tile.kernel
def in_fold(X: ConstView2[f32], Y: View1[f32], *, policy: str):
    m, e = axis("m", 4), axis("e", 16)
    for nest in parallel(shape(axis("g", 1))):
        total = full(f32, shape(m), LARGE)
        for step in nest.reduce(shape(8), policy=policy):
            total = total + reduce(X[coord(0, step.index() * 16), shape(m, e)], e, add)
        Y.at(coord(0), shape(m)).store(total)


BLOCKS, ROW = tensor_shape(4, 128), tensor_shape(4)
ROUNDED = {
    "serial": in_serial.capture(BLOCKS, ROW),
    "pipeline": in_pipeline.capture(BLOCKS, ROW),
    "fold_left": in_fold.capture(BLOCKS, ROW, policy="fold_left"),
    "fold_right": in_fold.capture(BLOCKS, ROW, policy="fold_right"),
}


@pytest.mark.parametrize("threads", [None, 2])
@pytest.mark.parametrize("name", ROUNDED)
def test_a_loop_around_a_fold_rounds_once_a_trip(name: str, threads: int | None) -> None:
    """Every block sums up to 1, which the total swallows; all blocks at once would count."""
    inputs = [np.full((4, 128), 1 / 16, np.float32)]
    (y,) = results(ROUNDED[name], inputs, [np.zeros(4, np.float32)], threads)
    assert y.tolist() == [LARGE] * 4


@tile.kernel
def product(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 8), axis("n", 16), axis("k", 12)
    for nest in parallel(shape(axis("gm", 2), axis("gn", 3))):
        row, column = nest.coords()
        total = full(f32, shape(m, n), 0.3)
        for step in nest.pipeline(shape(axis("gk", 4)), window=2):
            a = A[coord(row * 8, step.index() * 12), shape(m, k)]
            b = B[coord(step.index() * 12, column * 16), shape(k, n)]
            total = mma(a, b, total, reassociate=False)
        C.at(coord(row * 8, column * 16), shape(m, n)).store(total)


@pytest.mark.parametrize("threads", [None, 1, 2, 8])
def test_a_product_in_order_is_the_chain_of_fused_steps(threads: int | None) -> None:
    """Products of 24-bit numbers fit f64; the sum of one with an f32 is rounded to odd before it is rounded to f32."""
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((13, 41)).astype(np.float32), rng.standard_normal((41, 37)).astype(np.float32)
    kernel = product.capture(tensor_shape(13, 41), tensor_shape(41, 37), tensor_shape(13, 37))
    (c,) = results(kernel, [a, b], [np.zeros((13, 37), np.float32)], threads)
    want = np.full((13, 37), 0.3, np.float32)
    for k in range(41):
        want = fused(a[:, k, None], b[None, k, :], want)
    np.testing.assert_array_equal(c.view(np.int32), want.view(np.int32))


def fused(a: Any, b: Any, c: Any) -> npt.NDArray[np.float32]:
    """round(a * b + c) with one rounding: the f64 sum is made odd where it is inexact (Boldo and Melquiond, 2008)."""
    exact: npt.NDArray[np.float64] = a.astype(np.float64) * b.astype(np.float64)
    wide: npt.NDArray[np.float64] = c.astype(np.float64)
    total = exact + wide
    part = total - exact
    lost = (exact - (total - part)) + (wide - part)
    bits = total.view(np.int64)
    toward = np.where((lost > 0) == (total > 0), 1, -1)
    odd = np.where((lost != 0) & (bits % 2 == 0), bits + toward, bits)
    return odd.view(np.float64).astype(np.float32)


argmax = reducer(
    state=(f32, i64), identity=(-math.inf, -1), commutative=False,
    merge=lambda a, b: (where(b[0] > a[0], b[0], a[0]), where(b[0] > a[0], b[1], a[1])),
)  # fmt: skip
affine = reducer(  # x -> s * x + t, composed: two matrices of which the order matters
    state=(f32, f32), identity=(1, 0), commutative=False, lift=lambda x: (x, 1.0),
    merge=lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
)  # fmt: skip


@tile.kernel
def reducers(X: ConstView2[f32], V: View2[f32], I: View2[i64], S: View2[f32]):
    m, n, one = axis("m", 3), axis("n", 37), axis("one", 1)
    for nest in parallel(shape(axis("g", 2))):
        at = nest.index() * 3
        x = X[coord(at, 0), shape(m, n)]
        value, place = reduce((x, iota(n)), n, argmax, policy=ordered_tree)
        left, right = reduce(x, n, affine, policy=fold_left), reduce(x, n, affine, policy=fold_right)
        I.at(coord(0, at), shape(one, m)).store(place)
        down = reduce((x, iota(m)), m, argmax, policy=fold_right)
        for row, found in enumerate((value, left[0], left[1], right[0], right[1])):
            V.at(coord(row, at), shape(one, m)).store(found)
        running = scan((x, iota(n)), n, argmax, policy=fold_left)[0] + scan(x, n, affine, policy=ordered_tree)[1]
        S.at(coord(at, 0), shape(m, n)).store(running + down[0] + zeros(f32, shape(m, n)))


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_reducers_of_ones_own_give_the_bits_of_the_interpreter(threads: int) -> None:
    x = (np.random.default_rng(3).integers(-8, 9, (6, 37)) / 8).astype(np.float32)
    kernel = reducers.capture(tensor_shape(6, 37), tensor_shape(5, 6), tensor_shape(1, 6), tensor_shape(6, 37))
    outputs = [np.zeros((5, 6), np.float32), np.zeros((1, 6), np.int64), np.zeros((6, 37), np.float32)]
    wanted = results(kernel, [x], outputs, None)
    assert wanted[1][0].tolist() == x.argmax(axis=1).tolist()
    for want, got in zip(wanted, results(kernel, [x], outputs, threads), strict=True):
        np.testing.assert_array_equal(want.view(np.uint8), got.view(np.uint8))


def test_a_product_in_order_has_fused_steps_and_no_other_license() -> None:
    kernel = product.capture(tensor_shape(13, 41), tensor_shape(41, 37), tensor_shape(13, 37))
    text = compile_kernel(kernel, CompileOptions()).metadata.source
    assert "llvm.fma" in text
    assert not re.search(LICENSES, text)
    assert "llvm.vector.reduce" not in text

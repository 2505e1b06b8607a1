"""Every integer and boolean operation at every width, against `numerics`: all pairs of edges, every pair of 8 bits."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.differential.on_device import run_on_device
from tests.differential.test_casts import patterns
from tilewright import tile
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.options import XirOptions
from tilewright.bridge.xir.plan import plan
from tilewright.core.dtypes import ALL_DTYPES, DType, boolean, i8, u8
from tilewright.core.machine import GENERIC_AVX2
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import Array, numpy_dtype
from tilewright.numerics.elementwise import OPS
from tilewright.tile import (
    ConstView1,
    View2,
    axis,
    cdiv,
    coord,
    logical_and,
    logical_or,
    maximum,
    minimum,
    parallel,
    shape,
    tensor_shape,
    trunc_div,
    trunc_mod,
)
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

INTEGERS = [dtype for dtype in ALL_DTYPES if dtype.is_integer]
BLOCK = 64
Table = dict[str, Callable[[Any, Any], Any]]
ARITHMETIC: Table = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": minimum,
    "max": maximum,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "not": lambda a, _: ~a,
    "neg": lambda a, _: -a,
    "abs": lambda a, _: abs(a),
    "pow": lambda a, b: a**b,
}
DIVISIONS: Table = {
    "floor_div": lambda a, b: a // b,
    "floor_mod": lambda a, b: a % b,
    "trunc_div": trunc_div,
    "trunc_mod": trunc_mod,
}
COMPARISONS: Table = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
LOGIC: Table = {
    "logical_and": logical_and,
    "logical_or": logical_or,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "logical_not": lambda a, _: ~a,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


@tile.kernel
def applied(x: ConstView1, y: ConstView1, z: View2, *, table: Table, names: tuple[str, ...]):
    """One row of z for each operation."""
    s, r = axis("s", BLOCK), axis("r", 1)
    for nest in parallel(shape(axis("block", cdiv(x.shape[0], BLOCK)))):
        at = nest.index() * BLOCK
        a, b = x[coord(at), shape(s)], y[coord(at), shape(s)]
        for row, name in enumerate(names):
            z.at(coord(row, at), shape(r, s)).store(table[name](a, b))


@cache
def pairs(dtype: type[DType]) -> tuple[Array, Array]:
    """All pairs of 8 bits; of wider types all pairs of edges, and random pairs."""
    if dtype.bits <= 8:
        values = patterns(dtype)[:256] if dtype.bits == 8 else np.array([False, True])
        rng_a = rng_b = np.zeros(0, values.dtype)
    else:
        whole = [(1 << k) + step for k in range(0, dtype.bits, 7) for step in (-1, 0, 1)]
        edges = {dtype.min, dtype.max, dtype.min + 1, 3, 10, 31, 63, 64, *whole, *(-number for number in whole)}
        values = np.array(sorted(value for value in edges if dtype.min <= value <= dtype.max), numpy_dtype(dtype))
        drawn = np.random.default_rng(dtype.bits).integers(0, 256, 1000 * dtype.itemsize, np.uint8)
        rng_a, rng_b = np.split(drawn.view(values.dtype), 2)
    a, b = np.meshgrid(values, values, indexing="ij")
    return np.concatenate([a.ravel(), rng_a]), np.concatenate([b.ravel(), rng_b])


def captured(dtype: type[DType], result: type[DType], table: Table, count: int) -> Kernel:
    shapes = tensor_shape(count, dtype=dtype), tensor_shape(count, dtype=dtype)
    return applied.capture(*shapes, tensor_shape(len(table), count, dtype=result), table=table, names=tuple(table))


def require(dtype: type[DType], result: type[DType], table: Table, *, xir: bool = False) -> None:
    a, b = pairs(dtype)
    if xir:
        a, b = (each[:: max(1, len(each) // 400)].copy() for each in (a, b))
    kernel = captured(dtype, result, table, len(a))
    z = np.zeros((len(table), len(a)), numpy_dtype(result))
    if xir:
        lowered = lower(kernel, plan(kernel, GENERIC_AVX2, XirOptions(), threads=1))
        run_pipeline(lowered.module, CPU_PIPELINE)
        run_xir(lowered.module, [a, b, z.reshape(-1)])
    else:
        run_on_device(kernel, [int(array.__array_interface__["data"][0]) for array in (a, b, z)])
    for row, name in enumerate(table):
        defined = _defined(name, a, b)
        x, y = a[defined], b[defined]
        want = OPS[name](dtype, x) if name in UNARY else OPS[name](dtype, x, y)
        wrong = z[row][defined] != want
        assert not wrong.any(), (name, x[wrong][:3], y[wrong][:3], z[row][defined][wrong][:3], want[wrong][:3])


UNARY = ("not", "neg", "abs", "logical_not")


def _defined(name: str, a: Array, b: Array) -> Array:
    """Where an operation has a value: elsewhere it may be any, without a trap."""
    if name in DIVISIONS:
        return b != 0
    return (a != 0) | (b >= 0) if name == "pow" else np.ones(a.shape, np.bool_)


INTEGER_TABLES = [(ARITHMETIC, False), (DIVISIONS, False), (COMPARISONS, True)]


@pytest.mark.parametrize("which", range(3), ids=["arithmetic", "divisions", "comparisons"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=repr)
def test_integers(dtype: type[DType], which: int) -> None:
    table, is_test = INTEGER_TABLES[which]
    require(dtype, boolean if is_test else dtype, table)


@pytest.mark.parametrize("which", range(3), ids=["arithmetic", "divisions", "comparisons"])
@pytest.mark.parametrize("dtype", [i8, u8], ids=repr)
def test_integers_in_xir(dtype: type[DType], which: int) -> None:
    table, is_test = INTEGER_TABLES[which]
    require(dtype, boolean if is_test else dtype, table, xir=True)


def test_booleans() -> None:
    require(boolean, boolean, LOGIC)
    require(boolean, boolean, LOGIC, xir=True)

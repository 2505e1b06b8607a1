"""Elementary functions: the stated bounds over all of float32, and every special value.

The pass expands them for one wide vector, the interpreter runs that, and float64 or wider arithmetic judges.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import erf
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import math
from xdsl.dialects.builtin import AnyFloat, ModuleOp, f32, f64
from xdsl.ir import Attribute, Operation

from tilewright.numerics.arrays import Array
from tilewright.xir.builder import XirBuilder
from tilewright.xir.catalogue import TRANSCENDENTAL
from tilewright.xir.interp import run
from tilewright.xir.ops import KernelOp
from tilewright.xir.passes.expand_math import ExpandMath
from tilewright.xir.passes.runner import run_pipeline
from tilewright.xir.types import BufferType
from tilewright.xir.values import storage_dtype

LANES = 1 << 15
WIDER: dict[Attribute, type[np.floating[Any]]] = {f32: np.float64, f64: np.longdouble}


def erf_of(x: Array) -> Array:
    return np.array([erf(value) for value in x.astype(np.float64)], np.longdouble)


def rsqrt_of(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


@dataclass(frozen=True)
class Case:
    op: type[Operation]
    reference: Callable[..., Array]
    bound: float
    element: AnyFloat = f32

    def __str__(self) -> str:
        return f"{self.op.name}-{self.element}"


UNARY = (
    Case(math.ExpOp, np.exp, 1),
    Case(math.Exp2Op, np.exp2, 1),
    Case(math.LogOp, np.log, 1),
    Case(math.Log2Op, np.log2, 1),
    Case(math.ErfOp, erf_of, 1),
    Case(math.TanhOp, np.tanh, 3),
    Case(math.RsqrtOp, rsqrt_of, 2),
    Case(math.SinOp, np.sin, 1),
    Case(math.CosOp, np.cos, 1),
)
SPECIAL = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -3.4e38, 3.4028235e38, 1e-45, -1e-45, 1.17549435e-38),
        *(88.72283, 88.72284, -87.33655, -103.97208, -103.9721, 128.0, 127.99999, -149.0, -150.0, -151.0),
        *(0.625, -0.625, 0.9275, 9.125, 4.0, 0.70710677, 1.4142135, 8388608.0, 8388607.5, 1e9, 1e22, 2.0**127),
    ],
    np.float32,
)


@cache
def expanded(case: Case, arguments: int = 1) -> ModuleOp:
    kernel = KernelOp("k", [BufferType.of(case.element, LANES)] * (arguments + 1), 1)
    *inputs, output = kernel.body.block.args[:-1]
    b = XirBuilder(kernel.body.block)
    b.store(b.math(case.op, *(b.load(argument, 0, LANES) for argument in inputs)), output, 0)
    b.return_()
    module = ModuleOp([kernel])
    run_pipeline(module, [ExpandMath()])
    return module


def evaluate(case: Case, *inputs: Array) -> tuple[Array, Array]:
    """What XIR computes, and the reference in a wider format."""
    dtype = storage_dtype(case.element)
    padded = [np.resize(x.astype(dtype), LANES) for x in inputs]
    output = np.zeros(LANES, dtype)
    run(expanded(case, len(inputs)), [*padded, output])
    with np.errstate(all="ignore"):
        expected = np.asarray(case.reference(*(x.astype(WIDER[case.element]) for x in padded)))
    return output, expected


def ulps(result: Array, expected: Array) -> Array:
    """The error in units in the last place of the rounded reference; infinite for a wrong NaN, infinity or sign."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(result.dtype)
        error = np.abs(result - expected) / np.spacing(np.abs(rounded))
    beyond = np.isinf(rounded) & (np.abs(result) == np.finfo(result.dtype).max)
    error = np.where(np.isfinite(rounded) & np.isfinite(result), error, np.where(beyond, 1.0, np.inf))
    exact = (result == rounded) & (np.signbit(result) == np.signbit(rounded))
    signs = (result == 0) & (rounded == 0) & (np.signbit(result) != np.signbit(rounded))
    error = np.where(exact & ~np.isfinite(rounded) | np.isnan(result) & np.isnan(expected), 0.0, error)
    return np.where(signs, np.inf, error).astype(np.float64)


def worst(case: Case, *inputs: Array) -> str:
    """Empty when the bound holds, else the worst input."""
    result, expected = evaluate(case, *inputs)
    error = ulps(result, expected)
    place = int(np.argmax(error))
    shown = [np.resize(x, LANES)[place] for x in inputs]
    return f"{error[place]} at {shown}: {result[place]}" if error[place] > case.bound else ""


def every_exponent() -> Array:
    """Some random significands for each sign and exponent of float32, the denormal numbers' included."""
    rng = np.random.default_rng(5)
    per_exponent = LANES // 512
    fractions = rng.integers(0, 1 << 23, (512, per_exponent), dtype=np.uint32)
    return ((np.arange(512, dtype=np.uint32)[:, None] << 23) | fractions).ravel().view(np.float32)


@pytest.mark.parametrize("case", UNARY, ids=str)
def test_special_values(case: Case):
    assert not worst(case, SPECIAL)


@pytest.mark.parametrize("case", UNARY, ids=str)
def test_every_exponent(case: Case):
    assert not worst(case, every_exponent())


@pytest.mark.parametrize("case", UNARY, ids=str)
def test_random_numbers_where_the_function_bends(case: Case):
    rng = np.random.default_rng(7)
    for spread in (0.5, 5.0, 60.0):
        assert not worst(case, rng.normal(0, spread, LANES).astype(np.float32))
    assert not worst(case, np.abs(rng.normal(1, 0.3, LANES)).astype(np.float32))


def test_sin_and_cos_near_multiples_of_half_pi():
    """Large arguments lose every bit to a careless reduction."""
    multiples = np.arange(1, LANES + 1) * (np.pi / 2) * 1000.0
    for case in (Case(math.SinOp, np.sin, 1), Case(math.CosOp, np.cos, 1)):
        assert not worst(case, multiples.astype(np.float32))


POW = Case(math.PowFOp, np.power, 1)


def test_pow_of_special_values():
    values = np.array([0.0, 1.0, 2.0, 3.0, 0.5, 2.5, np.inf, 1e-45, 3e38, 16777216.0, 16777217.0, 5.0], np.float32)
    values = np.concatenate([values, -values, np.array([np.nan], np.float32)])
    bases, exponents = np.meshgrid(values, values)
    assert not worst(POW, bases.ravel(), exponents.ravel())


def test_pow_of_random_numbers():
    rng = np.random.default_rng(17)
    assert not worst(POW, every_exponent(), rng.normal(0, 2, LANES).astype(np.float32))
    assert not worst(POW, np.abs(rng.normal(1, 0.2, LANES)).astype(np.float32), rng.normal(0, 300, LANES))
    assert not worst(POW, np.round(rng.normal(0, 20, LANES)), np.round(rng.normal(0, 9, LANES)))


@pytest.mark.parametrize("case", UNARY, ids=str)
def test_scalars_expand_too(case: Case):
    kernel = KernelOp("k", [BufferType.of(f32, 1)], 1)
    b = XirBuilder(kernel.body.block)
    b.store(b.math(case.op, b.load(kernel.body.block.args[0], 0)), kernel.body.block.args[0], 0)
    b.return_()
    module = ModuleOp([kernel])
    run_pipeline(module, [ExpandMath()])
    assert not any(type(op) in TRANSCENDENTAL for op in module.walk())
    memory = np.array([0.75], np.float32)
    run(module, [memory])
    assert memory[0] == evaluate(case, np.array([0.75]))[0][0]

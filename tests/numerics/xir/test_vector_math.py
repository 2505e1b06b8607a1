"""Elementary functions before any machine code: expanded for one wide vector, run by the interpreter of XIR."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation

from tests.numerics.judging import FUNCTIONS, stated, ulps
from tilewright.numerics.arrays import Array
from tilewright.xir.builder import XirBuilder
from tilewright.xir.catalogue import TRANSCENDENTAL
from tilewright.xir.interp import run
from tilewright.xir.ops import KernelOp, ScaleOp, SigmoidOp
from tilewright.xir.passes.expand_math import ExpandMath
from tilewright.xir.passes.pipelines import FAST_MATH
from tilewright.xir.passes.runner import run_pipeline
from tilewright.xir.types import BufferType

LANES = 1 << 15
REFERENCES = {"pow": np.power, **{function.name: function.reference for function in FUNCTIONS}}


@dataclass(frozen=True)
class Case:
    op: type[Operation]
    fast: bool

    @property
    def function(self) -> str:
        return self.op.name.partition(".")[2].replace("powf", "pow")

    def __str__(self) -> str:
        return f"{self.function}-{'fast' if self.fast else 'default'}"


UNARY = [Case(op, fast) for op in sorted(TRANSCENDENTAL - {math.PowFOp}, key=str) for fast in (False, True)]
EACH = pytest.mark.parametrize("case", UNARY, ids=str)
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
    kernel = KernelOp("k", [BufferType.of(f32, LANES)] * (arguments + 1), 1)
    *inputs, output = kernel.body.block.args[:-1]
    b = XirBuilder(kernel.body.block)
    b.store(b.math(case.op, *(b.load(argument, 0, LANES) for argument in inputs)), output, 0)
    b.return_()
    module = ModuleOp([kernel])
    run_pipeline(module, [FAST_MATH if case.fast else ExpandMath()])
    return module


def evaluate(case: Case, *inputs: Array) -> tuple[Array, Array]:
    """What XIR computes, and the reference in float64."""
    padded = [np.resize(x.astype(np.float32), LANES) for x in inputs]
    output = np.zeros(LANES, np.float32)
    run(expanded(case, len(inputs)), [*padded, output])
    with np.errstate(all="ignore"):
        return output, np.asarray(REFERENCES[case.function](*(x.astype(np.float64) for x in padded)))


def worst(case: Case, *inputs: Array) -> str:
    """Empty when the bound holds, else the worst input."""
    result, expected = evaluate(case, *inputs)
    error = ulps(result, expected)
    place = int(np.argmax(error))
    shown = [np.resize(x, LANES)[place] for x in inputs]
    bound = stated()[case.function].of(fast=case.fast)[0]
    return f"{error[place]} at {shown}: {result[place]}" if error[place] > bound else ""


def every_exponent() -> Array:
    """Some random significands for each sign and exponent of float32, the denormal numbers' included."""
    rng = np.random.default_rng(5)
    per_exponent = LANES // 512
    fractions = rng.integers(0, 1 << 23, (512, per_exponent), dtype=np.uint32)
    return ((np.arange(512, dtype=np.uint32)[:, None] << 23) | fractions).ravel().view(np.float32)


@EACH
def test_special_values(case: Case) -> None:
    assert not worst(case, SPECIAL)


@EACH
def test_every_exponent(case: Case) -> None:
    assert not worst(case, every_exponent())


@EACH
def test_random_numbers_where_the_function_bends(case: Case) -> None:
    rng = np.random.default_rng(7)
    for spread in (0.5, 60.0):
        assert not worst(case, rng.normal(0, spread, LANES).astype(np.float32))
    assert not worst(case, np.abs(rng.normal(1, 0.3, LANES)).astype(np.float32))


@pytest.mark.parametrize("case", [case for case in UNARY if case.function in ("sin", "cos")], ids=str)
def test_near_multiples_of_half_pi(case: Case) -> None:
    """Large arguments lose every bit to a careless reduction."""
    multiples = np.arange(1, LANES + 1) * (np.pi / 2) * 1000.0
    assert not worst(case, multiples.astype(np.float32))


@pytest.mark.parametrize("fast", [False, True], ids=["default", "fast"])
def test_pow(fast: bool) -> None:
    rng = np.random.default_rng(17)
    case = Case(math.PowFOp, fast)
    values = np.array([0.0, 1.0, 2.0, 3.0, 0.5, 2.5, np.inf, 1e-45, 3e38, 16777216.0, 16777217.0, 5.0], np.float32)
    bases, exponents = np.meshgrid(*[np.concatenate([values, -values, [np.nan]])] * 2)
    assert not worst(case, bases.ravel(), exponents.ravel())
    assert not worst(case, every_exponent(), rng.normal(0, 2, LANES).astype(np.float32))


@EACH
def test_scalars_expand_too(case: Case) -> None:
    kernel = KernelOp("k", [BufferType.of(f32, 1)], 1)
    b = XirBuilder(kernel.body.block)
    b.store(b.math(case.op, b.load(kernel.body.block.args[0], 0)), kernel.body.block.args[0], 0)
    b.return_()
    module = ModuleOp([kernel])
    run_pipeline(module, [FAST_MATH if case.fast else ExpandMath()])
    assert not any(type(op) in TRANSCENDENTAL for op in module.walk())
    memory = np.array([0.75], np.float32)
    run(module, [memory])
    assert memory[0] == evaluate(case, np.array([0.75]))[0][0]


@pytest.mark.parametrize("fast", [False, True], ids=["default", "fast"])
def test_sigmoid_divides_no_subnormal_number(fast: bool) -> None:
    """Which takes three times as long; what is divided has not met its power of two yet."""
    (division,) = (op for op in expanded(Case(SigmoidOp, fast)).walk() if isinstance(op, arith.DivfOp))
    assert not isinstance(division.lhs.owner, ScaleOp)
    assert all(isinstance(use.operation, ScaleOp) for use in division.result.uses)

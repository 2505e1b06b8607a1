"""Every arithmetic rule, scalar and vector, against the interpreter of XIR."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IntegerType, VectorType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, SSAValue

from tests.unit.backends.llvm.emit.program import Program, agree
from tilewright.backends.llvm.emit.module import RULES
from tilewright.backends.llvm.machine import host_machine
from tilewright.core.errors import InternalError, UnsupportedError
from tilewright.numerics.arrays import Array
from tilewright.xir.builder import CMPF, CMPI, XirBuilder
from tilewright.xir.catalogue import PURE, READS, TRANSCENDENTAL
from tilewright.xir.ops import LaneIdOp, ScaleOp
from tilewright.xir.types import vector_of
from tilewright.xir.values import storage_dtype

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0e38, -1e-40, 1e-45, np.inf, -np.inf, np.nan, 7.25, -0.1]
Build = Callable[[XirBuilder, SSAValue, SSAValue], SSAValue]
FLOAT_OPS: dict[str, Build] = {
    "add": lambda b, x, y: b.fadd(x, y),
    "sub": lambda b, x, y: b.fsub(x, y),
    "mul": lambda b, x, y: b.fmul(x, y),
    "div": lambda b, x, y: b.fdiv(x, y),
    "max": lambda b, x, y: b.fmax(x, y),
    "min": lambda b, x, y: b.fmin(x, y),
    "copysign": lambda b, x, y: b.math(math.CopySignOp, x, y),
    "fma": lambda b, x, y: b.fma(x, y, x),
    "neg": lambda b, x, y: b.fneg(x),
    "abs": lambda b, x, y: b.math(math.AbsFOp, x),
    "sqrt": lambda b, x, y: b.math(math.SqrtOp, x),
    "floor": lambda b, x, y: b.math(math.FloorOp, x),
    "ceil": lambda b, x, y: b.math(math.CeilOp, x),
    "trunc": lambda b, x, y: b.math(math.TruncOp, x),
    "round": lambda b, x, y: b.math(math.RoundEvenOp, x),
}
INTEGER_OPS: dict[str, Build] = {
    "add": lambda b, x, y: b.add(x, y),
    "sub": lambda b, x, y: b.sub(x, y),
    "mul": lambda b, x, y: b.mul(x, y),
    "divsi": lambda b, x, y: b.divsi(x, b.or_(y, b.const(y.type, 1))),
    "divui": lambda b, x, y: b.divui(x, b.or_(y, b.const(y.type, 1))),
    "remsi": lambda b, x, y: b.remsi(x, b.or_(y, b.const(y.type, 1))),
    "remui": lambda b, x, y: b.remui(x, b.or_(y, b.const(y.type, 1))),
    "minsi": lambda b, x, y: b.minsi(x, y),
    "maxsi": lambda b, x, y: b.maxsi(x, y),
    "minui": lambda b, x, y: b.minui(x, y),
    "maxui": lambda b, x, y: b.maxui(x, y),
    "and": lambda b, x, y: b.and_(x, y),
    "or": lambda b, x, y: b.or_(x, y),
    "xor": lambda b, x, y: b.xor(x, y),
    "shl": lambda b, x, y: b.shl(x, b.and_(y, b.const(y.type, 7))),
    "shrsi": lambda b, x, y: b.shrsi(x, b.and_(y, b.const(y.type, 7))),
    "shrui": lambda b, x, y: b.shrui(x, b.and_(y, b.const(y.type, 7))),
}


def pairs(element: Attribute, lanes: int) -> tuple[Array, Array]:
    """Operands that meet each other in all combinations, as many as a multiple of `lanes` holds."""
    dtype = storage_dtype(element)
    if dtype.kind == "f":
        values = np.array(SPECIAL, np.float64).astype(dtype)
    else:
        limits = np.iinfo(dtype)
        values = np.array([0, 1, -1, 2, 5, -7, limits.max, limits.min + 1], dtype)
    a, b = (np.array(list(each), dtype) for each in zip(*product(values, values), strict=True))
    count = -(-len(a) // lanes) * lanes
    return np.resize(a, count), np.resize(b, count)


def check(element: Attribute, lanes: int, build: Build, result: Attribute | None = None, **options: bool) -> None:
    """`build(b, x, y)` over all pairs, in one kernel with a loop."""
    a, b = pairs(element, lanes)
    wanted = result or element
    p = Program((element, len(a)), (element, len(b)), (wanted, len(a)))
    with p.b.for_(0, len(a), lanes) as loop:
        x, y = (p.b.load(buffer, loop.index, lanes) for buffer in p.buffers[:2])
        p.b.store(build(p.b, x, y), p.buffers[2], loop.index)
    agree(p, [a, b, np.zeros(len(a), storage_dtype(wanted))], **options)


@pytest.mark.parametrize("name", FLOAT_OPS)
@pytest.mark.parametrize("element", [f32, f64], ids=str)
@pytest.mark.parametrize("lanes", [1, 16])
def test_float_arithmetic(name: str, element: Attribute, lanes: int) -> None:
    with np.errstate(all="ignore"):
        check(element, lanes, FLOAT_OPS[name], ignore_zero_sign=name in ("max", "min"))


@pytest.mark.parametrize("name", INTEGER_OPS)
@pytest.mark.parametrize("element", [i8, i16, i32, i64], ids=str)
@pytest.mark.parametrize("lanes", [1, 8])
def test_integer_arithmetic(name: str, element: Attribute, lanes: int) -> None:
    if name in ("divsi", "remsi"):  # the bridge keeps the one overflowing quotient away; so does the list of operands
        assert storage_dtype(element).kind == "i"
    check(element, lanes, INTEGER_OPS[name])


@pytest.mark.parametrize("lanes", [1, 16])
def test_float_comparisons(lanes: int) -> None:
    for predicate in CMPF:
        check(f32, lanes, lambda b, x, y, p=predicate: b.extui(b.fcmp(p, x, y), i8), i8)


@pytest.mark.parametrize("lanes", [1, 8])
def test_integer_comparisons(lanes: int) -> None:
    for predicate in CMPI:
        check(i32, lanes, lambda b, x, y, p=predicate: b.extui(b.cmp(p, x, y), i8), i8)


@pytest.mark.parametrize("element", [f16, bf16], ids=str)
def test_storage_floats_compare_as_numbers(element: Attribute) -> None:
    with np.errstate(over="ignore"):
        values = np.array(SPECIAL).astype(np.float32).astype(storage_dtype(element))
    a, b = (np.array(each) for each in zip(*product(values, values), strict=True))
    p = Program((element, len(a)), (element, len(b)), (i8, len(a)))
    with p.b.for_(0, len(a), 16) as loop:
        x, y = (p.b.load(buffer, loop.index, 16) for buffer in p.buffers[:2])
        p.b.store(p.b.extui(p.b.fcmp("olt", x, y), i8), p.buffers[2], loop.index)
    agree(p, [a, b, np.zeros(len(a), np.int8)])


@pytest.mark.parametrize("lanes", [1, 8])
def test_select_and_masks(lanes: int) -> None:
    def build(b: XirBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        below = b.cmp("slt", x, y)
        odd = b.trunci(x, i1)
        return b.select(b.xor(below, b.and_(odd, b.not_(below))), x, y)

    check(i32, lanes, build)


def test_explicit_flags_are_honoured_and_contraction_is_refused() -> None:
    def with_flags(*flags: str) -> str:
        p = Program((f32, 4))
        x = p.b.load(p.buffers[0], 0, 4)
        op = arith.AddfOp(x, x, arith.FastMathFlagsAttr([FastMathFlag(flag) for flag in flags]))
        p.b.store(p.b.insert(op).results[0], p.buffers[0], 0)
        return p.text()

    assert "fadd nnan reassoc <4 x float>" in with_flags("reassoc", "nnan")
    assert "fadd <4 x float>" in with_flags()
    with pytest.raises(InternalError, match="contract"):
        with_flags("contract")


CONSTANTS: list[tuple[Attribute, list[float]]] = [
    (f32, [0.1, -0.0, np.inf, np.nan, 1e-45]),
    (f64, [0.1, -0.0, -np.inf, 5e-324]),
    (f16, [0.1, -0.0, np.inf]),
    (bf16, [1.5, -0.0, np.inf]),
    (i64, [0, -1, -(1 << 63), (1 << 63) - 1]),
    (i8, [-128, 127, 3]),
]


@pytest.mark.parametrize(
    ("element", "values"), CONSTANTS, ids=lambda case: str(case) if isinstance(case, Attribute) else ""
)
def test_constants(element: Attribute, values: list[float]) -> None:
    p = Program((element, 32))
    for place, value in enumerate(values):
        p.b.store(p.b.const(element, value), p.buffers[0], place)
    p.b.store(p.b.const(vector_of(element, 4), values[0]), p.buffers[0], 8)
    p.b.store(p.b.const_lanes(element, [values[k % len(values)] for k in range(8)]), p.buffers[0], 16)
    agree(p, [np.zeros(32, storage_dtype(element))])


def test_constant_masks() -> None:
    p = Program((i32, 8))
    mask = p.b.const_lanes(i1, [True, False, True, True])
    p.b.store(p.b.select(mask, p.b.const(VectorType(i32, [4]), 1), p.b.const(VectorType(i32, [4]), 2)), p.buffers[0], 0)
    p.b.store(p.b.extui(p.b.const(VectorType(i1, [4]), -1), i32), p.buffers[0], 4)
    (out,) = agree(p, [np.zeros(8, np.int32)])
    assert out.tolist() == [1, 2, 1, 1, 1, 1, 1, 1]


def test_an_operation_without_rule_is_refused_by_name() -> None:
    p = Program((i64, 1))
    p.b.store(p.b.lane_id(), p.buffers[0], 0)
    with pytest.raises(UnsupportedError, match=r"TW441.*xir\.lane_id"):
        p.text()


def test_the_table_covers_the_catalogue() -> None:
    missing = (PURE | READS) - TRANSCENDENTAL - {LaneIdOp} - set(RULES)
    assert not missing


@pytest.mark.parametrize("scales", [False, True])
@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
@pytest.mark.parametrize(("kind", "whole"), [(f32, i32), (f64, i64), (f32, f32), (f64, f64)])
def test_scaling_rounds_once_into_subnormals_and_beyond(
    kind: AnyFloat, whole: AnyFloat | IntegerType, lanes: int, scales: bool
) -> None:
    """In two steps and in one instruction, by integers and by whole numbers: the same bits."""
    if scales and host_machine().vector_bits < 512:
        return
    span = 151 if kind == f32 else 1076
    exponents = np.arange(-span, span, dtype=storage_dtype(whole))
    exponents = np.resize(exponents, -(-len(exponents) // lanes) * lanes)
    values = np.resize(np.array([1.0, 0.7071, 1.4142, 1.0000001, np.nan], storage_dtype(kind)), len(exponents))
    p = Program((kind, len(values)), (whole, len(values)), scales=scales)
    with p.b.for_(0, len(values), lanes) as loop:
        value, exponent = (p.b.load(buffer, loop.index, lanes) for buffer in p.buffers)
        p.b.store(p.b.insert(ScaleOp(value, exponent)).result, p.buffers[0], loop.index)
    agree(p, [values, exponents])
    at_once = "llvm.ldexp" if isinstance(whole, IntegerType) else "llvm.x86.avx512.mask.scalef"
    assert (at_once in p.text()) == (scales and lanes * kind.bitwidth == 512)


@pytest.mark.parametrize("scales", [False, True])
@pytest.mark.parametrize("kind", [f32, f64])
def test_products_of_what_was_scaled_have_the_bits_of_products(kind: AnyFloat, scales: bool) -> None:
    """Subnormal ones, signed zeros, infinities and NaN too, though a fused multiply-add makes them."""
    if scales and host_machine().vector_bits < 512:
        return
    lanes = 512 // kind.bitwidth
    span = 151 if kind == f32 else 1076
    factors = np.array([*SPECIAL, 0.0, 2.0 ** (span // 2), -(2.0 ** (span // 2))], storage_dtype(kind))
    exponents = np.repeat(np.arange(-span, span, 3).astype(storage_dtype(kind)), len(factors))
    exponents = np.resize(exponents, -(-len(exponents) // lanes) * lanes)
    factors = np.resize(factors, len(exponents))
    p = Program((kind, len(factors)), (kind, len(factors)), scales=scales)
    with p.b.for_(0, len(factors), lanes) as loop:
        factor, exponent = (p.b.load(buffer, loop.index, lanes) for buffer in p.buffers)
        near_one = p.b.const(vector_of(kind, lanes), 1.2345)
        p.b.store(p.b.fmul(factor, p.b.insert(ScaleOp(near_one, exponent)).result), p.buffers[0], loop.index)
    agree(p, [factors, exponents])
    assert ("llvm.fma" in p.text()) == scales

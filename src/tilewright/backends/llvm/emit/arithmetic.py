"""Rules of arithmetic, comparisons and selects: one instruction each, with the flags that the operation carries."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from tilewright.backends.llvm.emit.casts import widened_to_float
from tilewright.backends.llvm.emit.emitter import Emitter, Rules, type_of
from tilewright.backends.llvm.emit.represent import constant_value, is_storage_float
from tilewright.backends.llvm.flags import NONE, Flags
from tilewright.backends.llvm.text import Function
from tilewright.backends.llvm.types import I32, I64, widened
from tilewright.backends.llvm.values import Value, constant
from tilewright.xir import ops
from tilewright.xir.builder import CMPF, CMPI

__all__ = ["ARITHMETIC", "NO_SIGNED_ZEROS", "PAIRS"]

NO_SIGNED_ZEROS: Flags = frozenset({"nsz"})
"""On `maximum` and `minimum`, where either of two zeros may come back: saves the ordering of zeros."""

Binary = Callable[[Function, Value, Value], Value]
FlaggedBinary = Callable[[Function, Value, Value, Flags], Value]


def _maximum(f: Function, a: Value, b: Value, flags: Flags = NONE) -> Value:
    return f.float_binary("maximum", a, b, flags | NO_SIGNED_ZEROS)


def _minimum(f: Function, a: Value, b: Value, flags: Flags = NONE) -> Value:
    return f.float_binary("minimum", a, b, flags | NO_SIGNED_ZEROS)


def _integer(name: str) -> Binary:
    return lambda f, a, b: f.integer_binary(name, a, b)


_FLOAT_BINARY: MappingProxyType[type[Operation], FlaggedBinary] = MappingProxyType(
    {
        arith.AddfOp: Function.fadd,
        arith.SubfOp: Function.fsub,
        arith.DivfOp: Function.fdiv,
        arith.MaximumfOp: _maximum,
        arith.MinimumfOp: _minimum,
        math.CopySignOp: lambda f, a, b, flags: f.float_binary("copysign", a, b, flags),
    }
)
_FLOAT_UNARY: MappingProxyType[type[Operation], str] = MappingProxyType(
    {
        math.AbsFOp: "fabs",
        math.SqrtOp: "sqrt",
        math.FloorOp: "floor",
        math.CeilOp: "ceil",
        math.TruncOp: "trunc",
        math.RoundEvenOp: "roundeven",
    }
)
_INTEGER_BINARY: MappingProxyType[type[Operation], Binary] = MappingProxyType(
    {
        arith.AddiOp: Function.add,
        arith.SubiOp: Function.sub,
        arith.MuliOp: Function.mul,
        arith.DivSIOp: Function.sdiv,
        arith.DivUIOp: Function.udiv,
        arith.RemSIOp: Function.srem,
        arith.RemUIOp: Function.urem,
        arith.MinSIOp: _integer("smin"),
        arith.MaxSIOp: _integer("smax"),
        arith.MinUIOp: _integer("umin"),
        arith.MaxUIOp: _integer("umax"),
        arith.AndIOp: Function.and_,
        arith.OrIOp: Function.or_,
        arith.XOrIOp: Function.xor,
        arith.ShLIOp: Function.shl,
        arith.ShRSIOp: Function.ashr,
        arith.ShRUIOp: Function.lshr,
    }
)

PAIRS: MappingProxyType[str, Binary] = MappingProxyType(
    {
        "addf": Function.fadd,
        "mulf": Function.fmul,
        "maximumf": _maximum,
        "minimumf": _minimum,
        "addi": Function.add,
        "muli": Function.mul,
        "maxsi": _integer("smax"),
        "minsi": _integer("smin"),
        "maxui": _integer("umax"),
        "minui": _integer("umin"),
        "andi": Function.and_,
        "ori": Function.or_,
        "xori": Function.xor,
    }
)
"""One step of each fold."""


def flags_of(op: Operation) -> Flags:
    """The fast-math flags an operation carries; none of ours fuses, so `contract` is refused further down."""
    given = op.properties.get("fastmath")
    if given is None:
        return NONE
    return frozenset(flag.value for flag in cast("Any", given).data)


def _float_binary(build: FlaggedBinary, cx: Emitter, op: Operation) -> None:
    a, b = cx.values(op.operands)
    cx.define(op.results[0], build(cx.f, a, b, flags_of(op)))


def _multiply(cx: Emitter, op: Operation) -> None:
    """Of what was scaled, which may be subnormal, by a fused multiply-add of -0: the same bits, while a multiplication
    takes two dozen cycles longer on some processors.
    """
    a, b = cx.values(op.operands)
    if cx.scales and any(isinstance(each.owner, ops.ScaleOp) for each in op.operands):
        cx.define(op.results[0], cx.f.fma(a, b, constant(a.type, -0.0)))
    else:
        cx.define(op.results[0], cx.f.fmul(a, b, flags_of(op)))


def _float_unary(name: str, cx: Emitter, op: Operation) -> None:
    cx.define(op.results[0], cx.f.float_unary(name, cx.value(op.operands[0]), flags_of(op)))


def _negate(cx: Emitter, op: Operation) -> None:
    cx.define(op.results[0], cx.f.fneg(cx.value(op.operands[0]), flags_of(op)))


def _integer_binary(build: Binary, cx: Emitter, op: Operation) -> None:
    a, b = cx.values(op.operands)
    cx.define(op.results[0], build(cx.f, a, b))


def _fma(cx: Emitter, op: Operation) -> None:
    a, b, c = cx.values(op.operands)
    cx.define(op.results[0], cx.f.fma(a, b, c))


_SCALED_BITS = 512
"""Vectors of this size are scaled by one instruction where there is one: AVX-512 has it."""


def _scale(cx: Emitter, op: Operation) -> None:
    """By one instruction, or in two steps: half of the exponent each, so that only the second product is rounded."""
    value, exponent = cx.values(op.operands)
    bits = value.type.element.bits
    real = exponent.type is value.type
    if cx.scales and bits * value.type.lanes == _SCALED_BITS:
        cx.define(op.results[0], (cx.f.scalef if real else cx.f.ldexp)(value, exponent))
        return
    f, mantissa = cx.f, {32: 23, 64: 52}[bits]
    exponent = _whole(cx, exponent, mantissa) if real else exponent
    half = f.ashr(exponent, constant(exponent.type, 1))
    for part in (half, f.sub(exponent, half)):
        biased = f.add(part, constant(exponent.type, (1 << (bits - mantissa - 2)) - 1))
        value = f.fmul(value, f.bitcast(f.shl(biased, constant(exponent.type, mantissa)), value.type))
    cx.define(op.results[0], value)


def _whole(cx: Emitter, number: Value, mantissa: int) -> Value:
    """A whole number in the low bits of an integer, those that shifts into an exponent keep."""
    wide = widened({23: I32, 52: I64}[mantissa], number.type)
    return cx.f.bitcast(cx.f.fadd(number, constant(number.type, 1.5 * 2.0**mantissa)), wide)


def _constant(cx: Emitter, op: Operation) -> None:
    cx.define(op.results[0], constant_value(op.results[0].type, op.properties["value"]))


def _compare_integers(cx: Emitter, op: Operation) -> None:
    predicate = CMPI[cast(arith.CmpiOp, op).predicate.value.data]
    a, b = cx.values(op.operands)
    cx.define(op.results[0], cx.f.icmp(predicate, a, b))


def _compare_floats(cx: Emitter, op: Operation) -> None:
    predicate = CMPF[cast(arith.CmpfOp, op).predicate.value.data]
    if predicate in ("false", "true"):
        cx.define(op.results[0], constant(type_of(op.results[0]), int(predicate == "true")))
        return
    a, b = (_computable(cx, operand) for operand in op.operands)
    cx.define(op.results[0], cx.f.fcmp(predicate, a, b, flags_of(op)))


def _computable(cx: Emitter, operand: SSAValue) -> Value:
    """Storage floats widened, which keeps their order."""
    value = cx.value(operand)
    return widened_to_float(cx.f, value, operand.type) if is_storage_float(operand.type) else value


def _select(cx: Emitter, op: Operation) -> None:
    condition, a, b = cx.values(op.operands)
    cx.define(op.results[0], cx.f.select(condition, a, b))


ARITHMETIC: Rules = MappingProxyType(
    {
        **{kind: partial(_float_binary, build) for kind, build in _FLOAT_BINARY.items()},
        **{kind: partial(_float_unary, name) for kind, name in _FLOAT_UNARY.items()},
        **{kind: partial(_integer_binary, build) for kind, build in _INTEGER_BINARY.items()},
        arith.MulfOp: _multiply,
        arith.NegfOp: _negate,
        math.FmaOp: _fma,
        ops.ScaleOp: _scale,
        arith.ConstantOp: _constant,
        arith.CmpiOp: _compare_integers,
        arith.CmpfOp: _compare_floats,
        arith.SelectOp: _select,
    }
)

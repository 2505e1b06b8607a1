"""Rules of conversions. Each rounds once, to nearest even.

float32 is the middle: storage floats widen to it exactly. What is wider than float32 on its way to a storage float is
first rounded to odd (the truncated value, its last bit set when anything was cut off), so that the second rounding sees
which side of a tie the original was on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float8E4M3FNType, Float8E5M2Type, Float16Type
from xdsl.ir import Attribute, Operation

from tilewright.backends.llvm.emit.emitter import Emitter, Rules, type_of
from tilewright.backends.llvm.emit.represent import is_storage_float, represented
from tilewright.backends.llvm.text import Function
from tilewright.backends.llvm.types import DOUBLE, FLOAT, HALF, I8, I16, I32, I64, Type, widened
from tilewright.backends.llvm.values import Value, constant, float_bits
from tilewright.xir.types import scalar_of

__all__ = ["CASTS", "narrowed_from_float", "widened_to_float"]


def widened_to_float(f: Function, value: Value, kind: Attribute) -> Value:
    """A storage float as float32, exactly."""
    return _WIDEN[type(scalar_of(kind))](f, value)


def narrowed_from_float(f: Function, value: Value, kind: Attribute) -> Value:
    """A float32 rounded to a storage float."""
    return _NARROW[type(scalar_of(kind))](f, value)


# ---- float16: hardware converts it, subnormals included


def _widen_half(f: Function, bits: Value) -> Value:
    return f.fpext(f.bitcast(bits, widened(HALF, bits.type)), widened(FLOAT, bits.type))


def _narrow_half(f: Function, value: Value) -> Value:
    return f.bitcast(f.fptrunc(value, widened(HALF, value.type)), widened(I16, value.type))


# ---- bfloat16: the upper half of a float32


def _widen_bfloat(f: Function, bits: Value) -> Value:
    wide = f.zext(bits, widened(I32, bits.type))
    return f.bitcast(f.shl(wide, constant(wide.type, 16)), widened(FLOAT, bits.type))


def _narrow_bfloat(f: Function, value: Value) -> Value:
    """Adding half of the lost part, and one less on a tie to even, carries into the kept part exactly when needed."""
    word = widened(I32, value.type)
    bits = f.bitcast(value, word)
    upper = f.lshr(bits, constant(word, 16))
    odd = f.and_(upper, constant(word, 1))
    rounded = f.lshr(f.add(f.add(bits, constant(word, 0x7FFF)), odd), constant(word, 16))
    quiet = f.or_(upper, constant(word, 0x40))
    chosen = f.select(f.fcmp("uno", value, value), quiet, rounded)
    return f.trunc(chosen, widened(I16, value.type))


# ---- float8


@dataclass(frozen=True, slots=True)
class _Small:
    """A format of 8 bits: `fraction` bits of fraction, exponent bias, the bits of NaN and of what is too large."""

    fraction: int
    bias: int
    nan: int
    overflow: int


_E4M3 = _Small(fraction=3, bias=7, nan=0x7F, overflow=0x7F)
_E5M2 = _Small(fraction=2, bias=15, nan=0x7E, overflow=0x7C)


def _widen_small(format: _Small, f: Function, bits: Value) -> Value:
    """The bits at float32's places are the value scaled down by a power of two, subnormals included."""
    word, wide = widened(I32, bits.type), widened(FLOAT, bits.type)
    all_bits = f.zext(bits, word)
    magnitude = f.and_(all_bits, constant(word, 0x7F))
    placed = f.bitcast(f.shl(magnitude, constant(word, 23 - format.fraction)), wide)
    scaled = f.fmul(placed, constant(wide, 2.0 ** (127 - format.bias)))
    infinite = f.icmp("uge", magnitude, constant(word, format.overflow))
    infinity = float_bits(wide, 0x7FC00000 if format is _E4M3 else 0x7F800000)
    finite = f.select(infinite, infinity, scaled)
    number = f.select(f.icmp("ugt", magnitude, constant(word, format.overflow)), float_bits(wide, 0x7FC00000), finite)
    sign = f.shl(f.and_(all_bits, constant(word, 0x80)), constant(word, 24))
    return f.bitcast(f.or_(f.bitcast(number, word), sign), wide)


def _narrow_small(format: _Small, f: Function, value: Value) -> Value:
    word, byte = widened(I32, value.type), widened(I8, value.type)
    size = f.float_unary("fabs", value)
    subnormal = f.fcmp("olt", size, constant(value.type, 2.0 ** (1 - format.bias)))
    rounded = f.select(subnormal, _small_subnormal(format, f, size), _small_normal(format, f, size))
    capped = f.integer_binary("umin", rounded, constant(word, format.overflow))
    number = f.select(f.fcmp("uno", value, value), constant(word, format.nan), capped)
    sign = f.and_(f.lshr(f.bitcast(value, word), constant(word, 24)), constant(word, 0x80))
    return f.trunc(f.or_(number, sign), byte)


def _small_subnormal(format: _Small, f: Function, size: Value) -> Value:
    """Beside this power of two, float32 has the spacing of the format's subnormals: the sum rounds as wanted."""
    word = widened(I32, size.type)
    beside = 2.0 ** (1 - format.bias - format.fraction + 23)
    total = f.bitcast(f.fadd(size, constant(size.type, beside)), word)
    return f.sub(total, f.bitcast(constant(size.type, beside), word))


def _small_normal(format: _Small, f: Function, size: Value) -> Value:
    """As for bfloat16, with the exponent's bias changed on the way."""
    word = widened(I32, size.type)
    lost = 23 - format.fraction
    bits = f.bitcast(size, word)
    odd = f.and_(f.lshr(bits, constant(word, lost)), constant(word, 1))
    half = constant(word, (1 << (lost - 1)) - 1 - ((127 - format.bias) << 23))
    return f.lshr(f.add(f.add(bits, half), odd), constant(word, lost))


_WIDEN: Mapping[type[Attribute], Callable[[Function, Value], Value]] = MappingProxyType(
    {
        Float16Type: _widen_half,
        BFloat16Type: _widen_bfloat,
        Float8E4M3FNType: partial(_widen_small, _E4M3),
        Float8E5M2Type: partial(_widen_small, _E5M2),
    }
)
_NARROW: Mapping[type[Attribute], Callable[[Function, Value], Value]] = MappingProxyType(
    {
        Float16Type: _narrow_half,
        BFloat16Type: _narrow_bfloat,
        Float8E4M3FNType: partial(_narrow_small, _E4M3),
        Float8E5M2Type: partial(_narrow_small, _E5M2),
    }
)


# ---- rounding to odd


def _double_to_odd_float(f: Function, value: Value) -> Value:
    """A float64 rounded to float32, to odd."""
    near_type, word = widened(FLOAT, value.type), widened(I32, value.type)
    near = f.fptrunc(value, near_type)
    back = f.fpext(near, value.type)
    inexact = f.fcmp("une", back, value)
    away = f.fcmp("ogt", f.float_unary("fabs", back), f.float_unary("fabs", value))
    bits = f.sub(f.bitcast(near, word), f.zext(away, word))
    odd = f.or_(bits, constant(word, 1))
    return f.bitcast(f.select(inexact, odd, f.bitcast(near, word)), near_type)


def _integer_to_odd_double(f: Function, value: Value, *, signed: bool) -> Value:
    """A 64-bit integer cut to the 53 bits that float64 holds, to odd; smaller ones are exact anyway."""
    wide = value.type
    low = constant(wide, 0x7FF)
    lost = f.icmp("ne", f.and_(value, low), constant(wide, 0))
    sticky = f.select(lost, constant(wide, 0x800), constant(wide, 0))
    cut = f.or_(f.and_(value, constant(wide, ~0x7FF)), sticky)
    size = f.integer_abs(value) if signed else value
    chosen = f.select(f.icmp("uge", size, constant(wide, 1 << 53)), cut, value)
    double = widened(DOUBLE, wide)
    return f.sitofp(chosen, double) if signed else f.uitofp(chosen, double)


def _to_middle(f: Function, value: Value, kind: Attribute) -> Value:
    """Any float as a float32 that rounds to a storage float as the original would."""
    if is_storage_float(kind):
        return widened_to_float(f, value, kind)
    return _double_to_odd_float(f, value) if value.type.element is DOUBLE else value


# ---- the rules


def _between_floats(cx: Emitter, op: Operation) -> None:
    source, target = op.operands[0].type, op.results[0].type
    value, wanted = cx.value(op.operands[0]), represented(target)
    if is_storage_float(target):
        result = narrowed_from_float(cx.f, _to_middle(cx.f, value, source), target)
    else:
        wide = widened_to_float(cx.f, value, source) if is_storage_float(source) else value
        result = _resized(cx.f, wide, wanted)
    cx.define(op.results[0], result)


def _resized(f: Function, value: Value, wanted: Type) -> Value:
    if value.type is wanted:
        return value
    return f.fpext(value, wanted) if wanted.bits > value.type.bits else f.fptrunc(value, wanted)


def _from_integer(cx: Emitter, op: Operation) -> None:
    signed, target = isinstance(op, arith.SIToFPOp), op.results[0].type
    value, f = cx.value(op.operands[0]), cx.f
    if not is_storage_float(target):
        wanted = represented(target)
        cx.define(op.results[0], f.sitofp(value, wanted) if signed else f.uitofp(value, wanted))
        return
    double = widened(DOUBLE, value.type)
    if value.type.element is I64:
        exact = _integer_to_odd_double(f, value, signed=signed)
    else:
        exact = f.sitofp(value, double) if signed else f.uitofp(value, double)
    cx.define(op.results[0], narrowed_from_float(f, _double_to_odd_float(f, exact), target))


def _to_integer(cx: Emitter, op: Operation) -> None:
    """Toward zero, saturating, NaN to 0."""
    source, wanted = op.operands[0].type, type_of(op.results[0])
    value = cx.value(op.operands[0])
    if is_storage_float(source):
        value = widened_to_float(cx.f, value, source)
    signed = isinstance(op, arith.FPToSIOp)
    convert = cx.f.fptosi_saturating if signed else cx.f.fptoui_saturating
    cx.define(op.results[0], convert(value, wanted))


def _between_integers(build: Callable[[Function, Value, Type], Value], cx: Emitter, op: Operation) -> None:
    cx.define(op.results[0], build(cx.f, cx.value(op.operands[0]), type_of(op.results[0])))


def _bitcast(cx: Emitter, op: Operation) -> None:
    value, wanted = cx.value(op.operands[0]), type_of(op.results[0])
    cx.define(op.results[0], value if value.type is wanted else cx.f.bitcast(value, wanted))


CASTS: Rules = MappingProxyType(
    {
        arith.ExtFOp: _between_floats,
        arith.TruncFOp: _between_floats,
        arith.SIToFPOp: _from_integer,
        arith.UIToFPOp: _from_integer,
        arith.FPToSIOp: _to_integer,
        arith.FPToUIOp: _to_integer,
        arith.ExtSIOp: partial(_between_integers, Function.sext),
        arith.ExtUIOp: partial(_between_integers, Function.zext),
        arith.TruncIOp: partial(_between_integers, Function.trunc),
        arith.BitcastOp: _bitcast,
    }
)

"""Casts: value-preserving where possible, rounded once, never twice.

Half types are held as f32 and float8 types as their bits; `number` and `held` go between that and numbers. A conversion
to a storage float is one operation of XIR, which rounds once whatever it comes from.
"""

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from tilewright.bridge.xir.lower.context import Lowering, Val, register_type, storage_type
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.core.dtypes import DType, FloatType, IntType, f32
from tilewright.ir.ops import convert
from tilewright.ir.types import dtype_of, element_attr, element_of
from tilewright.xir.builder import XirBuilder
from tilewright.xir.types import scalar_of

__all__ = ["apply", "converted", "held", "number"]


def apply(cx: Lowering, op: convert.CastOp | convert.BitcastOp, operand: Val) -> Val:
    """The converted value."""
    source, target = dtype_of(element_of(op.operand)), dtype_of(element_of(op.result))
    value = cx.ssa(operand)
    if isinstance(op, convert.BitcastOp):
        result = _bitcast(cx.builder, value, source, target)
    else:
        result = converted(cx.builder, value, source, target, saturating=bool(op.saturating))
    return Coord(result) if target.name == "i64" else result


def converted(
    b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType], *, saturating: bool = False
) -> SSAValue:
    """A held value as one of another type."""
    if source == target and not saturating:
        return value
    exact = number(b, value, source)
    return _cast(b, _clamped(b, exact, source, target) if saturating else exact, source, target)


def number(b: XirBuilder, value: SSAValue, dtype: type[DType]) -> SSAValue:
    """A held value in a type that computes: float8 bits as the f32 that they mean."""
    if not _is_float8(dtype):
        return value
    return b.extf(b.bitcast(value, element_attr(dtype)), element_attr(f32))


def held(b: XirBuilder, value: SSAValue, dtype: type[DType]) -> SSAValue:
    """A value of the type itself as it is held."""
    return b.bitcast(value, register_type(dtype)) if _is_float8(dtype) else b.extf(value, register_type(dtype))


def _is_float8(dtype: type[DType]) -> bool:
    return dtype.is_float and dtype.bits == 8


def _is_stored(dtype: type[DType]) -> bool:
    """Whether the type is too narrow to compute in."""
    return dtype.is_float and dtype.bits < 32


def _clamped(b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    """Inside the finite range of a float type; NaN stays NaN."""
    if not issubclass(target, FloatType):
        return value
    low, high = target.min, target.max
    if source.is_float:
        narrows = target.bits <= max(source.bits, 32)
        return b.fmin(b.fmax(value, b.const(value.type, low)), b.const(value.type, high)) if narrows else value
    if not issubclass(source, IntType) or source.max <= high:
        return value
    least, most = b.const(value.type, int(low)), b.const(value.type, int(high))
    return b.minsi(b.maxsi(value, least), most) if source.kind == "int" else b.minui(value, most)


def _cast(b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    if target.kind == "bool":
        return _to_bool(b, value, source)
    if target.kind == "float":
        return _to_float(b, value, source, target)
    if source.kind == "float":
        wanted = register_type(target)
        return b.fptosi(value, wanted) if target.kind == "int" else b.fptoui(value, wanted)
    return _to_integer(b, value, source, target)


def _to_bool(b: XirBuilder, value: SSAValue, source: type[DType]) -> SSAValue:
    zero = b.const(value.type, 0)
    return b.fcmp("une", value, zero) if source.kind == "float" else b.cmp("ne", value, zero)


def _to_float(b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    """Straight to the type wanted, however narrow: a stop on the way would round twice."""
    wanted = element_attr(target)
    if source.kind == "float":
        converted = _resized(b, value, target)
    else:
        converted = b.sitofp(value, wanted) if source.kind == "int" else b.uitofp(value, wanted)
    return held(b, converted, target) if _is_stored(target) else converted


def _resized(b: XirBuilder, value: SSAValue, target: type[DType]) -> SSAValue:
    wanted = element_attr(target)
    if scalar_of(value.type) == wanted:
        return value
    wider = target.name == "f64"
    return b.extf(value, wanted) if wider else b.truncf(value, wanted)


def _to_integer(b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    wanted = register_type(target)
    if target.bits < source.bits:
        return b.trunci(value, wanted)
    if target.bits == source.bits:
        return value
    return b.extsi(value, wanted) if source.kind == "int" else b.extui(value, wanted)


def _bitcast(b: XirBuilder, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    """Half types are held as f32, so their bits are those of the narrowed value; float8 types are held as bits."""
    raw = b.truncf(value, storage_type(source)) if source.name in ("f16", "bf16") else value
    if isinstance(scalar_of(raw.type), IntegerType) and isinstance(register_type(target), IntegerType):
        return raw
    if target.name in ("f16", "bf16"):
        return held(b, b.bitcast(raw, element_attr(target)), target)
    return b.bitcast(raw, register_type(target))

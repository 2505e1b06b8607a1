"""Casts: value-preserving where possible, rounded once, never twice; and the same bits as another type."""

from tilewright.bridge.tirx.export.context import Exporter
from tilewright.bridge.tirx.export.narrow import narrowed, rounded_to_odd, widened
from tilewright.bridge.tirx.export.representation import held, is_narrow
from tilewright.bridge.tirx.nodes import Expr
from tilewright.core.dtypes import DType, FloatType, IntType

__all__ = ["as_held", "as_number", "as_stored", "bitcast", "converted", "rounded"]

_STICKY = 0x7FF  # what float64 cannot hold of a 64-bit integer


def converted(cx: Exporter, value: Expr, source: type[DType], target: type[DType], *, saturating: bool = False) -> Expr:
    """A held value of one type as a held value of another."""
    if source == target and not saturating:
        return value
    number = as_number(cx, source, value)
    if target.kind == "bool":
        return _is_not_zero(cx, number)
    if issubclass(target, FloatType):
        return _to_float(cx, number, source, target, saturating=saturating)
    if source.is_float:
        return _to_integer(cx, number, target)
    if source.kind == "bool":
        return cx.n.select(number, cx.n.int_(held(target), 1), cx.n.int_(held(target), 0))
    return cx.n.cast(held(target), number)


def as_number(cx: Exporter, dtype: type[DType], value: Expr) -> Expr:
    """A held value in a type that computes: float8 bits as the float32 that they mean."""
    return widened(cx, dtype, value) if is_narrow(dtype) and dtype.bits == 8 else value


def as_held(cx: Exporter, dtype: type[DType], raw: Expr) -> Expr:
    """An element of an argument as a value."""
    if dtype.kind == "bool":
        return cx.n.ne(raw, cx.n.int_("uint8", 0))
    return widened(cx, dtype, raw) if is_narrow(dtype) and dtype.bits == 16 else raw


def as_stored(cx: Exporter, dtype: type[DType], value: Expr) -> Expr:
    """A value as an element of an argument. Half types narrow exactly, since what is held is representable."""
    if is_narrow(dtype) and dtype.bits == 16:
        return narrowed(cx, dtype, value)
    return cx.n.as_byte(value)


def rounded(cx: Exporter, dtype: type[DType], value: Expr) -> Expr:
    """A float32 that was computed for a half type, rounded to it."""
    return widened(cx, dtype, narrowed(cx, dtype, value))


def bitcast(cx: Exporter, value: Expr, source: type[DType], target: type[DType]) -> Expr:
    """The same bits."""
    raw = narrowed(cx, source, value) if is_narrow(source) and source.bits == 16 else value
    if target.kind == "bool" or source.kind == "bool":
        return converted(cx, raw, source, target)
    if is_narrow(target) and target.bits == 16:
        return widened(cx, target, raw)
    return cx.n.reinterpret(held(target), raw)


def _is_not_zero(cx: Exporter, number: Expr) -> Expr:
    kind = cx.n.dtype(number)
    zero = cx.n.float_(kind, 0.0) if kind.startswith("float") else cx.n.int_(kind, 0)
    return cx.n.ne(number, zero)


def _to_float(cx: Exporter, number: Expr, source: type[DType], target: type[FloatType], *, saturating: bool) -> Expr:
    """Straight to the type wanted: what is wider than float32 reaches a narrow type rounded to odd."""
    n = cx.n
    if source.kind == "bool":
        return _finished(cx, n.select(number, n.float_("float32", 1.0), n.float_("float32", 0.0)), target)
    if source.is_float:
        return _finished(cx, _clamped(cx, number, target) if saturating else number, target)
    if not is_narrow(target):
        return n.cast(held(target), number)
    wide = n.cast("float64", _sticky(cx, number, source) if source.bits == 64 else number)
    return _finished(cx, _clamped(cx, wide, target) if saturating else wide, target)


def _finished(cx: Exporter, number: Expr, target: type[FloatType]) -> Expr:
    """A float32 or float64 as a held value of the target."""
    n = cx.n
    if not is_narrow(target):
        return n.cast(held(target), number)
    single = rounded_to_odd(cx, number) if n.dtype(number) == "float64" else number
    code = narrowed(cx, target, single)
    return code if target.bits == 8 else widened(cx, target, code)


def _clamped(cx: Exporter, number: Expr, target: type[FloatType]) -> Expr:
    """Inside the finite range of the target, where that is narrower; NaN stays NaN."""
    n, kind, x = cx.n, cx.n.dtype(number), cx.once(number)
    if target.bits > int(kind.removeprefix("float")):
        return x
    low, high = n.float_(kind, float(target.min)), n.float_(kind, float(target.max))
    return n.select(n.lt(x, low), low, n.select(n.gt(x, high), high, x))


def _sticky(cx: Exporter, number: Expr, source: type[DType]) -> Expr:
    """A 64-bit integer cut to what float64 holds exactly, rounded to odd."""
    n, kind, x = cx.n, held(source), cx.once(number)
    limit, low = n.int_(kind, 1 << 53), n.int_(kind, _STICKY)
    large = n.ge(x, limit)
    if source.is_signed:
        large = n.or_(large, n.le(x, n.int_(kind, -(1 << 53))))
    rest = n.ne(n.bit_and(x, low), n.int_(kind, 0))
    bit = n.select(rest, n.int_(kind, _STICKY + 1), n.int_(kind, 0))
    return n.select(large, n.bit_or(n.bit_and(x, n.bit_not(low)), bit), x)


def _to_integer(cx: Exporter, number: Expr, target: type[DType]) -> Expr:
    """Truncated and saturated; NaN becomes 0."""
    n, kind = cx.n, held(target)
    if not issubclass(target, IntType):
        raise TypeError(target)
    whole = cx.once(n.intrinsic("llvm.trunc", n.cast("float64", number)))
    above = n.ge(whole, n.float_("float64", 2.0 ** (target.bits - target.is_signed)))
    below = n.lt(whole, n.float_("float64", float(target.min)))
    zero = n.float_("float64", 0.0)
    outside = n.or_(n.or_(above, below), n.ne(whole, whole))
    inside = n.cast(kind, n.select(outside, zero, whole))
    limits = n.select(below, n.int_(kind, target.min), inside)
    return n.select(above, n.int_(kind, target.max), limits)

"""Narrow floats in integer arithmetic: exact widening to float32, and narrowing rounded once to nearest even.

Bit patterns are computed with in int64, where nothing here can overflow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tilewright.bridge.tirx.export.context import Exporter
from tilewright.bridge.tirx.nodes import Expr
from tilewright.core.dtypes import DType

__all__ = ["narrowed", "rounded_to_odd", "widened"]

_F32_BIAS, _F32_FRACTION = 127, 23
_SIGN, _INFINITY = 1 << 31, 0x7F80_0000


@dataclass(frozen=True, slots=True)
class _Format:
    """A float type of `bits` bits. `beyond` is the code of what is too large, `last` that of the largest number."""

    bits: int
    fraction: int
    bias: int
    last: int
    beyond: int
    nan: int

    @property
    def shift(self) -> int:
        return _F32_FRACTION - self.fraction

    @property
    def sizes(self) -> int:
        """All bits but the sign."""
        return (1 << (self.bits - 1)) - 1


_FORMATS: Mapping[str, _Format] = MappingProxyType(
    {
        "f16": _Format(16, 10, 15, 0x7BFF, 0x7C00, 0x7E00),
        "bf16": _Format(16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0),
        "float8_e4m3fn": _Format(8, 3, 7, 0x7E, 0x7F, 0x7F),
        "float8_e5m2": _Format(8, 2, 15, 0x7B, 0x7C, 0x7E),
    }
)


def widened(cx: Exporter, dtype: type[DType], code: Expr) -> Expr:
    """The float32 that a bit pattern means."""
    n, form = cx.n, _FORMATS[dtype.name]
    word = cx.once(n.cast("int64", code))
    size = cx.once(n.bit_and(word, n.i64(form.sizes)))
    moved = cx.once(n.shl(size, n.i64(form.shift)))
    number = _float(cx, moved)
    if form.bias != _F32_BIAS:
        number = n.mul(number, n.float_("float32", 2.0 ** (_F32_BIAS - form.bias)))
    special = _float(cx, n.bit_or(moved, n.i64(_INFINITY)))
    number = n.select(n.gt(size, n.i64(form.last)), special, number)
    sign = n.shl(n.shr(word, n.i64(form.bits - 1)), n.i64(31))
    return _float(cx, n.bit_or(_bits(cx, number), sign))


def narrowed(cx: Exporter, dtype: type[DType], value: Expr) -> Expr:
    """The bit pattern of a float32 rounded to the type, as an integer of its width."""
    n, form = cx.n, _FORMATS[dtype.name]
    word = cx.once(_bits(cx, value))
    size = cx.once(n.bit_and(word, n.i64(_SIGN - 1)))
    code = cx.once(_rounded(cx, form, size))
    code = n.select(n.gt(code, n.i64(form.last)), n.i64(form.beyond), code)
    payload = n.bit_and(n.shr(size, n.i64(form.shift)), n.i64((1 << form.fraction) - 1))
    nan = n.bit_or(n.i64(form.nan), payload)
    code = n.select(n.gt(size, n.i64(_INFINITY)), nan, code)
    sign = n.shl(n.shr(word, n.i64(31)), n.i64(form.bits - 1))
    return n.cast(f"uint{form.bits}", n.bit_or(code, sign))


def _rounded(cx: Exporter, form: _Format, size: Expr) -> Expr:
    """The code of a size, correct up to the first one beyond the largest number; more than that above it.

    Subnormal results are rounded by an addition, whose last place is theirs.
    """
    n, shift = cx.n, form.shift
    odd = n.bit_and(n.shr(size, n.i64(shift)), n.i64(1))
    up = n.add(n.add(size, n.i64((1 << (shift - 1)) - 1)), odd)
    normal = n.sub(n.shr(up, n.i64(shift)), n.i64((_F32_BIAS - form.bias) << form.fraction))
    if form.bias == _F32_BIAS:
        return normal
    magic = (_F32_BIAS - form.bias + shift + 1) << _F32_FRACTION
    added = n.add(_float(cx, size), _float(cx, n.i64(magic)))
    small = n.sub(_bits(cx, added), n.i64(magic))
    least = n.i64((_F32_BIAS - form.bias + 1) << _F32_FRACTION)
    return n.select(n.lt(size, least), small, normal)


def rounded_to_odd(cx: Exporter, value: Expr) -> Expr:
    """A float64 as float32, truncated, its last bit 1 where anything was cut off: a later rounding sees ties right."""
    n = cx.n
    exact = cx.once(value)
    near = cx.once(n.cast("float32", exact))
    back = cx.once(n.cast("float64", near))
    one, zero = n.i64(1), n.i64(0)
    inexact = cx.once(n.select(n.ne(back, exact), one, zero))
    away = n.select(n.gt(n.intrinsic("llvm.fabs", back), n.intrinsic("llvm.fabs", exact)), one, zero)
    return _float(cx, n.bit_or(n.sub(_bits(cx, near), n.bit_and(inexact, away)), inexact))


def _bits(cx: Exporter, value: Expr) -> Expr:
    return cx.n.cast("int64", cx.n.reinterpret("uint32", value))


def _float(cx: Exporter, bits: Expr) -> Expr:
    return cx.n.reinterpret("float32", cx.n.cast("uint32", bits))

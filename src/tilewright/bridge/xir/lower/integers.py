"""Integer division, shifts and powers that never trap.

A divisor of 0 gives an unspecified value, as does -2**(w-1) / -1.
"""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tilewright.core.dtypes import DType
from tilewright.xir.builder import XirBuilder

__all__ = ["floor_div", "floor_mod", "power", "shift_left", "shift_right", "trunc_div", "trunc_mod"]


def _safe(b: XirBuilder, dtype: type[DType], x: SSAValue, y: SSAValue) -> SSAValue:
    """A divisor that traps for no dividend."""
    one = b.const(y.type, 1)
    divisor = b.select(b.cmp("eq", y, b.const(y.type, 0)), one, y)
    if dtype.kind == "uint":
        return divisor
    lowest = b.cmp("eq", x, b.const(x.type, -(1 << (dtype.bits - 1))))
    return b.select(b.and_(lowest, b.cmp("eq", y, b.const(y.type, -1))), one, divisor)


def trunc_div(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    """Rounded toward zero. The overflowing quotient wraps to the dividend, since its divisor becomes 1."""
    x, y = operands
    return (b.divui if dtype.kind == "uint" else b.divsi)(x, _safe(b, dtype, x, y))


def trunc_mod(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    """With the sign of the dividend."""
    x, y = operands
    return (b.remui if dtype.kind == "uint" else b.remsi)(x, _safe(b, dtype, x, y))


def floor_div(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    """Rounded toward minus infinity."""
    quotient = trunc_div(b, dtype, operands)
    if dtype.kind == "uint":
        return quotient
    down = _differs_below(b, dtype, operands)
    return b.select(down, b.sub(quotient, b.const(quotient.type, 1)), quotient)


def floor_mod(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    """With the sign of the divisor."""
    remainder = trunc_mod(b, dtype, operands)
    if dtype.kind == "uint":
        return remainder
    return b.select(_differs_below(b, dtype, operands), b.add(remainder, operands[1]), remainder)


def _differs_below(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    """Where the floored quotient is one less than the truncated one: a remainder whose sign is not the divisor's."""
    remainder = trunc_mod(b, dtype, operands)
    zero = b.const(remainder.type, 0)
    opposed = b.cmp("slt", b.xor(remainder, operands[1]), zero)
    return b.and_(b.cmp("ne", remainder, zero), opposed)


def shift_left(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    """Zero for amounts outside the width."""
    value, amount = operands
    shifted = b.shl(value, _inside(b, dtype, amount))
    return b.select(_fits(b, dtype, amount), shifted, b.const(value.type, 0))


def shift_right(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    """Amounts outside the width fill with the sign, or with zero for unsigned types."""
    value, amount = operands
    fits = _fits(b, dtype, amount)
    if dtype.kind == "uint":
        return b.select(fits, b.shrui(value, _inside(b, dtype, amount)), b.const(value.type, 0))
    last = b.const(amount.type, dtype.bits - 1)
    return b.shrsi(value, b.select(fits, amount, last))


def _fits(b: XirBuilder, dtype: type[DType], amount: SSAValue) -> SSAValue:
    return b.cmp("ult", amount, b.const(amount.type, dtype.bits))


def _inside(b: XirBuilder, dtype: type[DType], amount: SSAValue) -> SSAValue:
    return b.and_(amount, b.const(amount.type, dtype.bits - 1))


def power(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    """By squaring, one step a bit of the exponent; a negative exponent truncates the fraction 1 / x**n."""
    base, exponent = operands
    one, zero = b.const(base.type, 1), b.const(base.type, 0)
    result, square, rest = one, base, exponent
    for _ in range(dtype.bits):
        odd = b.cmp("ne", b.and_(rest, one), zero)
        result = b.select(odd, b.mul(result, square), result)
        square, rest = b.mul(square, square), b.shrui(rest, one)
    if dtype.kind == "uint":
        return result
    return b.select(b.cmp("slt", exponent, zero), _reciprocal_power(b, base, exponent), result)


def _reciprocal_power(b: XirBuilder, base: SSAValue, exponent: SSAValue) -> SSAValue:
    """1 for base 1, the sign's power for base -1, else 0 (also the unspecified value for base 0)."""
    one, zero, minus = b.const(base.type, 1), b.const(base.type, 0), b.const(base.type, -1)
    odd = b.cmp("ne", b.and_(exponent, one), zero)
    alternating = b.select(odd, minus, one)
    return b.select(b.cmp("eq", base, one), one, b.select(b.cmp("eq", base, minus), alternating, zero))

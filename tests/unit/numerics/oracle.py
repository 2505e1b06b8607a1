"""Floats from first principles: exact rounding with fractions, and decoding of bit patterns field by field."""

import math
from fractions import Fraction

from tilewright.core.dtypes import FloatType


def nearest(exact: Fraction, dtype: type[FloatType]) -> float:
    """The value of `dtype` nearest to `exact`, ties to even; infinity or NaN beyond the finite range."""
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    quantum = Fraction(2) ** (max(exponent, 1 - dtype.bias) - dtype.mantissa_bits)
    rounded = round(size / quantum) * quantum  # Python rounds fractions half to even
    if rounded > Fraction(dtype.max):
        return (math.inf if exact > 0 else -math.inf) if dtype.has_infinity else math.nan
    return float(rounded) if exact > 0 else -float(rounded)


def decode(code: int, dtype: type[FloatType]) -> float:
    """The value of a bit pattern."""
    sign = -1.0 if code >> (dtype.bits - 1) else 1.0
    field = (code >> dtype.mantissa_bits) & (2**dtype.exponent_bits - 1)
    fraction = code & (2**dtype.mantissa_bits - 1)
    if field == 2**dtype.exponent_bits - 1:
        if dtype.has_infinity:
            return math.nan if fraction else sign * math.inf
        if fraction == 2**dtype.mantissa_bits - 1:
            return math.nan
    hidden = 2**dtype.mantissa_bits if field else 0
    return sign * math.ldexp(hidden + fraction, max(field, 1) - dtype.bias - dtype.mantissa_bits)

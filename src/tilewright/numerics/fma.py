"""Exact fused multiply-add: a * b + c rounded once, for whole arrays.

float32: the product is exact in float64, the sum is rounded to odd there, and the last rounding is NumPy's cast.
float64: Boldo and Melquiond 2008 (see `cast`): error-free product and sums, the low parts added with rounding to odd.
That is proved for exponents away from the ends of the range; elements near them are computed with fractions.
"""

from fractions import Fraction

import numpy as np

from ..core.dtypes import DType, IntType, f32, f64
from .arrays import Array, numpy_dtype
from .faults import UndefinedOperationError

__all__ = ["fma"]

_SPLIT = 2.0**27 + 1  # Veltkamp's constant for 53 bits
# Nothing overflows up to these, and what may underflow is too small to decide a rounding beside such an addend.
_LARGEST_FACTOR = 2.0**400
_SMALLEST_ADDEND, _LARGEST_ADDEND = 2.0**-800, 2.0**1000


def fma(dtype: type[DType], a: Array, b: Array, c: Array) -> Array:
    """`a * b + c` with one rounding; integers wrap. Arrays of `dtype` that broadcast together.

    Raises UndefinedOperationError for types that accumulate nothing: half, bfloat16, float8, boolean.
    """
    a, b, c = (np.asarray(x, numpy_dtype(dtype)) for x in (a, b, c))
    with np.errstate(all="ignore"):
        if dtype == f32:
            return _fma32(a, b, c)
        if dtype == f64:
            return _fma64(*np.broadcast_arrays(a, b, c))
        if issubclass(dtype, IntType):
            return np.asarray(a * b + c)
    raise UndefinedOperationError("fma", dtype)


def _fma32(a: Array, b: Array, c: Array) -> Array:
    product = np.multiply(a, b, dtype=np.float64)
    return _odd_sum(product, np.asarray(c.astype(np.float64))).astype(np.float32)


def _odd_sum(x: Array, y: Array) -> Array:
    """`x + y` in float64, rounded to odd. Infinities and NaN as the plain sum has them."""
    total, error = _two_sum(x, y)
    inexact = (error != 0) & np.isfinite(total)
    bits = total.view(np.int64)
    bits -= inexact & (np.signbit(error) != np.signbit(total))  # rounded away from zero: take the truncated value
    bits |= inexact
    return total


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """Knuth's error-free sum: a fresh array of the rounded sum, and what it lost."""
    total = np.asarray(x + y)
    y_part = total - x
    error = (x - (total - y_part)) + (y - y_part)
    return total, np.asarray(error)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Dekker's error-free product: the rounded product and what it lost."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(x: Array) -> tuple[Array, Array]:
    scaled = x * _SPLIT
    high = scaled - (scaled - x)
    return high, x - high


def _fma64(a: Array, b: Array, c: Array) -> Array:
    product, lost = _two_product(a, b)
    high, low = _two_sum(c, lost)
    total, rest = _two_sum(product, high)
    result = np.asarray(total + _odd_sum(rest, low))
    addend = np.abs(c)
    safe = (np.abs(a) <= _LARGEST_FACTOR) & (np.abs(b) <= _LARGEST_FACTOR)
    safe &= (addend >= _SMALLEST_ADDEND) & (addend <= _LARGEST_ADDEND)
    if safe.all():
        return result
    return np.asarray(np.where(safe, result, _fma64_edges(a, b, c, safe)))


def _fma64_edges(a: Array, b: Array, c: Array, safe: Array) -> Array:
    """Zero addends, infinities, NaN and extreme exponents; elements marked safe are left as they come."""
    product = np.asarray(a * b)
    finite = np.isfinite(a) & np.isfinite(b)
    exact_zero = (a == 0) | (b == 0)
    plain = np.where(finite & ~np.isfinite(c), c, product + c)  # a finite product never meets an infinity of its own
    result = np.asarray(np.where((c == 0) & ~exact_zero, product, plain))
    hard = ~safe & finite & np.isfinite(c) & ~exact_zero & (c != 0)
    for index in map(tuple, np.argwhere(hard)):
        result[index] = _exact(float(a[index]), float(b[index]), float(c[index]))
    return result


def _exact(a: float, b: float, c: float) -> float:
    total = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(total)
    except OverflowError:  # Python's word for rounding to infinity
        return np.inf if total > 0 else -np.inf

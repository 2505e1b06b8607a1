"""Conversions between element types, each rounded once to nearest even, and the rules for Python literals.

Rounding to odd (keep the truncated value, and make its last bit 1 when anything was cut off) makes a later rounding
to nearest see on which side of a tie the original lay. It needs two spare bits in between (Boldo and Melquiond,
"Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Trans. Computers 2008).
"""

import math
from fractions import Fraction

import numpy as np

from ..core.dtypes import DType, FloatType, IntType, boolean, f16, f32, f64
from .arrays import Array, numpy_dtype
from .faults import UndefinedOperationError

__all__ = ["bitcast", "cast", "exact_literal", "literal", "round_from_f64"]


PythonNumber = bool | int | float


def cast(values: Array, source: type[DType], target: type[DType], *, saturate: bool = False) -> Array:
    """`values` of element type `source` converted to `target`.

    Float to integer truncates, saturates, and takes NaN to 0. Integer to integer wraps. To `boolean` means "is not
    zero", so NaN is true. Everything to a float is rounded once to nearest even; what is too large becomes infinity
    (NaN for `float8_e4m3fn`, which has none), or with `saturate` the largest finite value. NaN stays NaN.
    """
    values = np.asarray(values, numpy_dtype(source))
    if target == source and not saturate:
        return values
    with np.errstate(all="ignore"):
        if target == boolean:
            return np.asarray(_decoded(values, source) != 0)
        if issubclass(target, FloatType):
            return _to_float(values, source, target, saturate=saturate)
        if issubclass(source, FloatType):
            return _float_to_int(_decoded(values, source).astype(np.float64), target)
        return values.astype(numpy_dtype(target))


def round_from_f64(values: Array, target: type[DType]) -> Array:
    """Float64 values rounded once to the float type `target`."""
    with np.errstate(all="ignore"):
        if target in (f64, f32, f16):  # NumPy rounds these once
            return np.asarray(values).astype(numpy_dtype(target))
        return _odd_f32(np.asarray(values)).astype(numpy_dtype(target))


def bitcast(values: Array, source: type[DType], target: type[DType]) -> Array:
    """The same bits read as another element type of the same width. Raises UndefinedOperationError for others."""
    if source.bits != target.bits:
        raise UndefinedOperationError(f"bitcast from {source!r}", target)
    return np.asarray(values, numpy_dtype(source), order="C").view(numpy_dtype(target))


def exact_literal(value: PythonNumber, dtype: type[DType]) -> bool:
    """Whether the Python literal may stand for a value of `dtype`.

    A bool only for `boolean`; an int for an integer type that holds it, or a float type that holds it exactly; a
    float for any float type that does not round it to infinity.
    """
    if isinstance(value, bool) or dtype == boolean:
        return isinstance(value, bool) and dtype == boolean
    if issubclass(dtype, IntType):
        return isinstance(value, int) and dtype.min <= value <= dtype.max
    if not issubclass(dtype, FloatType):
        return False
    if isinstance(value, int):
        return abs(value) <= Fraction(dtype.max) and Fraction(float(literal(value, dtype))) == value
    if math.isinf(value):
        return dtype.has_infinity
    return math.isnan(value) or math.isfinite(float(literal(value, dtype)))


def literal(value: PythonNumber, dtype: type[DType]) -> Array:
    """The 0-d array of a literal that `exact_literal` admits."""
    if issubclass(dtype, FloatType):
        return round_from_f64(np.asarray(float(value)), dtype)
    return np.asarray(value, numpy_dtype(dtype))


def _decoded(values: Array, source: type[DType]) -> Array:
    """The same numbers in a type that NumPy computes with natively."""
    if issubclass(source, FloatType) and source.bits < f32.bits:
        return values.astype(np.float32)
    return values


def _to_float(values: Array, source: type[DType], target: type[FloatType], *, saturate: bool) -> Array:
    if issubclass(source, IntType) and target in (f32, f64):
        return values.astype(numpy_dtype(target))  # the machine's conversions, rounded once
    wide = _sticky(values).astype(np.float64) if issubclass(source, IntType) else _decoded(values, source)
    if saturate:
        wide = np.clip(wide, target.min, target.max)
    if wide.dtype == np.float64:
        return round_from_f64(wide, target)
    return np.asarray(wide.astype(np.float32)).astype(numpy_dtype(target))


def _sticky(values: Array) -> Array:
    """64-bit integers cut to what float64 holds exactly, rounded to odd; narrower ones as they are."""
    if values.dtype.itemsize < np.dtype(np.int64).itemsize:
        return values
    low = values.dtype.type(0x7FF)
    large = (values >= 2**53) | (values <= -(2**53)) if values.dtype.kind == "i" else values >= 2**53
    cut = (values & ~low) | np.where((values & low) != 0, low + 1, 0).astype(values.dtype)
    return np.where(large, cut, values)


def _odd_f32(values: Array) -> Array:
    """Float64 values rounded to float32, to odd."""
    near = np.asarray(values.astype(np.float32))
    back = near.astype(np.float64)
    inexact = back != values  # a NaN stays one with its last bit set
    bits = near.view(np.uint32)
    truncated = bits - (inexact & (np.abs(back) > np.abs(values)))
    return (truncated | inexact).astype(np.uint32).view(np.float32)


def _float_to_int(values: Array, target: type[DType]) -> Array:
    dtype = numpy_dtype(target)
    whole = np.trunc(values)
    above, below = whole >= 2.0 ** (target.bits - target.is_signed), whole < float(target.min)
    inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(dtype)
    limits = np.where(above, np.asarray(target.max, dtype), np.asarray(target.min, dtype))
    return np.where(above | below, limits, inside)

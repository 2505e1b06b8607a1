"""Bit patterns of values, their written form, and distances counted in representable values."""

from typing import Any

import numpy as np

from ..core.dtypes import DType
from .arrays import Array, numpy_dtype
from .faults import UndefinedOperationError

__all__ = ["from_bits", "from_hex", "to_bits", "to_hex", "ulp_distance"]


def to_bits(dtype: type[DType], values: Array) -> Array:
    """The bit pattern of every value, as unsigned integers of the same size."""
    return np.asarray(values, numpy_dtype(dtype), order="C").view(_unsigned(dtype))


def from_bits(dtype: type[DType], bits: Array) -> Array:
    """The values with these bit patterns; the inverse of `to_bits`."""
    return np.asarray(bits, _unsigned(dtype), order="C").view(numpy_dtype(dtype))


def to_hex(dtype: type[DType], value: Any) -> str:
    """The bit pattern of one value as `0x` and two digits a byte: a constant that no decimal text can blur."""
    return f"0x{int(to_bits(dtype, np.asarray(value))):0{2 * dtype.itemsize}x}"


def from_hex(dtype: type[DType], text: str) -> Array:
    """The 0-d array written by `to_hex`. Raises ValueError for other text."""
    digits = text.removeprefix("0x")
    if len(digits) != 2 * dtype.itemsize or digits == text:
        raise ValueError(f"{text!r} is not the bit pattern of a {dtype!r}")
    return from_bits(dtype, np.asarray(int(digits, 16), _unsigned(dtype)))


def ulp_distance(dtype: type[DType], a: Array, b: Array) -> Array:
    """How many steps between neighbouring floats lead from `a` to `b`, as uint64.

    The two zeros are one value, infinity follows the largest finite value, NaN is at distance 0 from NaN and at the
    largest uint64 from all else. Raises UndefinedOperationError for types that are not floats.
    """
    if not dtype.is_float:
        raise UndefinedOperationError("ulp_distance", dtype)
    a, b = np.broadcast_arrays(a, b)
    (a_size, a_negative), (b_size, b_negative) = _sign_and_size(dtype, a), _sign_and_size(dtype, b)
    apart = np.maximum(a_size, b_size) - np.minimum(a_size, b_size)
    distance = np.where(a_negative == b_negative, apart, a_size + b_size)
    a_nan, b_nan = _is_nan(a), _is_nan(b)
    of_nan = np.where(a_nan & b_nan, np.uint64(0), np.uint64(2**64 - 1))
    return np.where(a_nan | b_nan, of_nan, distance).astype(np.uint64)


def _unsigned(dtype: type[DType]) -> np.dtype[Any]:
    return np.dtype(f"u{dtype.itemsize}")


def _sign_and_size(dtype: type[DType], values: Array) -> tuple[Array, Array]:
    bits = to_bits(dtype, values).astype(np.uint64)
    sign = np.uint64(1 << (dtype.bits - 1))
    return bits & ~sign, (bits & sign) != 0


def _is_nan(values: Array) -> Array:
    return np.asarray(values != values)  # noqa: PLR0124  the one value unequal to itself

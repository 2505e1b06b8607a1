"""Numbers of the host: as Python's own, and as the bytes of an element type."""

from numbers import Integral, Real
from typing import cast

import numpy as np

from tilewright.core.dtypes import DType
from tilewright.core.errors import TileTypeError
from tilewright.numerics.arrays import Array, from_numpy
from tilewright.numerics.cast import exact_literal, literal

__all__ = ["Number", "as_number", "element_type_of", "packed"]

Number = bool | int | float


def as_number(value: object) -> Number | None:
    """A host number as Python's own, NumPy's scalars included; None for anything else."""
    match value:
        case bool() | np.bool_():
            return bool(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case _:
            return None


def element_type_of(value: object) -> type[DType] | None:
    """The element type of a NumPy scalar or array of no axes; None for anything else, Python's numbers included."""
    if not isinstance(value, np.generic | np.ndarray) or value.ndim:
        return None
    try:
        return from_numpy(cast("Array", value).dtype)
    except TileTypeError:
        return None


def packed(value: object, dtype: type[DType]) -> Array | None:
    """A copy of a number as an array of no axes; None when `dtype` has no such value.

    A NumPy scalar (or array of no axes) of the type is itself. Other numbers follow the rule of literals: an int stands
    for a float only when it is exact, a float for no integer, a bool only for a boolean.
    """
    if element_type_of(value) == dtype:
        return np.array(value)
    number = as_number(value)
    return None if number is None or not exact_literal(number, dtype) else literal(number, dtype)

"""Element types and NumPy dtypes, both ways."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..core.codes.types import NO_ELEMENT_TYPE
from ..core.dtypes import (
    ALL_DTYPES,
    DType,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    float8_e4m3fn,
    float8_e5m2,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from ..core.errors import TileTypeError
from ..core.source import user_span

__all__ = ["Array", "from_numpy", "numpy_dtype"]

Array = npt.NDArray[Any]

_NUMPY: Mapping[type[DType], np.dtype[Any]] = MappingProxyType(
    {
        f16: np.dtype(np.float16),
        bf16: np.dtype(ml_dtypes.bfloat16),
        f32: np.dtype(np.float32),
        f64: np.dtype(np.float64),
        float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn),
        float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
        i8: np.dtype(np.int8),
        i16: np.dtype(np.int16),
        i32: np.dtype(np.int32),
        i64: np.dtype(np.int64),
        u8: np.dtype(np.uint8),
        u16: np.dtype(np.uint16),
        u32: np.dtype(np.uint32),
        u64: np.dtype(np.uint64),
        boolean: np.dtype(np.bool_),
    }
)
_ELEMENT: Mapping[np.dtype[Any], type[DType]] = MappingProxyType({_NUMPY[dtype]: dtype for dtype in ALL_DTYPES})


def numpy_dtype(dtype: type[DType]) -> np.dtype[Any]:
    """The NumPy dtype with the same values and bytes, in this machine's byte order."""
    return _NUMPY[dtype]


def from_numpy(dtype: npt.DTypeLike) -> type[DType]:
    """The element type of a NumPy dtype. Raises TileTypeError (TW204) for others, a foreign byte order included."""
    found = _ELEMENT.get(np.dtype(dtype))
    if found is None:
        known = ", ".join(str(known) for known in _ELEMENT)
        raise TileTypeError(NO_ELEMENT_TYPE.at(user_span(), dtype=np.dtype(dtype).str, known=known))
    return found

"""Host arrays at the two ends of a copy: taken in place or refused, never converted."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.core.codes.dispatch import HOST_DTYPE, HOST_READ_ONLY, HOST_SIZE, HOST_STRIDES, NO_HOST_MEMORY
from tilewright.core.dtypes import DType
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span
from tilewright.numerics.arrays import numpy_dtype

__all__ = ["readable_bytes", "writable_bytes"]


def readable_bytes(array: object, dtype: type[DType], size: int, label: str) -> memoryview:
    """The bytes of a row-major host array of `size` elements of `dtype`; the memoryview keeps the array alive.

    Takes NumPy arrays, and whatever has DLPack (on the CPU) or the buffer protocol. `label` names the device side.
    Raises DispatchError: TW609 no host memory, TW610 other element type, TW611 other size, TW612 not contiguous.
    """
    found = _as_numpy(array)
    expected = numpy_dtype(dtype)
    if found.dtype != expected:
        raise DispatchError(HOST_DTYPE.at(user_span(), got=found.dtype, what=label, expected=dtype.name))
    if found.size != size:
        raise DispatchError(HOST_SIZE.at(user_span(), got=found.size, what=label, expected=size))
    if not found.flags.c_contiguous:
        raise DispatchError(HOST_STRIDES.at(user_span(), shape=found.shape))
    return found.reshape(-1).view(np.uint8).data


def writable_bytes(array: object, dtype: type[DType], size: int, label: str) -> memoryview:
    """As `readable_bytes`, for a destination. Raises also DispatchError (TW613) when it is read-only."""
    found = readable_bytes(array, dtype, size, label)
    if found.readonly:
        raise DispatchError(HOST_READ_ONLY.at(user_span()))
    return found


def _as_numpy(array: Any) -> npt.NDArray[Any]:
    """The same memory as a plain NumPy array."""
    kind = type(array).__name__
    if isinstance(array, np.ma.MaskedArray):
        raise _refused(kind, "a masked array is values and a mask, and a copy would lose the mask")
    if isinstance(array, np.ndarray):
        return array.view(np.ndarray)
    try:
        if hasattr(array, "__dlpack__"):
            return np.from_dlpack(array)
        return np.asarray(memoryview(array))
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        raise _refused(kind, str(error)) from error


def _refused(kind: str, reason: str) -> DispatchError:
    return DispatchError(NO_HOST_MEMORY.at(user_span(), type=kind, reason=reason))

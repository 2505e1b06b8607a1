"""One argument of a direct call: an array in host memory, taken in place, or a number, or refused by its parameter's
name.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tilewright.core.codes.dispatch import (
    ARRAY_ALIGNMENT,
    ARRAY_DEVICE,
    ARRAY_ELEMENT,
    ARRAY_STRIDES,
    NO_ARRAY,
    SCALAR_KIND,
    SCALAR_VALUE,
)
from tilewright.core.diagnostics import Code
from tilewright.core.dtypes import DType
from tilewright.core.errors import DispatchError, TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.types import compact_strides
from tilewright.lang.signature import ParameterDefinition, TensorShape
from tilewright.lang.views import ViewBase
from tilewright.numerics.arrays import Array, from_numpy
from tilewright.numerics.scalars import as_number, element_type_of, packed

from .addresses import array_address
from .dlpack import CPU, DEVICE_NAMES, DLPackArray, ExportsDLPack, exports_dlpack, read_dlpack

__all__ = ["HostArray", "Place", "host_array", "host_number"]


@dataclass(frozen=True, slots=True)
class Place:
    """Which argument an error is about."""

    kernel: str
    index: int
    parameter: ParameterDefinition

    def refusal(self, code: Code, **values: Any) -> DispatchError:
        """The error of this argument, at the line of the call."""
        name = self.parameter.name
        return DispatchError(code.at(user_span(), kernel=self.kernel, index=self.index, name=name, **values))

    def wanted(self) -> str:
        """The element type that the parameter asks for."""
        dtype = self.parameter.annotation.dtype
        return "an element type" if dtype is None else dtype.name


@dataclass(frozen=True, slots=True)
class HostArray:
    """Memory of the caller. `owner` keeps it there for as long as this record lives."""

    address: int
    spec: TensorShape
    owner: object


def host_array(value: object, place: Place) -> HostArray:
    """The array behind an argument.

    Raises DispatchError: TW651 not an array, TW652 memory of another device, TW641 no element type, TW653 strides
    that no view has, TW654 a misaligned first element.
    """
    reason = _why_not(value)
    if reason:
        raise _no_array(value, place, reason)
    array = isinstance(value, np.ndarray)
    found = _from_numpy(cast("Array", value), place) if array else _from_dlpack(cast("ExportsDLPack", value), place)
    _require_alignment(found, place)
    return found


def host_number(value: object, place: Place) -> HostArray:
    """A copy of a number in the parameter's element type. Raises DispatchError: TW637 no number, TW638 out of range."""
    dtype = place.parameter.annotation.dtype or element_type_of(value)
    if dtype is None:
        expected = "a number with an element type, such as numpy.float32(x)"
        raise place.refusal(SCALAR_KIND, got=f"a {type(value).__name__}", expected=expected)
    array = packed(value, dtype)
    if array is None and as_number(value) is None:
        raise place.refusal(SCALAR_KIND, got=f"a {type(value).__name__}", expected=f"a number of {dtype.name}")
    if array is None:
        raise place.refusal(SCALAR_VALUE, got=repr(value), expected=dtype.name)
    return HostArray(array_address(array), TensorShape((), dtype, ()), array)


def _from_numpy(array: Array, place: Place) -> HostArray:
    try:
        dtype = from_numpy(array.dtype)
    except TileTypeError:
        raise _element(str(array.dtype), place) from None
    strides = _in_elements(array.shape, array.strides, dtype, place)
    spec = TensorShape(array.shape, dtype, strides, read_only=not array.flags.writeable)
    return HostArray(array_address(array), spec, array)


def _from_dlpack(value: ExportsDLPack, place: Place) -> HostArray:
    try:
        device, number = value.__dlpack_device__()
        if device != CPU:
            got = f"{DEVICE_NAMES.get(device, f'device type {device}')}:{number}"
            raise place.refusal(ARRAY_DEVICE, got=got, expected="the CPU")
        found = read_dlpack(value)
    except (BufferError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise _no_array(value, place, str(error)) from None  # the reason is in the text
    return _checked(found, place)


def _checked(found: DLPackArray, place: Place) -> HostArray:
    if found.element is None:
        raise _element(found.type_name, place)
    steps = tuple(found.element.itemsize * step for step in found.strides)
    strides = _in_elements(found.shape, steps, found.element, place)
    spec = TensorShape(found.shape, found.element, strides, read_only=found.read_only)
    return HostArray(found.address, spec, found.capsule)


def _in_elements(shape: tuple[int, ...], strides: tuple[int, ...], dtype: type[DType], place: Place) -> tuple[int, ...]:
    """Strides in elements. Where an axis has no second element its stride says nothing, and is that of plain order."""
    plain = compact_strides(shape)
    if 0 in shape:
        return plain
    size = dtype.itemsize
    steps = tuple(step if extent > 1 else same * size for extent, step, same in zip(shape, strides, plain, strict=True))
    if any(step < 0 or step % size for step in steps):
        raise place.refusal(ARRAY_STRIDES, strides=strides, dtype=dtype.name, itemsize=size)
    return tuple(step // size for step in steps)


def _require_alignment(array: HostArray, place: Place) -> None:
    dtype = array.spec.dtype
    if dtype is not None and array.address % dtype.itemsize and 0 not in array.spec.shape:
        raise place.refusal(ARRAY_ALIGNMENT, dtype=dtype.name, itemsize=dtype.itemsize)


def _element(got: str, place: Place) -> DispatchError:
    return place.refusal(ARRAY_ELEMENT, got=got, expected=place.wanted())


def _no_array(value: object, place: Place, reason: str) -> DispatchError:
    got = "None" if value is None else f"a {type(value).__name__}"
    return place.refusal(NO_ARRAY, got=got, reason=reason)


def _why_not(value: object) -> str:
    """Why this cannot be an array; empty when it may be one."""
    if type(value) is np.ndarray:  # first, because NumPy imports its masked arrays when they are named
        return ""
    if isinstance(value, np.ma.MaskedArray):
        return "its mask would be lost"
    if isinstance(value, TensorShape):
        return "it is a shape without memory, for capture"
    if isinstance(value, ViewBase):
        return "it belongs to a kernel that is being captured, where a helper function can be called but no kernel"
    if value is None:
        return "the parameter is not optional"
    if isinstance(value, np.ndarray):
        return ""
    if not exports_dlpack(value):
        return "it has no memory to work in"
    return "its memory holds the negated values (resolve_neg() makes them)" if _is_negated(value) else ""


def _is_negated(value: Any) -> bool:
    """Torch negates some views when they are read, and exports the memory as it is."""
    return bool(value.is_neg()) if hasattr(value, "is_neg") else False

"""DLPack read in place: address, element type, shape and strides of a capsule.

NumPy's own reader refuses what it has no dtype for (bfloat16, float8), so the structures of `dlpack.h` are read here.
The capsule is only looked at, never consumed: while it lives its producer keeps the memory, and when it goes its own
destructor gives the memory back. Layout and numbers: https://dmlc.github.io/dlpack/latest/c_api.html
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any, Protocol

from tilewright.core.dtypes import (
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
)  # fmt: skip
from tilewright.ir.types import compact_strides

__all__ = ["CPU", "DEVICE_NAMES", "DLPackArray", "ExportsDLPack", "exports_dlpack", "read_dlpack"]

CPU = 1
DEVICE_NAMES: Mapping[int, str] = MappingProxyType(
    {1: "cpu", 2: "cuda", 3: "cuda_host", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 11: "rocm_host"}
)
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL, _FLOAT8_E4M3FN, _FLOAT8_E5M2 = 0, 1, 2, 4, 6, 10, 12
_TYPE_NAMES: Mapping[int, str] = MappingProxyType(
    {_INT: "int", _UINT: "uint", _FLOAT: "float", _BFLOAT: "bfloat", 5: "complex", _BOOL: "bool"}
)
_ELEMENTS: Mapping[tuple[int, int], type[DType]] = MappingProxyType(
    {
        (_INT, 8): i8, (_INT, 16): i16, (_INT, 32): i32, (_INT, 64): i64,
        (_UINT, 8): u8, (_UINT, 16): u16, (_UINT, 32): u32, (_UINT, 64): u64,
        (_FLOAT, 16): f16, (_FLOAT, 32): f32, (_FLOAT, 64): f64,
        (_BFLOAT, 16): bf16, (_BOOL, 8): boolean, (_FLOAT8_E4M3FN, 8): float8_e4m3fn, (_FLOAT8_E5M2, 8): float8_e5m2,
    }
)  # fmt: skip
_READ_ONLY, _COPIED = 1, 2
_VERSION = (1, 0)


class ExportsDLPack(Protocol):
    """An array of any library that follows the protocol. `exports_dlpack` says whether something is one."""

    def __dlpack__(self, **_: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_size_t),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


@dataclass(frozen=True, slots=True)
class DLPackArray:
    """What a capsule says. `element` is None for a type that has no element type here; `strides` count elements."""

    address: int
    element: type[DType] | None
    type_name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    read_only: bool
    capsule: object


def exports_dlpack(value: object) -> bool:
    """Whether it has the methods; `isinstance` with a protocol takes ten times as long."""
    return hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")


def read_dlpack(exporter: ExportsDLPack) -> DLPackArray:
    """The array behind an exporter, without a copy.

    Raises BufferError for a capsule that is a copy or of a version that is not known, and whatever the exporter
    raises: BufferError, TypeError, ValueError or RuntimeError when it cannot export.
    """
    capsule = _export(exporter)
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if managed.major != _VERSION[0]:
            raise BufferError(f"its DLPack version is {managed.major}.{managed.minor}")
        if managed.flags & _COPIED:
            raise BufferError("it exports a copy of itself")
        return _read(managed.tensor, bool(managed.flags & _READ_ONLY), capsule)
    if _is_valid(capsule, b"dltensor"):
        return _read(_Tensor.from_address(_pointer(capsule, b"dltensor")), False, capsule)
    raise BufferError("its __dlpack__ returned no DLPack capsule")


def _export(exporter: ExportsDLPack) -> object:
    """A capsule of the newer form where the exporter has one, because only that says what is read-only."""
    try:
        return exporter.__dlpack__(max_version=_VERSION)
    except TypeError:  # an exporter from before the keyword
        return exporter.__dlpack__()


def _read(tensor: Any, read_only: bool, capsule: object) -> DLPackArray:  # noqa: FBT001  one fact of the capsule
    shape = tuple(tensor.shape[axis] for axis in range(tensor.rank))
    strides = tuple(tensor.strides[axis] for axis in range(tensor.rank)) if tensor.strides else compact_strides(shape)
    element = _ELEMENTS.get((tensor.type_code, tensor.bits)) if tensor.lanes == 1 else None
    name = f"{_TYPE_NAMES.get(tensor.type_code, f'type {tensor.type_code} of ')}{tensor.bits}"
    address = tensor.data + tensor.byte_offset if prod(shape) else 0
    return DLPackArray(address, element, name, shape, strides, read_only, capsule)


_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_size_t, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

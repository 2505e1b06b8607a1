"""How element types are represented in TIRx: as values, in the memory of arguments, and in buffers of our own.

Half types are computed in float32, float8 types are carried as their bits, and neither is known to TVM: what it does
with them differs from target to target. A boolean is one byte in memory.
"""

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.core.dtypes import DType

__all__ = ["held", "in_memory", "is_narrow", "local"]

_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "f32": "float32",
        "f64": "float64",
        **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
        **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
        "boolean": "bool",
        "f16": "float32",
        "bf16": "float32",
        "float8_e4m3fn": "uint8",
        "float8_e5m2": "uint8",
    }
)


def is_narrow(dtype: type[DType]) -> bool:
    """Whether it is a float type that is too narrow to compute in."""
    return dtype.is_float and dtype.bits < 32


def held(dtype: type[DType]) -> str:
    """The type of a value: half types as float32 that they represent exactly, float8 types as their bits."""
    return _NAMES[dtype.name]


def in_memory(dtype: type[DType]) -> str:
    """The type of an element of an argument: narrow floats as their bits, booleans as a byte."""
    if is_narrow(dtype) or dtype.kind == "bool":
        return f"uint{max(dtype.bits, 8)}"
    return held(dtype)


def local(dtype: type[DType]) -> str:
    """The type of an element of a buffer of our own: the value itself, booleans as a byte."""
    return "uint8" if dtype.kind == "bool" else held(dtype)

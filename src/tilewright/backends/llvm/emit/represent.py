"""How values of XIR are represented in LLVM.

Storage floats (f16, bf16, float8) are their bits, as integers: every target then moves them alike, and converting them
is spelled out in `casts`, where no target's shortcut (bf16 conversions that flush subnormals) can change a bit.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
)
from xdsl.ir import Attribute

from tilewright.backends.llvm.faults import misuse
from tilewright.backends.llvm.types import DOUBLE, FLOAT, I1, I8, I16, I32, I64, PTR, Kind, Type, vector
from tilewright.backends.llvm.values import Value, booleans, constant, float_bits, float_lanes, integers
from tilewright.xir.constants import number_of, width_of
from tilewright.xir.types import BufferType, is_vector, lanes_of, scalar_of
from tilewright.xir.values import storage_dtype

_INTEGERS: Mapping[int, Type] = MappingProxyType({1: I1, 8: I8, 16: I16, 32: I32, 64: I64})
_FLOATS: Mapping[type[Attribute], Type] = MappingProxyType(
    {
        Float64Type: DOUBLE,
        Float32Type: FLOAT,
        Float16Type: I16,
        BFloat16Type: I16,
        Float8E4M3FNType: I8,
        Float8E5M2Type: I8,
    }
)


@cache
def represented(kind: Attribute) -> Type:
    """The LLVM type of a scalar, vector or buffer type."""
    if isinstance(kind, BufferType):
        return PTR
    scalar = scalar_of(kind)
    width = width_of(scalar)
    element = _FLOATS.get(type(scalar)) if width is None else _INTEGERS.get(width)
    if element is None:
        raise misuse(f"a value of type {kind}")
    return vector(element, lanes_of(kind)) if is_vector(kind) else element


def is_storage_float(kind: Attribute) -> bool:
    """Whether the element type is a float that LLVM sees as bits."""
    scalar = scalar_of(kind)
    return type(scalar) in _FLOATS and _FLOATS[type(scalar)].kind is Kind.INTEGER


def constant_value(kind: Attribute, attribute: Attribute) -> Value:
    """The literal of a constant's attribute."""
    wanted, lanes = represented(kind), _lane_bits(kind, attribute)
    if len(set(lanes)) == 1:
        return float_bits(wanted, lanes[0]) if wanted.kind is Kind.FLOAT else constant(wanted, lanes[0])
    if wanted.kind is Kind.FLOAT:
        return float_lanes(wanted.element, lanes)
    if wanted.element is I1:
        return booleans([bits != 0 for bits in lanes])
    return integers(wanted.element, [_signed(bits, wanted.bits) for bits in lanes])


def _lane_bits(kind: Attribute, attribute: Attribute) -> list[int]:
    """The bit pattern of every lane, or of all of them at once."""
    dtype = storage_dtype(kind)
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        raw = cast("DenseIntOrFPElementsAttr[Any]", attribute).data.data
    else:
        raw = np.asarray(number_of(attribute)).astype(dtype).tobytes()
    size = dtype.itemsize
    return [int.from_bytes(raw[start : start + size], "little") for start in range(0, len(raw), size)]


def _signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) else bits

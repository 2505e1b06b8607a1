"""Constant attributes of XIR: made from Python numbers, and read back as Python numbers."""

import struct
from functools import lru_cache
from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, SSAValue

from tilewright.xir.types import scalar_of

__all__ = [
    "Bits",
    "Number",
    "bits_of",
    "constant_attribute",
    "dense_attribute",
    "known_int",
    "number_of",
    "width_of",
    "wrapped",
]

Number = int | float
Bits = int | bytes


def wrapped(value: int, width: int) -> int:
    """`value` modulo 2**width, as the signed number that XIR constants carry (so `true` is -1)."""
    half = 1 << (width - 1)
    return ((value + half) & ((1 << width) - 1)) - half


def width_of(kind: Attribute) -> int | None:
    """Bits of an integer scalar type; None for another type."""
    return cast(IntegerType, kind).width.data if isinstance(kind, IntegerType) else None


def bits_of(kind: Attribute, value: Number) -> Bits:
    """A key that tells every constant apart: -0.0 is not 0.0, a NaN is itself."""
    width = width_of(scalar_of(kind))
    return struct.pack("<d", value) if width is None else wrapped(int(value), width)


def constant_attribute(kind: Attribute, value: Number) -> Attribute:
    """The attribute of a scalar, or of a vector that holds `value` in every lane."""
    if isinstance(kind, VectorType):
        return dense_attribute(cast("VectorType[Attribute]", kind), [value])
    width = width_of(kind)
    if width is None:
        return FloatAttr(float(value), cast(AnyFloat, kind))
    return IntegerAttr(wrapped(int(value), width), cast(IntegerType, kind))


def dense_attribute(kind: VectorType[Attribute], values: list[Number]) -> Attribute:
    """The attribute of a vector with the given lanes; one value fills all."""
    width = width_of(kind.get_element_type())
    if width is None:
        floats = [float(value) for value in values]
        return DenseIntOrFPElementsAttr.from_list(cast("VectorType[AnyFloat]", kind), floats)
    integers = [wrapped(int(value), width) for value in values]
    return DenseIntOrFPElementsAttr.from_list(cast("VectorType[IntegerType]", kind), integers)


def known_int(value: SSAValue) -> int | None:
    """The signed number an integer value always is, when it is a constant (a splat for vectors)."""
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return None
    attribute = owner.properties["value"]
    if isinstance(attribute, IntegerAttr):
        return cast("IntegerAttr[IntegerType]", attribute).value.data
    lanes = _lanes(attribute)
    return lanes[0] if lanes is not None and len(set(lanes)) == 1 else None


def number_of(attribute: Attribute) -> Number:
    """The number of a scalar constant's attribute."""
    return cast("IntegerAttr[IntegerType] | FloatAttr[AnyFloat]", attribute).value.data


@lru_cache(maxsize=4096)
def _lanes(attribute: Attribute) -> tuple[int, ...] | None:
    if isinstance(attribute, DenseIntOrFPElementsAttr) and isinstance(attribute.get_element_type(), IntegerType):
        return tuple(cast("DenseIntOrFPElementsAttr[IntegerType]", attribute).get_values())
    return None

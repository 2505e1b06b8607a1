"""Operands: a type and the text that names it. Constants are spelled so that no bit is lost on the way to LLVM."""

import struct
from collections.abc import Sequence

from tilewright.backends.llvm.faults import misuse
from tilewright.backends.llvm.types import BFLOAT, DOUBLE, FLOAT, HALF, I1, PTR, Kind, Type, vector


class Value:
    """An operand of known type. `ref` is what stands after the type in the text."""

    __slots__ = ("ref", "type")

    def __init__(self, type: Type, ref: str) -> None:
        self.type = type
        self.ref = ref

    def __str__(self) -> str:
        return f"{self.type.text} {self.ref}"

    def __repr__(self) -> str:
        return f"Value({self})"


class IntegerConstant(Value):
    """A scalar integer whose value the builder may look at."""

    __slots__ = ("value",)

    def __init__(self, type: Type, value: int) -> None:
        super().__init__(type, str(value))
        self.value = value


def _quiet_double(sign: int, payload_bits: int, payload: int) -> int:
    return sign << 63 | 0x7FF << 52 | payload << (52 - payload_bits)


def _float_literal(bits: int) -> str:
    """LLVM spells a `float` as the double of the same value; a NaN keeps its payload by shifting it."""
    if bits >> 23 & 0xFF == 0xFF:
        return f"0x{_quiet_double(bits >> 31, 23, bits & 0x7FFFFF):016X}"
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def float_bits(type: Type, bits: int) -> Value:
    """The float (or vector of floats) with exactly this bit pattern in every lane."""
    return _spread(type, _literal(type.element, bits))


def float_lanes(element: Type, lanes: Sequence[int]) -> Value:
    """A vector of floats, each given by its bit pattern."""
    listed = ", ".join(f"{element.text} {_literal(element, bits)}" for bits in lanes)
    return Value(vector(element, len(lanes)), f"<{listed}>")


def _literal(element: Type, bits: int) -> str:
    if element is FLOAT:
        return _float_literal(bits)
    if element is DOUBLE:
        return f"0x{bits:016X}"
    if element is HALF:
        return f"0xH{bits:04X}"
    if element is BFLOAT:
        return f"0xR{bits:04X}"
    raise misuse(f"a float constant of type {element}")


def _encode(element: Type, value: float) -> int:
    """The bits of `value` rounded to nearest even; a finite value beyond the range becomes an infinity."""
    if element is DOUBLE:
        return int.from_bytes(struct.pack("<d", value), "little")
    if element is BFLOAT:
        bits = _encode(FLOAT, value)
        if bits & 0xFFFF:
            raise misuse(f"{value!r} is no bfloat: round it first and use float_bits")
        return bits >> 16
    try:
        return int.from_bytes(struct.pack("<e" if element is HALF else "<f", value), "little")
    except OverflowError:
        return _encode(element, float("inf") if value > 0 else float("-inf"))


def _spread(type: Type, literal: str) -> Value:
    return Value(type, f"splat ({type.element.text} {literal})" if type.is_vector else literal)


def constant(type: Type, value: float) -> Value:
    """`value` in every lane of `type`. Integers wrap into the type's width; floats round to nearest even."""
    element = type.element
    if element.kind is Kind.FLOAT:
        return float_bits(type, _encode(element, float(value)))
    if element.kind is not Kind.INTEGER:
        raise misuse(f"a numeric constant of type {type}")
    if element is I1:
        return _spread(type, "true" if value else "false")
    wrapped = int(value) & ((1 << element.bits) - 1)
    if wrapped >> (element.bits - 1):
        wrapped -= 1 << element.bits
    return _spread(type, str(wrapped)) if type.is_vector else IntegerConstant(type, wrapped)


def integers(element: Type, values: Sequence[int]) -> Value:
    """A vector of integer constants, one a lane."""
    return Value(vector(element, len(values)), "<" + ", ".join(f"{element.text} {value}" for value in values) + ">")


def booleans(values: Sequence[bool]) -> Value:
    """A constant mask."""
    spelled = ("true" if value else "false" for value in values)
    return Value(vector(I1, len(values)), "<" + ", ".join(f"i1 {value}" for value in spelled) + ">")


def zero(type: Type) -> Value:
    """All bits zero, for every type."""
    return Value(type, "zeroinitializer")


def poison(type: Type) -> Value:
    return Value(type, "poison")


NULL = Value(PTR, "null")

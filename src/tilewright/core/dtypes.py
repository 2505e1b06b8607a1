"""Element types as classes, so that they are annotations for type checkers and values for the compiler.

They are compared by name, print as their name, and are never instantiated. The facts of a float format follow from
its exponent and mantissa widths; `float8_e4m3fn` gives up its infinities for one more binade of finite values.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NoReturn

from .codes.types import DTYPE_CALLED, UNKNOWN_DTYPE
from .errors import TileTypeError
from .source import user_span

__all__ = [
    "ALL_DTYPES", "DType", "boolean", "bf16", "by_name", "f16", "f32", "f64", "float8_e4m3fn", "float8_e5m2",
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
]  # fmt: skip

Kind = Literal["float", "int", "uint", "bool"]


class DTypeMeta(type):
    """Gives dtype classes their printed name and equality by it, also across reloads of this module."""

    name: str

    def __repr__(cls) -> str:
        return cls.name

    def __eq__(cls, other: object) -> bool:
        return type(other).__name__ == DTypeMeta.__name__ and repr(other) == cls.name

    def __hash__(cls) -> int:
        return hash(cls.name)

    def __call__(cls, *_: object, **__: object) -> NoReturn:
        raise TileTypeError(DTYPE_CALLED.at(user_span(), dtype=cls.name))

    def __reduce__(cls) -> str:
        return cls.name


class DType(metaclass=DTypeMeta):
    """Base of all element types.

    `bits` is the width of the value (1 for `boolean`), `itemsize` its bytes in memory, `min` and `max` the finite
    range.
    """

    name: ClassVar[str] = "dtype"
    bits: ClassVar[int]
    itemsize: ClassVar[int]
    kind: ClassVar[Kind]
    is_float: ClassVar[bool] = False
    is_integer: ClassVar[bool] = False
    is_signed: ClassVar[bool] = False
    min: ClassVar[Any]
    max: ClassVar[Any]


class FloatType(DType):
    """A binary float: sign, `exponent_bits`, and `mantissa_bits` explicit fraction bits."""

    name = "float"
    kind = "float"
    is_float = True
    is_signed = True
    exponent_bits: ClassVar[int]
    mantissa_bits: ClassVar[int]
    bias: ClassVar[int]
    has_infinity: ClassVar[bool]
    min: ClassVar[float]
    max: ClassVar[float]
    smallest_normal: ClassVar[float]
    smallest_subnormal: ClassVar[float]
    eps: ClassVar[float]

    def __init_subclass__(cls, *, exponent: int, mantissa: int, infinity: bool = True) -> None:
        cls.name = cls.__name__
        cls.bits = 1 + exponent + mantissa
        cls.itemsize = cls.bits // 8
        cls.exponent_bits, cls.mantissa_bits, cls.has_infinity = exponent, mantissa, infinity
        cls.bias = 2 ** (exponent - 1) - 1
        cls.eps = 2.0**-mantissa
        cls.smallest_normal = 2.0 ** (1 - cls.bias)
        cls.smallest_subnormal = cls.smallest_normal * cls.eps
        # Without infinities only the code with every bit set is not a number; the rest of its binade is finite.
        top, largest = (cls.bias, 2 - cls.eps) if infinity else (cls.bias + 1, 2 - 2 * cls.eps)
        cls.max = largest * 2.0**top
        cls.min = -cls.max


class IntType(DType):
    """A two's complement integer."""

    name = "integer"
    is_integer = True
    min: ClassVar[int]
    max: ClassVar[int]

    def __init_subclass__(cls, *, bits: int, signed: bool) -> None:
        cls.name = cls.__name__
        cls.bits, cls.itemsize = bits, bits // 8
        cls.kind = "int" if signed else "uint"
        cls.is_signed = signed
        cls.min = -(2 ** (bits - 1)) if signed else 0
        cls.max = 2 ** (bits - signed) - 1


class f16(FloatType, exponent=5, mantissa=10):
    """IEEE binary16."""


class bf16(FloatType, exponent=8, mantissa=7):
    """The upper half of a binary32."""


class f32(FloatType, exponent=8, mantissa=23):
    """IEEE binary32."""


class f64(FloatType, exponent=11, mantissa=52):
    """IEEE binary64."""


class float8_e4m3fn(FloatType, exponent=4, mantissa=3, infinity=False):
    """Eight bits, finite only: one NaN of each sign and a largest value of 448."""


class float8_e5m2(FloatType, exponent=5, mantissa=2):
    """Eight bits in the manner of IEEE, with infinities."""


class i8(IntType, bits=8, signed=True):
    """Signed, one byte."""


class i16(IntType, bits=16, signed=True):
    """Signed, two bytes."""


class i32(IntType, bits=32, signed=True):
    """Signed, four bytes."""


class i64(IntType, bits=64, signed=True):
    """Signed, eight bytes."""


class u8(IntType, bits=8, signed=False):
    """Unsigned, one byte."""


class u16(IntType, bits=16, signed=False):
    """Unsigned, two bytes."""


class u32(IntType, bits=32, signed=False):
    """Unsigned, four bytes."""


class u64(IntType, bits=64, signed=False):
    """Unsigned, eight bytes."""


class boolean(DType):
    """A truth value: one byte in memory, 0 or 1."""

    name = "boolean"
    bits = 1
    itemsize = 1
    kind = "bool"
    min: ClassVar[int] = 0
    max: ClassVar[int] = 1


ALL_DTYPES: tuple[type[DType], ...] = (
    f16, bf16, f32, f64, float8_e4m3fn, float8_e5m2, i8, i16, i32, i64, u8, u16, u32, u64, boolean,
)  # fmt: skip

_BY_NAME: Mapping[str, type[DType]] = MappingProxyType({dtype.name: dtype for dtype in ALL_DTYPES})


def by_name(name: str) -> type[DType]:
    """The element type printed as `name`. Raises TileTypeError (TW202) for any other text."""
    if name not in _BY_NAME:
        raise TileTypeError(UNKNOWN_DTYPE.at(user_span(), name=name, known=", ".join(_BY_NAME)))
    return _BY_NAME[name]

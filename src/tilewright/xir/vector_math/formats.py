"""What the functions need to know of float32 and float64, and the steps that several of them share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from types import MappingProxyType

from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.xir import ops
from tilewright.xir.builder import XirBuilder
from tilewright.xir.types import lanes_of, scalar_of, vector_of
from tilewright.xir.vector_math import polynomials

__all__ = ["F32", "F64", "INFINITY", "LOG2E", "NAN", "Format", "Lanes", "format_of"]

INFINITY, NAN = float("inf"), float("nan")


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point type.

    `magic` is 1.5 * 2**mantissa: adding it rounds to an integer, which then stands in the low bits. `ln2` is a high
    part with so few bits that its products with exponents are exact, and the rest. Arguments of exp are kept within
    `exp_range`, outside of which the result is 0 or infinity anyway.
    """

    element: Attribute
    integer: Attribute
    mantissa: int
    bias: int
    ln2: tuple[float, ...]
    exp_range: tuple[float, float]
    exp: tuple[float, ...]

    @property
    def magic(self) -> float:
        return 1.5 * 2.0**self.mantissa

    @property
    def magic_bits(self) -> int:
        return ((self.mantissa + self.bias) << self.mantissa) + (1 << (self.mantissa - 1))

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


F32 = Format(
    element=f32,
    integer=i32,
    mantissa=23,
    bias=127,
    ln2=polynomials.LN2_F32,
    exp_range=(-104.0, 89.0),
    exp=polynomials.EXP,
)
F64 = Format(
    element=f64,
    integer=i64,
    mantissa=52,
    bias=1023,
    ln2=polynomials.LN2_F64,
    exp_range=(-746.0, 710.0),
    exp=polynomials.EXP_F64,
)
_FORMATS: Mapping[Attribute, Format] = MappingProxyType({f32: F32, f64: F64})


def format_of(kind: Attribute) -> Format | None:
    """The format of a scalar or vector type; None for types that are not computed with."""
    return _FORMATS.get(scalar_of(kind))


class Lanes:
    """A builder together with the format and lane count of the values at hand: constants are plain numbers."""

    def __init__(self, b: XirBuilder, x: SSAValue, fmt: Format) -> None:
        self.b, self.fmt, self.lanes = b, fmt, lanes_of(x.type)
        self.kind, self.integers = vector_of(fmt.element, self.lanes), vector_of(fmt.integer, self.lanes)

    def real(self, value: float) -> SSAValue:
        return self.b.const(self.kind, value)

    def int_(self, value: int) -> SSAValue:
        return self.b.const(self.integers, value)

    def horner(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """The polynomial in `x`, lowest power first."""
        total = self.real(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.b.fma(total, x, self.real(coefficient))
        return total

    def below(self, x: SSAValue, limit: float) -> SSAValue:
        """`x`, or `limit` where x is above it; a NaN stays."""
        return self.b.select(self.b.fcmp("ogt", x, self.real(limit)), self.real(limit), x)

    def above(self, x: SSAValue, limit: float) -> SSAValue:
        """`x`, or `limit` where x is below it; a NaN stays."""
        return self.b.select(self.b.fcmp("olt", x, self.real(limit)), self.real(limit), x)

    def within(self, x: SSAValue, limit: float) -> SSAValue:
        """`x` kept between -limit and limit; a NaN stays."""
        return self.below(self.above(x, -limit), limit)

    def rounded(self, x: SSAValue, factor: float) -> tuple[SSAValue, SSAValue]:
        """`x * factor` rounded to an integer, as a float and as an integer."""
        b, magic = self.b, self.real(self.fmt.magic)
        shifted = self.nearest(x, factor)
        number = b.sub(b.bitcast(shifted, self.fmt.integer), self.int_(self.fmt.magic_bits))
        return b.fsub(shifted, magic), number

    def nearest(self, x: SSAValue, factor: float) -> SSAValue:
        """`x * factor` plus `magic`: the integer nearest to the product stands in the low bits."""
        magic = self.real(self.fmt.magic)
        return self.b.fadd(x, magic) if factor == 1.0 else self.b.fma(x, self.real(factor), magic)

    def power_of_two(self, n: SSAValue) -> SSAValue:
        """2**n for an integer n in the range of normal numbers."""
        b, fmt = self.b, self.fmt
        return b.bitcast(b.shl(b.add(n, self.int_(fmt.bias)), self.int_(fmt.mantissa)), fmt.element)

    def scaled(self, x: SSAValue, n: SSAValue) -> SSAValue:
        """`x * 2**n` rounded once, for an x near 1 and any n up to twice the exponent range."""
        return self.b.insert(ops.ScaleOp(x, n)).result

    def split(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Of a positive normal x: an integer e and m = x / 2**e in [sqrt(1/2), sqrt(2))."""
        b, fmt = self.b, self.fmt
        bits = b.bitcast(x, fmt.integer)
        exponent = b.shrsi(b.sub(bits, self.int_(_root_half_bits(fmt))), self.int_(fmt.mantissa))
        mantissa = b.sub(bits, b.shl(exponent, self.int_(fmt.mantissa)))
        return exponent, b.bitcast(mantissa, fmt.element)


def _root_half_bits(fmt: Format) -> int:
    """The bits of sqrt(1/2), a little rounded."""
    return ((fmt.bias - 1) << fmt.mantissa) + round((2**0.5 - 1) * 2**fmt.mantissa)


LOG2E = 1 / log(2)

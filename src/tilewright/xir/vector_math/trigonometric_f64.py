"""sin and cos of float64. Multiples of pi / 2 are taken off exactly, and what is left is a pair.

Arguments below 2**20 subtract n pi / 2 with pi / 2 in three parts. Larger ones, m * 2**e, need the bits of 2 / pi from
number e on: a 192-bit window of them times m, modulo 4, in 64-bit integers (Payne and Hanek, 1983). Vectors without a
large lane skip that.
"""

from itertools import pairwise

from xdsl.dialects import math
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from tilewright.xir.vector_math import polynomials
from tilewright.xir.vector_math.formats import F64, INFINITY, Lanes
from tilewright.xir.vector_math.pairs import Pair, plus, product, times
from tilewright.xir.vector_math.trigonometric import TWO_OVER_PI, chosen

__all__ = ["cos_f64", "sin_f64"]

_LARGE = 2.0**20
_LOW_HALF = (1 << 32) - 1
_WORDS = 20  # of 64 bits, of 2 / pi behind 64 zeros; 17 places where a window may begin


def sin_f64(v: Lanes, x: SSAValue) -> SSAValue:
    """Within 1 unit in the last place; NaN for infinities."""
    return v.b.select(v.b.fcmp("oeq", x, v.real(0.0)), x, _turned(v, x, 0))


def cos_f64(v: Lanes, x: SSAValue) -> SSAValue:
    """Within 1 unit in the last place; NaN for infinities."""
    return _turned(v, x, 1)


def _turned(v: Lanes, x: SSAValue, quarters: int) -> SSAValue:
    """sin(x + quarters pi / 2)."""
    b = v.b
    r, low, quadrant = _reduced(v, x)
    quadrant = b.add(quadrant, v.int_(quarters))
    square = b.fmul(r, r)
    half = b.fmul(square, v.real(0.5))
    level, lost = plus(v, v.real(1.0), b.fneg(half))
    bend = b.fma(b.fmul(r, square), v.horner(square, polynomials.SIN_F64), b.fmul(low, level))
    drop = b.fma(b.fmul(square, square), v.horner(square, polynomials.COS_F64), b.fsub(lost, b.fmul(r, low)))
    value = b.select(_has_bit(v, quadrant, 1), b.fadd(level, drop), b.fadd(r, bend))
    value = b.select(_has_bit(v, quadrant, 2), b.fneg(value), value)
    return b.select(b.fcmp("olt", b.math(math.AbsFOp, x), v.real(INFINITY)), value, b.fsub(x, x))


def _has_bit(v: Lanes, number: SSAValue, bit: int) -> SSAValue:
    return v.b.cmp("ne", v.b.and_(number, v.int_(bit)), v.int_(0))


def _reduced(v: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The pair r and the integer n with x = n pi / 2 + r, n modulo 4."""
    b, first, second, third = v.b, *polynomials.HALF_PI_F64
    n, quadrant = v.rounded(x, TWO_OVER_PI)
    exact = b.fma(n, v.real(-first), x)
    taken, missed = product(v, n, v.real(second))
    r = b.fsub(exact, taken)
    part = b.fsub(r, exact)
    lost = b.fsub(b.fsub(exact, b.fsub(r, part)), b.fadd(taken, part))
    low = b.fsub(lost, b.fma(n, v.real(third), missed))
    large = b.fcmp("oge", b.math(math.AbsFOp, x), v.real(_LARGE))
    with b.if_(b.fold_lanes("ori", large), [v.kind, v.kind, v.integers]) as branch:
        far = _reduced_large(v, x)
        near = (r, low, quadrant)
        branch.yield_([b.select(large, one, other) for one, other in zip(far, near, strict=True)])
    with branch.orelse() as other:
        other.yield_([r, low, quadrant])
    return branch.results[0], branch.results[1], branch.results[2]


def _reduced_large(v: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    b = v.b
    bits = b.bitcast(x, F64.integer)
    m = b.or_(b.and_(bits, v.int_((1 << F64.mantissa) - 1)), v.int_(1 << F64.mantissa))
    exponent = b.and_(b.shrui(bits, v.int_(F64.mantissa)), v.int_(2047))
    place = b.maxsi(b.sub(exponent, v.int_(F64.bias + F64.mantissa - 62)), v.int_(0))
    first, second = _turns(v, m, _window(v, place))
    quadrant = b.shrui(b.add(first, v.int_(1 << 61)), v.int_(62))
    rest = b.sub(first, b.shl(quadrant, v.int_(62)))
    high = b.sitofp(rest, f64)
    low = b.sitofp(b.sub(rest, b.fptosi(high, F64.integer)), f64)
    behind = b.fmul(b.sitofp(b.shrui(second, v.int_(1)), f64), v.real(2.0**-63))
    scale = v.real(2.0**-62)
    turned = plus(v, b.fmul(high, scale), b.fmul(b.fadd(low, behind), scale))
    half_pi: Pair = (v.real(polynomials.HALF_PI_F64[0]), v.real(polynomials.HALF_PI_F64[1]))
    r, low = times(v, turned, half_pi)
    negative = b.cmp("slt", bits, v.int_(0))
    opposite = (b.fneg(r), b.fneg(low), b.sub(v.int_(0), quadrant))
    back = [b.select(negative, one, other) for one, other in zip(opposite, (r, low, quadrant), strict=True)]
    return back[0], back[1], back[2]


def _turns(v: Lanes, m: SSAValue, window: list[SSAValue]) -> tuple[SSAValue, SSAValue]:
    """The upper two words of the window times m, modulo 2**192: the first two bits count quarter turns."""
    b, (high, middle, low) = v.b, window
    lower = b.mul(m, middle)
    second = b.add(lower, _upper_product(v, m, low))
    carry = b.select(b.cmp("ult", second, lower), v.int_(1), v.int_(0))
    return b.add(b.add(b.mul(m, high), _upper_product(v, m, middle)), carry), second


def _upper_product(v: Lanes, x: SSAValue, y: SSAValue) -> SSAValue:
    """The upper 64 bits of the product of two unsigned numbers."""
    b = v.b
    (x1, x0), (y1, y0) = ((b.shrui(each, v.int_(32)), b.and_(each, v.int_(_LOW_HALF))) for each in (x, y))
    inner, outer = b.mul(x1, y0), b.mul(x0, y1)
    middle = b.add(b.shrui(b.mul(x0, y0), v.int_(32)), b.and_(inner, v.int_(_LOW_HALF)))
    middle = b.add(middle, b.and_(outer, v.int_(_LOW_HALF)))
    upper = b.add(b.mul(x1, y1), b.shrui(middle, v.int_(32)))
    return b.add(upper, b.add(b.shrui(inner, v.int_(32)), b.shrui(outer, v.int_(32))))


def _window(v: Lanes, place: SSAValue) -> list[SSAValue]:
    """192 bits of 2 / pi behind 64 zeros, from bit number `place` on."""
    b = v.b
    which, shift = b.shrui(place, v.int_(6)), b.and_(place, v.int_(63))
    back = b.sub(v.int_(63), shift)
    words = [chosen(v, which, [_word(first + part) for first in range(_WORDS - 3)]) for part in range(4)]
    return [b.or_(b.shl(one, shift), b.shrui(b.shrui(two, v.int_(1)), back)) for one, two in pairwise(words)]


def _word(number: int) -> int:
    """A word of 2 / pi, with word 0 before the point; as a signed number."""
    word = (polynomials.TWO_OVER_PI >> (polynomials.TWO_OVER_PI_BITS - 64 * number)) & ((1 << 64) - 1)
    return word - (1 << 64) if word >> 63 else word

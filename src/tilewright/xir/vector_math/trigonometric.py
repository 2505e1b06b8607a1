"""sin and cos of float32, computed in float64 after an exact reduction by multiples of pi / 2.

Arguments below 2**23 subtract n pi / 2 with pi / 2 in two float64 parts. Larger ones, which are integers m * 2**e,
need the bits of 2 / pi from number e on: a 128-bit window of them times m, modulo 4, in 64-bit integers (Payne and
Hanek, "Radian reduction for trigonometric functions", 1983). Vectors without a large lane skip that.
"""

from itertools import pairwise
from math import pi

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import SSAValue

from tilewright.xir.vector_math import polynomials
from tilewright.xir.vector_math.formats import F32, F64, INFINITY, Lanes

__all__ = ["TWO_OVER_PI", "chosen", "cos", "reduced", "sin"]

TWO_OVER_PI = 2 / pi
_LARGE = 2.0**23
_HALF_PI_HIGH, _HALF_PI_LOW, _ = polynomials.HALF_PI_F64


def sin(v: Lanes, x: SSAValue) -> SSAValue:
    """Below 0.51 units in the last place; NaN for infinities."""
    return v.b.select(v.b.fcmp("oeq", x, v.real(0.0)), x, _turned(v, x, 0))


def cos(v: Lanes, x: SSAValue) -> SSAValue:
    """Below 0.51 units in the last place; NaN for infinities."""
    return _turned(v, x, 1)


def _turned(v: Lanes, x: SSAValue, quarters: int) -> SSAValue:
    """sin(x + quarters pi / 2)."""
    b, wide = v.b, Lanes(v.b, x, F64)
    r, quadrant = reduced(v, x)
    quadrant = b.add(quadrant, wide.int_(quarters))
    square = b.fmul(r, r)
    sine = b.fma(b.fmul(r, square), wide.horner(square, polynomials.SIN), r)
    even = b.fma(square, wide.real(-0.5), wide.real(1.0))
    cosine = b.fma(b.fmul(square, square), wide.horner(square, polynomials.COS), even)
    value = b.select(_has_bit(wide, quadrant, 1), cosine, sine)
    value = b.truncf(b.select(_has_bit(wide, quadrant, 2), b.fneg(value), value), f32)
    finite = b.fcmp("olt", b.math(math.AbsFOp, x), v.real(INFINITY))
    return b.select(finite, value, b.fsub(x, x))


def _has_bit(wide: Lanes, number: SSAValue, bit: int) -> SSAValue:
    return wide.b.cmp("ne", wide.b.and_(number, wide.int_(bit)), wide.int_(0))


def reduced(v: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The pair r, n with x = n pi / 2 + r: r in about [-pi / 4, pi / 4] as float64, n as i64 modulo 4."""
    b, wide = v.b, Lanes(v.b, x, F64)
    large = b.fcmp("oge", b.math(math.AbsFOp, x), v.real(_LARGE))
    value = b.extf(x, f64)
    n, quadrant = wide.rounded(value, TWO_OVER_PI)
    r = b.fma(n, wide.real(-_HALF_PI_LOW), b.fma(n, wide.real(-_HALF_PI_HIGH), value))
    with b.if_(b.fold_lanes("ori", large), [wide.kind, wide.integers]) as branch:
        far_r, far_quadrant = _reduced_large(v, wide, x)
        branch.yield_([b.select(large, far_r, r), b.select(large, far_quadrant, quadrant)])
    with branch.orelse() as other:
        other.yield_([r, quadrant])
    return branch.results[0], branch.results[1]


def _reduced_large(v: Lanes, wide: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    b = v.b
    bits = b.bitcast(x, F32.integer)
    significand = b.or_(b.and_(bits, v.int_((1 << F32.mantissa) - 1)), v.int_(1 << F32.mantissa))
    m = b.extui(significand, i64)
    exponent = b.and_(b.shrui(bits, v.int_(F32.mantissa)), v.int_(255))
    e = b.extsi(b.maxsi(b.sub(exponent, v.int_(F32.bias + F32.mantissa)), v.int_(0)), i64)
    high, low = _window(wide, e)
    turns = _turns(wide, m, high, low)
    quadrant = b.shrui(b.add(turns, wide.int_(1 << 61)), wide.int_(62))
    rest = b.sitofp(b.sub(turns, b.shl(quadrant, wide.int_(62))), f64)
    r = b.fmul(rest, wide.real(pi / 2 * 2.0**-62))
    negative = b.cmp("slt", bits, v.int_(0))
    quadrant = b.select(negative, b.sub(wide.int_(0), quadrant), quadrant)
    return b.select(negative, b.fneg(r), r), quadrant


def _turns(wide: Lanes, m: SSAValue, high: SSAValue, low: SSAValue) -> SSAValue:
    """The window times m modulo 4, in units of 2**-62; `high` has 32 bits before the point and 32 behind."""
    b = wide.b
    first = b.shl(b.mul(m, high), wide.int_(30))
    second = b.shrui(b.mul(m, b.shrui(low, wide.int_(32))), wide.int_(2))
    third = b.shrui(b.mul(m, b.and_(low, wide.int_((1 << 32) - 1))), wide.int_(34))
    return b.add(b.add(first, second), third)


def _window(wide: Lanes, e: SSAValue) -> tuple[SSAValue, SSAValue]:
    """128 bits of 2**e * 2 / pi, the first 32 of them before the point; integer bits further up are multiples of 4."""
    b = wide.b
    which, shift = b.shrui(e, wide.int_(5)), b.and_(e, wide.int_(31))
    pieces = [chosen(wide, which, [_pair(group + 2 * part) for group in range(4)]) for part in range(3)]
    back = b.sub(wide.int_(63), shift)
    joined = [
        b.or_(b.shl(first, shift), b.shrui(b.shrui(second, wide.int_(1)), back)) for first, second in pairwise(pieces)
    ]
    return joined[0], joined[1]


def chosen(wide: Lanes, which: SSAValue, values: list[int]) -> SSAValue:
    """The value of the number that `which` is; the last one beyond."""
    b = wide.b
    chosen = wide.int_(values[-1])
    for number in reversed(range(len(values) - 1)):
        chosen = b.select(b.cmp("eq", which, wide.int_(number)), wide.int_(values[number]), chosen)
    return chosen


def _pair(first: int) -> int:
    """Words first - 1 and first of 2 / pi, counted from 0 behind the point; word -1 is the integer part, 0."""
    return (polynomials.TWO_OVER_PI >> (polynomials.TWO_OVER_PI_BITS - 32 * (first + 1))) & ((1 << 64) - 1)

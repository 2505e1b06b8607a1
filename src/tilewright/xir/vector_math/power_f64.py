"""pow of float64. The logarithm is a pair of about 66 bits in all, since exponents up to 1100 multiply its error.

With x = 2**e m and s = (m - 1) / (m + 1), log m = s (2 + w (2/3 + w p(w))) for w = s**2.
"""

from xdsl.dialects import math
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from tilewright.xir.vector_math import polynomials
from tilewright.xir.vector_math.formats import INFINITY, Lanes
from tilewright.xir.vector_math.pairs import Pair, plus, times
from tilewright.xir.vector_math.power import signed

__all__ = ["pow_f64"]

_BEYOND = 1100.0  # powers of two overflow and vanish well inside


def pow_f64(v: Lanes, x: SSAValue, y: SSAValue) -> SSAValue:
    """|x|**y = 2**(y log2 |x|), then the sign and the special cases. Within 1 unit in the last place."""
    b = v.b
    size = b.math(math.AbsFOp, x)
    high, low = _log2(v, size)
    z = b.fmul(y, high)
    inside = b.fcmp("olt", b.math(math.AbsFOp, z), v.real(_BEYOND))
    rest = b.select(inside, b.fma(y, low, b.fma(y, high, b.fneg(z))), v.real(0.0))
    unit = b.and_(b.fcmp("oeq", size, v.real(1.0)), b.fcmp("ord", y, y))
    z = b.select(unit, v.real(0.0), z)
    return signed(v, x, y, _exp2(v, v.within(z, _BEYOND), rest))


def _log2(v: Lanes, x: SSAValue) -> Pair:
    """log2 of x >= 0 as a pair; infinity, that of 0 and NaN stand in the first part."""
    b = v.b
    tiny = b.fcmp("olt", x, v.real(v.fmt.smallest_normal))
    lift = v.fmt.mantissa + 1
    exponent, m = v.split(b.select(tiny, b.fmul(x, v.real(2.0**lift)), x))
    e = b.sitofp(b.sub(exponent, b.select(tiny, v.int_(lift), v.int_(0))), f64)
    high, low = times(v, _log(v, m), _constant(v, polynomials.LOG2E_F64))
    total, lost = plus(v, e, high)
    total = b.select(b.fcmp("olt", x, v.real(INFINITY)), total, x)
    return b.select(b.fcmp("oeq", x, v.real(0.0)), v.real(-INFINITY), total), b.fadd(lost, low)


def _log(v: Lanes, m: SSAValue) -> Pair:
    """The natural logarithm of an m near 1."""
    b, one = v.b, v.real(1.0)
    above, below = b.fsub(m, one), b.fadd(m, one)
    lost = b.fsub(m, b.fsub(below, one))
    s = b.fdiv(above, below)
    missing = b.fma(b.fneg(s), lost, b.fma(b.fneg(s), below, above))
    quotient = (s, b.fdiv(missing, below))
    square = times(v, quotient, quotient)
    two_thirds, rest = _constant(v, polynomials.TWO_THIRDS_F64)
    factor, lost = plus(v, two_thirds, b.fmul(square[0], v.horner(square[0], polynomials.POW_F64)))
    high, low = times(v, square, (factor, b.fadd(lost, rest)))
    inner, lost = plus(v, v.real(2.0), high)
    return times(v, quotient, (inner, b.fadd(lost, low)))


def _exp2(v: Lanes, z: SSAValue, rest: SSAValue) -> SSAValue:
    """2**(z + rest) for a small rest."""
    b = v.b
    n, number = v.rounded(z, 1.0)
    r, low = times(v, plus(v, b.fsub(z, n), rest), _constant(v, polynomials.LN2_NEAREST_F64))
    tail = b.fma(v.horner(r, polynomials.EXP_F64), b.fmul(r, r), low)
    return v.scaled(b.fadd(b.fadd(tail, r), v.real(1.0)), number)


def _constant(v: Lanes, parts: tuple[float, ...]) -> Pair:
    high, low = parts
    return v.real(high), v.real(low)

"""pow of float64: the logarithm as a sum of two numbers, about 66 bits in all, since exponents up to 1100 multiply its error.

With x = 2**e m and s = (m - 1) / (m + 1), log m = s (2 + w (2/3 + w p(w))) for w = s**2. Pairs of values stand for their
sum, the second one small (Dekker, "A floating-point technique for extending the available precision", 1971).
"""

from xdsl.dialects import math
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from tilewright.xir.vector_math import polynomials
from tilewright.xir.vector_math.formats import INFINITY, Lanes
from tilewright.xir.vector_math.power import signed

__all__ = ["pow_f64"]

Pair = tuple[SSAValue, SSAValue]

_BEYOND = 1100.0  # powers of two overflow and vanish well inside
_LOG2E_HIGH, _LOG2E_LOW = polynomials.LOG2E_F64
_LN2_HIGH, _LN2_LOW = polynomials.LN2_NEAREST_F64
_TWO_THIRDS = (2 / 3, 2.0**-53 / 3)


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
    """log2 of x >= 0 as a pair; infinities and zeros have theirs in the first part, and NaN too."""
    b = v.b
    tiny = b.fcmp("olt", x, v.real(v.fmt.smallest_normal))
    lift = v.fmt.mantissa + 1
    exponent, m = v.split(b.select(tiny, b.fmul(x, v.real(2.0**lift)), x))
    e = b.sitofp(b.sub(exponent, b.select(tiny, v.int_(lift), v.int_(0))), f64)
    natural = _log(v, m)
    high, low = _times(v, natural, (v.real(_LOG2E_HIGH), v.real(_LOG2E_LOW)))
    total = b.fadd(e, high)
    low = b.fadd(b.fadd(b.fsub(e, total), high), low)
    total = b.select(b.fcmp("olt", x, v.real(INFINITY)), total, x)
    return b.select(b.fcmp("oeq", x, v.real(0.0)), v.real(-INFINITY), total), low


def _log(v: Lanes, m: SSAValue) -> Pair:
    b, one = v.b, v.real(1.0)
    above, below = b.fsub(m, one), b.fadd(m, one)
    lost = b.fsub(m, b.fsub(below, one))
    s = b.fdiv(above, below)
    missing = b.fma(b.fneg(s), lost, b.fma(b.fneg(s), below, above))
    quotient = (s, b.fdiv(missing, below))
    square = _times(v, quotient, quotient)
    tail = b.fmul(square[0], v.horner(square[0], polynomials.POW_F64))
    factor = _plus(v, _TWO_THIRDS, (tail, None))
    inner = _plus(v, (2.0, 0.0), _times(v, square, factor))
    return _times(v, quotient, inner)


def _times(v: Lanes, x: Pair, y: Pair) -> Pair:
    b = v.b
    high = b.fmul(x[0], y[0])
    return high, b.fma(x[0], y[1], b.fma(x[1], y[0], b.fma(x[0], y[0], b.fneg(high))))


def _plus(v: Lanes, constant: tuple[float, float], x: tuple[SSAValue, SSAValue | None]) -> Pair:
    """A constant and a pair (or a number) that is smaller."""
    b, first = v.b, v.real(constant[0])
    high = b.fadd(first, x[0])
    lost = b.fadd(b.fsub(first, high), x[0])
    rest = v.real(constant[1]) if x[1] is None else x[1]
    return high, b.fadd(lost, rest)


def _exp2(v: Lanes, z: SSAValue, rest: SSAValue) -> SSAValue:
    """2**(z + rest) for a small rest."""
    b = v.b
    n, number = v.rounded(z, 1.0)
    whole = b.fsub(z, n)
    f = b.fadd(whole, rest)
    lost = b.fadd(b.fsub(whole, f), rest)
    r, low = _times(v, (f, lost), (v.real(_LN2_HIGH), v.real(_LN2_LOW)))
    tail = b.fma(v.horner(r, polynomials.EXP_F64), b.fmul(r, r), low)
    return v.scaled(b.fadd(b.fadd(tail, r), v.real(1.0)), number)

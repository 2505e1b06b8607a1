"""pow of float32, computed in float64."""

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from tilewright.xir.vector_math import polynomials
from tilewright.xir.vector_math.formats import F64, INFINITY, LOG2E, NAN, Lanes

__all__ = ["fast_pow", "pow_", "signed"]

_BEYOND = 160.0  # powers of two of float32 overflow and vanish well inside


Coefficients = tuple[float, ...]


def pow_(v: Lanes, x: SSAValue, y: SSAValue) -> SSAValue:
    """Below 0.51 units in the last place."""
    return _power(v, x, y, polynomials.LOG_F64, polynomials.EXP_F64)


def fast_pow(v: Lanes, x: SSAValue, y: SSAValue) -> SSAValue:
    """The fast tier: polynomials of lower degree."""
    return _power(v, x, y, polynomials.FAST_LOG_F64, polynomials.FAST_EXP_F64)


def _power(v: Lanes, x: SSAValue, y: SSAValue, log: Coefficients, exp: Coefficients) -> SSAValue:
    """|x|**y = 2**(y log2 |x|), then the sign and the special cases of IEEE 754's pow."""
    b, wide = v.b, Lanes(v.b, x, F64)
    size, exponent = b.extf(b.math(math.AbsFOp, x), f64), b.extf(y, f64)
    z = b.fmul(exponent, _log2(wide, size, log))
    unit = b.and_(b.fcmp("oeq", size, wide.real(1.0)), b.fcmp("ord", exponent, exponent))
    z = b.select(unit, wide.real(0.0), z)
    return signed(v, x, y, b.truncf(_exp2(wide, z, exp), f32))


def _log2(wide: Lanes, x: SSAValue, tail: Coefficients) -> SSAValue:
    """log2 of x >= 0; float32 numbers are all normal here, except 0."""
    b = wide.b
    e, m = wide.split(x)
    s = b.fdiv(b.fsub(m, wide.real(1.0)), b.fadd(m, wide.real(1.0)))
    w = b.fmul(s, s)
    log_m = b.fmul(s, wide.horner(w, (2.0, *tail)))
    value = b.fma(log_m, wide.real(LOG2E), b.sitofp(e, f64))
    value = b.select(b.fcmp("olt", x, wide.real(INFINITY)), value, x)
    return b.select(b.fcmp("oeq", x, wide.real(0.0)), wide.real(-INFINITY), value)


def _exp2(wide: Lanes, z: SSAValue, tail: Coefficients) -> SSAValue:
    b = wide.b
    z = wide.below(wide.above(z, -_BEYOND), _BEYOND)
    n, number = wide.rounded(z, 1.0)
    r = b.fmul(b.fsub(z, n), wide.real(1 / LOG2E))
    return b.fmul(wide.horner(r, (1.0, 1.0, *tail)), wide.power_of_two(number))


def signed(v: Lanes, x: SSAValue, y: SSAValue, size: SSAValue) -> SSAValue:
    """Odd powers of negative bases are negative, powers between integers are none, and 1 is a power of everything."""
    b, zero, one = v.b, v.real(0.0), v.real(1.0)
    half = b.fmul(y, v.real(0.5))
    integral = b.fcmp("oeq", b.math(math.RoundEvenOp, y), y)
    odd = b.and_(integral, b.fcmp("one", b.math(math.RoundEvenOp, half), half))
    negative = b.cmp("slt", b.bitcast(x, v.fmt.integer), v.int_(0))
    value = b.select(b.and_(odd, negative), b.fneg(size), size)
    below = b.and_(b.fcmp("olt", x, zero), b.fcmp("ogt", x, v.real(-INFINITY)))
    value = b.select(b.and_(below, b.not_(b.or_(integral, b.fcmp("uno", y, y)))), v.real(NAN), value)
    certain = b.or_(b.fcmp("oeq", x, one), b.fcmp("oeq", y, zero))
    return b.select(certain, one, value)

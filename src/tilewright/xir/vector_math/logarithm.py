"""log, log2 and the reciprocal square root."""

from collections.abc import Callable

from xdsl.dialects import math
from xdsl.ir import SSAValue

from tilewright.xir.vector_math import polynomials
from tilewright.xir.vector_math.formats import INFINITY, LOG2E, NAN, Lanes

__all__ = ["guarded", "log", "log2", "log2_f64", "log_f64", "rsqrt"]

_LOG2E_HIGH, _LOG2E_LOW = polynomials.LOG2E_F32


def log(v: Lanes, x: SSAValue) -> SSAValue:
    """With x = 2**e (1 + g): the sum of e ln 2 and the logarithm of 1 + g. Within 1 unit in the last place."""
    return guarded(v, x, _log_parts)


def log_f64(v: Lanes, x: SSAValue) -> SSAValue:
    """As `log`, for float64, where 2 atanh(g / (2 + g)) converges faster. Within 1 unit in the last place."""
    return guarded(v, x, _log_parts_atanh)


def log2(v: Lanes, x: SSAValue) -> SSAValue:
    """With x = 2**e (1 + g): the sum of e and the binary logarithm of 1 + g. Within 1 unit in the last place."""
    return guarded(v, x, _log2_parts)


def log2_f64(v: Lanes, x: SSAValue) -> SSAValue:
    """As `log2` for float64, from the natural logarithm of 1 + g. Within 2 units in the last place."""
    return guarded(v, x, _log2_parts_atanh)


def rsqrt(v: Lanes, x: SSAValue) -> SSAValue:
    """Two correctly rounded operations."""
    return v.b.fdiv(v.real(1.0), v.b.math(math.SqrtOp, x))


def _log_parts(v: Lanes, e: SSAValue, g: SSAValue) -> SSAValue:
    b = v.b
    tail = v.horner(g, polynomials.LOG)
    return _joined(v, e, g, lambda low: b.fma(tail, b.fmul(g, g), low))


def _log_parts_atanh(v: Lanes, e: SSAValue, g: SSAValue) -> SSAValue:
    """log(1 + g) = g - h + s (h + w p(w)) with s = g / (2 + g), w = s * s and h = g * g / 2."""
    b = v.b
    s = b.fdiv(g, b.fadd(g, v.real(2.0)))
    w = b.fmul(s, s)
    half = b.fmul(b.fmul(g, g), v.real(0.5))
    tail = b.fma(v.horner(w, polynomials.LOG_F64), w, half)
    return _joined(v, e, g, lambda low: b.fsub(b.fma(s, tail, low), half))


def _log2_parts_atanh(v: Lanes, e: SSAValue, g: SSAValue) -> SSAValue:
    natural = _log_parts_atanh(v, v.real(0.0), g)
    return v.b.fma(natural, v.real(LOG2E), e)


def _joined(v: Lanes, e: SSAValue, g: SSAValue, with_tail: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """The sum e ln 2 + g + tail. The product with the high part is exact, so what the first sum loses is known."""
    b, (high, low) = v.b, v.fmt.ln2
    total = b.fma(e, v.real(high), g)
    lost = b.fsub(g, b.fma(e, v.real(-high), total))
    return b.fadd(total, with_tail(b.fma(e, v.real(low), lost)))


def _log2_parts(v: Lanes, e: SSAValue, g: SSAValue) -> SSAValue:
    b = v.b
    small = b.fma(v.horner(g, polynomials.LOG2), b.fmul(g, g), b.fmul(g, v.real(_LOG2E_LOW)))
    return b.fadd(e, b.fma(g, v.real(_LOG2E_HIGH), small))


def guarded(v: Lanes, x: SSAValue, parts: Callable[[Lanes, SSAValue, SSAValue], SSAValue]) -> SSAValue:
    """Denormal numbers are scaled up first; infinities, NaN, zeros and negative numbers get their values last."""
    b, fmt = v.b, v.fmt
    tiny = b.fcmp("olt", x, v.real(fmt.smallest_normal))
    lift = fmt.mantissa + 1
    exponent, mantissa = v.split(b.select(tiny, b.fmul(x, v.real(2.0**lift)), x))
    e = b.sitofp(b.sub(exponent, b.select(tiny, v.int_(lift), v.int_(0))), fmt.element)
    result = parts(v, e, b.fsub(mantissa, v.real(1.0)))
    result = b.select(b.fcmp("olt", x, v.real(INFINITY)), result, x)
    outside = b.select(b.fcmp("oeq", x, v.real(0.0)), v.real(-INFINITY), v.real(NAN))
    return b.select(b.fcmp("ole", x, v.real(0.0)), outside, result)

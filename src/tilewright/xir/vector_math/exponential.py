"""exp, exp2, sigmoid, tanh and erf."""

from xdsl.dialects import math
from xdsl.ir import SSAValue

from tilewright.xir.vector_math import polynomials
from tilewright.xir.vector_math.formats import LOG2E, Lanes

__all__ = ["SIGMOID_ONE", "erf", "erf_f64", "exp", "exp2", "exp2_f64", "sigmoid", "sigmoid_of", "tanh", "tanh_f64"]

_TANH_SERIES = 0.625  # below it the odd polynomial, above it the exponential is more accurate
_TANH_ONE, _TANH_ONE_F64 = 9.125, 20.0  # from here on tanh rounds to 1
SIGMOID_ONE = 40.0  # from here on it rounds to 1 in every format
_ERF_SERIES = 0.9275
_ERF_ONE, _ERF_ONE_F64 = 4.0, 5.94
_ERFC_FAR, _ERFC_CENTER = 2.2, 4.0  # from here on the second polynomial, in the distance from there


def exp(v: Lanes, x: SSAValue) -> SSAValue:
    """2**n p(r) with x = n ln 2 + r and |r| <= ln 2 / 2. Within 1 unit in the last place."""
    return v.scaled(*_parts(v, x, v.fmt.exp_range[1]))


def sigmoid(v: Lanes, x: SSAValue) -> SSAValue:
    """Of a quotient. Within 3 units in the last place."""
    return sigmoid_of(v, *_parts(v, x, SIGMOID_ONE))


def sigmoid_of(v: Lanes, p: SSAValue, n: SSAValue) -> SSAValue:
    """With exp(x) = 2**n p it is 2**n (p / (1 + exp(x))): the quotient is a normal number, also where the result is
    none, since processors divide subnormal numbers slowly.
    """
    b = v.b
    return v.scaled(b.fdiv(p, b.fadd(v.scaled(p, n), v.real(1.0))), n)


def _parts(v: Lanes, x: SSAValue, high: float) -> tuple[SSAValue, SSAValue]:
    """The pair p, n with exp(x) = 2**n p and p near 1, for x below `high`; above, that of `high`."""
    r, n, _ = _reduced(v, v.below(v.above(x, v.fmt.exp_range[0]), high))
    return v.horner(r, (1.0, 1.0, *v.fmt.exp)), n


def _reduced(v: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """For a bounded x = n ln 2 + r: r, and n as a float and as an integer."""
    b, (high, low) = v.b, v.fmt.ln2
    n, number = v.rounded(x, LOG2E)
    return b.fma(n, v.real(-low), b.fma(n, v.real(-high), x)), n, number


def _around(v: Lanes, x: SSAValue, center: float, sign: float) -> SSAValue:
    """`center + sign exp(x)` rounded once at the end, where the power of two in exp(x) is a normal number.

    exp(x) = 2**n (1 + s), so the sum is (center + sign 2**n) + sign 2**n s. A NaN comes through s.
    """
    b = v.b
    r, _, number = _reduced(v, x)
    s = b.fma(v.horner(r, v.fmt.exp), b.fmul(r, r), r)
    power = v.power_of_two(number)
    power = b.fneg(power) if sign < 0 else power
    return b.fma(power, s, b.fadd(power, v.real(center)))


def exp2(v: Lanes, x: SSAValue) -> SSAValue:
    """2**n p(r) with x = n + r and an exact r in [-1/2, 1/2]. Within 1 unit in the last place."""
    x = v.below(v.above(x, -151.0), 129.0)
    n, _ = v.rounded(x, 1.0)
    return v.scaled(v.horner(v.b.fsub(x, n), (1.0, *polynomials.EXP2)), n)


def tanh(v: Lanes, x: SSAValue) -> SSAValue:
    """An odd polynomial near 0, elsewhere 1 - 2 / (exp(2 |x|) + 1). Within 2 units in the last place."""
    b = v.b
    size = b.math(math.AbsFOp, x)
    square = b.fmul(x, x)
    near = b.fma(b.fmul(v.horner(square, polynomials.TANH), square), size, size)
    bounded = v.below(size, _TANH_ONE)
    far = b.fsub(v.real(1.0), b.fdiv(v.real(2.0), _around(v, b.fadd(bounded, bounded), 1.0, 1.0)))
    return _odd(v, x, size, _TANH_SERIES, near, far)


def exp2_f64(v: Lanes, x: SSAValue) -> SSAValue:
    """As `exp2` for float64, through exp. Within 1 unit in the last place."""
    b = v.b
    x = v.below(v.above(x, -1080.0), 1030.0)
    n, _ = v.rounded(x, 1.0)
    r = b.fmul(b.fsub(x, n), v.real(1 / LOG2E))
    return v.scaled(v.horner(r, (1.0, 1.0, *v.fmt.exp)), n)


def tanh_f64(v: Lanes, x: SSAValue) -> SSAValue:
    """The quotient t / (t + 2) with t = exp(2 |x|) - 1, accurate near 0 too. Within 3 units in the last place."""
    b = v.b
    bounded = v.below(b.math(math.AbsFOp, x), _TANH_ONE_F64)
    t = _around(v, b.fadd(bounded, bounded), -1.0, 1.0)
    return b.math(math.CopySignOp, b.fdiv(t, b.fadd(t, v.real(2.0))), x)


def erf(v: Lanes, x: SSAValue) -> SSAValue:
    """An odd polynomial near 0, elsewhere 1 - exp(-p(|x|)), p fitted to -log erfc. Within 1 unit in the last place."""
    b = v.b
    size = b.math(math.AbsFOp, x)
    near = b.fma(v.horner(b.fmul(x, x), polynomials.ERF), size, size)
    exponent = v.horner(v.below(size, _ERF_ONE), [-c for c in polynomials.ERFC])
    far = _around(v, exponent, 1.0, -1.0)
    return _odd(v, x, size, _ERF_SERIES, near, far)


def erf_f64(v: Lanes, x: SSAValue) -> SSAValue:
    """As `erf`, with two polynomials for -log erfc. Within 1 unit in the last place."""
    b = v.b
    size = b.math(math.AbsFOp, x)
    near = b.fma(v.horner(b.fmul(x, x), polynomials.ERF_F64), size, size)
    bounded = v.below(size, _ERF_ONE_F64)
    close = v.horner(bounded, [-c for c in polynomials.ERFC_F64])
    distant = v.horner(b.fsub(bounded, v.real(_ERFC_CENTER)), [-c for c in polynomials.ERFC_FAR_F64])
    exponent = b.select(b.fcmp("olt", bounded, v.real(_ERFC_FAR)), close, distant)
    return _odd(v, x, size, _ERF_SERIES, near, _around(v, exponent, 1.0, -1.0))


def _odd(v: Lanes, x: SSAValue, size: SSAValue, limit: float, near: SSAValue, far: SSAValue) -> SSAValue:
    """`near` where |x| is below `limit`, else `far`, with the sign of x. A NaN takes `far`, which is one."""
    b = v.b
    return b.math(math.CopySignOp, b.select(b.fcmp("olt", size, v.real(limit)), near, far), x)

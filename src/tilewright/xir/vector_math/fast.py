"""The fast tier of float32: polynomials of lower degree, sums that are rounded more often, quotients of polynomials.

Special values, subnormal numbers included, are those of the other tier; `docs/reference/numerics.md` has the bounds.
"""

from math import log as natural

from xdsl.ir import SSAValue

from tilewright.xir.vector_math import polynomials
from tilewright.xir.vector_math.exponential import SIGMOID_ONE, sigmoid_of
from tilewright.xir.vector_math.formats import LOG2E, Lanes
from tilewright.xir.vector_math.logarithm import guarded

__all__ = ["erf", "exp", "exp2", "log", "log2", "sigmoid", "tanh"]

_LN2 = natural(2)
_TANH_ONE = 9.0
_ERF_ONE = 3.94


def exp(v: Lanes, x: SSAValue) -> SSAValue:
    """As the other tier's, with ln 2 in one part: its rounding counts once for each power of two."""
    return v.scaled(*_parts(v, x, v.fmt.exp_range[1]))


def sigmoid(v: Lanes, x: SSAValue) -> SSAValue:
    """As the other tier's, of this exponential."""
    return sigmoid_of(v, *_parts(v, x, SIGMOID_ONE))


def _parts(v: Lanes, x: SSAValue, high: float) -> tuple[SSAValue, SSAValue]:
    b = v.b
    x = v.below(v.above(x, v.fmt.exp_range[0]), high)
    n = b.fsub(v.nearest(x, LOG2E), v.real(v.fmt.magic))
    r = b.fma(n, v.real(-_LN2), x)
    return v.horner(r, (1.0, 1.0, *polynomials.FAST_EXP)), n


def exp2(v: Lanes, x: SSAValue) -> SSAValue:
    """2**n p(r) with x = n + r and an exact r in [-1/2, 1/2]."""
    b = v.b
    x = v.below(v.above(x, -151.0), 129.0)
    n = b.fsub(v.nearest(x, 1.0), v.real(v.fmt.magic))
    return v.scaled(v.horner(b.fsub(x, n), (1.0, *polynomials.FAST_EXP2)), n)


def log(v: Lanes, x: SSAValue) -> SSAValue:
    """With x = 2**e (1 + g): e ln 2 + g p(g)."""
    b = v.b
    return guarded(v, x, lambda _, e, g: b.fma(g, v.horner(g, polynomials.FAST_LOG), b.fmul(e, v.real(_LN2))))


def log2(v: Lanes, x: SSAValue) -> SSAValue:
    """With x = 2**e (1 + g): e + g p(g)."""
    return guarded(v, x, lambda _, e, g: v.b.fma(g, v.horner(g, polynomials.FAST_LOG2), e))


def tanh(v: Lanes, x: SSAValue) -> SSAValue:
    """The quotient x p(x**2) / q(x**2), on arguments for which tanh does not round to 1."""
    return _odd(v, x, _TANH_ONE, polynomials.FAST_TANH, polynomials.FAST_TANH_BELOW)


def erf(v: Lanes, x: SSAValue) -> SSAValue:
    """As tanh, with other polynomials."""
    return _odd(v, x, _ERF_ONE, polynomials.FAST_ERF, polynomials.FAST_ERF_BELOW)


def _odd(v: Lanes, x: SSAValue, limit: float, above: tuple[float, ...], below: tuple[float, ...]) -> SSAValue:
    """The quotient is 1 at `limit`; close to there roundings would carry it beyond."""
    b = v.b
    x = v.within(x, limit)
    square = b.fmul(x, x)
    return v.within(b.fdiv(b.fmul(x, v.horner(square, above)), v.horner(square, below)), 1.0)

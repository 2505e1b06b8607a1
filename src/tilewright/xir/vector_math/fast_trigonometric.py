"""The fast tier of sin and cos: float32 throughout, pi / 2 in three parts. Vectors with a large lane reduce exactly."""

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from tilewright.xir.vector_math import polynomials
from tilewright.xir.vector_math.formats import INFINITY, NAN, Lanes
from tilewright.xir.vector_math.trigonometric import TWO_OVER_PI, reduced

__all__ = ["cos", "sin"]

_LARGE = 2.0**15  # below, the quotient by pi / 2 is rounded rightly but for a 500th part
_SIGN = 1 << 31


def sin(v: Lanes, x: SSAValue) -> SSAValue:
    """Within 3 units in the last place; NaN for infinities."""
    return _turned(v, x, 0)


def cos(v: Lanes, x: SSAValue) -> SSAValue:
    """Within 3 units in the last place; NaN for infinities."""
    return _turned(v, x, 1)


def _turned(v: Lanes, x: SSAValue, quarters: int) -> SSAValue:
    """sin(x + quarters pi / 2)."""
    b = v.b
    r, quadrant = _reduced(v, x)
    quadrant = b.add(quadrant, v.int_(quarters)) if quarters else quadrant
    square = b.fmul(r, r)
    sine = b.fmul(r, v.horner(square, (1.0, *polynomials.FAST_SIN)))
    cosine = v.horner(square, (1.0, -0.5, *polynomials.FAST_COS))
    odd = b.cmp("ne", b.and_(quadrant, v.int_(1)), v.int_(0))
    value = b.bitcast(b.select(odd, cosine, sine), v.fmt.integer)
    sign = b.and_(b.shl(quadrant, v.int_(30)), v.int_(-_SIGN))
    return b.bitcast(b.xor(value, sign), v.fmt.element)


def _reduced(v: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The pair r, n with x = n pi / 2 + r, n modulo 4 as an integer."""
    b = v.b
    shifted = v.nearest(x, TWO_OVER_PI)
    n, near = b.fsub(shifted, v.real(v.fmt.magic)), x
    for part in polynomials.HALF_PI_F32:
        near = b.fma(n, v.real(-part), near)
    quadrant = b.bitcast(shifted, v.fmt.integer)
    large = b.fcmp("oge", b.math(math.AbsFOp, x), v.real(_LARGE))
    with b.if_(b.fold_lanes("ori", large), [v.kind, v.integers]) as branch:
        far, turns = reduced(v, x)
        far = b.select(b.fcmp("olt", b.math(math.AbsFOp, x), v.real(INFINITY)), b.truncf(far, f32), v.real(NAN))
        branch.yield_([b.select(large, far, near), b.select(large, b.trunci(turns, i32), quadrant)])
    with branch.orelse() as other:
        other.yield_([near, quadrant])
    return branch.results[0], branch.results[1]

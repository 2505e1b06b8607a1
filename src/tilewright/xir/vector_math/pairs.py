"""Values of twice the precision: a pair stands for its sum, the second part at most a rounding of the first.

(Dekker, "A floating-point technique for extending the available precision", 1971.)
"""

from xdsl.ir import SSAValue

from tilewright.xir.vector_math.formats import Lanes

__all__ = ["Pair", "plus", "product", "times"]

Pair = tuple[SSAValue, SSAValue]


def product(v: Lanes, x: SSAValue, y: SSAValue) -> Pair:
    """The product and what its rounding lost."""
    high = v.b.fmul(x, y)
    return high, v.b.fma(x, y, v.b.fneg(high))


def times(v: Lanes, x: Pair, y: Pair) -> Pair:
    """The product of two pairs, but for that of their second parts."""
    b, (high, lost) = v.b, product(v, x[0], y[0])
    return high, b.fma(x[0], y[1], b.fma(x[1], y[0], lost))


def plus(v: Lanes, x: SSAValue, y: SSAValue) -> Pair:
    """The sum of an x that is larger than y, or 0, and of y; and what its rounding lost."""
    b = v.b
    high = b.fadd(x, y)
    return high, b.fadd(b.fsub(x, high), y)

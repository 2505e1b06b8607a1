"""Integers that wrap, and divisions, shifts and powers that never trap.

TVM tells LLVM that sums and products of 32 and 64 bits do not overflow. Those of 32 bits are computed in 64 and cut;
those of 64 bits in halves, unless a proof says that they fit. A divisor of 0 gives an unspecified value.
"""

from collections.abc import Callable, Sequence

from tilewright.bridge.tirx.export.context import Exporter
from tilewright.bridge.tirx.export.representation import held
from tilewright.bridge.tirx.nodes import Expr
from tilewright.core.dtypes import DType

__all__ = [
    "add", "floor_div", "floor_mod", "mul", "neg", "power", "shift_left", "shift_right", "sub", "trunc_div",
    "trunc_mod",
]  # fmt: skip

Pair = Sequence[Expr]
_LOW = 0xFFFF_FFFF


def _wide(dtype: type[DType]) -> str:
    return "int64" if dtype.is_signed else "uint64"


def add(cx: Exporter, dtype: type[DType], pair: Pair) -> Expr:
    """The sum, wrapped."""
    return _wrapped(cx, dtype, pair, cx.n.add, _wide(dtype))


def sub(cx: Exporter, dtype: type[DType], pair: Pair) -> Expr:
    """The difference, wrapped. That of unsigned numbers may be negative, which int64 holds."""
    return _wrapped(cx, dtype, pair, cx.n.sub, "int64")


def _wrapped(cx: Exporter, dtype: type[DType], pair: Pair, act: Callable[[Expr, Expr], Expr], wide: str) -> Expr:
    """A sum or a difference where it cannot overflow: as it is, in the wider type, or in halves with a carry."""
    n, (a, b) = cx.n, pair
    if dtype.bits < 32:
        return act(a, b)
    if dtype.bits == 32:
        return n.cast(held(dtype), act(n.cast(wide, a), n.cast(wide, b)))
    (a_high, a_low), (b_high, b_low) = _halves(cx, a), _halves(cx, b)
    low = cx.once(act(a_low, b_low))
    high = n.add(act(a_high, b_high), n.shr(low, n.i64(32)))
    return _joined(cx, dtype, high, low)


def mul(cx: Exporter, dtype: type[DType], pair: Pair) -> Expr:
    """The product, wrapped."""
    n, (a, b) = cx.n, pair
    if dtype.bits < 32:
        return n.mul(a, b)
    if dtype.bits == 32:
        return n.cast(held(dtype), n.mul(n.cast(_wide(dtype), a), n.cast(_wide(dtype), b)))
    (a_high, a_low), (b_high, b_low) = ([cx.once(n.cast("uint64", h)) for h in _halves(cx, x)] for x in (a, b))
    mask, half = n.int_("uint64", _LOW), n.int_("uint64", 32)
    lows = cx.once(n.mul(n.bit_and(a_low, mask), n.bit_and(b_low, mask)))
    crossed = [
        n.bit_and(n.mul(n.bit_and(x, mask), n.bit_and(y, mask)), mask) for x, y in ((a_high, b_low), (a_low, b_high))
    ]
    high = n.add(n.add(*crossed), n.shr(lows, half))
    return _joined(cx, dtype, n.cast("int64", high), n.cast("int64", n.bit_and(lows, mask)))


def neg(cx: Exporter, dtype: type[DType], x: Expr) -> Expr:
    """0 - x, wrapped."""
    return sub(cx, dtype, [cx.n.int_(held(dtype), 0), x])


def _halves(cx: Exporter, x: Expr) -> tuple[Expr, Expr]:
    """A 64-bit number as int64 halves, the high one signed."""
    n = cx.n
    whole = cx.once(n.cast("int64", x))
    return n.shr(whole, n.i64(32)), n.bit_and(whole, n.i64(_LOW))


def _joined(cx: Exporter, dtype: type[DType], high: Expr, low: Expr) -> Expr:
    n = cx.n
    return n.cast(held(dtype), n.bit_or(n.shl(high, n.i64(32)), n.bit_and(low, n.i64(_LOW))))


def _safe(cx: Exporter, dtype: type[DType], x: Expr, y: Expr) -> Expr:
    """A divisor that traps for no dividend: 1 for zero, and for -1 under the lowest number."""
    n, kind = cx.n, held(dtype)
    one = n.int_(kind, 1)
    traps = n.eq(y, n.int_(kind, 0))
    if dtype.is_signed:
        lowest = n.eq(x, n.int_(kind, -(1 << (dtype.bits - 1))))
        traps = n.or_(traps, n.and_(lowest, n.eq(y, n.int_(kind, -1))))
    return n.select(traps, one, y)


def trunc_div(cx: Exporter, dtype: type[DType], pair: Pair) -> Expr:
    """Rounded toward zero. The overflowing quotient wraps to the dividend, since its divisor becomes 1."""
    x, y = map(cx.once, pair)
    return cx.n.div(x, _safe(cx, dtype, x, y))


def trunc_mod(cx: Exporter, dtype: type[DType], pair: Pair) -> Expr:
    """With the sign of the dividend."""
    x, y = map(cx.once, pair)
    return cx.n.mod(x, _safe(cx, dtype, x, y))


def floor_div(cx: Exporter, dtype: type[DType], pair: Pair) -> Expr:
    """Rounded toward minus infinity."""
    x, y = map(cx.once, pair)
    quotient = trunc_div(cx, dtype, (x, y))
    if not dtype.is_signed:
        return quotient
    quotient = cx.once(quotient)
    one = cx.n.int_(held(dtype), 1)  # a quotient to be lowered is not the lowest number
    return cx.n.select(_differs_below(cx, dtype, x, y), cx.n.sub(quotient, one), quotient)


def floor_mod(cx: Exporter, dtype: type[DType], pair: Pair) -> Expr:
    """With the sign of the divisor."""
    x, y = map(cx.once, pair)
    remainder = trunc_mod(cx, dtype, (x, y))
    if not dtype.is_signed:
        return remainder
    remainder = cx.once(remainder)
    below = cx.once(_differs_below(cx, dtype, x, y))
    zero = cx.n.int_(held(dtype), 0)  # opposite signs never overflow; the sum is taken of those only
    return cx.n.add(remainder, cx.n.select(below, y, zero))


def _differs_below(cx: Exporter, dtype: type[DType], x: Expr, y: Expr) -> Expr:
    """Where the floored quotient is one less than the truncated one: a remainder whose sign is not the divisor's."""
    n, zero = cx.n, cx.n.int_(held(dtype), 0)
    remainder = cx.once(trunc_mod(cx, dtype, (x, y)))
    return n.and_(n.ne(remainder, zero), n.lt(n.bit_xor(remainder, y), zero))


def shift_left(cx: Exporter, dtype: type[DType], pair: Pair) -> Expr:
    """Zero for amounts outside the width."""
    n, (value, amount) = cx.n, map(cx.once, pair)
    return n.select(_fits(cx, dtype, amount), n.shl(value, _inside(cx, dtype, amount)), n.int_(held(dtype), 0))


def shift_right(cx: Exporter, dtype: type[DType], pair: Pair) -> Expr:
    """Amounts outside the width fill with the sign, or with zero for unsigned types."""
    n, (value, amount) = cx.n, map(cx.once, pair)
    fits = _fits(cx, dtype, amount)
    if not dtype.is_signed:
        return n.select(fits, n.shr(value, _inside(cx, dtype, amount)), n.int_(held(dtype), 0))
    return n.shr(value, n.select(fits, amount, n.int_(held(dtype), dtype.bits - 1)))


def _fits(cx: Exporter, dtype: type[DType], amount: Expr) -> Expr:
    n, kind = cx.n, held(dtype)
    below = n.lt(amount, n.int_(kind, dtype.bits))
    return n.and_(below, n.ge(amount, n.int_(kind, 0))) if dtype.is_signed else below


def _inside(cx: Exporter, dtype: type[DType], amount: Expr) -> Expr:
    return cx.n.bit_and(amount, cx.n.int_(held(dtype), dtype.bits - 1))


def power(cx: Exporter, dtype: type[DType], pair: Pair) -> Expr:
    """By squaring, one step a bit of the exponent; a negative exponent truncates the fraction 1 / x**n."""
    n, kind = cx.n, held(dtype)
    base, exponent = map(cx.once, pair)
    one, zero = n.int_(kind, 1), n.int_(kind, 0)
    result, square = one, base
    for bit in range(dtype.bits):
        mask = 1 << bit if bit < dtype.bits - 1 or not dtype.is_signed else -(1 << bit)
        odd = n.ne(n.bit_and(exponent, n.int_(kind, mask)), zero)
        result = cx.once(n.select(odd, mul(cx, dtype, (result, square)), result))
        square = cx.once(mul(cx, dtype, (square, square)))
    if not dtype.is_signed:
        return result
    return n.select(n.lt(exponent, zero), _reciprocal_power(cx, kind, base, exponent), result)


def _reciprocal_power(cx: Exporter, kind: str, base: Expr, exponent: Expr) -> Expr:
    """1 for base 1, the sign's power for base -1, else 0 (also the unspecified value for base 0)."""
    n = cx.n
    one, zero, minus = n.int_(kind, 1), n.int_(kind, 0), n.int_(kind, -1)
    odd = n.ne(n.bit_and(exponent, one), zero)
    alternating = n.select(odd, minus, one)
    return n.select(n.eq(base, one), one, n.select(n.eq(base, minus), alternating, zero))

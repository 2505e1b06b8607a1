"""The meaning of every elementwise op: `OPS[name](dtype, *arrays)`, arrays of `dtype` that broadcast together.

Integers wrap. Float ops are one correctly rounded operation each; half and bfloat16 are computed in float32 and
rounded once, which rounds correctly because float32 has more than twice their bits. Transcendentals are computed in
float64 and rounded once. Comparisons, `isnan`, `isinf` and the logical ops return NumPy booleans.

Every function raises UndefinedOperationError for an element type outside `OPERANDS[name]` or any float8, and integer
divisions raise DivisionByZeroError.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..core.dtypes import DType, boolean, f32
from .arrays import Array, numpy_dtype
from .cast import round_from_f64
from .faults import DivisionByZeroError, UndefinedOperationError

__all__ = ["OPERANDS", "OPS", "Elementwise"]

Elementwise = Callable[..., Array]

_FLOAT = frozenset({"float"})
_INT = frozenset({"int", "uint"})
_BOOL = frozenset({"bool"})
_NUMBER = _FLOAT | _INT
_BITS = _INT | _BOOL
_ANY = _NUMBER | _BOOL


def _floor_div(a: Array, b: Array) -> Array:
    """Rounds down. The smallest integer divided by -1 wraps to itself."""
    _refuse_zeros("floor_div", a, b)
    return np.floor_divide(a, b)


def _floor_mod(a: Array, b: Array) -> Array:
    """Has the sign of the divisor."""
    _refuse_zeros("floor_mod", a, b)
    return np.remainder(a, b)


def _trunc_div(a: Array, b: Array) -> Array:
    """Rounds toward zero. The smallest integer divided by -1 wraps to itself."""
    _refuse_zeros("trunc_div", a, b)
    return np.floor_divide(a - np.fmod(a, b), b)


def _trunc_mod(a: Array, b: Array) -> Array:
    """Has the sign of the dividend."""
    _refuse_zeros("trunc_mod", a, b)
    return np.fmod(a, b)


def _refuse_zeros(op: str, dividend: Array, divisor: Array) -> None:
    if not np.all(divisor):
        zeros = np.argwhere(np.broadcast_to(divisor == 0, np.broadcast_shapes(dividend.shape, divisor.shape)))
        if len(zeros):
            raise DivisionByZeroError(op, tuple(int(i) for i in zeros[0]))


def _int_pow(base: Array, exponent: Array) -> Array:
    """Wrapping power. A negative exponent gives 1 / base ** -exponent rounded toward zero, so mostly 0."""
    base, exponent = np.broadcast_arrays(base, exponent)
    negative = exponent < 0
    _refuse_zeros("pow", base, np.where(negative, base, 1))
    whole = np.power(base, np.where(negative, 0, exponent).astype(exponent.dtype))
    odd = (exponent & 1) == 1
    inverse = np.where(base == 1, 1, np.where(base == -1, np.where(odd, -1, 1), 0)).astype(base.dtype)
    return np.where(negative, inverse, whole)


def _shl(a: Array, amount: Array) -> Array:
    """The amount is read as unsigned; from the width on (so for negative ones too) the result is 0."""
    return np.left_shift(a, amount)  # NumPy defines such amounts, unlike C


def _shr(a: Array, amount: Array) -> Array:
    """Arithmetic for signed, logical for unsigned types. An amount outside the width leaves copies of the sign."""
    return np.right_shift(a, amount)


def _rsqrt(x: Array) -> Array:
    """1 / sqrt(x); infinity of the same sign at the zeros."""
    return 1.0 / np.sqrt(x)


def _sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow on either side."""
    decay = np.exp(-np.abs(x))
    return np.where(np.signbit(x), decay, 1.0) / (1.0 + decay)


_erf_each = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Array) -> Array:
    return np.asarray(_erf_each(x)).astype(np.float64)


def _plain(name: str, kinds: frozenset[str], function: Callable[..., Any]) -> tuple[str, frozenset[str], Elementwise]:
    """An op that NumPy computes in the element type itself, or in float32 for half and bfloat16."""

    def apply(dtype: type[DType], *arrays: Array) -> Array:
        operands = _operands(name, kinds, dtype, arrays)
        with np.errstate(all="ignore"):
            if dtype.is_float and dtype.bits < f32.bits:
                narrow = np.asarray(function(*(x.astype(np.float32) for x in operands)))
                return narrow if narrow.dtype == np.bool_ else narrow.astype(numpy_dtype(dtype))
            return np.asarray(function(*operands))

    return name, kinds, apply


def _smooth(name: str, function: Callable[..., Any]) -> tuple[str, frozenset[str], Elementwise]:
    """A transcendental, computed in float64."""

    def apply(dtype: type[DType], *arrays: Array) -> Array:
        operands = _operands(name, _FLOAT, dtype, arrays)
        with np.errstate(all="ignore"):
            return round_from_f64(np.asarray(function(*(x.astype(np.float64) for x in operands))), dtype)

    return name, _FLOAT, apply


def _operands(name: str, kinds: frozenset[str], dtype: type[DType], arrays: tuple[Array, ...]) -> list[Array]:
    if dtype.kind not in kinds or (dtype.is_float and dtype.bits < 16):
        raise UndefinedOperationError(name, dtype)
    return [np.asarray(x, numpy_dtype(dtype)) for x in arrays]


def _pow(dtype: type[DType], base: Array, exponent: Array) -> Array:
    """For floats IEEE 754's `pow`: 1 for exponent 0 and for base 1, NaN included. For integers see `_int_pow`."""
    return (_float_pow if dtype.is_float else _integer_pow)(dtype, base, exponent)


def _select(dtype: type[DType], condition: Array, if_true: Array, if_false: Array) -> Array:
    """Any element type; `condition` is boolean. Bits are copied, payloads of NaN included."""
    arms = (np.asarray(x, numpy_dtype(dtype)) for x in (if_true, if_false))
    return np.where(np.asarray(condition, numpy_dtype(boolean)), *arms)


_, _, _float_pow = _smooth("pow", np.power)
_, _, _integer_pow = _plain("pow", _INT, _int_pow)

_TABLE: tuple[tuple[str, frozenset[str], Elementwise], ...] = (
    _plain("neg", _NUMBER, np.negative),
    _plain("abs", _NUMBER, np.absolute),
    _plain("not", _BITS, np.invert),
    _plain("add", _NUMBER, np.add),
    _plain("sub", _NUMBER, np.subtract),
    _plain("mul", _NUMBER, np.multiply),
    _plain("div", _FLOAT, np.divide),
    _plain("floor_div", _INT, _floor_div),
    _plain("floor_mod", _INT, _floor_mod),
    _plain("trunc_div", _INT, _trunc_div),
    _plain("trunc_mod", _INT, _trunc_mod),
    _plain("min", _NUMBER, np.minimum),  # NaN if any operand is; either of two zeros
    _plain("max", _NUMBER, np.maximum),
    ("pow", _NUMBER, _pow),
    _plain("and", _BITS, np.bitwise_and),
    _plain("or", _BITS, np.bitwise_or),
    _plain("xor", _BITS, np.bitwise_xor),
    _plain("shl", _INT, _shl),
    _plain("shr", _INT, _shr),
    _plain("logical_and", _BOOL, np.logical_and),
    _plain("logical_or", _BOOL, np.logical_or),
    _plain("logical_not", _BOOL, np.logical_not),
    _plain("eq", _ANY, np.equal),
    _plain("ne", _ANY, np.not_equal),
    _plain("lt", _ANY, np.less),
    _plain("le", _ANY, np.less_equal),
    _plain("gt", _ANY, np.greater),
    _plain("ge", _ANY, np.greater_equal),
    _smooth("exp", np.exp),
    _smooth("exp2", np.exp2),
    _smooth("log", np.log),
    _smooth("log2", np.log2),
    _plain("sqrt", _FLOAT, np.sqrt),
    _smooth("rsqrt", _rsqrt),
    _smooth("sin", np.sin),
    _smooth("cos", np.cos),
    _smooth("tanh", np.tanh),
    _smooth("erf", _erf),
    _smooth("sigmoid", _sigmoid),
    _plain("floor", _FLOAT, np.floor),
    _plain("ceil", _FLOAT, np.ceil),
    _plain("round", _FLOAT, np.rint),  # half to even
    _plain("trunc", _FLOAT, np.trunc),
    _plain("isnan", _FLOAT, np.isnan),
    _plain("isinf", _FLOAT, np.isinf),
    ("select", _ANY, _select),
)

OPS: Mapping[str, Elementwise] = MappingProxyType({name: apply for name, _, apply in _TABLE})
OPERANDS: Mapping[str, frozenset[str]] = MappingProxyType({name: kinds for name, kinds, _ in _TABLE})

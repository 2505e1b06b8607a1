"""Elementwise functions. Each takes tiles or scalars; a literal beside one takes its element type."""

from typing import TypeVar, overload

from tilewright.core.dtypes import DType
from tilewright.ir.ops import elementwise as ops
from tilewright.lang import operations
from tilewright.lang.values import Number, Operand, Scalar, Tile, wrap, wrap_like

__all__ = [
    "abs", "bitcast", "cast", "ceil", "cos", "erf", "exp", "exp2", "floor", "isinf", "isnan", "ite", "log", "log2",
    "logical_and", "logical_not", "logical_or", "pow", "round", "rsqrt", "sigmoid", "sin", "sqrt", "tanh", "trunc",
    "trunc_div", "trunc_mod", "where",
]  # fmt: skip

V = TypeVar("V", Tile, Scalar)
Truth = Scalar | bool


def exp(x: V) -> V:
    """E to the x."""
    return wrap_like(x, operations.unary(ops.ExpOp, "exp", x))


def exp2(x: V) -> V:
    """2 to the x."""
    return wrap_like(x, operations.unary(ops.Exp2Op, "exp2", x))


def log(x: V) -> V:
    """The natural logarithm."""
    return wrap_like(x, operations.unary(ops.LogOp, "log", x))


def log2(x: V) -> V:
    """The logarithm to base 2."""
    return wrap_like(x, operations.unary(ops.Log2Op, "log2", x))


def sqrt(x: V) -> V:
    """The square root, correctly rounded."""
    return wrap_like(x, operations.unary(ops.SqrtOp, "sqrt", x))


def rsqrt(x: V) -> V:
    """1 / sqrt(x)."""
    return wrap_like(x, operations.unary(ops.RsqrtOp, "rsqrt", x))


def sin(x: V) -> V:
    """The sine."""
    return wrap_like(x, operations.unary(ops.SinOp, "sin", x))


def cos(x: V) -> V:
    """The cosine."""
    return wrap_like(x, operations.unary(ops.CosOp, "cos", x))


def tanh(x: V) -> V:
    """The hyperbolic tangent."""
    return wrap_like(x, operations.unary(ops.TanhOp, "tanh", x))


def erf(x: V) -> V:
    """The error function."""
    return wrap_like(x, operations.unary(ops.ErfOp, "erf", x))


def sigmoid(x: V) -> V:
    """1 / (1 + exp(-x))."""
    return wrap_like(x, operations.unary(ops.SigmoidOp, "sigmoid", x))


def floor(x: V) -> V:
    """Rounded toward minus infinity."""
    return wrap_like(x, operations.unary(ops.FloorOp, "floor", x))


def ceil(x: V) -> V:
    """Rounded toward plus infinity."""
    return wrap_like(x, operations.unary(ops.CeilOp, "ceil", x))


def round(x: V) -> V:
    """Rounded to nearest, ties to even."""
    return wrap_like(x, operations.unary(ops.RoundOp, "round", x))


def trunc(x: V) -> V:
    """Rounded toward zero."""
    return wrap_like(x, operations.unary(ops.TruncOp, "trunc", x))


def abs(x: V) -> V:
    """The absolute value; the smallest integer wraps to itself."""
    return wrap_like(x, operations.unary(ops.AbsOp, "abs", x))


def isnan(x: V) -> V:
    """Whether each element is NaN."""
    return wrap_like(x, operations.unary(ops.IsNanOp, "isnan", x))


def isinf(x: V) -> V:
    """Whether each element is an infinity."""
    return wrap_like(x, operations.unary(ops.IsInfOp, "isinf", x))


def logical_not(x: V) -> V:
    """The negation of a condition."""
    return wrap_like(x, operations.unary(ops.LogicalNotOp, "logical_not", x))


@overload
def logical_and(a: Tile, b: Operand) -> Tile: ...
@overload
def logical_and(a: Operand, b: Tile) -> Tile: ...
@overload
def logical_and(a: Truth, b: Truth) -> Scalar: ...
def logical_and(a: Operand, b: Operand) -> Tile | Scalar:
    """Whether both conditions hold; what `and` means between staged values."""
    return wrap(operations.logical(ops.LogicalAndOp, "logical_and", a, b))


@overload
def logical_or(a: Tile, b: Operand) -> Tile: ...
@overload
def logical_or(a: Operand, b: Tile) -> Tile: ...
@overload
def logical_or(a: Truth, b: Truth) -> Scalar: ...
def logical_or(a: Operand, b: Operand) -> Tile | Scalar:
    """Whether a condition holds; what `or` means between staged values."""
    return wrap(operations.logical(ops.LogicalOrOp, "logical_or", a, b))


@overload
def pow(a: Tile, b: Operand) -> Tile: ...
@overload
def pow(a: Operand, b: Tile) -> Tile: ...
@overload
def pow(a: Scalar, b: Scalar | Number) -> Scalar: ...
@overload
def pow(a: Number, b: Scalar) -> Scalar: ...
def pow(a: Operand, b: Operand) -> Tile | Scalar:
    """`a` to the `b`."""
    return wrap(operations.binary(ops.PowOp, "pow", a, b))


@overload
def trunc_div(a: Tile, b: Operand) -> Tile: ...
@overload
def trunc_div(a: Operand, b: Tile) -> Tile: ...
@overload
def trunc_div(a: Scalar, b: Scalar | int) -> Scalar: ...
def trunc_div(a: Operand, b: Operand) -> Tile | Scalar:
    """The integer quotient rounded toward zero, as in C; `//` rounds down."""
    return wrap(operations.binary(ops.TruncDivOp, "trunc_div", a, b))


@overload
def trunc_mod(a: Tile, b: Operand) -> Tile: ...
@overload
def trunc_mod(a: Operand, b: Tile) -> Tile: ...
@overload
def trunc_mod(a: Scalar, b: Scalar | int) -> Scalar: ...
def trunc_mod(a: Operand, b: Operand) -> Tile | Scalar:
    """The remainder with the sign of `a`, as in C; `%` has that of `b`."""
    return wrap(operations.binary(ops.TruncModOp, "trunc_mod", a, b))


@overload
def where(condition: Tile, on_true: Operand, on_false: Operand) -> Tile: ...
@overload
def where(condition: Operand, on_true: Tile, on_false: Operand) -> Tile: ...
@overload
def where(condition: Operand, on_true: Operand, on_false: Tile) -> Tile: ...
@overload
def where(condition: Truth, on_true: Scalar | Number, on_false: Scalar | Number) -> Scalar: ...
def where(condition: Operand, on_true: Operand, on_false: Operand) -> Tile | Scalar:
    """`on_true` where the condition holds, else `on_false`. Both are evaluated; it does not guard a load.

    Raises TileTypeError: TW205 for arms of two element types, TW207 for two literals, TW217 for another condition.
    """
    return wrap(operations.select(condition, on_true, on_false))


ite = where


def cast(dtype: type[DType], x: V, *, saturating: bool = False) -> V:
    """Converted to another element type, rounded once. `saturating` is for float8: overflow gives the largest value."""
    return wrap_like(x, operations.cast_to(dtype, x, saturating=saturating))


def bitcast(dtype: type[DType], x: V) -> V:
    """The same bits as another element type of equal width (TW216 for another)."""
    return wrap_like(x, operations.bitcast_to(dtype, x))

"""Coordinates that a layout computes with."""

from numbers import Integral
from typing import NoReturn

from tilewright.core.codes.types import LAYOUT_FUNCTION
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.index_expr import INT64_MAX, INT64_MIN, ExprKind, IndexExpr, constant
from tilewright.lang.refusing import NotAValue

__all__ = ["LayoutIndex", "index_expr"]

_REMEDY = "use + - * // % ^ & << >> of coordinates and Python ints that fit into 64 bits"


class LayoutIndex(NotAValue):
    """A coordinate in the function of a layout, or arithmetic on some. Division and remainder floor; shifts, `&` and
    `^` act on the 64-bit pattern, so a right shift brings in zeros.

    The other side of an operator is another one or a Python int; TileTypeError (TW285) for anything else.
    """

    noun = "a coordinate of a layout"
    reason = "a layout is computed when the kernel is captured, for all elements at once"
    remedy = _REMEDY

    def __init__(self, expr: IndexExpr) -> None:
        self._expr = expr

    @property
    def expr(self) -> IndexExpr:
        """The index expression."""
        return self._expr

    def __add__(self, other: "LayoutIndex | int") -> "LayoutIndex":
        return _made(ExprKind.ADD, self, other)

    def __radd__(self, other: int) -> "LayoutIndex":
        return _made(ExprKind.ADD, other, self)

    def __sub__(self, other: "LayoutIndex | int") -> "LayoutIndex":
        return _made(ExprKind.SUB, self, other)

    def __rsub__(self, other: int) -> "LayoutIndex":
        return _made(ExprKind.SUB, other, self)

    def __mul__(self, other: "LayoutIndex | int") -> "LayoutIndex":
        return _made(ExprKind.MUL, self, other)

    def __rmul__(self, other: int) -> "LayoutIndex":
        return _made(ExprKind.MUL, other, self)

    def __floordiv__(self, other: "LayoutIndex | int") -> "LayoutIndex":
        return _made(ExprKind.FLOOR_DIV, self, other)

    def __rfloordiv__(self, other: int) -> "LayoutIndex":
        return _made(ExprKind.FLOOR_DIV, other, self)

    def __mod__(self, other: "LayoutIndex | int") -> "LayoutIndex":
        return _made(ExprKind.MOD, self, other)

    def __rmod__(self, other: int) -> "LayoutIndex":
        return _made(ExprKind.MOD, other, self)

    def __xor__(self, other: "LayoutIndex | int") -> "LayoutIndex":
        return _made(ExprKind.XOR, self, other)

    def __rxor__(self, other: int) -> "LayoutIndex":
        return _made(ExprKind.XOR, other, self)

    def __and__(self, other: "LayoutIndex | int") -> "LayoutIndex":
        return _made(ExprKind.AND, self, other)

    def __rand__(self, other: int) -> "LayoutIndex":
        return _made(ExprKind.AND, other, self)

    def __lshift__(self, other: "LayoutIndex | int") -> "LayoutIndex":
        return _made(ExprKind.SHL, self, other)

    def __rlshift__(self, other: int) -> "LayoutIndex":
        return _made(ExprKind.SHL, other, self)

    def __rshift__(self, other: "LayoutIndex | int") -> "LayoutIndex":
        return _made(ExprKind.SHR, self, other)

    def __rrshift__(self, other: int) -> "LayoutIndex":
        return _made(ExprKind.SHR, other, self)

    def __neg__(self) -> "LayoutIndex":
        return _made(ExprKind.SUB, 0, self)


def index_expr(value: object, role: str) -> IndexExpr:
    """The expression of a coordinate or of an int. Raises TileTypeError (TW285) for anything else."""
    if isinstance(value, LayoutIndex):
        return value.expr
    if isinstance(value, bool) or not isinstance(value, Integral):
        refuse(value, role)
    if not INT64_MIN <= int(value) <= INT64_MAX:
        refuse(value, role)
    return constant(int(value))


def refuse(value: object, role: str) -> NoReturn:
    """Raises the error for a value in a layout that is no integer of the host."""
    shown = repr(value) if isinstance(value, (int, float, str)) else f"a {type(value).__name__}"
    raise TileTypeError(LAYOUT_FUNCTION.at(user_span(), what=f"{shown} is {role}", remedy=_REMEDY))


def _made(kind: ExprKind, a: object, b: object) -> LayoutIndex:
    role = "an operand of its arithmetic"
    return LayoutIndex(IndexExpr(kind, lhs=index_expr(a, role), rhs=index_expr(b, role)))

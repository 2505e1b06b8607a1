"""Integer expressions over the coordinates of a space, evaluated with checked 64-bit arithmetic.

An expression is a shared graph. A point has no value when any operation on the way overflows, divides by zero or
shifts by less than 0 or more than 63. Division and remainder floor; shifts, `and` and `xor` act on the bit pattern,
so a right shift is logical.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.ir.types import DimAttr

__all__ = ["Checked", "ExprKind", "IndexExpr", "constant", "coordinate", "evaluate", "in_order"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


class ExprKind(StrEnum):
    """What a node computes."""

    CONSTANT = "constant"
    COORDINATE = "axis"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    FLOOR_DIV = "floor_div"
    MOD = "mod"
    XOR = "xor"
    AND = "and"
    SHL = "shl"
    SHR = "shr"


@dataclass(frozen=True, eq=False)
class IndexExpr:
    """One node: a constant has `value`, a coordinate `dim`, every other kind `lhs` and `rhs`."""

    kind: ExprKind
    value: int = 0
    dim: DimAttr | None = None
    lhs: "IndexExpr | None" = None
    rhs: "IndexExpr | None" = None

    @property
    def children(self) -> tuple["IndexExpr", ...]:
        return tuple(child for child in (self.lhs, self.rhs) if child is not None)

    def __add__(self, other: "IndexExpr | int") -> "IndexExpr":
        return _binary(ExprKind.ADD, self, other)

    def __sub__(self, other: "IndexExpr | int") -> "IndexExpr":
        return _binary(ExprKind.SUB, self, other)

    def __mul__(self, other: "IndexExpr | int") -> "IndexExpr":
        return _binary(ExprKind.MUL, self, other)

    def __floordiv__(self, other: "IndexExpr | int") -> "IndexExpr":
        return _binary(ExprKind.FLOOR_DIV, self, other)

    def __mod__(self, other: "IndexExpr | int") -> "IndexExpr":
        return _binary(ExprKind.MOD, self, other)

    def __xor__(self, other: "IndexExpr | int") -> "IndexExpr":
        return _binary(ExprKind.XOR, self, other)

    def __and__(self, other: "IndexExpr | int") -> "IndexExpr":
        return _binary(ExprKind.AND, self, other)

    def __lshift__(self, other: "IndexExpr | int") -> "IndexExpr":
        return _binary(ExprKind.SHL, self, other)

    def __rshift__(self, other: "IndexExpr | int") -> "IndexExpr":
        return _binary(ExprKind.SHR, self, other)


def constant(value: int) -> IndexExpr:
    """A 64-bit constant. Raises ValueError when it does not fit."""
    if not INT64_MIN <= value <= INT64_MAX:
        raise ValueError(f"{value} does not fit into 64 bits")
    return IndexExpr(ExprKind.CONSTANT, value)


def coordinate(dim: DimAttr) -> IndexExpr:
    """The coordinate along a dimension."""
    return IndexExpr(ExprKind.COORDINATE, dim=dim)


def _binary(kind: ExprKind, lhs: IndexExpr, rhs: "IndexExpr | int") -> IndexExpr:
    return IndexExpr(kind, lhs=lhs, rhs=constant(rhs) if isinstance(rhs, int) else rhs)


def in_order(roots: Iterable[IndexExpr]) -> list[IndexExpr]:
    """Every node below the roots once, operands before users."""
    found: dict[int, IndexExpr] = {}
    pending = [(root, False) for root in reversed(list(roots))]
    while pending:
        node, done = pending.pop()
        if id(node) in found:
            continue
        if done:
            found[id(node)] = node
        else:
            pending.append((node, True))
            pending += [(child, False) for child in reversed(node.children)]
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Checked:
    """Values at a list of points, and where there is one. `values` means nothing where `defined` is false."""

    values: Ints
    defined: Bools


def evaluate(roots: Iterable[IndexExpr], coordinates: Mapping[DimAttr, Ints], points: int) -> list[Checked]:
    """Every root at `points` points, whose coordinates along each dimension are given as arrays of that length."""
    roots = list(roots)
    known: dict[int, Checked] = {}
    everywhere = np.ones(points, np.bool_)
    with np.errstate(all="ignore"):
        for node in in_order(roots):
            known[id(node)] = _evaluate_node(node, known, coordinates, everywhere)
    return [known[id(root)] for root in roots]


def _evaluate_node(
    node: IndexExpr, known: dict[int, Checked], coordinates: Mapping[DimAttr, Ints], everywhere: Bools
) -> Checked:
    match node:
        case IndexExpr(kind=ExprKind.CONSTANT):
            return Checked(np.full(everywhere.shape, node.value, np.int64), everywhere)
        case IndexExpr(dim=DimAttr() as dim):
            return Checked(coordinates[dim], everywhere)
        case IndexExpr(lhs=IndexExpr() as lhs, rhs=IndexExpr() as rhs):
            a, b = known[id(lhs)], known[id(rhs)]
            result = _ARITHMETIC[node.kind](a.values, b.values)
            return Checked(result.values, result.defined & a.defined & b.defined)
        case _:
            return Checked(np.zeros(everywhere.shape, np.int64), ~everywhere)


def _add(a: Ints, b: Ints) -> Checked:
    total = a + b
    return Checked(total, ((a ^ total) & (b ^ total)) >= 0)


def _sub(a: Ints, b: Ints) -> Checked:
    difference = a - b
    return Checked(difference, ((a ^ b) & (a ^ difference)) >= 0)


def _mul(a: Ints, b: Ints) -> Checked:
    product = a * b
    divisor = np.where(a == 0, 1, a)
    exact = (a == 0) | ((product // divisor == b) & (product % divisor == 0))
    return Checked(product, exact & ~((a == -1) & (b == INT64_MIN)) & ~((b == -1) & (a == INT64_MIN)))


def _floor_div(a: Ints, b: Ints) -> Checked:
    defined = _divides(a, b)
    return Checked(a // np.where(defined, b, 1), defined)


def _mod(a: Ints, b: Ints) -> Checked:
    defined = _divides(a, b)
    return Checked(a % np.where(defined, b, 1), defined)


def _divides(a: Ints, b: Ints) -> Bools:
    return (b != 0) & ~((b == -1) & (a == INT64_MIN))


def _xor(a: Ints, b: Ints) -> Checked:
    return Checked(a ^ b, np.ones(a.shape, np.bool_))


def _and(a: Ints, b: Ints) -> Checked:
    return Checked(a & b, np.ones(a.shape, np.bool_))


def _shl(a: Ints, b: Ints) -> Checked:
    return _shift(np.left_shift, a, b)


def _shr(a: Ints, b: Ints) -> Checked:
    return _shift(np.right_shift, a, b)


def _shift(shift: Callable[[Any, Any], Any], a: Ints, b: Ints) -> Checked:
    defined = (b >= 0) & (b <= 63)
    amount = np.where(defined, b, 0).view(np.uint64)
    return Checked(shift(np.ascontiguousarray(a).view(np.uint64), amount).view(np.int64), defined)


_ARITHMETIC: Mapping[ExprKind, Callable[[Ints, Ints], Checked]] = MappingProxyType(
    {
        ExprKind.ADD: _add,
        ExprKind.SUB: _sub,
        ExprKind.MUL: _mul,
        ExprKind.FLOOR_DIV: _floor_div,
        ExprKind.MOD: _mod,
        ExprKind.XOR: _xor,
        ExprKind.AND: _and,
        ExprKind.SHL: _shl,
        ExprKind.SHR: _shr,
    }
)

"""Affine normal forms of index expressions over a box, and what they decide about injectivity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from types import MappingProxyType

from tilewright.ir.index_expr import INT64_MAX, INT64_MIN, ExprKind, IndexExpr, evaluate, in_order
from tilewright.ir.index_map import Point
from tilewright.ir.types import DimAttr, SpaceAttr

__all__ = ["Affine", "collision_of", "is_injective", "normalize"]

_PRIME = (1 << 31) - 1
_NO_COEFFICIENTS: Mapping[DimAttr, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Affine:
    """`offset` plus the coefficients times the coordinates, with its exact range. Zero coefficients are left out."""

    offset: int
    coefficients: Mapping[DimAttr, int]
    low: int
    high: int

    @property
    def is_constant(self) -> bool:
        return not self.coefficients


def normalize(expr: IndexExpr, domain: SpaceAttr) -> Affine | None:
    """The affine form of `expr`; None when it has none or when any part of it may leave 64 bits.

    Every subexpression must be safe by itself: a cancellation never hides an overflow or a division by zero.
    """
    extents = {axis.dim: axis.extent for axis in domain.axes}
    known: dict[int, Affine] = {}
    for node in in_order([expr]):
        form = _form(node, known, extents)
        if form is None or form.low < INT64_MIN or form.high > INT64_MAX:
            return None
        known[id(node)] = form
    return known[id(expr)]


def _form(node: IndexExpr, known: dict[int, Affine], extents: Mapping[DimAttr, int]) -> Affine | None:
    match node:
        case IndexExpr(kind=ExprKind.CONSTANT):
            return Affine(node.value, _NO_COEFFICIENTS, node.value, node.value)
        case IndexExpr(dim=DimAttr() as dim):
            return _ranged(0, {dim: 1}, extents)
        case IndexExpr(lhs=IndexExpr() as lhs, rhs=IndexExpr() as rhs):
            return _combined(node.kind, known[id(lhs)], known[id(rhs)], extents)
        case _:
            return None


def _combined(kind: ExprKind, a: Affine, b: Affine, extents: Mapping[DimAttr, int]) -> Affine | None:
    if a.is_constant and b.is_constant:
        return _folded(kind, a.offset, b.offset)
    match kind:
        case ExprKind.ADD:
            return _sum(a, b, 1, extents)
        case ExprKind.SUB:
            return _sum(a, b, -1, extents)
        case ExprKind.MUL if b.is_constant:
            return _scaled(a, b.offset, extents)
        case ExprKind.MUL if a.is_constant:
            return _scaled(b, a.offset, extents)
        case _:
            return None


def _folded(kind: ExprKind, a: int, b: int) -> Affine | None:
    node = IndexExpr(kind, lhs=IndexExpr(ExprKind.CONSTANT, a), rhs=IndexExpr(ExprKind.CONSTANT, b))
    result = evaluate([node], {}, 1)[0]
    if not result.defined[0]:
        return None
    value = int(result.values[0])
    return Affine(value, _NO_COEFFICIENTS, value, value)


def _sum(a: Affine, b: Affine, sign: int, extents: Mapping[DimAttr, int]) -> Affine:
    dims = dict.fromkeys((*a.coefficients, *b.coefficients))
    combined = {dim: a.coefficients.get(dim, 0) + sign * b.coefficients.get(dim, 0) for dim in dims}
    return _ranged(a.offset + sign * b.offset, combined, extents)


def _scaled(a: Affine, factor: int, extents: Mapping[DimAttr, int]) -> Affine:
    return _ranged(a.offset * factor, {dim: c * factor for dim, c in a.coefficients.items()}, extents)


def _ranged(offset: int, coefficients: Mapping[DimAttr, int], extents: Mapping[DimAttr, int]) -> Affine:
    """Axes of extent 1 contribute nothing, so that they never count as a dimension to tell points apart."""
    kept = {dim: c for dim, c in coefficients.items() if c and extents[dim] > 1}
    low = offset + sum(min(0, c * (extents[dim] - 1)) for dim, c in kept.items())
    high = offset + sum(max(0, c * (extents[dim] - 1)) for dim, c in kept.items())
    return Affine(offset, MappingProxyType(kept), low, high)


def is_injective(forms: Sequence[Affine], domain: SpaceAttr) -> bool:
    """Whether the forms together are seen to tell all points apart; False means "not seen".

    A row settles an axis whose coefficient outweighs all others that are not settled; what remains must have full
    column rank, which is sufficient and is computed modulo a prime.
    """
    open_axes = {axis.dim: axis.extent - 1 for axis in domain.axes if axis.extent > 1}
    while settled := [dim for dim in open_axes if any(_outweighs(form, dim, open_axes) for form in forms)]:
        for dim in settled:
            del open_axes[dim]
    dims = list(open_axes)
    return not dims or _rank([[form.coefficients.get(dim, 0) % _PRIME for dim in dims] for form in forms]) == len(dims)


def _outweighs(form: Affine, dim: DimAttr, open_axes: Mapping[DimAttr, int]) -> bool:
    others = sum(abs(form.coefficients.get(k, 0)) * reach for k, reach in open_axes.items() if k != dim)
    return abs(form.coefficients.get(dim, 0)) > others


def _rank(rows: list[list[int]]) -> int:
    """The rank of a matrix modulo the prime, by elimination."""
    rank = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in range(rank, len(rows)) if rows[row][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = pow(rows[rank][column], -1, _PRIME)
        for row in range(rank + 1, len(rows)):
            factor = rows[row][column] * inverse % _PRIME
            rows[row] = [(x - factor * y) % _PRIME for x, y in zip(rows[row], rows[rank], strict=True)]
        rank += 1
    return rank


def collision_of(forms: Sequence[Affine], domain: SpaceAttr) -> tuple[Point, Point] | None:
    """Two points with one image: along an axis that no form sees, or along two that cancel each other."""
    axes = [(index, axis.dim, axis.extent) for index, axis in enumerate(domain.axes) if axis.extent > 1]
    columns = {index: tuple(form.coefficients.get(dim, 0) for form in forms) for index, dim, _ in axes}
    for index, _, _ in axes:
        if not any(columns[index]):
            return _pair(domain.rank, {index: 1})
    for position, (i, _, n) in enumerate(axes):
        for k, _, m in axes[position + 1 :]:
            step = _cancelling(columns[i], columns[k])
            if step is not None and abs(step[0]) < n and abs(step[1]) < m:
                return _pair(domain.rank, {i: step[0], k: step[1]})
    return None


def _cancelling(a: Sequence[int], b: Sequence[int]) -> tuple[int, int] | None:
    """The smallest (s, t) with s*a + t*b = 0 in every row."""
    row = next(index for index in range(len(a)) if a[index] or b[index])
    divisor = gcd(a[row], b[row])
    s, t = b[row] // divisor, -a[row] // divisor
    return (s, t) if all(s * x + t * y == 0 for x, y in zip(a, b, strict=True)) else None


def _pair(rank: int, step: Mapping[int, int]) -> tuple[Point, Point]:
    """Two points of the box whose difference is `step`."""
    start = [max(0, -step.get(index, 0)) for index in range(rank)]
    end = [x + step.get(index, 0) for index, x in enumerate(start)]
    return tuple(start), tuple(end)

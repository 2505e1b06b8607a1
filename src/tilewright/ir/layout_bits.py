"""Bit-linear forms of index expressions: a constant xor a column for each bit of the coordinates.

Derived from the structure of the expression only: that a map agrees with such a form on the unit points would prove
nothing. Linear algebra over the two-element field then decides injectivity exactly, on ragged boxes too, because every
difference of bits is the xor of two real coordinates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.ir.index_expr import ExprKind, IndexExpr, evaluate, in_order
from tilewright.ir.index_map import IndexMap, Point
from tilewright.ir.types import DimAttr, SpaceAttr

__all__ = ["BitFacts", "analyze_bits"]

_WORD = (1 << 64) - 1
_SIGN = 1 << 63


@dataclass(frozen=True, slots=True)
class BitFacts:
    """What the form decides; None is unknown. `outside` is a point without an image, `collision` two with one."""

    in_bounds: bool | None
    injective: bool = False
    surjective: bool | None = None
    outside: Point | None = None
    collision: tuple[Point, Point] | None = None


@dataclass(frozen=True, slots=True)
class _Form:
    """`columns[i]` is what input bit i toggles; all patterns are 64-bit words."""

    constant: int
    columns: tuple[int, ...]

    @property
    def possible(self) -> int:
        """The bits that are not certainly zero."""
        bits = self.constant
        for column in self.columns:
            bits |= column
        return bits

    @property
    def is_constant(self) -> bool:
        return not any(self.columns)

    def mapped(self, image: Mapping[int, int] | None = None, *, mask: int = _WORD, shift: int = 0) -> "_Form":
        """Every word masked and then shifted (left when positive), or looked up in `image`."""
        words = (self.constant, *self.columns)
        if image is not None:
            moved = [image[word] for word in words]
        else:
            moved = [((word & mask) << shift if shift >= 0 else (word & mask) >> -shift) & _WORD for word in words]
        return _Form(moved[0], tuple(moved[1:]))

    def xor(self, other: "_Form") -> "_Form":
        columns = zip(self.columns, other.columns, strict=True)
        return _Form(self.constant ^ other.constant, tuple(a ^ b for a, b in columns))


def analyze_bits(index_map: IndexMap) -> BitFacts | None:
    """What the bit-linear form of a map with a domain of at least one point decides; None when it has no such form."""
    bits = _input_bits(index_map.domain)
    forms = _forms(index_map, bits)
    if forms is None:
        return None
    extents = index_map.codomain.extents
    for point, toggled in [(_point(index_map.domain, ()), None), *((_point(index_map.domain, [b]), b) for b in bits)]:
        for form, extent in zip(forms, extents, strict=True):
            value = form.constant ^ (form.columns[bits.index(toggled)] if toggled is not None else 0)
            if value >= extent:
                return BitFacts(in_bounds=False, outside=point)
    is_cube = all(extent & (extent - 1) == 0 for extent in index_map.domain.extents)
    if any(_maximum(form) >= extent for form, extent in zip(forms, extents, strict=True)):
        return BitFacts(in_bounds=False if is_cube else None)
    rank, relation = _eliminate(forms, len(bits))
    cells = index_map.codomain.volume
    surjective = (1 << rank) == cells if is_cube else (False if (1 << rank) < cells else None)
    if relation is None:
        return BitFacts(in_bounds=True, injective=True, surjective=surjective)
    pair = _collision(index_map.domain, [bit for i, bit in enumerate(bits) if relation >> i & 1])
    return BitFacts(in_bounds=True, injective=False, surjective=surjective, collision=pair)


def _input_bits(domain: SpaceAttr) -> list[tuple[int, int]]:
    """(axis position, bit) of every bit that a coordinate can have."""
    return [(k, bit) for k, extent in enumerate(domain.extents) for bit in range(max(extent - 1, 0).bit_length())]


def _forms(index_map: IndexMap, bits: Sequence[tuple[int, int]]) -> list[_Form] | None:
    known: dict[int, _Form] = {}
    position = {dim: k for k, dim in enumerate(index_map.domain.dims)}
    for node in in_order(index_map.outputs):
        form = _form(node, known, position, bits)
        if form is None:
            return None
        known[id(node)] = form
    return [known[id(output)] for output in index_map.outputs]


def _form(
    node: IndexExpr, known: Mapping[int, _Form], position: Mapping[DimAttr, int], bits: Sequence[tuple[int, int]]
) -> _Form | None:
    match node:
        case IndexExpr(kind=ExprKind.CONSTANT):
            return _Form(node.value & _WORD, (0,) * len(bits))
        case IndexExpr(dim=DimAttr() as dim):
            return _Form(0, tuple(1 << bit if axis == position[dim] else 0 for axis, bit in bits))
        case IndexExpr(lhs=IndexExpr() as lhs, rhs=IndexExpr() as rhs):
            a, b = known[id(lhs)], known[id(rhs)]
            return _folded(node, a, b) if a.is_constant and b.is_constant else _combined(node.kind, a, b)
        case _:
            return None


def _combined(kind: ExprKind, a: _Form, b: _Form) -> _Form | None:
    match kind:
        case ExprKind.XOR:
            return a.xor(b)
        case ExprKind.ADD:
            return a.xor(b) if not a.possible & b.possible else None
        case ExprKind.SUB:
            return _difference(a, b)
        case ExprKind.AND:
            return _masked(a, b) if b.is_constant else _masked(b, a) if a.is_constant else None
        case ExprKind.MUL:
            return _product(a, b.constant) if b.is_constant else _product(b, a.constant) if a.is_constant else None
        case ExprKind.SHL | ExprKind.SHR | ExprKind.FLOOR_DIV | ExprKind.MOD:
            return _by_constant(kind, a, b.constant) if b.is_constant else None
        case _:
            return None


def _masked(a: _Form, mask: _Form) -> _Form:
    return a.mapped(mask=mask.constant)


def _difference(a: _Form, b: _Form) -> _Form | None:
    if not b.possible:
        return a
    return a.xor(b) if a == b else None


def _product(a: _Form, factor: int) -> _Form | None:
    """By nothing, of a single bit, or by a power of two that keeps clear of the sign."""
    if factor == 0:
        return a.mapped(mask=0)
    if a.possible == 1:
        return a.mapped({0: 0, 1: factor})
    shift = factor.bit_length() - 1
    safe = factor == 1 << shift and factor != _SIGN and a.possible << shift < _SIGN
    return a.mapped(shift=shift) if safe else None


def _by_constant(kind: ExprKind, a: _Form, amount: int) -> _Form | None:
    if kind in (ExprKind.SHL, ExprKind.SHR):
        return a.mapped(shift=amount if kind is ExprKind.SHL else -amount) if amount < 64 else None
    power = amount.bit_length() - 1
    if amount != 1 << max(power, 0) or amount == _SIGN or a.possible & _SIGN:
        return None
    return a.mapped(shift=-power) if kind is ExprKind.FLOOR_DIV else a.mapped(mask=amount - 1)


def _folded(node: IndexExpr, a: _Form, b: _Form) -> _Form | None:
    lhs, rhs = (IndexExpr(ExprKind.CONSTANT, _signed(form.constant)) for form in (a, b))
    result = evaluate([IndexExpr(node.kind, lhs=lhs, rhs=rhs)], {}, 1)[0]
    return _Form(int(result.values[0]) & _WORD, a.columns) if result.defined[0] else None


def _signed(word: int) -> int:
    return word - (1 << 64) if word & _SIGN else word


def _maximum(form: _Form) -> int:
    """The largest word that the form takes on the cube, by a basis with distinct leading bits."""
    basis: dict[int, int] = {}
    for column in form.columns:
        word = column
        while word and word.bit_length() in basis:
            word ^= basis[word.bit_length()]
        if word:
            basis[word.bit_length()] = word
    best = form.constant
    for lead in sorted(basis, reverse=True):
        best = max(best, best ^ basis[lead])
    return best


def _eliminate(forms: Sequence[_Form], bits: int) -> tuple[int, int | None]:
    """The rank of the stacked columns, and a set of columns (as a mask) that cancel each other, if there is one."""
    basis: dict[int, tuple[int, int]] = {}
    relation: int | None = None
    for index in range(bits):
        word, used = sum(form.columns[index] << (64 * row) for row, form in enumerate(forms)), 1 << index
        while word and word.bit_length() in basis:
            other, others = basis[word.bit_length()]
            word, used = word ^ other, used ^ others
        if word:
            basis[word.bit_length()] = word, used
        elif relation is None:
            relation = used
    return len(basis), relation


def _point(domain: SpaceAttr, bits: Sequence[tuple[int, int]]) -> Point:
    return tuple(sum(1 << bit for axis, bit in bits if axis == k) for k in range(domain.rank))


def _collision(domain: SpaceAttr, bits: Sequence[tuple[int, int]]) -> tuple[Point, Point]:
    """Two real points that differ in exactly these bits: the top bit of each axis alone, and the others."""
    top = {axis: max(bit for a, bit in bits if a == axis) for axis, _ in bits}
    high = [(axis, bit) for axis, bit in bits if top[axis] == bit]
    low = [(axis, bit) for axis, bit in bits if top[axis] != bit]
    return _point(domain, high), _point(domain, low)

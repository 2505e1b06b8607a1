"""Affine forms of i64 values: what an address or a bound is, as coefficients over region indices."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.ir.ops import convert, elementwise, regions, tiles
from tilewright.ir.types import I64, element_of

__all__ = ["Affine", "affine_of", "constant_of"]

_DEPTH = 64
_Known = dict[SSAValue, "Affine | None"]


@dataclass(frozen=True)
class Affine:
    """`constant + sum(coefficient * index)`. Zero coefficients are never kept."""

    terms: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    constant: int = 0

    def __add__(self, other: "Affine") -> "Affine":
        terms = dict(self.terms)
        for value, factor in other.terms.items():
            terms[value] = terms.get(value, 0) + factor
        return Affine({value: factor for value, factor in terms.items() if factor}, self.constant + other.constant)

    def scaled(self, factor: int) -> "Affine":
        """This form times a number."""
        if not factor:
            return Affine()
        return Affine({value: old * factor for value, old in self.terms.items()}, self.constant * factor)

    def coefficient(self, value: SSAValue) -> int:
        """How the form moves with `value`."""
        return self.terms.get(value, 0)


def constant_of(value: SSAValue) -> int | None:
    """The signed number of an i64 constant."""
    if not isinstance(value.owner, tiles.ConstantOp) or element_of(value) != I64:
        return None
    bits = value.owner.value.data
    return bits - (1 << 64) if bits >> 63 else bits


def affine_of(value: SSAValue) -> Affine | None:
    """The affine form of a scalar i64 value over region indices, or None when it has none (or is too deep to tell)."""
    return _affine(value, {}, _DEPTH)


def _affine(value: SSAValue, known: _Known, depth: int) -> Affine | None:
    if value not in known:
        known[value] = _found(value, known, depth) if depth and value.type == I64 else None
    return known[value]


def _found(value: SSAValue, known: _Known, depth: int) -> Affine | None:
    if isinstance(value, BlockArgument):
        return Affine({value: 1}) if _is_index(value) else None
    number = constant_of(value)
    if number is not None:
        return Affine(constant=number)
    return _of_operation(value.owner, known, depth - 1) if isinstance(value.owner, Operation) else None


def _is_index(value: BlockArgument) -> bool:
    parent = value.block.parent_op()
    return isinstance(parent, regions.RegionOp | tiles.MapOp) and value.index < parent.space.rank


def _of_operation(op: Operation, known: _Known, depth: int) -> Affine | None:
    match op:
        case elementwise.AddOp() | elementwise.SubOp() | elementwise.MulOp():
            return _of_pair(op, _affine(op.lhs, known, depth), _affine(op.rhs, known, depth))
        case elementwise.NegOp():
            inner = _affine(op.operand, known, depth)
            return None if inner is None else inner.scaled(-1)
        case convert.CastOp():
            return _affine(op.operand, known, depth)
        case _:
            return None


def _of_pair(op: Operation, left: Affine | None, right: Affine | None) -> Affine | None:
    if left is None or right is None:
        return None
    match op:
        case elementwise.AddOp():
            return left + right
        case elementwise.SubOp():
            return left + right.scaled(-1)
        case _ if not right.terms:
            return left.scaled(right.constant)
        case _:
            return right.scaled(left.constant) if not left.terms else None

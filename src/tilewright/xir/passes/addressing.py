"""`reassociate-addresses`: sums of indices start with what changes least, so that most of them leaves the loops."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.xir.builder import XirBuilder
from tilewright.xir.constants import known_int
from tilewright.xir.rewrite import bodies, erase_dead, replace
from tilewright.xir.types import I64

__all__ = ["ReassociateAddresses"]

_MOST_TERMS = 32
"""A sum is taken apart no further: `n + n`, forty times over, has a trillion terms."""


@dataclass(frozen=True, slots=True)
class ReassociateAddresses:
    """Requires: a verified module.

    Ensures: every i64 sum adds its terms from the outermost definition inwards, its constants last and as one.
    Rewrites: `(%i + %base) + (%k * 8 + 16)` with %base defined outside the loop -> `((%base + %i) + %k * 8) + 16`;
    `(%i + 3) * 8` -> `%i * 8 + 24`. `hoist` then moves the leading terms, `cse` shares the equal prefixes, and a
    constant that stands last becomes part of the address of a load.
    Declines: sums of one term, or whose terms stand in this order already; products of two unknowns. Products with
    the loop index stay: a carried sum would be one operation for one, and code generation finds it by itself.
    """

    name: str = "reassociate-addresses"

    def apply(self, module: ModuleOp) -> int:
        return sum(_Sums(body).rewrite() for body in bodies(module))


@dataclass(frozen=True, slots=True)
class _Term:
    """`value * factor`; `product` is the operation that computes it already."""

    value: SSAValue
    factor: int
    product: SSAValue | None


class _Sums:
    """The i64 sums of one function."""

    def __init__(self, root: Block) -> None:
        self._root = root
        self._builder = XirBuilder(root)
        self._rank: dict[SSAValue, tuple[int, int]] = {}

    def rewrite(self) -> int:
        found = list(self._tops(self._root, 0))
        changed = sum(map(self._rewrite, found))
        if changed:
            erase_dead(self._root)
        return changed

    def _tops(self, block: Block, depth: int) -> list[Operation]:
        """The sums that are no part of a larger one; on the way, every value gets its loop depth and number."""
        tops: list[Operation] = []
        for argument in block.args:
            self._rank[argument] = depth, len(self._rank)
        for op in block.ops:
            inner = depth + isinstance(op, scf.ForOp)
            for region in op.regions:
                for nested in region.blocks:
                    tops += self._tops(nested, inner)
            for result in op.results:
                self._rank[result] = depth, len(self._rank)
            if _is_sum(op) and not all(_is_sum(use.operation) for use in op.results[0].uses):
                tops.append(op)
        return tops

    def _rewrite(self, op: Operation) -> bool:
        terms, constant = _terms(op.results[0])
        ordered = sorted(terms, key=lambda term: self._rank[term.value])
        if len(terms) + (constant != 0) < 2 or _stands(op.results[0], ordered, constant):
            return False
        with self._builder.before(op):
            total = self._sum(ordered, constant)
        self._rank.setdefault(total, self._rank[op.results[0]])
        replace(op, [total])
        return True

    def _sum(self, ordered: Sequence[_Term], constant: int) -> SSAValue:
        b = self._builder
        total = b.i64(0)
        for term in ordered:
            total = b.add(total, b.mul(term.value, term.factor) if term.product is None else term.product)
            self._rank.setdefault(total, self._rank[term.value])
        return b.add(total, constant)


def _terms(value: SSAValue) -> tuple[list[_Term], int]:
    """The terms of a sum of products with constants, and its constant part."""
    terms: list[_Term] = []
    constant = 0
    pending: list[tuple[SSAValue, int, SSAValue | None]] = [(value, 1, value)]
    while pending:
        value, factor, product = pending.pop()
        known, owner = known_int(value), value.owner
        if known is not None:
            constant += known * factor
        elif len(terms) + len(pending) >= _MOST_TERMS:
            terms.append(_Term(value, factor, product))
        elif isinstance(owner, arith.AddiOp) and _is_sum(owner) and (factor == 1 or _by_constant(owner)):
            pending += [(part, factor, part if factor == 1 else None) for part in reversed(owner.operands)]
        elif isinstance(owner, arith.MuliOp) and _by_constant(owner):
            step = known_int(owner.operands[1]) or 0
            pending.append((owner.operands[0], factor * step, value if factor == 1 else None))
        else:
            terms.append(_Term(value, factor, product))
    return terms, constant


def _stands(value: SSAValue, ordered: Sequence[_Term], constant: int) -> bool:
    """Whether `value` is the very chain that would be built."""
    if constant:
        owner = value.owner
        if not isinstance(owner, arith.AddiOp) or known_int(owner.operands[1]) != constant:
            return False
        value = owner.operands[0]
    for term in reversed(ordered[1:]):
        owner = value.owner
        if not isinstance(owner, arith.AddiOp) or owner.operands[1] is not term.product:
            return False
        value = owner.operands[0]
    return bool(ordered) and value is ordered[0].product


def _is_sum(owner: Operation | Block) -> bool:
    return isinstance(owner, arith.AddiOp) and owner.results[0].type == I64


def _by_constant(op: Operation) -> bool:
    """Whether the right operand is a constant. A sum of unknowns is not distributed: each would need a product."""
    return known_int(op.operands[1]) is not None

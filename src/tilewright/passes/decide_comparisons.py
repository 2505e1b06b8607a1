"""The pass `decide-comparisons`."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilewright.analysis.ranges import decided
from tilewright.ir.location import span_of
from tilewright.ir.ops import elementwise as ops
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.convert import SelectOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.ir.types import BOOL, element_of
from tilewright.passes.masks import replace_mask

__all__ = ["DecideComparisons"]


@dataclass(frozen=True)
class DecideComparisons(TilePass):
    """Drops conditions that indices decide: a guard that cuts off nothing, a bound that every block keeps.

    Requires: a verified module.
    Ensures: no order comparison of integers is left whose sides lie apart in all instances, and no choice,
        conjunction or mask that holds by such a comparison.
    Rewrites: `select (%k + %k0 < 64), %x, %y` with `%k + %k0` in 0..63 → `%x`.
    Declines when: an interval is not known or the intervals overlap; the kept side has another type than the choice.
    """

    name: ClassVar[str] = "decide-comparisons"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for op in list(module.walk()):  # operands first, so that one sweep carries a decision as far as it goes
            match op:
                case ops.CompareOp():
                    _compare(op, rewriter)
                case ops.LogicalAndOp() | ops.LogicalOrOp() | ops.AndOp() | ops.OrOp():
                    _combine(op, rewriter)
                case SelectOp():
                    _choose(op, rewriter)
                case LoadOp() | StoreOp() if op.mask is not None and _known(op.mask):
                    replace_mask(op, None, rewriter)
                case _:
                    continue


def _compare(op: ops.CompareOp, rewriter: TileRewriter) -> None:
    holds = decided(op)
    if holds is not None:
        word = "always" if holds else "never"
        rewriter.note(f"line {span_of(op).line}: the comparison {word} holds")
        rewriter.replace(op, [ConstantOp(int(holds), op.result.type)])


def _known(value: SSAValue) -> bool | None:
    return bool(value.owner.value.data) if isinstance(value.owner, ConstantOp) else None


def _combine(op: ops.BinaryOp, rewriter: TileRewriter) -> None:
    """`true & x` is x, and `true | x` is true; of numbers that is not said."""
    if element_of(op.result) != BOOL:
        return
    neutral = isinstance(op, ops.LogicalAndOp | ops.AndOp)
    for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        known = _known(one)
        if known is None:
            continue
        if known is not neutral:
            rewriter.replace(op, [ConstantOp(int(known), op.result.type)])
            return
        if other.type == op.result.type:
            rewriter.replace_values(op, [other])
            return


def _choose(op: SelectOp, rewriter: TileRewriter) -> None:
    known = _known(op.condition)
    chosen = op.on_true if known else op.on_false
    if known is not None and chosen.type == op.result.type:
        rewriter.replace_values(op, [chosen])

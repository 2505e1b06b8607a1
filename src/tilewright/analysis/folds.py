"""The closed-fold contract: a map whose only work is one fold of one expression by one associative operation.

Version 1. Evidence is the structure itself: a map over the kept dimensions holds one `reduce` with one carry; the body
updates the carry once by a recognised operation, the carry has no other use, and everything else in the body is pure.
"""

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.ir.attrs import Policy
from tilewright.ir.effects import is_pure
from tilewright.ir.ops import elementwise
from tilewright.ir.ops.regions import ReduceOp, YieldOp
from tilewright.ir.ops.tiles import MapOp

__all__ = ["CONTRACT_VERSION", "ClosedFold", "NotClosed", "closed_fold_of"]

CONTRACT_VERSION = 1

_MERGES: dict[type[Operation], str] = {
    elementwise.AddOp: "add",
    elementwise.MulOp: "mul",
    elementwise.MaxOp: "max",
    elementwise.MinOp: "min",
    elementwise.AndOp: "and",
    elementwise.OrOp: "or",
    elementwise.XorOp: "xor",
    elementwise.LogicalAndOp: "logical_and",
    elementwise.LogicalOrOp: "logical_or",
}


@dataclass(frozen=True)
class ClosedFold:
    """`result[kept] = merge over reduced of element`, then with `init` (a scalar outside the fold) exactly once."""

    map: MapOp
    reduce: ReduceOp
    merge: str
    element: SSAValue
    init: SSAValue
    version: int = CONTRACT_VERSION

    @property
    def may_permute(self) -> bool:
        """Whether contributions may be regrouped and reordered."""
        return self.reduce.policy.data is Policy.UNORDERED_TREE


@dataclass(frozen=True)
class NotClosed:
    """Why a map is not a closed fold."""

    reason: str


def closed_fold_of(op: MapOp) -> ClosedFold | NotClosed:
    """The contract of a map, or the reason why it has none."""
    inner = [item for item in op.body.block.ops if isinstance(item, ReduceOp)]
    if len(inner) != 1:
        return NotClosed(f"the map holds {len(inner)} folds, not one")
    reduce = inner[0]
    if len(reduce.inits) != 1:
        return NotClosed("the fold carries several values")
    if not is_pure(op):
        return NotClosed("the map touches storage")
    terminator = op.body.block.last_op
    if not isinstance(terminator, YieldOp) or terminator.values[0] is not reduce.results_[0]:
        return NotClosed("the map yields something else than the fold")
    return _of_reduce(op, reduce)


def _of_reduce(op: MapOp, reduce: ReduceOp) -> ClosedFold | NotClosed:
    last = reduce.body.block.last_op
    carry = reduce.carries[0]
    update = last.values[0].owner if isinstance(last, YieldOp) else None
    merge = _MERGES.get(type(update)) if isinstance(update, Operation) else None
    if merge is None or not isinstance(update, elementwise.BinaryOp) or update.parent is not reduce.body.block:
        return NotClosed("the carry is not updated by one associative operation")
    if carry.get_user_of_unique_use() is not update or carry not in (update.lhs, update.rhs):
        return NotClosed("the carry is used by more than its update")
    element = update.rhs if update.lhs is carry else update.lhs
    return ClosedFold(op, reduce, merge, element, reduce.inits[0])

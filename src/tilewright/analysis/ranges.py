"""Intervals of i64 values over all instances of the kernel. A missing interval is no fact, never a guess."""

from dataclasses import dataclass

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.affine import constant_of
from tilewright.ir.ops import convert, elementwise, regions, tiles
from tilewright.ir.types import I64

__all__ = ["Interval", "interval_of"]

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1
_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Interval:
    """All values lie in [low, high]; `low > high` says that the value never exists (an empty domain)."""

    low: int
    high: int

    def within(self, extent: int) -> bool:
        """Whether every value is a legal index of an axis of `extent`."""
        return self.low > self.high or (0 <= self.low and self.high < extent)


def interval_of(value: SSAValue, depth: int = _DEPTH) -> Interval | None:
    """An interval that holds the scalar i64 `value`, by structure alone; None when nothing is known or it may overflow."""
    if depth == 0 or value.type != I64:
        return None
    if isinstance(value, BlockArgument):
        return _of_index(value)
    known = constant_of(value)
    if known is not None:
        return Interval(known, known)
    return _of_operation(value.owner, depth - 1) if isinstance(value.owner, Operation) else None


def _of_index(value: BlockArgument) -> Interval | None:
    parent = value.block.parent_op()
    if isinstance(parent, regions.RegionOp | tiles.MapOp) and value.index < parent.space.rank:
        return Interval(0, parent.space.extents[value.index] - 1)
    return None


def _of_operation(op: Operation, depth: int) -> Interval | None:
    if isinstance(op, convert.CastOp):
        return interval_of(op.operand, depth)
    if isinstance(op, elementwise.NegOp):
        inner = interval_of(op.operand, depth)
        return None if inner is None else _checked(-inner.high, -inner.low)
    if not isinstance(op, elementwise.BinaryOp):
        return None
    left, right = interval_of(op.lhs, depth), interval_of(op.rhs, depth)
    return None if left is None or right is None else _of_binary(op, left, right)


def _of_binary(op: elementwise.BinaryOp, left: Interval, right: Interval) -> Interval | None:
    match op:
        case elementwise.AddOp():
            return _checked(left.low + right.low, left.high + right.high)
        case elementwise.SubOp():
            return _checked(left.low - right.high, left.high - right.low)
        case elementwise.MulOp():
            corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
            return _checked(min(corners), max(corners))
        case elementwise.MinOp():
            return Interval(min(left.low, right.low), min(left.high, right.high))
        case elementwise.MaxOp():
            return Interval(max(left.low, right.low), max(left.high, right.high))
        case elementwise.FloorDivOp() if right.low == right.high > 0:
            return Interval(left.low // right.low, left.high // right.low)
        case elementwise.FloorModOp() if right.low == right.high > 0:
            inside = left.low // right.low == left.high // right.low
            return Interval(left.low % right.low, left.high % right.low) if inside else Interval(0, right.low - 1)
        case _:
            return None


def _checked(low: int, high: int) -> Interval | None:
    return Interval(low, high) if low >= _LOW and high <= _HIGH else None

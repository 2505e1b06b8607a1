"""Intervals of i64 values over all instances of the kernel. A missing interval is no fact, never a guess."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.affine import constant_of
from tilewright.ir.ops import convert, elementwise, regions, tiles
from tilewright.ir.types import I64, element_of

__all__ = ["Given", "Interval", "decided", "interval_of"]

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1
_DEPTH = 64
_ORDER = (elementwise.LtOp, elementwise.LeOp, elementwise.GtOp, elementwise.GeOp)
_Known = dict[SSAValue, "Interval | None"]


@dataclass(frozen=True, slots=True)
class Interval:
    """All values lie in [low, high]; `low > high` says that the value never exists (an empty domain)."""

    low: int
    high: int

    def within(self, extent: int) -> bool:
        """Whether every value is a legal index of an axis of `extent`."""
        return self.low > self.high or (self.low >= 0 and self.high < extent)

    def may_subtract(self, other: "Interval") -> bool:
        """Whether no difference of two values, nor one more than it, leaves 64 bits."""
        return self.low - other.high > _LOW and self.high - other.low < _HIGH


Given = Mapping[SSAValue, Interval]
"""Values of which more is known than their structure says: an index in some iterations of its loop."""
_NOTHING: Given = MappingProxyType({})


def interval_of(value: SSAValue, given: Given = _NOTHING) -> Interval | None:
    """An interval that holds the i64 `value`, or every element of an i64 tile, by structure and what is `given`.

    None when nothing is known or it may overflow.
    """
    return _interval(value, dict(given), _DEPTH)


def decided(op: elementwise.CompareOp, given: Given = _NOTHING) -> bool | None:
    """What an order comparison of integers comes to in every instance; None where that is open."""
    if element_of(op.lhs) != I64 or not isinstance(op, _ORDER):
        return None
    left, right = interval_of(op.lhs, given), interval_of(op.rhs, given)
    if left is None or right is None or left.low > left.high or right.low > right.high:
        return None
    if isinstance(op, elementwise.GtOp | elementwise.GeOp):
        left, right = right, left
    if isinstance(op, elementwise.LtOp | elementwise.GtOp):
        return True if left.high < right.low else False if left.low >= right.high else None
    return True if left.high <= right.low else False if left.low > right.high else None


def _interval(value: SSAValue, known: _Known, depth: int) -> Interval | None:
    if value in known:
        return known[value]
    known[value] = _found(value, known, depth) if depth and element_of(value) == I64 else None
    return known[value]


def _found(value: SSAValue, known: _Known, depth: int) -> Interval | None:
    if isinstance(value, BlockArgument):
        return _of_index(value)
    constant = constant_of(value)
    if constant is not None:
        return Interval(constant, constant)
    return _of_operation(value.owner, known, depth - 1) if isinstance(value.owner, Operation) else None


def _of_index(value: BlockArgument) -> Interval | None:
    parent = value.block.parent_op()
    if isinstance(parent, regions.RegionOp | tiles.MapOp) and value.index < parent.space.rank:
        return Interval(0, parent.space.extents[value.index] - 1)
    return None


def _of_operation(op: Operation, known: _Known, depth: int) -> Interval | None:
    match op:
        case convert.CastOp():
            return _interval(op.operand, known, depth)
        case elementwise.NegOp():
            inner = _interval(op.operand, known, depth)
            return None if inner is None else _checked(-inner.high, -inner.low)
        case tiles.MapOp():
            last = op.body.block.last_op
            return _interval(last.values[0], known, depth) if isinstance(last, regions.YieldOp) else None
        case convert.SelectOp():
            return _of_pair(op, *(_interval(value, known, depth) for value in op.operands[1:]))
        case elementwise.BinaryOp():
            return _of_pair(op, _interval(op.lhs, known, depth), _interval(op.rhs, known, depth))
        case _:
            return None


def _of_pair(op: Operation, left: Interval | None, right: Interval | None) -> Interval | None:
    if left is None or right is None:
        return None
    match op:
        case convert.SelectOp():
            return Interval(min(left.low, right.low), max(left.high, right.high))
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

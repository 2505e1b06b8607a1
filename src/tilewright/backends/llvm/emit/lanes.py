"""What a vector of indices looks like across its lanes: `base + offsets[lane]`, where that can be told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from tilewright.xir import ops
from tilewright.xir.constants import known_int, number_of
from tilewright.xir.types import lanes_of

__all__ = ["LaneForm", "lane_form"]

_DEPTH = 12  # index expressions are short; a longer one counts as unknown


@dataclass(frozen=True, slots=True)
class LaneForm:
    """Lane i is the sum of `coefficient * value` over scalar `terms`, plus `offsets[i]`, in wrapping arithmetic."""

    terms: tuple[tuple[SSAValue, int], ...]
    offsets: tuple[int, ...]

    @property
    def stride(self) -> int | None:
        """The constant distance between neighbouring lanes; None when it varies."""
        steps = {b - a for a, b in zip(self.offsets, self.offsets[1:], strict=False)}
        return steps.pop() if len(steps) == 1 else None

    def plus(self, other: "LaneForm", sign: int = 1) -> "LaneForm":
        terms = self.terms + tuple((value, sign * factor) for value, factor in other.terms)
        offsets = tuple(a + sign * b for a, b in zip(self.offsets, other.offsets, strict=True))
        return LaneForm(terms, offsets)

    def times(self, factor: int) -> "LaneForm":
        terms = tuple((value, factor * given) for value, given in self.terms)
        return LaneForm(terms, tuple(factor * offset for offset in self.offsets))


def lane_form(value: SSAValue, depth: int = _DEPTH) -> LaneForm | None:
    """The form of a vector of i64, or None where lanes differ by more than constants."""
    owner = value.owner
    if not isinstance(owner, Operation) or depth == 0:
        return None
    rule = _RULES.get(type(owner))
    return None if rule is None else rule(owner, depth - 1)


def _constant(op: Operation, _: int) -> LaneForm:
    attribute, lanes = op.properties["value"], lanes_of(op.results[0].type)
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        return LaneForm((), tuple(int(v) for v in cast("DenseIntOrFPElementsAttr[Any]", attribute).get_values()))
    return LaneForm((), (int(number_of(attribute)),) * lanes)


def _broadcast(op: Operation, _: int) -> LaneForm:
    return LaneForm(((op.operands[0], 1),), (0,) * lanes_of(op.results[0].type))


def _iota(op: Operation, _: int) -> LaneForm:
    return LaneForm((), tuple(range(lanes_of(op.results[0].type))))


def _sum(op: Operation, depth: int) -> LaneForm | None:
    a, b = (lane_form(operand, depth) for operand in op.operands)
    if a is None or b is None:
        return None
    return a.plus(b, -1 if isinstance(op, arith.SubiOp) else 1)


def _product(op: Operation, depth: int) -> LaneForm | None:
    for varying, fixed in (op.operands, reversed(op.operands)):
        factor, form = known_int(fixed), lane_form(varying, depth)
        if factor is not None and form is not None:
            return form.times(factor)
    return None


def _shift(op: Operation, depth: int) -> LaneForm | None:
    amount, form = known_int(op.operands[1]), lane_form(op.operands[0], depth)
    if form is None or amount is None or not 0 <= amount < 63:
        return None
    return form.times(1 << amount)


_RULES: Mapping[type[Operation], Callable[[Any, int], LaneForm | None]] = MappingProxyType(
    {
        arith.ConstantOp: _constant,
        vector.BroadcastOp: _broadcast,
        ops.LanesOp: _iota,
        arith.AddiOp: _sum,
        arith.SubiOp: _sum,
        arith.MuliOp: _product,
        arith.ShLIOp: _shift,
    }
)

"""The bodies of a contraction, as code that can be written again wherever a vector of C needs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.xir.builder import XirBuilder

__all__ = ["Body", "body_of", "captured_by"]


@dataclass(frozen=True, eq=False)
class Body:
    """One body. `captured` are the values it uses from outside, but for constants, which are made anew inside."""

    block: Block
    captured: tuple[SSAValue, ...]

    @property
    def length(self) -> int:
        """How many operations it has."""
        return len(self.block.ops)

    def write(self, b: XirBuilder, arguments: Sequence[SSAValue], captured: Mapping[SSAValue, SSAValue]) -> SSAValue:
        """The operations of the body at the insertion point; the value it yields."""
        values = {**captured, **dict(zip(self.block.args, arguments, strict=True))}
        last = self.block.last_op
        for op in self.block.ops:
            if op is not last:
                self._copy(b, op, values)
        return self._value(b, last.operands[0], values) if last is not None else arguments[-1]

    def _copy(self, b: XirBuilder, op: Operation, values: dict[SSAValue, SSAValue]) -> None:
        for inner in op.walk():
            for operand in inner.operands:
                if operand not in values and isinstance(operand.owner, ConstantOp):
                    values[operand] = self._value(b, operand, values)
        new = op.clone(values)
        b.insert(new)
        values.update(zip(op.results, new.results, strict=True))

    @staticmethod
    def _value(b: XirBuilder, value: SSAValue, values: Mapping[SSAValue, SSAValue]) -> SSAValue:
        owner = value.owner
        if value not in values and isinstance(owner, ConstantOp):
            return b.constant_like(owner)
        return values[value]


def body_of(region: Region) -> Body | None:
    """The body in a region; None for an empty one."""
    block = region.first_block
    if block is None:
        return None
    inside: set[SSAValue] = set(block.args)
    captured: dict[SSAValue, None] = {}
    for op in block.walk():
        inside.update(op.results)
        inside.update(argument for inner in op.regions for nested in inner.blocks for argument in nested.args)
    for op in block.walk():
        for operand in op.operands:
            if operand not in inside and not isinstance(operand.owner, ConstantOp):
                captured[operand] = None
    return Body(block, tuple(captured))


def captured_by(*bodies: Body | None) -> list[SSAValue]:
    """The values from outside that bodies use, each once."""
    return list(dict.fromkeys(value for body in bodies if body is not None for value in body.captured))

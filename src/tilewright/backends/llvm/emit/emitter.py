"""One LLVM function under construction from one XIR function: values by name, blocks through the rule table."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from tilewright.backends.llvm.emit.represent import represented
from tilewright.backends.llvm.emit.schedule import Schedule
from tilewright.backends.llvm.text import Function
from tilewright.backends.llvm.types import Type
from tilewright.backends.llvm.values import NULL, Value
from tilewright.core.codes.unsupported import NO_MACHINE_RULE
from tilewright.core.errors import UnsupportedError
from tilewright.xir.location import span_of

__all__ = ["FUNCTION_PREFIX", "Emitter", "Rule", "Rules", "type_of"]

FUNCTION_PREFIX = "function."  # no name of ours may be taken for one of the C library

Rule = Callable[["Emitter", Operation], None]
Rules = Mapping[type[Operation], Rule]


def type_of(value: SSAValue) -> Type:
    """The LLVM type of an XIR value."""
    return represented(value.type)


class Emitter:
    """The state that rules work on: `f` writes instructions, `value` reads operands, `define` names results."""

    def __init__(self, f: Function, schedule: Schedule, rules: Rules, *, scales: bool) -> None:
        self.f = f
        self.scales = scales  # whether the target scales full vectors by powers of two
        self.schedule = schedule
        self.scratch: Value = NULL  # the block of this worker; functions get buffers as arguments and need none
        self._rules = rules
        self._values: dict[SSAValue, Value] = {}
        self._spare: dict[Type, Value] = {}

    def value(self, operand: SSAValue) -> Value:
        return self._values[operand]

    def values(self, operands: Sequence[SSAValue]) -> list[Value]:
        return [self._values[operand] for operand in operands]

    def define(self, result: SSAValue, value: Value) -> None:
        self._values[result] = value

    def block(self, block: Block) -> Sequence[SSAValue]:
        """Emits a block up to its terminator and gives the terminator's operands."""
        last = block.last_op
        for op in block.ops:
            if op is not last:
                self._emit(op)
        return () if last is None else last.operands

    def _emit(self, op: Operation) -> None:
        """Raises UnsupportedError (TW441) for an operation without a rule."""
        rule = self._rules.get(type(op))
        if rule is None:
            raise UnsupportedError(NO_MACHINE_RULE.at(span_of(op), op=op.name))
        rule(self, op)

    def spare(self, kind: Type) -> Value:
        """A stack slot where masked-off scalar accesses go."""
        slot = self._spare.get(kind)
        if slot is None:
            slot = self._spare[kind] = self.f.alloca(kind, 1)
        return slot

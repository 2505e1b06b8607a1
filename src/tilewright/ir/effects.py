"""What operations do to storage, asked by name. The facts are the `HasEffect` traits of the operations."""

from collections.abc import Iterator
from functools import cache

from xdsl.ir import Operation, SSAValue

from tilewright.core.abi import Usage
from tilewright.ir.ops.base import Effect, HasEffect
from tilewright.ir.ops.regions import KernelOp
from tilewright.ir.types import MemoryType, ViewType

__all__ = ["effect_of", "is_pure", "reads", "storage_of", "tree_effect", "usage", "writes"]


def effect_of(op: Operation) -> Effect:
    """What the operation itself does, not counting its regions."""
    return _effect_of_kind(type(op))


@cache
def _effect_of_kind(kind: type[Operation]) -> Effect:
    found = Effect.NONE
    for trait in kind.get_traits_of_type(HasEffect):
        found |= trait.effect
    return found


def tree_effect(op: Operation) -> Effect:
    """What the operation and everything in its regions do."""
    found = Effect.NONE
    for inner in op.walk():
        found |= effect_of(inner)
    return found


def is_pure(op: Operation) -> bool:
    """Whether neither the operation nor anything in its regions touches storage."""
    return all(not effect_of(inner) for inner in op.walk())


def storage_of(op: Operation) -> SSAValue | None:
    """The view or memory that an access names, or the memory that an allocation makes; None for other operations."""
    values = (*op.operands, *op.results)
    return next((value for value in values if isinstance(value.type, ViewType | MemoryType)), None)


def reads(op: Operation) -> tuple[SSAValue, ...]:
    """The views and memories that the operation and its regions read, each once, in order of first use."""
    return tuple(dict.fromkeys(_touched(op, Effect.READ)))


def writes(op: Operation) -> tuple[SSAValue, ...]:
    """The views and memories that the operation and its regions write, each once, in order of first use."""
    return tuple(dict.fromkeys(_touched(op, Effect.WRITE)))


def usage(kernel: KernelOp) -> tuple[Usage, ...]:
    """What the kernel does to each of its arguments, in signature order. Scalars are READ when used."""
    read, written = set(reads(kernel)), set(writes(kernel))
    return tuple(_usage_of(argument, read, written) for argument in kernel.body.block.args)


def _usage_of(argument: SSAValue, read: set[SSAValue], written: set[SSAValue]) -> Usage:
    if not isinstance(argument.type, ViewType):
        return Usage.READ if argument.first_use is not None else Usage.NONE
    found = Usage.READ if argument in read else Usage.NONE
    return found | Usage.WRITE if argument in written else found


def _touched(op: Operation, effect: Effect) -> Iterator[SSAValue]:
    for inner in op.walk():
        if effect_of(inner) & effect:
            storage = storage_of(inner)
            if storage is not None:
                yield storage

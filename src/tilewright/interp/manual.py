"""Manual memory: contents replaced as a whole, states that order the accesses."""

from dataclasses import dataclass
from typing import cast

from xdsl.ir import Operation, SSAValue

from tilewright.core.codes.effects import MEMORY_FLOW
from tilewright.core.errors import EffectError
from tilewright.ir.location import span_of
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp

from .frame import Frame
from .machine import Machine
from .values import Cells

__all__ = ["allocate", "load", "store"]


@dataclass(frozen=True, eq=False, slots=True)
class _State:
    """What a memory holds between two stores; None before the first."""

    contents: Cells | None = None


@dataclass(eq=False, slots=True)
class _Memory:
    """One allocation, with the state that its last store left."""

    latest: _State


def allocate(_machine: Machine, op: MemoryAllocOp, frame: Frame) -> None:
    """Fresh storage whose contents mean nothing."""
    state = _State()
    frame.define(op.memory, _Memory(state))
    frame.define(op.state, state)


def load(machine: Machine, op: MemoryLoadOp, frame: Frame) -> None:
    """What the last store left."""
    memory, state = _reaching(machine, op, frame, op.memory, op.state)
    if state.contents is None:
        raise _refused(machine, op, frame, "it is loaded before the first store")
    frame.define(op.result, memory.latest.contents)


def store(machine: Machine, op: MemoryStoreOp, frame: Frame) -> None:
    """Replaces the contents; the new state is the only one that later accesses may use."""
    memory, _ = _reaching(machine, op, frame, op.memory, op.state)
    memory.latest = _State(frame.cells(op.value))
    frame.define(op.result, memory.latest)


def _reaching(
    machine: Machine, op: Operation, frame: Frame, memory: SSAValue, state: SSAValue
) -> tuple[_Memory, _State]:
    """The memory and the state given to an access, which must be the one that the memory is in."""
    held, given = cast(_Memory, frame.lookup(memory)), cast(_State, frame.lookup(state))
    if held.latest is not given:
        raise _refused(machine, op, frame, "this state is not the one that the last store left")
    return held, given


def _refused(machine: Machine, op: Operation, frame: Frame, what: str) -> EffectError:
    return EffectError(MEMORY_FLOW.at(span_of(op), what=what, notes=machine.place(frame, None)))

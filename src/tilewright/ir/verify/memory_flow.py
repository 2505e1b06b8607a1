"""The flow of memory states: every access consumes the one reaching state of its memory.

Runs over a kernel whose structure is sound. Inside a region that carries a memory's state the body argument reaches;
after it the result does. A region that does not carry a memory may read it, and leaves its state as it was.
"""

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.ir import Block, Operation, SSAValue

from tilewright.core.codes.effects import MEMORY_FLOW
from tilewright.core.diagnostics import Label
from tilewright.ir.location import span_of
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import CarryingOp, YieldOp
from tilewright.ir.types import MemoryStateType
from tilewright.ir.verify.rule import Findings, Rule, op_text

FOREIGN_STATE = Rule("V-FLOW-1", MEMORY_FLOW, "{op} uses the state of another memory")
STALE_STATE = Rule("V-FLOW-2", MEMORY_FLOW, "{op} uses an old state, not the one left by the access before it")
UNINITIALISED = Rule("V-FLOW-3", MEMORY_FLOW, "a load happens before the memory is certain to have been stored to")
STALE_YIELD = Rule("V-FLOW-4", MEMORY_FLOW, "the body of {op} yields an old state of its memory")
FOREIGN_YIELD = Rule("V-FLOW-5", MEMORY_FLOW, "the body of {op} yields the state of another memory")
STALE_INIT = Rule("V-FLOW-6", MEMORY_FLOW, "{op} starts from an old state of its memory")
CARRIED_TWICE = Rule("V-FLOW-7", MEMORY_FLOW, "{op} carries one memory twice")
CHANGED_OUTSIDE = Rule("V-FLOW-8", MEMORY_FLOW, "the body of {op} stores to a memory that it does not carry")

RULES = (
    FOREIGN_STATE, STALE_STATE, UNINITIALISED, STALE_YIELD, FOREIGN_YIELD, STALE_INIT, CARRIED_TWICE, CHANGED_OUTSIDE,
)  # fmt: skip


def check_memory_flow(block: Block, found: Findings) -> None:
    """All rules of memory states in one kernel body."""
    _Flow(found).block(block)


class _Flow:
    def __init__(self, found: Findings) -> None:
        self._found = found
        self._memory: dict[SSAValue, SSAValue] = {}  # state -> its memory
        self._reaching: dict[SSAValue, SSAValue] = {}  # memory -> its state here
        self._stored: set[SSAValue] = set()  # memories certain to have contents here

    def block(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case MemoryAllocOp():
                    self._memory[op.state] = op.memory
                    self._reaching[op.memory] = op.state
                case MemoryLoadOp():
                    self._load(op)
                case MemoryStoreOp():
                    self._check_state(op, op.memory, op.state)
                    self._define(op.memory, op.result)
                    self._stored.add(op.memory)
                case CarryingOp():
                    self._carrying(op)
                case _:
                    self._other(op)

    def _define(self, memory: SSAValue, state: SSAValue) -> None:
        self._memory[state] = memory
        self._reaching[memory] = state

    def _load(self, op: MemoryLoadOp) -> None:
        self._check_state(op, op.memory, op.state)
        if op.memory not in self._stored:
            label = Label(span_of(op.memory), "the memory")
            self._found.add(UNINITIALISED, op, labels=[label])

    def _check_state(self, op: Operation, memory: SSAValue, state: SSAValue) -> None:
        if self._memory.get(state) != memory:
            self._found.add(FOREIGN_STATE, op, op=op_text(op))
        elif self._reaching[memory] != state:
            self._found.add(STALE_STATE, op, op=op_text(op))

    def _other(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                with self._kept(op, frozenset()):
                    self.block(block)

    def _carrying(self, op: CarryingOp) -> None:
        carried = self._enter(op)
        args = op.carries
        with self._kept(op, frozenset(carried.values())):
            for index, memory in carried.items():
                self._define(memory, args[index])
            before = frozenset(self._stored)
            self.block(op.body.block)
            self._check_yield(op, carried)
            stored_inside = frozenset(self._stored)
        # What a body stores is certain only when the body runs at least once.
        self._stored |= stored_inside & frozenset(carried.values()) if op.space.volume else before
        for index, memory in carried.items():
            self._define(memory, op.results[index])

    def _enter(self, op: CarryingOp) -> dict[int, SSAValue]:
        """The memories whose states `op` carries, by position."""
        carried: dict[int, SSAValue] = {}
        for index, init in enumerate(op.inits):
            if not isinstance(init.type, MemoryStateType):
                continue
            memory = self._memory.get(init)
            if memory is None or self._reaching[memory] != init:
                self._found.add(STALE_INIT, op, op=op_text(op))
            elif memory in carried.values():
                self._found.add(CARRIED_TWICE, op, op=op_text(op))
            else:
                carried[index] = memory
        return carried

    def _check_yield(self, op: CarryingOp, carried: dict[int, SSAValue]) -> None:
        last = op.body.block.last_op
        if not isinstance(last, YieldOp):
            return
        for index, memory in carried.items():
            state = last.values[index]
            if self._memory.get(state) != memory:
                self._found.add(FOREIGN_YIELD, last, op=op_text(op))
            elif self._reaching[memory] != state:
                self._found.add(STALE_YIELD, last, op=op_text(op))

    @contextmanager
    def _kept(self, op: Operation, carried: frozenset[SSAValue]) -> Generator[None]:
        """Leaves every outer memory as it was, after a complaint when a body changed one it does not carry."""
        outer, stored = dict(self._reaching), set(self._stored)
        yield
        for memory, state in outer.items():
            if memory not in carried and self._reaching[memory] != state:
                self._found.add(CHANGED_OUTSIDE, op, op=op_text(op))
        self._reaching, self._stored = outer, stored

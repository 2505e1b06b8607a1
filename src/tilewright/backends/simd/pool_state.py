"""The pool's shared words. Words that different threads write stand 128 bytes apart: CPUs fetch lines in pairs."""

from dataclasses import dataclass

from tilewright.backends.llvm.text import Function
from tilewright.backends.llvm.types import I8, I64, PTR, Type, array
from tilewright.backends.llvm.values import Value

MAX_WORKERS = 1024
CLOSED = 0xFFFF_FFFF  # low half of the gate while a launch is being written
INDEX_MASK = 0xFFFF_FFFF
GENTLY = 1 << 32  # with a number of threads: only workers that are awake take part
STATE_SYMBOL = "state"


@dataclass(frozen=True, slots=True)
class Field:
    """A word of the state block."""

    offset: int
    type: Type = I64

    def address(self, f: Function) -> Value:
        return f.byte_offset(Value(PTR, f"@{STATE_SYMBOL}"), self.offset)

    def load(self, f: Function, ordering: str = "") -> Value:
        """A plain load, for words that only the holder of `BUSY` touches, or an atomic one."""
        pointer = self.address(f)
        return f.load_atomic(self.type, pointer, ordering) if ordering else f.load(self.type, pointer)

    def store(self, f: Function, value: Value, ordering: str = "") -> None:
        pointer = self.address(f)
        if ordering:
            f.store_atomic(value, pointer, ordering)
        else:
            f.store(value, pointer)


GATE = Field(0)  # generation << 32 | next worker number: workers poll it and take their number from it
TICKET = Field(128)  # generation << 32 | next task
DONE = Field(256)  # finished tasks of the current launch
SLEEPERS = Field(384)  # workers waiting on the condition
TASK = Field(512, PTR)  # the launch: function, context, tasks, threads
CONTEXT = Field(520, PTR)
COUNT = Field(528)
LIMIT = Field(536)
BUSY = Field(640)  # 1 while a launch is under way; the next four belong to the launching thread
MADE = Field(648)  # workers that exist
GENERATION = Field(656)
ALONE = Field(672)  # gentle launches in a row that missed workers
LAST_CPU = Field(664)  # where the launching thread last ran, plus 1; 0: unknown
SPIN = Field(768)  # pauses before a worker sleeps
STEER = Field(776)  # 1: keep waking workers off the launching thread's core
MUTEX = Field(896)
CONDITION = Field(1024)
HANDLES = Field(1152)  # pthread_t of each worker

STATE_BYTES = HANDLES.offset + 8 * MAX_WORKERS
STATE_TYPE = array(I8, STATE_BYTES)

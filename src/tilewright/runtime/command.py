"""What a stream runs: commands as descriptions, and tasks as their enqueued form."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tilewright.core.abi import Usage
from tilewright.core.diagnostics import Diagnostic
from tilewright.core.source import Span, Trace, span_of, user_trace

from .capability import Capability
from .fence import Fence, StagedFences
from .lifetime import Lifetime

if TYPE_CHECKING:
    from .context import DeviceContext
    from .inline import CodeCall

__all__ = ["Access", "Command", "FencedTask", "HostCallback", "Task", "host_callback"]


class Access(NamedTuple):
    """What a command does to bytes `begin` to `end` (exclusive) of the buffer with this handle."""

    handle: int
    begin: int
    end: int
    usage: Usage
    label: str


class Task(ABC):
    """An enqueued command. Is either run or abandoned, once.

    `alone`: it may block, or somebody may wait for its end; it is never run in one go with others. `fenced`: it waits
    or signals.
    """

    __slots__ = ()
    alone: bool = False
    fenced: bool = False
    waits: Fence | None = None
    signals: Fence | None = None

    @property
    @abstractmethod
    def command(self) -> "Command": ...

    @property
    @abstractmethod
    def accesses(self) -> Sequence[Access]:
        """What it reads and writes on the device. The same object whenever it is the same."""

    @property
    @abstractmethod
    def run(self) -> Callable[[], object]:
        """What it does, on the stream's thread."""

    def code(self) -> "CodeCall | None":
        """The same as short machine code, or None. What it raises keeps the task from running that way."""
        return None

    @abstractmethod
    def abandon(self, cause: Diagnostic, /) -> None:
        """Does not run it; who waits for its signal learns the cause."""


# Not frozen, as no class of commands is: what is made for every launch must not cost a call for every field.
@dataclass(slots=True, eq=False)
class Command(Task):
    """One step of a stream, as data: checked when made, never changed, may be enqueued any number of times.

    `trace` is where the user made it. A command refers strongly to everything it needs. One that neither waits nor
    signals is its own task.
    """

    trace: Trace
    needs: ClassVar[Capability]

    @property
    def span(self) -> Span:
        """The trace as a span."""
        return span_of(self.trace)

    @property
    def command(self) -> "Command":
        return self

    @property
    def context(self) -> "DeviceContext | None":
        """The device it belongs to; None: any."""
        return None

    @property
    def resources(self) -> Sequence[Lifetime]:
        """What must stay alive until the command has finished."""
        return ()

    @property
    def accesses(self) -> Sequence[Access]:
        return ()

    @property
    def run(self) -> Callable[[], object]:
        return self.execute

    def is_ready(self, context: "DeviceContext") -> bool:
        """Whether it is of this device, and nothing that it needs is closed."""
        return self.context is context and not any(lifetime.closed for lifetime in self.resources)

    def require_open(self) -> None:
        """Raises DispatchError (TW602) when a resource is closed."""
        for lifetime in self.resources:
            lifetime.require_open()

    def task(self, _fences: StagedFences, /) -> Task:
        """Its enqueued form; signals and waits, which are `fenced`, find their fence here."""
        return self

    def abandon(self, _cause: Diagnostic, /) -> None:
        """Nobody waits for it."""

    @abstractmethod
    def describe(self) -> str:
        """The command in words, for errors."""

    @abstractmethod
    def execute(self) -> None:
        """Does it now, on this thread."""


@dataclass(slots=True, eq=False)
class FencedTask(Task):
    """A command that waits for a fence or signals one."""

    of: Command
    signals: Fence | None = None
    waits: Fence | None = None
    alone = True
    fenced = True

    @property
    def command(self) -> Command:
        return self.of

    @property
    def accesses(self) -> Sequence[Access]:
        return self.of.accesses

    @property
    def run(self) -> Callable[[], object]:
        return self._run

    def _run(self) -> None:
        """Waits, executes, signals."""
        if self.waits is not None:
            self.waits.wait()
            self.waits.require_given(self.of.trace)
        self.of.execute()
        if self.signals is not None:
            self.signals.end()

    def abandon(self, cause: Diagnostic, /) -> None:
        if self.signals is not None:
            self.signals.end(cause)


@dataclass(slots=True, eq=False)
class HostCallback(Command):
    """A function that runs on the stream's thread when everything before it has finished."""

    function: Callable[[], object]
    needs = Capability.CALLBACK
    alone = True

    def describe(self) -> str:
        return f"the host callback {getattr(self.function, '__qualname__', repr(self.function))}"

    def execute(self) -> None:
        self.function()


def host_callback(function: Callable[[], object]) -> HostCallback:
    """A command that calls `function()` in stream order.

    It may enqueue more work but not wait for any (TW626). What it raises fails the stream like any command's error.
    """
    return HostCallback(user_trace(), function)

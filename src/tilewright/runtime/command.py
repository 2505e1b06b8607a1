"""What a stream runs: commands as descriptions, and tasks as their enqueued form."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tilewright.core.abi import Usage
from tilewright.core.diagnostics import Diagnostic
from tilewright.core.source import Span, user_span

from .capability import Capability
from .fence import Fence, StagedFences
from .lifetime import Lifetime

if TYPE_CHECKING:
    from .context import DeviceContext

__all__ = ["Access", "Command", "HostCallback", "Task", "host_callback"]


@dataclass(frozen=True, slots=True)
class Access:
    """What a command does to bytes `begin` to `end` (exclusive) of the buffer with this handle."""

    handle: int
    begin: int
    end: int
    usage: Usage
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class Command(ABC):
    """One step of a stream, as data: checked when made, may be enqueued any number of times.

    `span` is where the user made it. A command refers strongly to everything it needs.
    """

    span: Span
    needs: ClassVar[Capability]

    @property
    def context(self) -> "DeviceContext | None":
        """The device it belongs to; None: any."""
        return None

    def resources(self) -> Sequence[Lifetime]:
        """What must stay alive until the command has finished."""
        return ()

    def accesses(self) -> Sequence[Access]:
        """What it reads and writes on the device."""
        return ()

    def task(self, _fences: StagedFences, /) -> "Task":
        """Its enqueued form; signals and waits find their fence here."""
        return Task(self)

    @abstractmethod
    def describe(self) -> str:
        """A few words for errors."""

    @abstractmethod
    def execute(self) -> None:
        """Runs it on the calling thread."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One enqueued command. Ends in exactly one of `run` and `abandon`, and in either case in `release`."""

    command: Command
    signals: Fence | None = None
    waits: Fence | None = None

    def run(self) -> None:
        """Waits, executes, signals."""
        if self.waits is not None:
            self.waits.wait()
            self.waits.require_given(self.command.span)
        self.command.execute()
        if self.signals is not None:
            self.signals.end()

    def abandon(self, cause: Diagnostic) -> None:
        """Does not run it; who waits for its signal learns the cause."""
        if self.signals is not None:
            self.signals.end(cause)

    def pin(self) -> None:
        """Keeps its resources from being destroyed, all or none. Raises DispatchError (TW602) for a closed one."""
        pinned: list[Lifetime] = []
        try:
            for lifetime in self.command.resources():
                lifetime.pin()
                pinned.append(lifetime)
        except BaseException:
            for lifetime in pinned:
                lifetime.unpin()
            raise

    def release(self) -> None:
        """Takes back `pin`."""
        for lifetime in self.command.resources():
            lifetime.unpin()


@dataclass(frozen=True, slots=True, eq=False)
class HostCallback(Command):
    """A function that runs on the stream's thread when everything before it has finished."""

    function: Callable[[], object]
    needs = Capability.CALLBACK

    def describe(self) -> str:
        return f"the host callback {getattr(self.function, '__qualname__', repr(self.function))}"

    def execute(self) -> None:
        self.function()


def host_callback(function: Callable[[], object]) -> HostCallback:
    """A command that calls `function()` in stream order.

    It may enqueue more work but not wait for any (TW626). What it raises fails the stream like any command's error.
    """
    return HostCallback(user_span(), function)

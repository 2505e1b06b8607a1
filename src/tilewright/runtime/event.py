"""Events: order between streams, and between streams and the host."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilewright.core.codes.dispatch import NEVER_SIGNALLED
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span, user_trace

from .buffer import checked_count
from .capability import Capability
from .command import Command, FencedTask, Task
from .fence import Fence, FenceHistory, StagedFences
from .worker import refuse_blocking

if TYPE_CHECKING:
    from .context import DeviceContext

__all__ = ["Event", "SignalCommand", "TimelineEvent", "WaitCommand"]


@dataclass(slots=True, eq=False)
class _EventCommand(Command):
    event: "Event | TimelineEvent" = field(repr=False)
    value: int | None
    fenced = True

    @property
    def context(self) -> "DeviceContext":
        return self.event.context

    def execute(self) -> None:
        """Nothing of its own: the task waits and signals."""


@dataclass(slots=True, eq=False)
class SignalCommand(_EventCommand):
    """Gives a signal when everything before it has finished."""

    needs = Capability.SIGNAL

    def task(self, fences: StagedFences, /) -> Task:
        return FencedTask(self, signals=fences.signal(self.event.history, self.value, self.trace))

    def describe(self) -> str:
        return f"a signal of {self.event.label}"


@dataclass(slots=True, eq=False)
class WaitCommand(_EventCommand):
    """Holds back everything after it until a signal, of whatever stream, was given."""

    needs = Capability.WAIT

    def task(self, fences: StagedFences, /) -> Task:
        return FencedTask(self, waits=fences.wait(self.event.history, self.value, self.trace))

    def describe(self) -> str:
        return f"a wait for {self.event.label}"


class Event:
    """Counts its own signals: a wait refers to the newest signal enqueued before it.

    A wait that comes before any signal is refused (TW621), so streams can never wait for each other in a circle. When
    the signalling stream fails before the signal, whoever waits fails too (TW623). Made by `Device.create_event`.
    """

    def __init__(self, context: "DeviceContext") -> None:
        self.context = context
        self.label = "an event"
        self.history = FenceHistory(context.monitor, self.label)

    def signal(self) -> SignalCommand:
        """The command that signals."""
        return SignalCommand(user_trace(), self, None)

    def wait(self) -> WaitCommand:
        """The command that makes its stream wait for the signal that is newest when the command is enqueued."""
        return WaitCommand(user_trace(), self, None)

    def is_completed(self) -> bool:
        """Whether the newest signal was given; False without one. Raises DispatchError (TW623) when it failed."""
        return _is_given(self.context, self.history.newest)

    def synchronize(self) -> None:
        """Waits for the newest signal. Raises DispatchError: TW621 none, TW623 it failed, TW626 in a callback."""
        _synchronize(self.context, self.history, None)


class TimelineEvent:
    """Signals with values of the user's choice, starting from 0 and growing in the order in which they are enqueued.

    A wait for `value` refers to the first signal of at least `value`. For the rest see `Event`. Made by
    `Device.create_timeline`.
    """

    def __init__(self, context: "DeviceContext") -> None:
        self.context = context
        self.label = "a timeline event"
        self.history = FenceHistory(context.monitor, self.label)
        start = Fence(context.monitor)
        start.end()
        self.history.publish(0, start)

    def signal(self, value: int) -> SignalCommand:
        """The command that signals `value`. Raises DispatchError (TW604) when that is not a whole number."""
        return SignalCommand(user_trace(), self, checked_count(value))

    def wait(self, value: int) -> WaitCommand:
        """The command that makes its stream wait for `value`. Raises DispatchError (TW604) for no whole number."""
        return WaitCommand(user_trace(), self, checked_count(value))

    def is_completed(self, value: int) -> bool:
        """Whether the signal for `value` was given; False without one. Raises DispatchError (TW623): it failed."""
        return _is_given(self.context, self.history.find(checked_count(value)))

    def synchronize(self, value: int) -> None:
        """Waits for `value`. Raises DispatchError: TW621 not enqueued, TW623 it failed, TW626 in a callback."""
        _synchronize(self.context, self.history, checked_count(value))


def _is_given(context: "DeviceContext", fence: Fence | None) -> bool:
    if fence is None or not fence.done:
        return False
    fence.require_given(user_trace())
    context.layer.observed(fence)
    return True


def _synchronize(context: "DeviceContext", history: FenceHistory, value: int | None) -> None:
    refuse_blocking(history.label)
    with context.monitor.lock:
        fence = history.find(value)
    if fence is None:
        wanted = "its newest signal" if value is None else f"the value {value}"
        raise DispatchError(NEVER_SIGNALLED.at(user_span(), what=history.label, wanted=wanted))
    fence.wait()
    fence.require_given(user_trace())
    context.layer.observed(fence)

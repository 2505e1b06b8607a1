"""Fences: one enqueued signal each, and the histories in which events find them."""

from bisect import bisect_left
from collections.abc import Mapping

from tilewright.core.codes.dispatch import NEVER_SIGNALLED, SIGNAL_ORDER, UPSTREAM_FAILED
from tilewright.core.diagnostics import Diagnostic
from tilewright.core.errors import DispatchError
from tilewright.core.source import Trace, span_of

from .monitor import Monitor

__all__ = ["Fence", "FenceHistory", "StagedFences"]

_KEPT = 256


class Fence:
    """One enqueued signal: pending, then given, or failed with the cause that kept it from being given.

    `clock` is the validation layer's knowledge of what happened before the signal: stream number to layer.
    """

    __slots__ = ("_cause", "_done", "_monitor", "clock")

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._done = False
        self._cause: Diagnostic | None = None
        self.clock: Mapping[int, int] = {}

    @property
    def done(self) -> bool:
        """Whether it ended, either way."""
        return self._done

    @property
    def given(self) -> bool:
        """Whether it ended well."""
        return self._done and self._cause is None

    def end(self, cause: Diagnostic | None = None) -> None:
        """Gives the signal, or with a `cause` says why it will never come."""
        with self._monitor.lock:
            self._done, self._cause = True, cause
            self._monitor.fences.notify_all()

    def wait(self) -> None:
        """Blocks until the end."""
        with self._monitor.lock:
            while not self._done:
                self._monitor.fences.wait()

    def require_given(self, trace: Trace) -> None:
        """Raises DispatchError (TW623) at `trace` when the fence failed."""
        if self._cause is not None:
            cause = f"{self._cause.code.id}, {self._cause.message}"
            raise DispatchError(UPSTREAM_FAILED.at(span_of(trace), cause=cause))


class FenceHistory:
    """The signals of one event in the order in which they were enqueued, their values growing.

    Old fences that were given are forgotten. What remembers them is one fence with the newest value among them and
    all their clocks, so that a late wait for an old value still finds what it needs.
    """

    def __init__(self, monitor: Monitor, label: str) -> None:
        self.monitor = monitor
        self.label = label
        self.values: list[int] = []
        self.fences: list[Fence] = []

    @property
    def newest(self) -> Fence | None:
        return self.fences[-1] if self.fences else None

    def find(self, value: int | None) -> Fence | None:
        """The first signal of at least `value`, or the newest for None."""
        if value is None:
            return self.newest
        index = bisect_left(self.values, value)
        return self.fences[index] if index < len(self.fences) else None

    def publish(self, value: int, fence: Fence) -> None:
        """Appends a signal that was enqueued."""
        self.values.append(value)
        self.fences.append(fence)
        if len(self.fences) > 2 * _KEPT:
            self._forget_given(len(self.fences) - _KEPT)

    def _forget_given(self, most: int) -> None:
        count = next((i for i, fence in enumerate(self.fences[:most]) if not fence.given), most)
        if count < 2:
            return
        heir = Fence(self.monitor)
        heir.end()
        clocks = [fence.clock for fence in self.fences[:count]]
        streams = {stream for clock in clocks for stream in clock}
        heir.clock = {stream: max(clock.get(stream, 0) for clock in clocks) for stream in streams}
        self.values[:count] = self.values[count - 1 : count]
        self.fences[:count] = [heir]


class StagedFences:
    """The signals of commands that are about to be enqueued together: visible to each other, published on success."""

    def __init__(self) -> None:
        self._staged: list[tuple[FenceHistory, int, Fence]] = []

    def signal(self, history: FenceHistory, value: int | None, trace: Trace) -> Fence:
        """A new fence with `value`, or the next one for None. Raises DispatchError (TW622) when it does not grow."""
        last = self._last_value(history)
        value = last + 1 if value is None else value
        if value <= last:
            raise DispatchError(SIGNAL_ORDER.at(span_of(trace), what=history.label, value=value, last=last))
        fence = Fence(history.monitor)
        self._staged.append((history, value, fence))
        return fence

    def wait(self, history: FenceHistory, value: int | None, trace: Trace) -> Fence:
        """The fence to wait for. Raises DispatchError (TW621) when no such signal was enqueued."""
        own = [(staged, fence) for owner, staged, fence in self._staged if owner is history]
        if value is None:
            fence = own[-1][1] if own else history.newest
        else:
            fence = history.find(value) or next((fence for staged, fence in own if staged >= value), None)
        if fence is None:
            wanted = "its newest signal" if value is None else f"the value {value}"
            raise DispatchError(NEVER_SIGNALLED.at(span_of(trace), what=history.label, wanted=wanted))
        return fence

    def publish(self) -> None:
        """Makes the staged signals visible to everybody. The caller holds the lock since staging them."""
        for history, value, fence in self._staged:
            history.publish(value, fence)

    def _last_value(self, history: FenceHistory) -> int:
        own = [value for owner, value, _ in self._staged if owner is history]
        if own:
            return own[-1]
        return history.values[-1] if history.values else 0

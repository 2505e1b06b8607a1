"""The validation layer: decorators around a device, its shaders and its queues, and the layer that adds nothing.

It finds what the objects of the runtime cannot see one by one: streams that share bytes without an order, resources
closed under pending commands, and native accesses outside of living buffers.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from tilewright.core.abi import Usage
from tilewright.core.codes.dispatch import CLOSED_IN_FLIGHT, HAZARD
from tilewright.core.codes.internal import FOREIGN_HANDLE
from tilewright.core.errors import DispatchError, InternalError, TilewrightError
from tilewright.core.source import user_span

from .command import Task
from .fence import Fence
from .hazards import Clock, Conflict, HazardTracker
from .inline import CheckedLaunch
from .interface import Binding, DeviceInterface, NativeBuffer
from .lifetime import Lifetime
from .monitor import Monitor
from .worker import CommandQueue

__all__ = ["Layer", "Unchecked", "ValidatedDevice", "ValidatedQueue", "Validation"]


class Layer(Protocol):
    """What stands between the runtime and a backend."""

    def device(self, native: DeviceInterface, /) -> DeviceInterface: ...
    def launch(self, launch: Callable[[], object], bindings: Sequence[Binding], /) -> Callable[[], object]: ...
    def queue(self, inner: CommandQueue, stream: int, /) -> CommandQueue: ...

    def closing(self, lifetime: Lifetime, /) -> None:
        """The user closes a resource."""
        ...

    def observed(self, fence: Fence, /) -> None:
        """The host knows that the fence was given."""
        ...


class Unchecked:
    """Adds nothing."""

    def device(self, native: DeviceInterface, /) -> DeviceInterface:
        return native

    def launch(self, launch: Callable[[], object], _bindings: Sequence[Binding], /) -> Callable[[], object]:
        return launch

    def queue(self, inner: CommandQueue, _stream: int, /) -> CommandQueue:
        return inner

    def closing(self, lifetime: Lifetime, /) -> None:
        """Nothing: the lifetime waits for the pending commands."""

    def observed(self, fence: Fence, /) -> None:
        """Nothing: nobody asks."""


class Validation:
    """Checks everything it sees."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._tracker = HazardTracker()
        self._buffers: dict[int, NativeBuffer] = {}

    def device(self, native: DeviceInterface, /) -> DeviceInterface:
        return ValidatedDevice(native, self._monitor, self._tracker, self._buffers)

    def launch(self, launch: Callable[[], object], bindings: Sequence[Binding], /) -> Callable[[], object]:
        return validated_launch(launch, bindings, self._buffers)

    def queue(self, inner: CommandQueue, stream: int, /) -> CommandQueue:
        return ValidatedQueue(inner, stream, self._monitor, self._tracker)

    def closing(self, lifetime: Lifetime, /) -> None:
        """Raises DispatchError (TW603) while commands are pending."""
        if lifetime.pending and not lifetime.closed:
            raise DispatchError(CLOSED_IN_FLIGHT.at(user_span(), what=lifetime.label, pending=lifetime.pending))

    def observed(self, fence: Fence, /) -> None:
        with self._monitor.lock:
            self._tracker.host_learns(fence.clock)


class ValidatedQueue:
    """Refuses tasks that race with another stream (DispatchError, TW628) before anything is enqueued."""

    def __init__(self, inner: CommandQueue, stream: int, monitor: Monitor, tracker: HazardTracker) -> None:
        self._inner = inner
        self._stream = stream
        self._monitor = monitor
        self._tracker = tracker

    def submit(self, tasks: Sequence[Task], /) -> None:
        conflict = self._tracker.admit(self._stream, tasks)
        if conflict is not None:
            raise _hazard(self._stream, tasks[conflict.index], conflict)
        self._inner.submit(tasks)

    def is_idle(self) -> bool:
        return self._inner.is_idle()

    def synchronize(self) -> None:
        with self._monitor.lock:
            if self._inner.is_idle():
                self._tracker.host_waited(self._stream)
                return
            clock = self._tracker.clock(self._stream)
        try:
            self._inner.synchronize()
        except TilewrightError:
            self._learn(clock)
            raise
        self._learn(clock)

    def finish(self) -> None:
        self._inner.finish()
        with self._monitor.lock:
            self._tracker.stream_ended(self._stream)

    def _learn(self, clock: Clock) -> None:
        with self._monitor.lock:
            self._tracker.host_learns(clock)


def _hazard(stream: int, task: Task, conflict: Conflict) -> DispatchError:
    access, (begin, end) = conflict.access, conflict.theirs
    return DispatchError(
        HAZARD.at(
            task.command.span,
            stream=f"stream {stream}",
            does="writes" if Usage.WRITE in access.usage else "reads",
            mine=f"{access.begin}:{access.end}",
            what=access.label,
            other=f"stream {conflict.stream}",
            did="writes" if conflict.usage is Usage.WRITE else "reads",
            theirs=f"{begin}:{end}",
        )
    )


class ValidatedDevice:
    """Knows the living buffers and refuses accesses outside of them (InternalError, TW903)."""

    def __init__(
        self,
        inner: DeviceInterface,
        monitor: Monitor,
        tracker: HazardTracker,
        buffers: dict[int, NativeBuffer],
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._monitor = monitor
        self._tracker = tracker
        self._buffers = buffers

    def create_buffer(self, size_bytes: int, /) -> NativeBuffer:
        buffer = self._inner.create_buffer(size_bytes)
        if buffer.handle in self._buffers:
            raise _foreign(buffer.handle, 0, size_bytes, "was given to two buffers at once")
        self._buffers[buffer.handle] = buffer
        return buffer

    def destroy_buffer(self, buffer: NativeBuffer, /) -> None:
        check_range(self._buffers, buffer, 0, buffer.size_bytes)
        with self._monitor.lock:
            del self._buffers[buffer.handle]
            self._tracker.forget_buffer(buffer.handle)
        self._inner.destroy_buffer(buffer)

    def upload(self, buffer: NativeBuffer, offset: int, source: memoryview, /) -> None:
        check_range(self._buffers, buffer, offset, source.nbytes)
        self._inner.upload(buffer, offset, source)

    def download(self, buffer: NativeBuffer, offset: int, destination: memoryview, /) -> None:
        check_range(self._buffers, buffer, offset, destination.nbytes)
        self._inner.download(buffer, offset, destination)

    def copy(
        self, source: NativeBuffer, source_offset: int, destination: NativeBuffer, offset: int, size_bytes: int, /
    ) -> None:
        check_range(self._buffers, source, source_offset, size_bytes)
        check_range(self._buffers, destination, offset, size_bytes)
        self._inner.copy(source, source_offset, destination, offset, size_bytes)

    def close(self) -> None:
        self._inner.close()


def validated_launch(
    launch: Callable[[], object], bindings: Sequence[Binding], living: dict[int, NativeBuffer]
) -> Callable[[], object]:
    """Refuses launches on anything but living buffers (InternalError, TW903). Keeps no buffer alive."""
    for binding in bindings:
        check_range(living, binding.buffer, binding.byte_offset, binding.size_bytes)
    ranges = [(binding.buffer.handle, binding.byte_offset, binding.size_bytes) for binding in bindings]
    handles = frozenset(handle for handle, _, _ in ranges)

    def check() -> None:
        if handles.difference(living):
            handle, begin, size_bytes = next(each for each in ranges if each[0] not in living)
            raise _foreign(handle, begin, begin + size_bytes, "it does not hold")

    return CheckedLaunch(check, launch)


def check_range(buffers: dict[int, NativeBuffer], buffer: NativeBuffer, begin: int, size_bytes: int) -> None:
    """Raises InternalError (TW903) unless the range lies in a living buffer."""
    if buffers.get(buffer.handle) is not buffer:
        raise _foreign(buffer.handle, begin, begin + size_bytes, "it does not hold")
    if begin < 0 or size_bytes < 0 or begin + size_bytes > buffer.size_bytes:
        raise _foreign(buffer.handle, begin, begin + size_bytes, f"has {buffer.size_bytes} bytes")


def _foreign(handle: int, begin: int, end: int, reason: str) -> InternalError:
    span = user_span()
    return InternalError(FOREIGN_HANDLE.at(span, begin=begin, end=end, handle=handle, reason=reason))

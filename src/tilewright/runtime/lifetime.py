"""When a native resource is destroyed: after it was closed or forgotten, and never under a pending command."""

from collections.abc import Callable

from tilewright.core.codes.dispatch import USE_AFTER_CLOSE
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span

from .monitor import Monitor

__all__ = ["Lifetime"]


class Lifetime:
    """Destroys one resource once, when it is closed and no task needs it.

    Enqueueing counts nothing here: which tasks need a resource is asked of the queues when it is closed, which is rare.
    `label` names the resource in errors. `destroy` must not refer to the object that owns this lifetime: that object's
    finalizer calls `drop`. It may need `keeps`, which lives as long as the lifetime does: even when both become
    garbage together, the device is closed after its buffers.
    """

    __slots__ = ("_closed", "_destroy", "_keeps", "_monitor", "label")

    def __init__(self, monitor: Monitor, label: str, destroy: Callable[[], None], *, keeps: object) -> None:
        self.label = label
        self._monitor = monitor
        self._keeps = keeps
        self._destroy: Callable[[], None] | None = destroy
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def pending(self) -> int:
        """How many enqueued commands still need the resource."""
        return self._monitor.pending(self)

    def require_open(self) -> None:
        """Raises DispatchError (TW602) when closed."""
        if self._closed:
            raise DispatchError(USE_AFTER_CLOSE.at(user_span(), what=self.label))

    def close(self) -> None:
        """Refuses further use, and destroys now or after the last pending command. Harmless when repeated."""
        with self._monitor.lock:
            self._refuse()
            waits = self._destroy is not None and self.pending > 0
            if waits and self not in self._monitor.leaving:
                self._monitor.leaving.append(self)
        if not waits:
            self._end()

    def drop(self) -> None:
        """As `close`, for a resource whose owner is gone: commands refer to their owners, so none is pending."""
        with self._monitor.lock:
            self._refuse()
        self._end()

    def settle(self) -> None:
        """Destroys a closed resource if its last command has finished meanwhile."""
        with self._monitor.lock:
            ended = self._closed and not self.pending
        if ended:
            self._end()

    def _refuse(self) -> None:
        self._closed = True
        self._monitor.closings += 1

    def _end(self) -> None:
        with self._monitor.lock:
            destroy, self._destroy = self._destroy, None
            if self in self._monitor.leaving:
                self._monitor.leaving.remove(self)
        if destroy is not None:
            destroy()

"""When a native resource is destroyed: after it was closed or forgotten, and never under a pending command."""

from collections.abc import Callable

from tilewright.core.codes.dispatch import USE_AFTER_CLOSE
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span

from .monitor import Monitor

__all__ = ["Lifetime"]


class Lifetime:
    """Counts the pending commands of one resource and destroys it once, when it is closed and none is left.

    `label` names the resource in errors. `destroy` must not refer to the object that owns this lifetime: that object's
    finalizer calls `close`. It may need `keeps`, which lives as long as the lifetime does: even when both become
    garbage together, the device is closed after its buffers.
    """

    __slots__ = ("_closed", "_destroy", "_keeps", "_monitor", "_pending", "label")

    def __init__(self, monitor: Monitor, label: str, destroy: Callable[[], None], *, keeps: object) -> None:
        self.label = label
        self._monitor = monitor
        self._keeps = keeps
        self._destroy: Callable[[], None] | None = destroy
        self._pending = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def pending(self) -> int:
        """How many enqueued commands still need the resource."""
        return self._pending

    def require_open(self) -> None:
        """Raises DispatchError (TW602) when closed."""
        if self._closed:
            raise DispatchError(USE_AFTER_CLOSE.at(user_span(), what=self.label))

    def pin(self) -> None:
        """Counts one pending command. Raises DispatchError (TW602) when closed."""
        with self._monitor.lock:
            self.require_open()
            self._pending += 1

    def unpin(self) -> None:
        """Counts one pending command less; the last one destroys a resource that was closed meanwhile."""
        with self._monitor.lock:
            self._pending -= 1
            destroy = self._take()
        if destroy is not None:
            destroy()

    def close(self) -> None:
        """Refuses further use, and destroys now or after the last pending command. Harmless when repeated."""
        with self._monitor.lock:
            self._closed = True
            destroy = self._take()
        if destroy is not None:
            destroy()

    def _take(self) -> Callable[[], None] | None:
        if not self._closed or self._pending:
            return None
        destroy, self._destroy = self._destroy, None
        return destroy

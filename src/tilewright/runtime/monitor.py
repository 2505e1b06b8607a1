"""The one lock of a device, and what becomes of it in a forked child.

Everything a device shares between threads (queues, pins, fences, hazards) is guarded by this one reentrant lock, and
nothing blocks or calls a backend's work while holding it. One lock cannot be taken in two orders; a reentrant one
survives a garbage collection that closes a resource in the middle of another call.
"""

import os
import threading
import weakref
from typing import Protocol

__all__ = ["Monitor"]


class ForkMember(Protocol):
    """Something with a thread or a condition that a fork leaves behind."""

    def after_fork(self) -> None:
        """Called in the child, single-threaded, once the monitor has a new lock."""
        ...


class Monitor:
    """A reentrant `lock`, and the condition `fences` on it, notified when any fence ends."""

    def __init__(self) -> None:
        self._members: weakref.WeakSet[ForkMember] = weakref.WeakSet()
        self._renew()
        _MONITORS.add(self)

    def _renew(self) -> None:
        self.lock = threading.RLock()
        self.fences = threading.Condition(self.lock)

    def condition(self) -> threading.Condition:
        """A new condition on the lock."""
        return threading.Condition(self.lock)

    def enlist(self, member: ForkMember) -> None:
        """Has `member.after_fork` called in forked children."""
        self._members.add(member)

    def after_fork(self) -> None:
        """Replaces the lock, which a thread of the parent may have held, then tells the members."""
        self._renew()
        for member in list(self._members):
            member.after_fork()


# The table of what must be told about a fork: the standard library can register such a hook, but not remove it.
_MONITORS: weakref.WeakSet[Monitor] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for monitor in list(_MONITORS):
        monitor.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)

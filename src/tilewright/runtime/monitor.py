"""The one lock of a device, and what becomes of it in a forked child.

Everything a device shares between threads (queues, lifetimes, fences, hazards) is guarded by this one reentrant lock,
and nothing blocks or calls a backend's work while holding it. One lock cannot be taken in two orders; a reentrant one
survives a garbage collection that closes a resource in the middle of another call.
"""

import os
import threading
import weakref
from typing import Protocol

__all__ = ["Monitor"]


class Member(Protocol):
    """A queue: it has tasks that need resources, and a thread that a fork leaves behind."""

    def pending(self, resource: object, /) -> int:
        """How many of its tasks still need the resource. The caller holds the lock."""
        ...

    def after_fork(self) -> None:
        """Called in the child, single-threaded, once the monitor has a new lock."""
        ...


class Leaving(Protocol):
    """A resource that was closed while tasks needed it."""

    def settle(self) -> None:
        """Destroys it if no task needs it any more."""
        ...


class Monitor:
    """A reentrant `lock`, and the condition `fences` on it, notified when any fence ends.

    `closings` counts the resources that were closed: who found something open at the present count need not look
    again. `leaving` are those that still wait for tasks.
    """

    def __init__(self) -> None:
        self._members: weakref.WeakSet[Member] = weakref.WeakSet()
        self.closings = 0
        self.leaving: list[Leaving] = []
        self._renew()
        _MONITORS.add(self)

    def _renew(self) -> None:
        self.lock = threading.RLock()
        self.fences = threading.Condition(self.lock)

    def enlist(self, member: Member) -> None:
        """Counts its tasks, and has `member.after_fork` called in forked children."""
        with self.lock:
            self._members.add(member)

    def pending(self, resource: object) -> int:
        """How many tasks still need the resource."""
        with self.lock:
            return sum(member.pending(resource) for member in self._members)

    def settle(self) -> None:
        """Destroys what was closed and is needed no more."""
        for resource in list(self.leaving):
            resource.settle()

    def after_fork(self) -> None:
        """Replaces the lock, which a thread of the parent may have held, then tells the members."""
        self._renew()
        for member in list(self._members):
            member.after_fork()
        self.settle()


# The table of what must be told about a fork: the standard library can register such a hook, but not remove it.
_MONITORS: weakref.WeakSet[Monitor] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for monitor in list(_MONITORS):
        monitor.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)

"""What a fork cannot leave locked for good."""

import os
import threading
import weakref

__all__ = ["LATE_IMPORTS", "ChildLock"]

LATE_IMPORTS = threading.RLock()
"""Held by imports inside functions, and by the first calls of what they import. Forks wait for it: Python itself leaves
the lock of a half imported module locked in a child, whose own import of the module would then wait for ever.
"""


class ChildLock:
    """A reentrant lock. In a forked child it is free, unless the thread that forked holds it.

    For what is consistent between any two statements: another thread of the parent may have been in the middle of it.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_error: object) -> None:
        self._lock.release()

    def after_fork(self) -> None:
        """Called in the child, which has one thread: a lock it cannot take belongs to a thread that does not exist."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


# The table of what must be told about a fork: the standard library can register such a hook, but not remove it.
_LOCKS: weakref.WeakSet[ChildLock] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for lock in list(_LOCKS):
        lock.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
    os.register_at_fork(
        before=LATE_IMPORTS.acquire, after_in_parent=LATE_IMPORTS.release, after_in_child=LATE_IMPORTS.release
    )

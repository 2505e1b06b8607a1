"""Scratch memory for launches: one arena a calling thread, as large as its largest launch, so it stays in the caches.

A launch is synchronous, so two launches never use an arena at once. Inside it every worker number has its own block.
"""

import threading

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64


class Arena(threading.local):
    """The scratch of the calling thread."""

    def __init__(self) -> None:
        self._memory: NDArray[np.uint8] = np.empty(0, np.uint8)
        self._first = 0
        self._size = 0

    def reserve(self, size_bytes: int) -> int:
        """The address of at least `size_bytes` with unspecified contents, valid until this thread reserves more."""
        if size_bytes > self._size:
            self._memory = np.empty(size_bytes + _ALIGNMENT, np.uint8)
            self._first = self._memory.ctypes.data + -self._memory.ctypes.data % _ALIGNMENT
            self._size = size_bytes
        return self._first


ARENA = Arena()

"""The persistent worker pool of the process.

Contract of `run(task, context, count, threads)`, in Python and, under `entry`, for generated code:

* `task` is the address of `void task(ptr context, i64 index, i64 worker)`. It is called exactly once for every index in
  [0, count), in no particular order, possibly by several threads at once; all calls have returned, and their writes
  are visible to the caller, when `run` returns. The calling thread takes part.
* At most min(threads, count) threads work. Tasks of one launch that run at the same time have different worker
  numbers, all in [0, min(threads, count)); the caller is worker 0.
* With one thread or one task, or while another launch is under way (another Python thread's, or the launch whose task
  is calling), the tasks run inline on the caller, in order, all as worker 0. So two launches may use the same number
  at once: **scratch indexed by worker number belongs to one launch**, reached through its context.
* With GENTLY added to `threads`, workers that sleep or do not exist yet are left out: for less work than waking costs.
  Many such launches in a row lose more than that, and then they are woken, or made, unless they would not spin.
* A task never unwinds. What it reports goes through its context.
"""

import ctypes
import os
import threading
import time
from dataclasses import dataclass
from functools import cache

from tilewright.backends.llvm.jit import compile_and_load
from tilewright.backends.llvm.machine import usable_cores
from tilewright.backends.llvm.target import host
from tilewright.backends.simd.pool_code import EXPORTS, pool_module
from tilewright.backends.simd.pool_state import BUSY, DONE, GENERATION, GENTLY, INDEX_MASK, MADE, MAX_WORKERS, SLEEPERS
from tilewright.core.config import config

POOL_RUN_SYMBOL = "tilewright_pool_run"  # how generated code names `entry`

_SPIN_SECONDS = 300e-6  # launches that follow each other within this time find their workers awake
_CALIBRATION_PAUSES = 4000
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class PoolState:
    """What the pool's words say at one moment, for tests and diagnosis."""

    workers: int
    sleepers: int
    launches: int
    busy: bool
    done: int


class WorkerPool:
    """A pool with its own state and workers, created on first use. Never unloaded: its workers live to the end.

    `threads` is the most that one launch may use, the caller included; it may exceed the cores. Workers spin for a
    while before they sleep, unless there are more threads than cores: then waiting threads would take the cores of
    working ones.
    """

    def __init__(self, threads: int) -> None:
        self.threads = min(threads, MAX_WORKERS)
        library = compile_and_load(pool_module(host()).text(), EXPORTS, name="pool")
        library.keep()
        word, address = ctypes.c_int64, ctypes.c_void_p
        self.entry = library.address("pool_run")
        self._run = ctypes.CFUNCTYPE(None, address, address, word, word)(self.entry)
        self._reset = ctypes.CFUNCTYPE(None, word, word)(library.address("pool_reset"))
        self._relax = ctypes.CFUNCTYPE(None, word)(library.address("pool_relax"))
        self._state = ctypes.CFUNCTYPE(address)(library.address("pool_state"))()
        spare = self.threads <= usable_cores()
        self._settings = (self._pauses_in(_SPIN_SECONDS), 1) if spare else (0, 0)
        self._reset(*self._settings)
        os.register_at_fork(after_in_child=self._restart)

    def _pauses_in(self, seconds: float) -> int:
        start = time.perf_counter()
        self._relax(_CALIBRATION_PAUSES)
        spent = time.perf_counter() - start
        return max(1, int(_CALIBRATION_PAUSES * seconds / spent))

    def _restart(self) -> None:
        """In a forked child: no worker survived, and a launch of another thread will never end."""
        self._reset(*self._settings)

    def run(self, task: int, context: int, count: int, threads: int) -> None:
        """Runs a launch; see the contract at the head of this file. The interpreter lock is released meanwhile."""
        self._run(task, context, count, min(threads & INDEX_MASK, self.threads) | threads & GENTLY)

    def state(self) -> PoolState:
        """A snapshot of the pool's words."""
        words = {f: ctypes.c_int64.from_address(self._state + f.offset).value for f in (MADE, SLEEPERS, BUSY, DONE)}
        launches = ctypes.c_int64.from_address(self._state + GENERATION.offset).value
        return PoolState(words[MADE], words[SLEEPERS], launches, bool(words[BUSY]), words[DONE])


def worker_pool() -> WorkerPool:
    """The pool that all kernels of this process share, with TILEWRIGHT_NUM_THREADS threads."""
    with _LOCK:
        return _shared_pool()


@cache
def _shared_pool() -> WorkerPool:
    return WorkerPool(config().num_threads)


os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)

"""The thread that runs the tasks of one stream in order."""

import atexit
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import call, length_hint
from time import perf_counter
from typing import Protocol

from tilewright.core.codes.dispatch import BLOCKING_CALLBACK, COMMAND_FAILED, COMMANDS_NOT_RUN, LOST_IN_FORK
from tilewright.core.errors import DispatchError, TilewrightError, blame, during
from tilewright.core.source import user_span

from .command import Task
from .inline import run_inline
from .monitor import Monitor

__all__ = ["CommandQueue", "Worker", "refuse_blocking"]

_PATIENCE_SECONDS = 1.0  # an interrupt right before Python waits for a lock does not end that waiting
_MOST = 64  # tasks in one go
_SHORT_SECONDS = 100e-6  # if that is how long they took, the next go has twice as many


class CommandQueue(Protocol):
    """What a stream enqueues to."""

    def submit(self, tasks: Sequence[Task], /) -> None:
        """Enqueues all or, when it raises, none. The caller holds the device's lock."""
        ...

    def is_idle(self) -> bool:
        """Whether everything is over and done with and there is no error to raise. The caller holds the lock."""
        ...

    def synchronize(self) -> None:
        """Waits for what was submitted before; raises the first error since the last one that was raised."""
        ...

    def finish(self) -> None:
        """Takes nothing more; the thread ends after what was submitted. Does not wait. Harmless when repeated."""
        ...


class Worker:
    """A queue with one daemon thread, started by the first task that is enqueued.

    Tasks stay in the queue until they have ended. The thread takes as many of the first ones as lately ran in a short
    time, and runs them in one go: a call of C code that calls the next task while none fails. So a task costs little
    more than its work, and still nobody waits long for a task behind which others were taken.

    Short machine code that comes when there is nothing else to do never gets here: who submits it runs it (see
    `inline`).

    After a failed task nothing runs until `synchronize` has raised its error: the tasks behind it are abandoned. At
    exit of the interpreter the thread finishes what was submitted. In a forked child the queue is empty, and if that
    lost anything the next `synchronize` says so.
    """

    def __init__(self, monitor: Monitor, label: str) -> None:
        self._label = label
        self._monitor = monitor
        self._queue: deque[Task] = deque()
        self._running = _Batch(())
        self._most = 1
        self._thread: threading.Thread | None = None
        self._finishing = False
        self._submitted = 0
        self._ending = 0  # tasks that have left the queue, and that nobody knows of yet
        self._failure: TilewrightError | None = None
        self._start_waits()
        monitor.enlist(self)

    def _start_waits(self) -> None:
        """Nobody waits: neither the thread for its bell, nor anybody for the end of so many tasks."""
        self._asleep = False
        self._bell = _bell()
        self._waiting: list[tuple[int, threading.Lock]] = []

    def submit(self, tasks: Sequence[Task], /) -> None:
        if not self._queue and self._failure is None and run_inline(tasks):
            return
        if self._thread is None:
            self._start()
        if self._asleep:
            self._wake()  # to wait for the lock that the caller holds
        count = len(tasks)
        self._submitted += count  # an interrupt comes after a call, so not between this and the next line
        self._queue.extend(tasks)

    def is_idle(self) -> bool:
        return not self._queue and not self._ending and self._failure is None

    def synchronize(self) -> None:
        with self._monitor.lock:
            if self.is_idle():
                return
            target = self._submitted
        self._wait(target)
        if self._failure is None:
            return
        with self._monitor.lock:
            failure = self._take_failure(target)
        try:
            if failure is not None:
                raise failure
        finally:
            del failure  # as in `_fail`

    def _wait(self, target: int) -> None:
        """Until so many tasks have ended."""
        with self._monitor.lock:
            if self._ended >= target:
                return
            bell = _bell()
            self._waiting.append((target, bell))
        try:
            while not bell.acquire(timeout=_PATIENCE_SECONDS):
                pass
        except BaseException:
            with self._monitor.lock:
                self._waiting = [(end, other) for end, other in self._waiting if other is not bell]
            raise

    def finish(self) -> None:
        with self._monitor.lock:
            self._finishing = True
            if self._asleep:
                self._wake()

    def pending(self, resource: object, /) -> int:
        return sum(resource in task.command.resources for task in self._not_ended())

    def drain(self) -> None:
        """Finishes and waits for the thread. Called at exit, when daemon threads are about to be frozen."""
        self.finish()
        thread = self._thread
        if thread is not None:
            thread.join()

    def after_fork(self) -> None:
        """Gives up what the parent's thread will do; see the class."""
        lost = self._not_ended()
        self._running = _Batch(())
        self._queue.clear()
        self._ending = 0
        self._thread = None
        self._start_waits()
        if not lost:
            return
        self._failure = DispatchError(LOST_IN_FORK.at(lost[0].command.span, count=len(lost)))
        for task in lost:
            task.abandon(self._failure.diagnostic)

    @property
    def _ended(self) -> int:
        """How many tasks are over and done with. The caller holds the lock."""
        return self._submitted - len(self._queue) - self._ending

    def _not_ended(self) -> list[Task]:
        return list(self._queue)[self._running.ended :]

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name=f"tilewright {self._label}", daemon=True)
        thread.start()
        self._thread = thread
        atexit.register(self.drain)

    def _wake(self) -> None:
        self._asleep = False
        self._bell.release()

    def _work(self) -> None:
        _HERE.of_stream = True
        while batch := self._next():
            self._run(batch)
            self._end(batch)
        atexit.unregister(self.drain)
        if self._failure is not None:
            warnings.warn(f"{self._label} ended with an error that nobody synchronized for:\n{self._failure}",
                          RuntimeWarning, stacklevel=2)  # fmt: skip

    def _next(self) -> "_Batch | None":
        """The next tasks, once there are any. None when there will be no more."""
        while True:
            with self._monitor.lock:
                if self._queue:
                    self._running = _Batch(_in_one_go(self._queue, self._most))
                    return self._running
                if self._finishing:
                    return None
                self._asleep = True
                bell = self._bell
            bell.acquire()

    def _run(self, batch: "_Batch") -> None:
        """Runs the tasks, or abandons those behind a failure, of this batch or of one before."""
        if self._failure is None:
            begin = perf_counter()
            try:
                batch.run()
            except BaseException as error:  # noqa: BLE001  whatever a callback raises is the stream's error
                self._fail(batch.tasks[batch.ended], error)
            self._most = min(2 * self._most, _MOST) if perf_counter() - begin < _SHORT_SECONDS else 1
        self._abandon_rest(batch)

    def _abandon_rest(self, batch: "_Batch") -> None:
        if self._failure is not None:
            for task in batch.tasks[batch.ended :]:
                task.abandon(self._failure.diagnostic)

    def _fail(self, task: Task, error: BaseException) -> None:
        """Makes `error` the stream's error; one that is not ours as the cause of a DispatchError (TW624)."""
        command = task.command
        try:
            with during(f"running {command.describe()} on {self._label}"), blame(command.span):
                if isinstance(error, TilewrightError):
                    raise error
                what = f"{type(error).__name__}: {error}"
                code = COMMAND_FAILED.at(command.span, command=command.describe(), error=what)
                raise DispatchError(code) from error
        except TilewrightError as failure:
            with self._monitor.lock:
                self._failure = failure
        finally:
            del error  # it refers to this frame, and must not wait for a garbage collection with all that it keeps

    def _end(self, batch: "_Batch") -> None:
        """Ends the tasks; what only they kept is gone before anybody learns of it."""
        count = len(batch.tasks)
        with self._monitor.lock:
            self._running = _Batch(())
            self._ending = count
            for _ in range(count):
                self._queue.popleft()
        batch.clear()
        if self._monitor.leaving:
            self._monitor.settle()
        with self._monitor.lock:
            self._ending = 0
            if self._waiting:
                self._ring()

    def _ring(self) -> None:
        for target, bell in self._waiting:
            if target <= self._ended:
                bell.release()
        self._waiting = [waiting for waiting in self._waiting if waiting[0] > self._ended]

    def _take_failure(self, target: int) -> TilewrightError | None:
        """The error to raise now. Tasks enqueued behind `target` meanwhile stay abandoned, which is the next error."""
        failure, self._failure = self._failure, None
        behind = self._submitted - target
        if failure is not None and behind:
            cause = f"{failure.diagnostic.code.id}, {failure.diagnostic.message}"
            self._failure = DispatchError(COMMANDS_NOT_RUN.at(failure.diagnostic.span, count=behind, cause=cause))
        return failure


class _Batch:
    """Tasks that run one after the other, in C where they are C."""

    __slots__ = ("_begun", "_steps", "tasks")

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = list(tasks)
        self._begun = False
        self._steps: Iterator[Callable[[], object]] = iter([task.run for task in tasks])

    def run(self) -> None:
        """Raises what a task raises."""
        self._begun = True
        deque(map(call, self._steps), maxlen=0)
        self._begun = False

    @property
    def ended(self) -> int:
        """How many ran to their end. Any thread may ask at any time."""
        return max(0, len(self.tasks) - length_hint(self._steps) - self._begun)

    def clear(self) -> None:
        """Lets go of the tasks."""
        self.tasks.clear()
        self._steps = iter(())


def _in_one_go(queue: deque[Task], most: int) -> list[Task]:
    """The first tasks, at most so many."""
    first = queue[0]
    if first.alone or most == 1:
        return [first]
    together: list[Task] = []
    for task in islice(queue, most):
        if task.alone:
            break
        together.append(task)
    return together


def _bell() -> threading.Lock:
    """A lock that somebody else releases."""
    lock = threading.Lock()
    lock.acquire()
    return lock


class _Here(threading.local):
    """Whether this thread is one of a stream, which must not wait for streams."""

    of_stream = False


_HERE = _Here()


def refuse_blocking(what: str) -> None:
    """Raises DispatchError (TW626) on a stream's own thread."""
    if _HERE.of_stream:
        raise DispatchError(BLOCKING_CALLBACK.at(user_span(), what=what))

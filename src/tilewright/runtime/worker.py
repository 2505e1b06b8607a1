"""The thread that runs the tasks of one stream in order."""

import atexit
import threading
import warnings
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from tilewright.core.codes.dispatch import BLOCKING_CALLBACK, COMMAND_FAILED, COMMANDS_NOT_RUN, LOST_IN_FORK
from tilewright.core.errors import DispatchError, TilewrightError, blame, during
from tilewright.core.source import user_span

from .command import Task
from .monitor import Monitor

__all__ = ["CommandQueue", "Worker", "refuse_blocking"]


class CommandQueue(Protocol):
    """What a stream enqueues to."""

    def submit(self, tasks: Sequence[Task], /) -> None:
        """Enqueues all or, when it raises, none. The caller holds the device's lock."""
        ...

    def synchronize(self) -> None:
        """Waits for what was submitted before; raises the first error since the last one that was raised."""
        ...

    def finish(self) -> None:
        """Takes nothing more; the thread ends after what was submitted. Does not wait. Harmless when repeated."""
        ...


class Worker:
    """A queue with one daemon thread, started by the first task.

    After a failed task nothing runs until `synchronize` has raised its error: the tasks behind it are abandoned. At
    exit of the interpreter the thread finishes what was submitted. In a forked child the queue is empty, and if that
    lost anything the next `synchronize` says so.
    """

    def __init__(self, monitor: Monitor, label: str) -> None:
        self._label = label
        self._monitor = monitor
        self._queue: deque[Task] = deque()
        self._running: list[Task] = []
        self._thread: threading.Thread | None = None
        self._finishing = False
        self._submitted = 0
        self._ended = 0
        self._failure: TilewrightError | None = None
        self._bind()
        monitor.enlist(self)

    def _bind(self) -> None:
        """Binds to the monitor's present lock."""
        self._wake = self._monitor.condition()
        self._progress = self._monitor.condition()

    def submit(self, tasks: Sequence[Task], /) -> None:
        with self._monitor.lock:
            self._start()
            self._queue.extend(tasks)
            self._submitted += len(tasks)
            self._wake.notify()

    def synchronize(self) -> None:
        with self._monitor.lock:
            target = self._submitted
            while self._ended < target:
                self._progress.wait()
            failure = self._take_failure(target)
        if failure is not None:
            raise failure

    def finish(self) -> None:
        with self._monitor.lock:
            self._finishing = True
            self._wake.notify()

    def drain(self) -> None:
        """Finishes and waits for the thread. Called at exit, when daemon threads are about to be frozen."""
        self.finish()
        thread = self._thread
        if thread is not None:
            thread.join()

    def after_fork(self) -> None:
        """Gives up what the parent's thread will do; see the class."""
        lost = [*self._running, *self._queue]
        self._running.clear()
        self._queue.clear()
        self._ended = self._submitted
        self._thread = None
        self._bind()
        if not lost:
            return
        self._failure = DispatchError(LOST_IN_FORK.at(lost[0].command.span, count=len(lost)))
        for task in lost:
            task.abandon(self._failure.diagnostic)
            task.release()

    def _start(self) -> None:
        if self._thread is None:
            thread = StreamThread(target=self._work, name=f"tilewright {self._label}", daemon=True)
            thread.start()
            self._thread = thread
            atexit.register(self.drain)

    def _work(self) -> None:
        while self._next():
            pass
        atexit.unregister(self.drain)
        if self._failure is not None:
            warnings.warn(f"{self._label} ended with an error that nobody synchronized for:\n{self._failure}",
                          RuntimeWarning, stacklevel=2)  # fmt: skip

    def _next(self) -> bool:
        """Ends one task; its references are gone before anybody learns of it. False when there will be no more."""
        with self._monitor.lock:
            while not self._queue:
                if self._finishing:
                    return False
                self._wake.wait()
            task = self._queue.popleft()
            self._running.append(task)
            failure = self._failure
        if failure is None:
            failure = self._run(task)
        else:
            task.abandon(failure.diagnostic)
        self._running.clear()
        task.release()
        del task
        with self._monitor.lock:
            self._failure = self._failure or failure
            self._ended += 1
            self._progress.notify_all()
        return True

    def _run(self, task: Task) -> TilewrightError | None:
        command = task.command
        try:
            with during(f"running {command.describe()} on {self._label}"), blame(command.span):
                run_or_wrap(task)
        except TilewrightError as error:
            task.abandon(error.diagnostic)
            return error
        return None

    def _take_failure(self, target: int) -> TilewrightError | None:
        """The error to raise now. Tasks enqueued behind `target` meanwhile stay abandoned, which is the next error."""
        failure, self._failure = self._failure, None
        behind = self._submitted - target
        if failure is not None and behind:
            cause = f"{failure.diagnostic.code.id}, {failure.diagnostic.message}"
            self._failure = DispatchError(COMMANDS_NOT_RUN.at(failure.diagnostic.span, count=behind, cause=cause))
        return failure


class StreamThread(threading.Thread):
    """A thread that must not wait for streams."""


def run_or_wrap(task: Task) -> None:
    """Runs the task; an exception that is not ours becomes a DispatchError (TW624) with the original as its cause."""
    try:
        task.run()
    except TilewrightError:
        raise
    except BaseException as error:
        what = f"{type(error).__name__}: {error}"
        command = task.command
        raise DispatchError(COMMAND_FAILED.at(command.span, command=command.describe(), error=what)) from error


def refuse_blocking(what: str) -> None:
    """Raises DispatchError (TW626) on a stream's own thread."""
    if isinstance(threading.current_thread(), StreamThread):
        raise DispatchError(BLOCKING_CALLBACK.at(user_span(), what=what))

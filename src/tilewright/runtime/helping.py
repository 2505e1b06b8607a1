"""How a thread that waits runs a stream's first tasks itself: in one call of C code, with nothing of Python inside.

An interrupt, a finalizer or another thread comes before that call or after it, never within, and the call takes every
task out of the queue as it runs it. So there is no moment at which a task has run and is still to be run.
"""

import gc
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from operator import call

from tilewright.core.errors import TilewrightError

from .command import Task

__all__ = ["CheckedLaunch", "CodeCall", "code_of", "run_first", "startable"]


class CodeCall(partial[object]):
    """A short launch of machine code that keeps the interpreter's lock: nothing of Python runs in it, it raises
    nothing, and no thread that runs Python can be part of it.
    """


class CheckedLaunch:
    """A launch behind a check that raises TilewrightError and changes nothing."""

    __slots__ = ("check", "launch")

    def __init__(self, check: Callable[[], object], launch: Callable[[], object]) -> None:
        self.check = check
        self.launch = launch

    def __call__(self) -> None:
        self.check()
        self.launch()


def code_of(launch: Callable[[], object]) -> CodeCall | None:
    """What is left of a launch after its check, if that is machine code alone. Raises what the check raises."""
    if isinstance(launch, CheckedLaunch):
        launch.check()
        launch = launch.launch
    return launch if isinstance(launch, CodeCall) else None


def startable(queue: deque[Task], most: int) -> tuple[list[Task], list[CodeCall]]:
    """The first tasks, at most so many, as far as they are machine code, and that. What a check refuses is left to fail
    where it always does.
    """
    tasks: list[Task] = []
    codes: list[CodeCall] = []
    for place in range(most):  # by place, since a finalizer may change the queue meanwhile
        try:
            task = queue[place]
            code = task.code()
        except (IndexError, TilewrightError):
            break
        if code is None:
            break
        tasks.append(task)
        codes.append(code)
    return tasks, codes


def run_first(queue: deque[Task], codes: Sequence[CodeCall], ticket: list[None]) -> bool:
    """Runs the codes of the first tasks and takes these out of the queue, unless somebody took the ticket before:
    then the queue is not what it was, and nothing happens.

    The caller keeps the tasks, so that none of them ends here with finalizers of its own.
    """
    # A collection in the middle could run a finalizer that waits for this very queue.
    pause, resume = (gc.disable, gc.enable) if gc.isenabled() else (bool, bool)
    steps: list[Callable[[], object]] = [ticket.pop, pause]
    for code in codes:
        steps += (code, queue.popleft)
    steps.append(resume)
    try:
        deque(map(call, steps), maxlen=0)
    except IndexError:
        return False
    return True

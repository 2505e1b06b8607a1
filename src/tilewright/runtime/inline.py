"""Short machine code runs inline: at once, on the thread that enqueues it, when its stream has nothing else to do.

Waking the stream's thread takes longer than such a launch does, and since it keeps the interpreter's lock, no thread
that runs Python could do anything meanwhile. What runs so was never in the queue: nobody waits for it.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from operator import call

from tilewright.core.errors import TilewrightError

from .command import Task

__all__ = ["CheckedLaunch", "CodeCall", "code_of", "run_inline"]

_MOST = 8  # tasks, since who enqueues a list must not wait for long


class CodeCall(partial[object]):
    """A short launch of machine code that keeps the interpreter's lock: nothing of Python runs in it, it raises
    nothing, and no thread that runs Python can be part of it.
    """


class CheckedLaunch:
    """A launch behind a check that raises TilewrightError and changes nothing."""

    __slots__ = ("check", "code", "launch")

    def __init__(self, check: Callable[[], object], launch: Callable[[], object]) -> None:
        self.check = check
        self.launch = launch
        self.code = code_of(launch)

    def __call__(self) -> None:
        self.check()
        self.launch()


def code_of(launch: Callable[[], object]) -> CodeCall | None:
    """What is left of a launch after its check, if that is machine code alone. Raises what the check raises."""
    if isinstance(launch, CheckedLaunch):
        launch.check()
        return launch.code
    return launch if isinstance(launch, CodeCall) else None


def run_inline(tasks: Sequence[Task]) -> bool:
    """Runs all tasks in order, or none if one is not short machine code or they are many. What a check refuses is left
    to fail where it always does.
    """
    try:
        launch = tasks[0].code() if len(tasks) == 1 else _one_after_another(tasks)
    except TilewrightError:
        return False
    if launch is None:
        return False
    launch()
    return True


def _one_after_another(tasks: Sequence[Task]) -> Callable[[], object] | None:
    """The codes of all tasks as one call of C code, so that an interrupt comes before all of them or after."""
    if len(tasks) > _MOST:
        return None
    codes: list[CodeCall] = []
    for task in tasks:
        code = task.code()
        if code is None:
            return None
        codes.append(code)
    return partial(deque[object](maxlen=0).extend, map(call, codes))

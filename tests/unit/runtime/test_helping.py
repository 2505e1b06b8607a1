"""A thread that waits runs short machine code itself. Here a builtin that appends stands for machine code; as a call
of it does, this makes an object that a collection may begin with.
"""

import contextlib
import gc
import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import pytest

from tests.unit.runtime.fakes import Gate
from tilewright.core.codes.internal import FOREIGN_HANDLE
from tilewright.core.errors import DispatchError, InternalError
from tilewright.core.source import UNKNOWN
from tilewright.runtime import host_callback
from tilewright.runtime.capability import Capability
from tilewright.runtime.command import Command, FencedTask
from tilewright.runtime.fence import Fence
from tilewright.runtime.helping import CheckedLaunch, CodeCall, code_of
from tilewright.runtime.lifetime import Lifetime
from tilewright.runtime.monitor import Monitor
from tilewright.runtime.worker import Worker

BY_THREAD, BY_WAITER = "thread", "waiter"


@dataclass(slots=True, eq=False, weakref_slot=True)
class Short(Command):
    """What one thread does by `run` and the other by `code`."""

    seen: list[tuple[str, int]]
    number: int
    check: Callable[[], object] = bool
    keeps: tuple[Lifetime, ...] = field(default=())
    needs = Capability.COMPUTE

    @property
    def resources(self) -> tuple[Lifetime, ...]:
        return self.keeps

    def describe(self) -> str:
        return "short code"

    def execute(self) -> None:
        self.check()
        self.seen.append((BY_THREAD, self.number))

    def code(self) -> CodeCall | None:
        return code_of(CheckedLaunch(self.check, CodeCall(self.seen.extend, {(BY_WAITER, self.number): None})))


class Idle:
    """A worker that was at work, sleeps, and gets the interpreter's lock only when this thread waits."""

    def __init__(self) -> None:
        self.monitor = Monitor()
        self.worker = Worker(self.monitor, "stream 1")
        self.seen: list[tuple[str, int]] = []
        self.add(host_callback(bool))
        self.worker.synchronize()
        self.rest()

    def rest(self) -> None:
        while not getattr(self.worker, "_asleep"):  # noqa: B009
            os.sched_yield()
            threading.Event().wait(0.001)

    def short(self, number: int, **facts: Any) -> Short:
        return Short((), self.seen, number, **facts)

    def add(self, *tasks: Command | FencedTask) -> None:
        with self.monitor.lock:
            self.worker.submit(tasks)


@pytest.fixture
def idle() -> Generator[Idle]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    idle = Idle()
    yield idle
    idle.worker.finish()
    sys.setswitchinterval(before)


def numbers(idle: Idle) -> list[int]:
    return [number for _, number in idle.seen]


def test_who_waits_runs_short_code_itself_and_in_order(idle: Idle) -> None:
    idle.add(*map(idle.short, range(100)))
    idle.worker.synchronize()
    assert idle.seen == [(BY_WAITER, number) for number in range(100)]


def test_what_is_behind_other_tasks_is_left_to_the_thread(idle: Idle) -> None:
    idle.add(idle.short(0), host_callback(lambda: idle.seen.append((BY_THREAD, 1))), idle.short(2))
    idle.worker.synchronize()
    assert idle.seen == [(BY_WAITER, 0), (BY_THREAD, 1), (BY_THREAD, 2)]


def test_a_callback_never_runs_on_a_thread_that_waits(idle: Idle) -> None:
    threads: list[int] = []
    idle.add(host_callback(lambda: threads.append(threading.get_ident())), idle.short(1))
    idle.worker.synchronize()
    assert threads != [threading.get_ident()]


def test_a_signal_is_given_by_the_thread(idle: Idle) -> None:
    fence = Fence(idle.monitor)
    idle.add(idle.short(0), FencedTask(idle.short(1), signals=fence), idle.short(2))
    idle.worker.synchronize()
    assert fence.given
    assert idle.seen == [(BY_WAITER, 0), (BY_THREAD, 1), (BY_THREAD, 2)]


def test_nobody_helps_while_the_thread_is_at_work(idle: Idle) -> None:
    gate = Gate()
    idle.add(host_callback(gate.wait))
    gate.reached.wait()
    idle.add(idle.short(0))
    waiting = threading.Thread(target=idle.worker.synchronize)
    waiting.start()
    threading.Event().wait(0.01)
    assert not idle.seen
    gate.open()
    waiting.join(30)
    idle.worker.synchronize()
    assert numbers(idle) == [0]


def test_nothing_runs_behind_a_failure(idle: Idle) -> None:
    idle.add(host_callback(lambda: 1 / 0))
    idle.rest()
    idle.add(idle.short(1))
    with pytest.raises(DispatchError, match="ZeroDivisionError"):
        idle.worker.synchronize()
    idle.rest()
    idle.add(idle.short(2))
    idle.worker.synchronize()
    assert numbers(idle) == [2]


def test_what_a_check_refuses_fails_as_it_always_does(idle: Idle) -> None:
    def refuse() -> None:
        raise InternalError(FOREIGN_HANDLE.at(UNKNOWN, begin=0, end=1, handle=1, reason="is gone"))

    idle.add(idle.short(0), idle.short(1, check=refuse), idle.short(2))
    with pytest.raises(InternalError, match="TW903") as error:
        idle.worker.synchronize()
    assert error.value.diagnostic.context == ("running short code on stream 1",)
    assert idle.seen == [(BY_WAITER, 0)]


def test_what_only_a_task_kept_is_gone_when_the_waiting_ends(idle: Idle) -> None:
    command = idle.short(0)
    gone = weakref.ref(command)
    idle.add(command)
    del command
    idle.worker.synchronize()
    assert gone() is None


def test_what_was_closed_meanwhile_is_destroyed_when_the_waiting_ends(idle: Idle) -> None:
    destroyed: list[int] = []
    resource = Lifetime(idle.monitor, "it", lambda: destroyed.append(1), keeps=None)
    idle.add(idle.short(0, keeps=(resource,)))
    resource.close()
    assert not destroyed
    idle.worker.synchronize()
    assert (idle.seen, destroyed) == ([(BY_WAITER, 0)], [1])


class _Interrupts:
    """Raises KeyboardInterrupt where the interpreter looks for signals: the n-th time that a function of the runtime
    begins, or a call of it ends.
    """

    def __init__(self, place: int) -> None:
        self.left = place

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if "tilewright/runtime" not in frame.f_code.co_filename or event not in ("call", "c_return"):
            return
        self.left -= 1
        if self.left == 0:
            sys.setprofile(None)
            raise KeyboardInterrupt


def test_an_interrupt_at_any_place_loses_nothing_and_repeats_nothing(idle: Idle) -> None:
    place = 0
    for place in itertools.count(1):
        idle.seen.clear()
        idle.add(*map(idle.short, range(3)))
        interrupts = _Interrupts(place)
        with contextlib.suppress(KeyboardInterrupt):
            sys.setprofile(interrupts)
            idle.worker.synchronize()
        sys.setprofile(None)
        idle.worker.synchronize()
        assert numbers(idle) == [0, 1, 2], place
        if interrupts.left > 0:
            break
        idle.rest()
    assert place > 10


@dataclass(eq=False)
class Waiting:
    """Garbage that waits for a queue when it is found."""

    worker: Worker
    found: list[int]
    itself: Any = None

    def __post_init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        self.worker.synchronize()
        self.found.append(1)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_finalizer_may_wait_for_the_queue_that_is_being_helped(idle: Idle) -> None:
    before, found = gc.get_threshold(), list[int]()
    for delay in range(1, 40):
        idle.seen.clear()
        idle.add(*map(idle.short, range(3)))
        gc.collect()
        Waiting(idle.worker, found)
        gc.set_threshold(delay, 1, 1)
        idle.worker.synchronize()
        gc.set_threshold(*before)
        assert numbers(idle) == [0, 1, 2], delay
    gc.collect()
    assert len(found) == 39


def test_a_collector_that_was_off_stays_off(idle: Idle) -> None:
    for wanted in (False, True):
        (gc.enable if wanted else gc.disable)()
        idle.add(idle.short(0))
        idle.worker.synchronize()
        assert gc.isenabled() == wanted
    assert idle.seen == [(BY_WAITER, 0)] * 2


def test_a_ticket_is_good_once(idle: Idle) -> None:
    """As when a signal handler waits for the queue right before its thread runs it."""

    calls: list[int] = []

    def handler() -> None:
        calls.append(1)
        if len(calls) == 1:
            idle.worker.synchronize()

    idle.add(idle.short(0, check=handler), idle.short(1))
    idle.worker.synchronize()
    assert numbers(idle) == [0, 1]


def test_many_threads_submit_and_wait() -> None:
    monitor, seen = Monitor(), list[tuple[str, int]]()
    worker = Worker(monitor, "stream 1")

    def work(first: int) -> None:
        for number in range(first, first + 300):
            with monitor.lock:
                worker.submit([Short((), seen, number)])
            worker.synchronize()
            assert (BY_WAITER, number) in seen or (BY_THREAD, number) in seen

    threads = [threading.Thread(target=work, args=(1000 * each,)) for each in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(before)
    worker.finish()
    for each in range(4):
        own = [number for _, number in seen if number // 1000 == each]
        assert own == list(range(1000 * each, 1000 * each + 300))


def test_a_forked_child_helps_too(idle: Idle) -> None:
    idle.add(idle.short(0))
    idle.worker.synchronize()
    child = os.fork()
    if not child:
        try:
            idle.add(idle.short(1))
            idle.worker.synchronize()
        finally:
            os._exit(numbers(idle) != [0, 1])
    assert os.waitpid(child, 0)[1] == 0

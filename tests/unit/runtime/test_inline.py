"""Short machine code runs at once where nothing is before it. Here a builtin that appends stands for machine code; as a
call of it does, this makes an object that a collection may begin with.
"""

import _thread
import contextlib
import gc
import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import pytest

from tests.unit.runtime.fakes import FakeDevice, FakeShader, Gate, argument, metadata, nothing
from tilewright.core.codes.internal import FOREIGN_HANDLE
from tilewright.core.dtypes import f32
from tilewright.core.errors import DispatchError, InternalError
from tilewright.core.source import UNKNOWN
from tilewright.runtime import CommandList, Device, Shader, Stream, host_callback
from tilewright.runtime.capability import Capability
from tilewright.runtime.command import Command, FencedTask
from tilewright.runtime.fence import Fence
from tilewright.runtime.inline import CheckedLaunch, CodeCall, code_of
from tilewright.runtime.lifetime import Lifetime
from tilewright.runtime.monitor import Monitor
from tilewright.runtime.worker import Worker

BY_THREAD, INLINE = "thread", "inline"


@dataclass(slots=True, eq=False, weakref_slot=True)
class Short(Command):
    """What the stream's thread does by `run` and who enqueues it by `code`."""

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
        return code_of(CheckedLaunch(self.check, CodeCall(self.seen.extend, {(INLINE, self.number): None})))


class Line:
    """A worker and what its tasks did."""

    def __init__(self) -> None:
        self.monitor = Monitor()
        self.worker = Worker(self.monitor, "stream 1")
        self.seen: list[tuple[str, int]] = []

    def short(self, number: int, **facts: Any) -> Short:
        return Short((), self.seen, number, **facts)

    def callback(self, number: int) -> Command:
        return host_callback(lambda: self.seen.append((BY_THREAD, number)))

    def add(self, *tasks: Command | FencedTask) -> None:
        with self.monitor.lock:
            self.worker.submit(tasks)

    def held(self) -> Gate:
        """Holds the thread at work."""
        gate = Gate()
        self.add(host_callback(gate.wait))
        gate.reached.wait()
        return gate


@pytest.fixture
def line() -> Generator[Line]:
    line = Line()
    yield line
    line.worker.finish()


def numbers(line: Line) -> list[int]:
    return [number for _, number in line.seen]


def test_short_code_has_run_when_it_is_enqueued_and_starts_no_thread(line: Line) -> None:
    before = set(threading.enumerate())
    for number in range(3):
        line.add(line.short(number))
        assert line.seen[number:] == [(INLINE, number)]
    line.worker.synchronize()
    assert set(threading.enumerate()) == before


def test_a_list_of_short_code_runs_at_once_and_in_order(line: Line) -> None:
    line.add(*map(line.short, range(8)))
    assert line.seen == [(INLINE, number) for number in range(8)]


def test_a_long_list_does_not_hold_up_who_enqueues_it(line: Line) -> None:
    line.add(*map(line.short, range(9)))
    line.worker.synchronize()
    assert line.seen == [(BY_THREAD, number) for number in range(9)]


@pytest.mark.parametrize("place", range(3))
def test_a_list_with_anything_else_is_the_threads(line: Line, place: int) -> None:
    tasks: list[Command] = [line.short(number) for number in range(3)]
    tasks[place] = line.callback(place)
    line.add(*tasks)
    line.worker.synchronize()
    assert line.seen == [(BY_THREAD, number) for number in range(3)]


def test_short_code_waits_for_what_is_before_it(line: Line) -> None:
    gate = line.held()
    line.add(line.short(0))
    line.add(line.callback(1))
    assert line.seen == []
    gate.open()
    line.worker.synchronize()
    assert line.seen == [(BY_THREAD, 0), (BY_THREAD, 1)]
    line.add(line.short(2))
    assert line.seen[2:] == [(INLINE, 2)]


def test_a_callback_is_before_what_it_enqueues(line: Line) -> None:
    def enqueue() -> None:
        line.add(line.short(1))
        line.seen.append((BY_THREAD, 0))

    line.add(host_callback(enqueue))
    line.worker.synchronize()
    line.worker.synchronize()
    assert line.seen == [(BY_THREAD, 0), (BY_THREAD, 1)]


def test_a_callback_may_enqueue_to_an_idle_stream_and_still_not_wait_for_it() -> None:
    device = Device(FakeDevice())
    seen: list[tuple[str, int]] = []
    with device.create_stream() as first, device.create_stream() as second:
        second << Short((), seen, 0) << Short((), seen, 1)
        first << host_callback(lambda: second << Short((), seen, 2)) << host_callback(second.synchronize)
        with pytest.raises(DispatchError, match="TW626"):
            first.synchronize()
    assert seen == [(INLINE, 0), (INLINE, 1), (INLINE, 2)]


def test_a_signal_is_given_by_the_thread(line: Line) -> None:
    fence = Fence(line.monitor)
    line.add(FencedTask(line.short(0), signals=fence))
    fence.wait()
    line.worker.synchronize()
    assert line.seen == [(BY_THREAD, 0)]


def test_nothing_runs_behind_a_failure(line: Line) -> None:
    line.add(host_callback(lambda: 1 / 0))
    while not getattr(line.worker, "_failure") or getattr(line.worker, "_queue"):  # noqa: B009
        threading.Event().wait(0.001)
    line.add(line.short(1))
    with pytest.raises(DispatchError, match="ZeroDivisionError"):
        line.worker.synchronize()
    line.add(line.short(2))
    assert line.seen == [(INLINE, 2)]


def test_what_a_check_refuses_fails_as_it_always_does(line: Line) -> None:
    def refuse() -> None:
        raise InternalError(FOREIGN_HANDLE.at(UNKNOWN, begin=0, end=1, handle=1, reason="is gone"))

    gate = line.held()
    line.add(line.callback(0))
    gate.open()
    line.worker.synchronize()
    for tasks in ([line.short(1, check=refuse)], [line.short(2), line.short(3, check=refuse), line.short(4)]):
        line.seen.clear()
        line.add(*tasks)
        with pytest.raises(InternalError, match="TW903") as error:
            line.worker.synchronize()
        assert error.value.diagnostic.context == ("running short code on stream 1",)
        assert line.seen == [(BY_THREAD, 2)] * (len(tasks) > 1)


def test_nothing_is_kept_and_nothing_pending_after_it_ran(line: Line) -> None:
    destroyed: list[int] = []
    resource = Lifetime(line.monitor, "it", lambda: destroyed.append(1), keeps=None)
    command = line.short(0, keeps=(resource,))
    gone = weakref.ref(command)
    line.add(command)
    del command
    assert gone() is None
    assert not resource.pending
    resource.close()
    assert destroyed == [1]


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


@pytest.mark.parametrize("count", [1, 3])
def test_an_interrupt_at_any_place_leaves_all_of_it_or_nothing(line: Line, count: int) -> None:
    place = 0
    for place in itertools.count(1):
        line.seen.clear()
        tasks = [line.short(number) for number in range(count)]
        interrupts = _Interrupts(place)
        with contextlib.suppress(KeyboardInterrupt):
            sys.setprofile(interrupts)
            line.add(*tasks)
        sys.setprofile(None)
        assert numbers(line) in ([], list(range(count))), place
        line.worker.synchronize()
        assert getattr(line.worker, "_submitted") == 0  # noqa: B009
        if interrupts.left > 0:
            break
    assert numbers(line) == list(range(count))
    assert place > 5


class Interrupting(Short):
    """Short code during which an interrupt comes."""

    def code(self) -> CodeCall | None:
        return CodeCall(_thread.interrupt_main)


def test_an_interrupt_during_a_list_comes_after_it(line: Line) -> None:
    with pytest.raises(KeyboardInterrupt):
        line.add(line.short(0), Interrupting((), line.seen, 1), line.short(2))
    assert line.seen == [(INLINE, 0), (INLINE, 2)]


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
def test_a_finalizer_may_wait_for_the_queue_whose_code_runs(line: Line) -> None:
    before, found = gc.get_threshold(), list[int]()
    for delay in range(1, 40):
        line.seen.clear()
        tasks = [line.short(number) for number in range(3)]
        gc.collect()
        Waiting(line.worker, found)
        gc.set_threshold(delay, 1, 1)
        line.add(*tasks)
        gc.set_threshold(*before)
        assert line.seen == [(INLINE, number) for number in range(3)], delay
    gc.collect()
    assert len(found) == 39


def test_many_threads_submit_and_wait() -> None:
    monitor, seen = Monitor(), list[tuple[str, int]]()
    worker = Worker(monitor, "stream 1")

    def work(first: int) -> None:
        for number in range(first, first + 300):
            task = host_callback(lambda number=number: seen.append((BY_THREAD, number)))
            with monitor.lock:
                worker.submit([task if number % 3 == 0 else Short((), seen, number)])
            worker.synchronize()
            assert (INLINE, number) in seen or (BY_THREAD, number) in seen

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


def test_order_holds_while_the_thread_comes_and_goes(line: Line) -> None:
    """Short code meets a thread that is idle, at work, or just ending its tasks."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for number in range(3000):
        line.add(line.callback(number) if number % 7 in (0, 3) else line.short(number))
    sys.setswitchinterval(before)
    line.worker.synchronize()
    assert numbers(line) == list(range(3000))


def test_a_forked_child_runs_it_too(line: Line) -> None:
    line.add(line.short(0))
    child = os.fork()
    if not child:
        try:
            line.add(line.short(1))
            line.worker.synchronize()
        finally:
            os._exit(line.seen != [(INLINE, 0), (INLINE, 1)])
    assert os.waitpid(child, 0)[1] == 0


class Immediate(FakeShader):
    """A shader of short machine code."""

    def prepare(self, addresses: Sequence[int], /) -> Callable[[], object]:
        return CodeCall(self.launches.append, ())


def immediate(device: Device) -> Shader:
    return Shader(device, Immediate(metadata(argument("x", 4), name="immediate"), nothing))


def test_streams_race_though_the_first_has_run(validated: Device) -> None:
    """Verdicts follow from the program; that the host waited makes an order, that the code ran at once does not."""
    shader, x = immediate(validated), validated.create_buffer(f32, 4)
    with validated.create_stream() as first, validated.create_stream() as second:
        first << shader(x).dispatch()
        with pytest.raises(DispatchError, match="TW628"):
            second << shader(x).dispatch()
        first.synchronize()
        second << shader(x).dispatch()
        with pytest.raises(DispatchError, match="TW628"):
            first << shader(x).dispatch()


def test_a_refused_dispatch_runs_nothing(device: Device, stream: Stream) -> None:
    shader, x, y = immediate(device), device.create_buffer(f32, 4), device.create_buffer(f32, 4)
    kept, closed = shader(x).dispatch(), shader(y).dispatch()
    stream << kept
    y.close()
    other = Device(FakeDevice()).create_stream()
    for refused, enqueue in [
        ("TW602", lambda: stream << closed),
        ("TW602", lambda: stream << (CommandList() << kept << closed)),
        ("TW617", lambda: other << kept),
    ]:
        with pytest.raises(DispatchError, match=refused):
            enqueue()
    stream.close()
    with pytest.raises(DispatchError, match="TW602"):
        stream << kept
    native = shader.native
    assert isinstance(native, Immediate)
    assert len(native.launches) == 1

"""Tasks that run in one go: what others see of them is as if they ran one by one."""

import contextlib
import gc
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
import pytest

from tests.unit.runtime.fakes import FakeDevice, Gate, argument, make_shader, synchronizing
from tilewright.core.dtypes import f32
from tilewright.core.errors import DispatchError
from tilewright.runtime import Device, Stream, host_callback, synchronize
from tilewright.runtime.capability import Capability
from tilewright.runtime.command import Command
from tilewright.runtime.lifetime import Lifetime
from tilewright.runtime.monitor import Monitor
from tilewright.runtime.worker import Worker


@dataclass(slots=True, eq=False)
class Calling(Command):
    """A command that runs with others, as a dispatch does."""

    function: Callable[[], object]
    keeps: tuple[Lifetime, ...] = ()
    needs = Capability.COMPUTE

    @property
    def resources(self) -> tuple[Lifetime, ...]:
        return self.keeps

    def describe(self) -> str:
        return "a call"

    def execute(self) -> None:
        self.function()


def calling(function: Callable[[], object], *keeps: Lifetime) -> Calling:
    return Calling((), function, keeps)


def nothing() -> None:
    """A short task."""


class Line:
    """A worker whose tasks count as short, held by a gate until `go`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tilewright.runtime.worker._SHORT_SECONDS", float("inf"))
        self.monitor = Monitor()
        self.worker = Worker(self.monitor, "stream 1")
        self._gate = Gate()
        for _ in range(10):
            self.add(calling(nothing))
            self.worker.synchronize()
        self.add(host_callback(self._gate.wait))
        self._gate.reached.wait()

    def add(self, *commands: Command) -> None:
        with self.monitor.lock:
            self.worker.submit(commands)

    def go(self) -> None:
        self._gate.open()


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Generator[Line]:
    line = Line(monkeypatch)
    yield line
    line.worker.finish()


def test_short_tasks_run_in_one_go(line: Line) -> None:
    running = list[int]()
    line.add(*[calling(lambda: running.append(len(getattr(line.worker, "_running").tasks)))] * 5)  # noqa: B009
    line.go()
    line.worker.synchronize()
    assert running == [5] * 5


def test_an_error_in_the_middle_ends_the_run_and_abandons_what_follows(line: Line) -> None:
    seen = list[int]()
    line.add(calling(lambda: seen.append(1)), calling(lambda: 1 / 0), calling(lambda: seen.append(2)))
    line.go()
    with pytest.raises(DispatchError, match="ZeroDivisionError") as error:
        line.worker.synchronize()
    assert error.value.diagnostic.context == ("running a call on stream 1",)
    line.add(calling(lambda: seen.append(3)))
    line.worker.synchronize()
    assert seen == [1, 3]


def test_a_task_that_ended_needs_nothing_though_its_run_goes_on(line: Line) -> None:
    resource = Lifetime(line.monitor, "it", nothing, keeps=None)
    seen: list[int] = []
    look = calling(lambda: seen.append(resource.pending))
    line.add(calling(nothing, resource), look, calling(nothing, resource, resource), look)
    assert resource.pending == 2
    line.go()
    line.worker.synchronize()
    assert seen == [1, 0]
    assert resource.pending == 0


def test_nobody_waits_for_what_blocks_behind_their_task(line: Line) -> None:
    blocked = Gate()
    line.add(calling(nothing))
    waiting = threading.Thread(target=line.worker.synchronize)
    waiting.start()
    while not getattr(line.worker, "_waiting"):  # noqa: B009
        pass
    line.add(host_callback(blocked.wait), calling(nothing))
    line.go()
    waiting.join(30)
    assert not waiting.is_alive()
    blocked.open()
    line.worker.synchronize()


def test_abandoned_tasks_are_gone_when_their_error_is_raised(
    device: Device, stream: Stream, native: FakeDevice
) -> None:
    buffer = device.create_buffer(f32, 4)
    stream << buffer.copy_from(np.zeros(4, "f4")) << synchronize()
    stream << host_callback(lambda: 1 / 0)
    for _ in range(3):
        stream << buffer.copy_from(np.zeros(4, "f4"))
    del buffer
    with pytest.raises(DispatchError, match="TW624"):
        stream.synchronize()
    assert not native.alive


@pytest.mark.parametrize("size", ["wrong", -1])
def test_a_failed_task_is_gone_with_its_error(device: Device, stream: Stream, native: FakeDevice, size: object) -> None:
    """With nothing left for the garbage collection to find, whether the error is ours (-1) or Python's."""

    def refuse(_: object) -> None:
        device.create_buffer(f32, int(str(size)))

    buffer = device.create_buffer(f32, 4)
    gc.collect()
    gc.disable()
    try:
        stream << make_shader(device, argument("x", 4), body=refuse)(buffer).dispatch()
        del buffer
        with contextlib.suppress(DispatchError):
            stream.synchronize()
        assert not native.alive
    finally:
        gc.enable()


def test_two_who_wait_are_both_told(stream: Stream) -> None:
    gate = Gate()
    stream << host_callback(gate.wait)
    first = synchronizing(stream)
    stream << host_callback(nothing)
    second = threading.Thread(target=stream.synchronize)
    second.start()
    gate.open()
    first.join(30)
    second.join(30)
    assert (first.is_alive(), second.is_alive()) == (False, False)


def test_a_thread_that_cannot_start_leaves_nothing_enqueued(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor, seen = Monitor(), list[int]()
    worker = Worker(monitor, "stream 1")
    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", _refuse)
        with pytest.raises(RuntimeError), monitor.lock:
            worker.submit([calling(lambda: seen.append(1))])
    with monitor.lock:
        worker.submit([calling(lambda: seen.append(2))])
    worker.synchronize()
    worker.finish()
    assert seen == [2]


def _refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")

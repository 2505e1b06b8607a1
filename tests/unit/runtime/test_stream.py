"""Streams: order, errors, threads, interrupts, ends."""

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.unit.runtime.fakes import FakeDevice, Gate, add_one, argument, make_shader, synchronizing, waited_for
from tilewright.core.dtypes import f32
from tilewright.core.errors import DispatchError
from tilewright.runtime import CommandList, Device, Stream, StreamTag, host_callback, synchronize


def failing(text: str) -> Callable[[], None]:
    def fail() -> None:
        raise ValueError(text)

    return fail


def test_commands_run_in_order(device: Device, stream: Stream) -> None:
    seen: list[int] = []
    for number in range(100):
        stream << host_callback(lambda number=number: seen.append(number))
    stream.synchronize()
    assert seen == list(range(100))


def test_enqueueing_does_not_wait(device: Device, stream: Stream) -> None:
    gate, seen = Gate(), list[int]()
    stream << host_callback(gate.wait) << host_callback(lambda: seen.append(1))
    assert seen == []
    gate.open()
    stream << synchronize()
    assert seen == [1]


def test_the_thread_starts_with_the_first_command(device: Device) -> None:
    before = set(threading.enumerate())
    stream = device.create_stream()
    stream << CommandList() << synchronize()
    assert not set(threading.enumerate()) - before
    stream << host_callback(lambda: None) << synchronize()
    (thread,) = set(threading.enumerate()) - before
    stream.close()
    thread.join()


def test_all_commands_of_a_stream_share_a_thread(device: Device, stream: Stream) -> None:
    threads: set[int] = set()
    for _ in range(5):
        stream << host_callback(lambda: threads.add(threading.get_ident()))
    stream.synchronize()
    assert len(threads - {threading.get_ident()}) == 1


def test_an_error_is_raised_once_and_drops_what_followed(device: Device, stream: Stream) -> None:
    seen: list[int] = []
    stream << host_callback(lambda: seen.append(1)) << host_callback(failing("first"))
    stream << host_callback(failing("second")) << host_callback(lambda: seen.append(2))
    with pytest.raises(DispatchError, match="first") as error:
        stream.synchronize()
    assert error.value.diagnostic.code.id == "TW624"
    assert isinstance(error.value.__cause__, ValueError)
    assert "running the host callback" in error.value.diagnostic.context[0]
    assert error.value.diagnostic.span.file == __file__
    stream << host_callback(lambda: seen.append(3)) << synchronize()
    assert seen == [1, 3]


def test_an_error_of_a_shader_keeps_its_code(device: Device, stream: Stream) -> None:
    def refuse(_: object) -> None:
        device.create_buffer(f32, -1)

    shader = make_shader(device, body=refuse)
    stream << shader().dispatch()
    with pytest.raises(DispatchError) as error:
        stream.synchronize()
    assert error.value.diagnostic.code.id == "TW604"
    assert error.value.diagnostic.context == (f"running the dispatch of fake on {stream.label}",)


def test_work_enqueued_behind_a_failure_by_others_is_reported_too(device: Device, stream: Stream) -> None:
    """The one who synchronizes first gets the error; the other learns that its work was dropped."""
    gate, errors, seen = Gate(), list[str](), list[int]()
    stream << host_callback(gate.wait) << host_callback(failing("first"))
    waiting = synchronizing(stream, errors)
    stream << host_callback(lambda: seen.append(1))
    gate.open()
    waiting.join()
    assert errors == ["TW624"]
    assert first_error(stream) == "TW625"
    assert first_error(stream) == ""
    assert seen == []


def first_error(stream: Stream) -> str:
    try:
        stream.synchronize()
    except DispatchError as error:
        return error.diagnostic.code.id
    return ""


def test_a_refused_command_leaves_the_stream_alone(device: Device, stream: Stream) -> None:
    seen: list[int] = []
    stream << host_callback(lambda: seen.append(1))
    for wrong in (lambda: None, make_shader(device), 3, None, synchronize):
        with pytest.raises(DispatchError) as error:
            stream << wrong  # pyright: ignore[reportOperatorIssue]
        assert error.value.diagnostic.code.id == "TW618"
    stream.synchronize()
    assert seen == [1]


def test_a_copy_stream_does_not_compute(device: Device) -> None:
    shader = make_shader(device, argument("x", 1))
    buffer = device.create_buffer(f32, 1)
    with device.create_stream(StreamTag.COPY) as stream:
        stream << buffer.copy_from(np.zeros(1, "f4")) << host_callback(lambda: None)
        with pytest.raises(DispatchError) as error:
            stream << shader(buffer).dispatch()
    assert error.value.diagnostic.code.id == "TW619"
    native = shader.native
    assert native.launches == []  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def test_commands_of_another_device_are_refused(device: Device, stream: Stream) -> None:
    other, ours = Device(FakeDevice()).create_buffer(f32, 1), device.create_buffer(f32, 1)
    for _ in range(2):  # a stream knows kinds of commands that it took before
        with pytest.raises(DispatchError) as error:
            stream << other.copy_from(np.zeros(1, "f4"))
        assert error.value.diagnostic.code.id == "TW617"
        stream << ours.copy_from(np.zeros(1, "f4"))


def test_a_list_is_all_or_nothing(device: Device, stream: Stream) -> None:
    seen: list[int] = []
    buffer = device.create_buffer(f32, 1)
    kept = device.create_buffer(f32, 1)
    commands = CommandList() << host_callback(lambda: seen.append(1)) << kept.copy_to(np.zeros(1, "f4"))
    commands << buffer.copy_to(np.zeros(1, "f4"))
    buffer.close()
    with pytest.raises(DispatchError) as error:
        stream << commands
    assert error.value.diagnostic.code.id == "TW602"
    stream.synchronize()
    assert seen == []
    assert kept.lifetime.pending == 0
    assert not commands.committed


def test_a_list_is_committed_once(device: Device, stream: Stream) -> None:
    seen: list[int] = []
    commands = CommandList().append(host_callback(lambda: seen.append(1)))
    stream << commands << synchronize()
    assert commands.committed
    for use in (lambda: stream << commands, lambda: commands.append(host_callback(lambda: None)), commands.clear):
        with pytest.raises(DispatchError) as error:
            use()
        assert error.value.diagnostic.code.id == "TW620"
    assert seen == [1]


def test_a_list_is_not_mixed_with_the_commands_of_others(device: Device, stream: Stream) -> None:
    seen: list[int] = []

    def enqueue(mark: int) -> None:
        for _ in range(20):
            commands = CommandList()
            for _ in range(5):
                commands << host_callback(lambda: seen.append(mark))
            stream << commands

    threads = [threading.Thread(target=enqueue, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.synchronize()
    groups = [seen[i : i + 5] for i in range(0, len(seen), 5)]
    assert len(groups) == 80
    assert all(len(set(group)) == 1 for group in groups)


def test_lists_hold_commands_only(device: Device) -> None:
    commands = CommandList()
    for wrong in (synchronize(), CommandList(), lambda: None):
        with pytest.raises(DispatchError) as error:
            commands << wrong  # pyright: ignore[reportOperatorIssue]
        assert error.value.diagnostic.code.id == "TW618"
    commands << host_callback(lambda: None)
    commands.clear()
    assert len(commands) == 0


def test_an_empty_list_is_spent_and_does_nothing(device: Device, stream: Stream) -> None:
    commands = CommandList()
    stream << commands << synchronize()
    assert commands.committed


def test_commands_may_be_enqueued_again(device: Device, stream: Stream) -> None:
    buffer, result = device.create_buffer(f32, 1), np.zeros(1, "f4")
    shader = make_shader(device, argument("x", 1), body=add_one)
    command = shader(buffer).dispatch()
    stream << buffer.copy_from(np.zeros(1, "f4")) << command << command << command << buffer.copy_to(result)
    stream.synchronize()
    assert result[0] == 3


def test_threads_dispatch_one_shader_on_one_stream(device: Device, stream: Stream) -> None:
    buffer, result = device.create_buffer(f32, 3), np.zeros(3, "f4")
    shader = make_shader(device, argument("x", 1), body=add_one)
    stream << buffer.copy_from(result)

    def work() -> None:
        for _ in range(50):
            stream << shader(buffer[1:2]).dispatch()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream << buffer.copy_to(result) << synchronize()
    assert result.tolist() == [0, 400, 0]


def test_callbacks_may_enqueue_but_not_wait(device: Device, stream: Stream) -> None:
    seen: list[int] = []
    event = device.create_event()
    stream << event.signal() << host_callback(lambda: stream << host_callback(lambda: seen.append(1)))
    stream.synchronize()
    stream.synchronize()
    assert seen == [1]
    for wait in (stream.synchronize, event.synchronize):
        stream << host_callback(wait)
        assert first_error(stream) == "TW626"


def test_close_synchronizes_and_refuses_the_rest(device: Device) -> None:
    seen: list[int] = []
    stream = device.create_stream()
    stream << host_callback(lambda: seen.append(1))
    stream.close()
    stream.close()
    assert seen == [1]
    for use in (stream.synchronize, lambda: stream << host_callback(lambda: None), lambda: stream << CommandList()):
        with pytest.raises(DispatchError) as error:
            use()
        assert error.value.diagnostic.code.id == "TW602"


def test_close_raises_the_pending_error(device: Device) -> None:
    with pytest.raises(DispatchError, match="late"), device.create_stream() as stream:
        stream << host_callback(failing("late"))
    assert stream.closed


def test_an_error_in_a_with_block_is_not_replaced(device: Device) -> None:
    stream = device.create_stream() << host_callback(lambda: None)
    with pytest.raises(KeyError), stream:
        raise KeyError
    assert stream.closed


def test_a_dropped_stream_finishes_its_work_and_its_thread(device: Device) -> None:
    gate, seen, others = Gate(), list[int](), set(threading.enumerate())  # streams of other tests may have this name
    stream = device.create_stream()
    stream << host_callback(gate.wait) << host_callback(lambda: seen.append(1))
    gate.reached.wait()
    thread = next(t for t in set(threading.enumerate()) - others if t.name == f"tilewright {stream.label}")
    gone = weakref.ref(stream)
    del stream
    gc.collect()
    assert gone() is None
    gate.open()
    thread.join()
    assert seen == [1]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own answer to an interrupt, which is off in processes that a shell started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_waiting_only(device: Device, stream: Stream) -> None:
    gate, seen = Gate(), list[int]()
    stream << host_callback(gate.wait) << host_callback(lambda: seen.append(1))

    def interrupt() -> None:
        gate.reached.wait()
        while not waited_for(stream):
            pass
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        stream.synchronize()
    thread.join()
    gate.open()
    stream << host_callback(lambda: seen.append(2)) << synchronize()
    assert seen == [1, 2]


PROGRAM = """
import os, sys, threading, time
import numpy as np
from tests.unit.runtime.fakes import FakeDevice
from tilewright.core.dtypes import f32
from tilewright.runtime import Device, host_callback
device = Device(FakeDevice())
stream = device.create_stream()
buffer = device.create_buffer(f32, 4)
result = np.zeros(4, "f4")
"""


def run_program(body: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM + body], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_end_of_the_program_finishes_pending_work() -> None:
    done = run_program("""
stream << host_callback(lambda: time.sleep(0.1)) << buffer.copy_from(np.ones(4, "f4")) << buffer.copy_to(result)
stream << host_callback(lambda: print(result.tolist(), flush=True))
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1.0, 1.0, 1.0, 1.0]\n", "")


def test_an_idle_stream_does_not_hold_up_the_end() -> None:
    done = run_program("stream << host_callback(lambda: None)\nstream.synchronize()\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_error_nobody_waited_for_is_shown_at_the_end() -> None:
    done = run_program("stream << host_callback(lambda: 1 / 0)\n")
    assert "TW624" in done.stderr
    assert "division by zero" in done.stderr


FORKED = """
gate, started = threading.Event(), threading.Event()
stream << buffer.copy_from(np.full(4, 7, "f4"))
stream.synchronize()
if {pending}:
    event = device.create_event()
    stream << host_callback(started.set) << host_callback(gate.wait) << buffer.copy_to(result) << event.signal()
    started.wait()
child = os.fork()
if not child:
    codes = []
    for wait in (*([event.synchronize] if {pending} else []), stream.synchronize, stream.synchronize):
        try:
            wait()
            codes.append("")
        except Exception as error:
            codes.append(error.diagnostic.code.id)
    other = np.zeros(4, "f4")
    stream << buffer.copy_to(other)
    stream.synchronize()
    print(codes, other.tolist(), result.tolist(), buffer.lifetime.pending, flush=True)
    buffer.close()
    stream.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
gate.set()
stream.synchronize()
print(result.tolist(), flush=True)
"""


def test_a_forked_child_starts_with_empty_streams() -> None:
    done = run_program(FORKED.format(pending=False))
    assert done.stdout.splitlines() == ["['', ''] [7.0, 7.0, 7.0, 7.0] [0.0, 0.0, 0.0, 0.0] 0", "[0.0, 0.0, 0.0, 0.0]"]
    assert done.stderr == ""


def test_a_forked_child_is_told_what_it_lost() -> None:
    done = run_program(FORKED.format(pending=True))
    lost = "['TW623', 'TW627', ''] [7.0, 7.0, 7.0, 7.0] [0.0, 0.0, 0.0, 0.0] 0"
    assert (done.stdout.splitlines(), done.stderr) == ([lost, "[7.0, 7.0, 7.0, 7.0]"], "")

"""Events: order across streams, refused waits, failures that travel."""

import threading
from collections.abc import Callable, Generator

import numpy as np
import pytest

from tilewright.core.dtypes import f32
from tilewright.core.errors import DispatchError
from tilewright.runtime import CommandList, Device, Stream, host_callback, synchronize


@pytest.fixture
def other(device: Device) -> Generator[Stream]:
    with device.create_stream() as stream:
        yield stream


def code(use: Callable[[], object]) -> str:
    with pytest.raises(DispatchError) as error:
        use()
    return error.value.diagnostic.code.id


def fail() -> None:
    raise ValueError("boom")


def test_a_wait_holds_back_what_follows(device: Device, stream: Stream, other: Stream) -> None:
    gate, seen, event = threading.Event(), list[str](), device.create_event()
    stream << host_callback(lambda: gate.wait(30)) << host_callback(lambda: seen.append("first")) << event.signal()
    other << event.wait() << host_callback(lambda: seen.append("second"))
    assert not event.is_completed()
    gate.set()
    other.synchronize()
    assert seen == ["first", "second"]
    assert event.is_completed()


def test_data_crosses_streams_in_order(device: Device, stream: Stream, other: Stream) -> None:
    buffer, result, event = device.create_buffer(f32, 4), np.empty(4, "f4"), device.create_event()
    for value in range(20):
        stream << buffer.copy_from(np.full(4, value, "f4")) << event.signal()
        other << event.wait() << buffer.copy_to(result) << event.signal()
        stream << event.wait()
        other.synchronize()
        assert (result == value).all()


def test_a_wait_means_the_newest_signal_before_it(device: Device, stream: Stream, other: Stream) -> None:
    gate, event = threading.Event(), device.create_event()
    stream << event.signal()
    other << event.wait()
    stream << host_callback(lambda: gate.wait(30)) << event.signal()
    other.synchronize()
    assert not event.is_completed()
    gate.set()
    event.synchronize()
    assert event.is_completed()


def test_a_wait_without_a_signal_is_refused(device: Device, stream: Stream) -> None:
    event, timeline = device.create_event(), device.create_timeline()
    assert code(lambda: stream << event.wait()) == "TW621"
    assert code(event.synchronize) == "TW621"
    assert not event.is_completed()
    stream << timeline.signal(3)
    assert code(lambda: stream << timeline.wait(4)) == "TW621"
    assert code(lambda: timeline.synchronize(4)) == "TW621"
    assert not timeline.is_completed(4)


def test_a_refused_list_signals_nothing(device: Device, stream: Stream) -> None:
    event, never = device.create_event(), device.create_event()
    commands = CommandList() << event.signal() << never.wait()
    assert code(lambda: stream << commands) == "TW621"
    assert code(lambda: stream << event.wait()) == "TW621"


def test_a_list_sees_its_own_signals(device: Device, stream: Stream) -> None:
    event, timeline = device.create_event(), device.create_timeline()
    stream << (CommandList() << event.signal() << event.wait() << timeline.signal(2) << timeline.wait(1))
    stream.synchronize()
    assert event.is_completed()
    assert timeline.is_completed(2)


def test_a_timeline_grows(device: Device, stream: Stream) -> None:
    timeline = device.create_timeline()
    stream << timeline.signal(3)
    for value in (0, 2, 3):
        assert code(lambda value=value: stream << timeline.signal(value)) == "TW622"
    assert code(lambda: stream << (CommandList() << timeline.signal(5) << timeline.signal(4))) == "TW622"
    stream << timeline.signal(4) << synchronize()
    assert [timeline.is_completed(value) for value in range(6)] == [True] * 5 + [False]


@pytest.mark.parametrize("value", [-1, 1.5, "1", None])
def test_timeline_values_are_counts(device: Device, value: object) -> None:
    timeline = device.create_timeline()
    for use in (timeline.signal, timeline.wait, timeline.is_completed, timeline.synchronize):
        assert code(lambda use=use: use(value)) == "TW604"  # pyright: ignore[reportArgumentType]


def test_a_timeline_starts_at_zero(device: Device, stream: Stream) -> None:
    timeline = device.create_timeline()
    timeline.synchronize(0)
    stream << timeline.wait(0) << synchronize()


def test_a_timeline_wait_means_the_first_signal_that_reaches_it(device: Device, stream: Stream, other: Stream) -> None:
    gate, timeline = threading.Event(), device.create_timeline()
    stream << timeline.signal(5) << host_callback(lambda: gate.wait(30)) << timeline.signal(9)
    other << timeline.wait(4) << synchronize()
    assert timeline.is_completed(5)
    assert not timeline.is_completed(6)
    gate.set()
    timeline.synchronize(6)
    assert timeline.is_completed(9)


def test_a_failure_reaches_those_who_wait(device: Device, stream: Stream, other: Stream) -> None:
    seen, event = list[int](), device.create_event()
    stream << host_callback(fail) << event.signal()
    other << event.wait() << host_callback(lambda: seen.append(1))
    with pytest.raises(DispatchError, match="boom") as error:
        other.synchronize()
    assert error.value.diagnostic.code.id == "TW623"
    assert code(event.synchronize) == "TW623"
    assert code(event.is_completed) == "TW623"
    assert code(stream.synchronize) == "TW624"
    stream << event.signal()
    other << event.wait() << host_callback(lambda: seen.append(2)) << synchronize()
    event.synchronize()
    assert seen == [2]


def test_events_stay_on_one_device(device: Device, stream: Stream, native: object) -> None:
    event = Device(type(native)()).create_event()  # pyright: ignore[reportArgumentType]
    assert code(lambda: stream << event.signal()) == "TW617"


def test_long_histories_forget_what_was_given(device: Device, stream: Stream) -> None:
    timeline = device.create_timeline()
    for value in range(1, 2000):
        stream << timeline.signal(2 * value)
        if value % 100 == 0:
            stream.synchronize()
    stream.synchronize()
    assert len(timeline.history.fences) <= 513
    for value in (0, 1, 77, 3000, 3998):
        timeline.synchronize(value)
    assert code(lambda: timeline.synchronize(3999)) == "TW621"


def test_a_failed_signal_is_never_forgotten(device: Device, stream: Stream) -> None:
    timeline = device.create_timeline()
    stream << host_callback(fail) << timeline.signal(1)
    assert code(stream.synchronize) == "TW624"
    for value in range(2, 1500):
        stream << timeline.signal(value)
    stream.synchronize()
    assert code(lambda: timeline.synchronize(1)) == "TW623"
    timeline.synchronize(2)


def test_a_history_that_starts_with_a_failure_goes_on(device: Device, stream: Stream) -> None:
    event = device.create_event()
    stream << host_callback(fail) << event.signal()
    assert code(stream.synchronize) == "TW624"
    for _ in range(600):
        stream << event.signal()
    event.synchronize()
    assert len(event.history.values) == len(event.history.fences)
    assert event.history.values[-1] == 601

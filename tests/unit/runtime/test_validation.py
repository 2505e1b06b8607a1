"""The validation layer: races between streams, and the backstop under everything."""

import numpy as np
import pytest

from tests.unit.runtime.fakes import FakeDevice, argument, make_shader
from tilewright.core.abi import Usage
from tilewright.core.dtypes import f32
from tilewright.core.errors import DispatchError, InternalError
from tilewright.runtime import Buffer, CommandList, Device, Stream, host_callback, synchronize
from tilewright.runtime.hazards import HazardTracker
from tilewright.runtime.interface import Binding
from tilewright.runtime.validation import ValidatedDevice


@pytest.fixture
def streams(validated: Device) -> tuple[Stream, Stream]:
    return validated.create_stream(), validated.create_stream()


@pytest.fixture
def buffer(validated: Device) -> Buffer:
    return validated.create_buffer(f32, 16)


HOST = np.zeros(16, "f4")


def refused(stream: Stream, command: object) -> str:
    with pytest.raises(DispatchError) as error:
        stream << command  # pyright: ignore[reportOperatorIssue]
    assert error.value.diagnostic.code.id == "TW628"
    return error.value.diagnostic.message


def test_a_race_is_refused_and_says_who_what_and_where(streams: tuple[Stream, Stream], buffer: Buffer) -> None:
    a, b = streams
    a << buffer[4:8].copy_from(HOST[:4])
    message = refused(b, buffer.copy_to(HOST.copy()))
    assert message.startswith("stream 2 reads bytes 0:64 of buffer 1 (16 x f32), which stream 1 writes")
    assert "(bytes 16:32)" in message


def test_disjoint_ranges_and_shared_reads_are_free(streams: tuple[Stream, Stream], buffer: Buffer) -> None:
    a, b = streams
    a << buffer[:8].copy_from(HOST[:8])
    b << buffer[8:].copy_from(HOST[:8]) << synchronize()
    a.synchronize()
    a << buffer.copy_to(HOST.copy())
    b << buffer.copy_to(HOST.copy())
    refused(b, buffer[3:4].copy_from(HOST[:1]))


def test_a_dispatch_counts_with_its_usage_and_footprint(
    validated: Device, streams: tuple[Stream, Stream], buffer: Buffer
) -> None:
    a, b = streams
    shader = make_shader(
        validated, argument("x", 4, Usage.READ), argument("y", 4, Usage.WRITE), argument("z", 16, Usage.NONE)
    )
    a << shader(buffer[0:8], buffer[8:16], buffer).dispatch()
    b << buffer[4:8].copy_from(HOST[:4]) << buffer[12:].copy_from(HOST[:4]) << buffer[0:4].copy_to(HOST[:4].copy())
    refused(b, buffer[3:4].copy_from(HOST[:1]))
    refused(b, buffer[11:12].copy_to(HOST[:1].copy()))


def test_the_verdict_does_not_depend_on_time(streams: tuple[Stream, Stream], buffer: Buffer) -> None:
    """A command that happens to have finished is still unordered."""
    a, b = streams
    a << buffer.copy_from(HOST)
    while buffer.lifetime.pending:
        pass
    refused(b, buffer.copy_from(HOST))


def test_a_stream_synchronize_orders(streams: tuple[Stream, Stream], buffer: Buffer) -> None:
    a, b = streams
    a << buffer.copy_from(HOST) << synchronize()
    b << buffer.copy_from(HOST)
    refused(a, buffer.copy_to(HOST.copy()))


def test_a_failed_synchronize_orders_too(streams: tuple[Stream, Stream], buffer: Buffer) -> None:
    a, b = streams
    a << buffer.copy_from(HOST) << host_callback(lambda: 1 / 0)
    with pytest.raises(DispatchError):
        a.synchronize()
    b << buffer.copy_from(HOST) << synchronize()


def test_events_order_across_streams_and_through_a_third(validated: Device, buffer: Buffer) -> None:
    a, b, c = (validated.create_stream() for _ in range(3))
    first, second = validated.create_event(), validated.create_event()
    a << buffer.copy_from(HOST) << first.signal() << buffer[0:1].copy_from(HOST[:1])
    refused(c, buffer.copy_to(HOST.copy()))
    b << first.wait() << second.signal()
    c << second.wait() << buffer[1:].copy_to(HOST[1:].copy())
    refused(c, buffer[0:1].copy_to(HOST[:1].copy()))


@pytest.mark.parametrize("observe", ["synchronize", "is_completed"])
def test_what_the_host_saw_of_an_event_orders(
    validated: Device, streams: tuple[Stream, Stream], buffer: Buffer, observe: str
) -> None:
    a, b = streams
    event = validated.create_event()
    a << buffer.copy_from(HOST) << event.signal()
    while not getattr(event, observe)() and observe == "is_completed":
        pass
    b << buffer.copy_from(HOST)


def test_a_refused_list_leaves_everything_untouched(
    validated: Device, streams: tuple[Stream, Stream], buffer: Buffer
) -> None:
    a, b = streams
    other, event = validated.create_buffer(f32, 16), validated.create_event()
    a << buffer.copy_from(HOST)
    refused(b, CommandList() << other.copy_from(HOST) << event.signal() << buffer.copy_from(HOST))
    assert other.lifetime.pending == 0
    with pytest.raises(DispatchError, match="TW621"):
        event.synchronize()
    a << other.copy_from(HOST)


def test_a_signal_inside_a_list_covers_what_is_before_it(
    validated: Device, streams: tuple[Stream, Stream], buffer: Buffer
) -> None:
    a, b = streams
    event = validated.create_event()
    a << (CommandList() << buffer[:8].copy_from(HOST[:8]) << event.signal() << buffer[8:].copy_from(HOST[:8]))
    b << event.wait() << buffer[:8].copy_to(HOST[:8].copy())
    refused(b, buffer[8:].copy_to(HOST[:8].copy()))


def test_a_forgotten_signal_still_orders(validated: Device, streams: tuple[Stream, Stream], buffer: Buffer) -> None:
    a, b = streams
    timeline = validated.create_timeline()
    a << buffer.copy_from(HOST) << timeline.signal(1)
    for value in range(2, 600):
        b << timeline.signal(value)
        while value == 500 and not timeline.history.fences[400].done:
            pass
    assert len(timeline.history.fences) < 600
    c = validated.create_stream()
    c << timeline.wait(1) << buffer.copy_from(HOST)


def test_a_destroyed_buffer_leaves_no_record(validated: Device, streams: tuple[Stream, Stream]) -> None:
    a, _ = streams
    tracker: HazardTracker = getattr(validated.context.layer, "_tracker")  # noqa: B009 - the layer is a protocol
    with validated.create_buffer(f32, 16) as buffer:
        a << buffer.copy_from(HOST) << synchronize()
        assert tracker.recorded(buffer.handle) == 1
    assert tracker.recorded(buffer.handle) == 0


def test_without_validation_races_are_the_users(unchecked: Device) -> None:
    a, b, buffer = unchecked.create_stream(), unchecked.create_stream(), unchecked.create_buffer(f32, 16)
    a << buffer.copy_from(HOST)
    b << buffer.copy_from(HOST)


def test_a_closed_stream_leaves_no_hazard(streams: tuple[Stream, Stream], buffer: Buffer) -> None:
    a, b = streams
    a << buffer.copy_from(HOST)
    a.close()
    b << buffer.copy_from(HOST)


def test_native_accesses_outside_of_living_buffers_are_our_bug(validated: Device) -> None:
    device = validated.context.interface
    assert isinstance(device, ValidatedDevice)
    buffer, foreign = device.create_buffer(8), FakeDevice().create_buffer(8)
    uses = [
        lambda: device.upload(buffer, 1, memoryview(bytes(8))),
        lambda: device.download(buffer, -1, memoryview(bytearray(4))),
        lambda: device.copy(buffer, 0, buffer, 4, 5),
        lambda: device.copy(foreign, 0, buffer, 0, 4),
        lambda: device.destroy_buffer(foreign),
        lambda: make_shader(validated).prepare([Binding(foreign, 0, 8)]),
        lambda: make_shader(validated).prepare([Binding(buffer, 4, 8)]),
    ]
    for use in uses:
        with pytest.raises(InternalError, match="TW903"):
            use()
    device.destroy_buffer(buffer)
    with pytest.raises(InternalError, match="does not hold"):
        device.upload(buffer, 0, memoryview(bytes(8)))


def test_a_handle_given_twice_is_a_bug_of_the_backend() -> None:
    class Repeating(FakeDevice):
        def create_buffer(self, size_bytes: int, /):
            return self.alive[1] if self.alive else super().create_buffer(size_bytes)

    device = Device(Repeating())
    first = device.create_buffer(f32, 1)
    with pytest.raises(InternalError, match="two buffers"):
        device.create_buffer(f32, 1)
    first.close()

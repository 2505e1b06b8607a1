"""Nothing is destroyed under a pending command, and nothing stays behind."""

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Generator

import numpy as np
import pytest

from tests.unit.runtime.fakes import FakeDevice, FakeShader, add_one, argument, make_shader, metadata
from tilewright.core.dtypes import f32
from tilewright.core.errors import DispatchError
from tilewright.runtime import Device, Shader, Stream, host_callback, synchronize


def code(use: Callable[[], object]) -> str:
    with pytest.raises(DispatchError) as error:
        use()
    return error.value.diagnostic.code.id


@pytest.fixture
def gate() -> Generator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


def held(stream: Stream, gate: threading.Event) -> Stream:
    return stream << host_callback(lambda: gate.wait(30))


def test_a_dropped_buffer_lives_until_its_last_command(
    device: Device, stream: Stream, native: FakeDevice, gate: threading.Event
) -> None:
    buffer, result = device.create_buffer(f32, 4), np.zeros(4, "f4")
    held(stream, gate) << buffer.copy_from(np.ones(4, "f4")) << buffer.copy_to(result)
    del buffer
    gc.collect()
    assert native.alive
    gate.set()
    stream.synchronize()
    assert result.tolist() == [1, 1, 1, 1]
    assert not native.alive


def test_a_dropped_shader_lives_until_its_last_command(device: Device, stream: Stream, gate: threading.Event) -> None:
    native_shader = FakeShader(metadata(argument("x", 4)), add_one)
    buffer, result = device.create_buffer(f32, 4), np.zeros(4, "f4")
    shader = Shader(device, native_shader)
    held(stream, gate) << buffer.copy_from(result) << shader(buffer).dispatch() << buffer.copy_to(result)
    del shader
    gc.collect()
    assert native_shader.closed == 0
    gate.set()
    stream.synchronize()
    assert result.tolist() == [1, 1, 1, 1]
    assert native_shader.closed == 1


def test_closing_under_a_pending_command_is_refused_by_validation(
    validated: Device, native: FakeDevice, gate: threading.Event
) -> None:
    buffer = validated.create_buffer(f32, 4)
    shader = make_shader(validated, argument("x", 4))
    with validated.create_stream() as stream:
        held(stream, gate) << shader(buffer).dispatch()
        assert code(buffer.close) == "TW603"
        assert code(shader.close) == "TW603"
        stream << shader(buffer).dispatch()
        gate.set()
        stream.synchronize()
        buffer.close()
        shader.close()
    assert not native.alive


def test_closing_under_a_pending_command_waits_without_validation(
    unchecked: Device, native: FakeDevice, gate: threading.Event
) -> None:
    buffer, result = unchecked.create_buffer(f32, 4), np.zeros(4, "f4")
    with unchecked.create_stream() as stream:
        held(stream, gate) << buffer.copy_from(np.ones(4, "f4")) << buffer.copy_to(result)
        buffer.close()
        buffer.close()
        assert native.alive
        assert code(lambda: stream << buffer.copy_to(result)) == "TW602"
        gate.set()
        stream.synchronize()
    assert result.tolist() == [1, 1, 1, 1]
    assert native.destroyed == [1]


def test_a_command_made_before_the_close_is_refused_after_it(device: Device, stream: Stream) -> None:
    buffer = device.create_buffer(f32, 4)
    shader = make_shader(device, argument("x", 4))
    upload, dispatch = buffer.copy_from(np.zeros(4, "f4")), shader(buffer).dispatch()
    invocation = shader(buffer)
    buffer.close()
    assert code(lambda: stream << upload) == "TW602"
    assert code(lambda: stream << dispatch) == "TW602"
    assert code(lambda: stream << invocation.dispatch()) == "TW602"
    assert shader.lifetime.pending == 0
    shader.close()


def test_dropped_commands_release_what_they_held(device: Device, stream: Stream, native: FakeDevice) -> None:
    buffer = device.create_buffer(f32, 4)
    stream << host_callback(lambda: 1 / 0) << buffer.copy_from(np.zeros(4, "f4"))
    assert code(stream.synchronize) == "TW624"
    buffer.close()
    assert not native.alive


def test_an_error_in_a_with_block_closes_later(
    device: Device, stream: Stream, native: FakeDevice, gate: threading.Event
) -> None:
    buffer = device.create_buffer(f32, 4)
    held(stream, gate) << buffer.copy_from(np.zeros(4, "f4"))
    with pytest.raises(KeyError), buffer:
        raise KeyError
    assert buffer.closed
    gate.set()
    stream.synchronize()
    assert not native.alive


def test_shaders_outlive_their_device_handle(device: Device, native: FakeDevice) -> None:
    shader = make_shader(device, argument("x", 4), body=add_one)
    buffer, stream, result = device.create_buffer(f32, 4), device.create_stream(), np.zeros(4, "f4")
    device.close()
    gc.collect()
    stream << buffer.copy_from(result) << shader(buffer).dispatch() << buffer.copy_to(result) << synchronize()
    assert result.tolist() == [1, 1, 1, 1]
    assert native.closed == 0
    del buffer
    stream.close()
    del shader, stream
    gc.collect()
    assert native.closed == 1


def test_a_closed_handle_makes_nothing_more(device: Device) -> None:
    with device:
        device.create_event()
    device.close()
    for use in (
        lambda: device.create_buffer(f32, 1), device.create_stream, device.create_event, device.create_timeline,
        lambda: make_shader(device),
    ):  # fmt: skip
        assert code(use) == "TW602"
    assert "closed" in repr(device)


def test_the_device_closes_after_its_buffers_even_in_a_circle() -> None:
    native = FakeDevice()
    device = Device(native)
    circle: list[object] = [device.create_buffer(f32, 4), device, make_shader(device), device.create_event()]
    circle.append(circle)
    del circle, device
    gc.collect()
    assert not native.alive
    assert native.closed == 1


def test_everything_is_given_back_at_exit() -> None:
    program = """
import threading, time
import numpy as np
from tests.unit.runtime.fakes import FakeDevice
from tilewright.core.dtypes import f32
from tilewright.runtime import Device, host_callback
class Loud(FakeDevice):
    def close(self):
        super().close()
        print("closed", sorted(self.destroyed), flush=True)
device = Device(Loud())
stream = device.create_stream()
buffers = [device.create_buffer(f32, 4) for _ in range(3)]
for buffer in buffers:
    stream << host_callback(lambda: time.sleep(0.02)) << buffer.copy_from(np.ones(4, "f4"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("closed [1, 2, 3]\n", "")

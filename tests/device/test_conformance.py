"""Is this a device? One suite over everything in the registry."""

import threading
from collections.abc import Callable, Generator

import numpy as np
import pytest

from tilewright.core.abi import CompileOptions
from tilewright.core.dtypes import ALL_DTYPES, DType, f32, u8
from tilewright.core.errors import CapabilityError, DispatchError, TilewrightError
from tilewright.numerics.arrays import numpy_dtype
from tilewright.runtime import CommandList, Device, Stream, create_device, host_callback, synchronize
from tilewright.runtime.interface import TileKernelFactory
from tilewright.runtime.registry import DEVICES, open_device


@pytest.fixture(params=DEVICES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[True, False], ids=["validated", "unchecked"])
def device(name: str, request: pytest.FixtureRequest) -> Device:
    return create_device(name, validate=request.param)


@pytest.fixture
def stream(device: Device) -> Generator[Stream]:
    with device.create_stream() as stream:
        yield stream


def code(use: Callable[[], object]) -> str:
    with pytest.raises(DispatchError) as error:
        use()
    return error.value.diagnostic.code.id


def test_it_has_the_name_of_its_entry(name: str, device: Device) -> None:
    assert device.name == name


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 4097])
def test_native_buffers_are_distinct_and_sized(device: Device, size: int) -> None:
    buffers = [device.create_buffer(u8, size) for _ in range(3)]
    assert {buffer.native.size_bytes for buffer in buffers} == {size}
    assert len({buffer.handle for buffer in buffers}) == 3


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=repr)
def test_bytes_survive(device: Device, stream: Stream, dtype: type[DType]) -> None:
    source = np.random.default_rng(1).integers(0, 256, 37 * dtype.itemsize, np.uint8).view(numpy_dtype(dtype))
    result = np.zeros_like(source)
    buffer = device.create_buffer(dtype, 37)
    stream << buffer.copy_from(source) << buffer.copy_to(result) << synchronize()
    assert result.tobytes() == source.tobytes()


def test_offsets_are_honoured_between_guards(device: Device, stream: Stream) -> None:
    a, b, result = device.create_buffer(f32, 40), device.create_buffer(f32, 50), np.empty(50, "f4")
    stream << a.copy_from(np.arange(40, dtype="f4")) << b.copy_from(np.full(50, -731.25, "f4"))
    stream << b[19:29].copy_from(a[17:27]) << b.copy_to(result) << synchronize()
    assert result[19:29].tolist() == list(range(17, 27))
    assert (np.delete(result, range(19, 29)) == -731.25).all()


def test_empty_copies_do_nothing(device: Device, stream: Stream) -> None:
    empty, full, nothing = device.create_buffer(f32, 0), device.create_buffer(f32, 3), np.empty(0, "f4")
    for view in (empty.view(), full[3:], full[1:1]):
        stream << view.copy_from(nothing) << view.copy_to(nothing) << view.copy_from(empty)
    stream.synchronize()


def test_memory_is_reused_without_mixing(device: Device, stream: Stream) -> None:
    kept, result = device.create_buffer(f32, 1000), np.empty(1000, "f4")
    stream << kept.copy_from(np.full(1000, 5, "f4"))
    for value in range(20):
        with device.create_buffer(f32, 1000) as buffer:
            stream << buffer.copy_from(np.full(1000, value, "f4")) << buffer.copy_to(result) << synchronize()
            assert (result == value).all()
    stream << kept.copy_to(result) << synchronize()
    assert (result == 5).all()


def test_streams_meet_at_events(device: Device, stream: Stream) -> None:
    buffer, result, event = device.create_buffer(f32, 100), np.empty(100, "f4"), device.create_event()
    with device.create_stream() as other:
        for value in range(10):
            stream << buffer.copy_from(np.full(100, value, "f4")) << event.signal()
            other << event.wait() << buffer.copy_to(result) << event.signal() << synchronize()
            stream << event.wait()
            assert (result == value).all()


def test_threads_share_a_device(device: Device) -> None:
    failures: list[int] = []

    def work(value: int) -> None:
        host, result = np.full(1000, value, "f4"), np.empty(1000, "f4")
        with device.create_stream() as stream:
            for _ in range(20):
                with device.create_buffer(f32, 1000) as buffer:
                    stream << (CommandList() << buffer.copy_from(host) << buffer.copy_to(result)) << synchronize()
                if not (result == value).all():
                    failures.append(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_refusals_touch_nothing(device: Device, stream: Stream) -> None:
    buffer, result = device.create_buffer(f32, 4), np.empty(4, "f4")
    view = buffer[1:3]
    stream << buffer.copy_from(np.arange(4, dtype="f4"))
    assert code(lambda: view.copy_from(np.full(2, 9, "f8"))) == "TW610"
    assert code(lambda: view.copy_from(np.full(3, 9, "f4"))) == "TW611"
    assert code(lambda: view.copy_from(np.full(4, 9, "f4")[::2])) == "TW612"
    assert code(lambda: view.copy_from(buffer[2:4])) == "TW616"
    assert code(lambda: buffer[3:5]) == "TW606"
    stream << buffer.copy_to(result) << synchronize()
    assert result.tolist() == [0, 1, 2, 3]


def test_a_stream_recovers_from_an_error(device: Device, stream: Stream) -> None:
    buffer, result = device.create_buffer(f32, 1), np.zeros(1, "f4")
    stream << buffer.copy_from(np.ones(1, "f4")) << host_callback(lambda: 1 / 0)
    stream << buffer.copy_from(np.full(1, 2, "f4"))
    assert code(stream.synchronize) == "TW624"
    stream << buffer.copy_to(result) << synchronize()
    assert result[0] == 1


def test_everything_outlives_the_handle(device: Device) -> None:
    buffer, stream, result = device.create_buffer(f32, 4), device.create_stream(), np.empty(4, "f4")
    device.close()
    stream << buffer.copy_from(np.arange(4, dtype="f4")) << buffer.copy_to(result) << synchronize()
    assert result.tolist() == [0, 1, 2, 3]
    stream.close()


def test_two_devices_of_a_kind_are_two(device: Device, name: str) -> None:
    twin = create_device(name)
    assert code(lambda: device.create_buffer(f32, 4).copy_from(twin.create_buffer(f32, 4))) == "TW617"


def test_what_is_no_kernel_is_refused_with_a_code(name: str, device: Device) -> None:
    """A device compiles or refuses; a foreign exception is neither."""
    with pytest.raises(TilewrightError) as error:
        device.create_tile_kernel(object(), CompileOptions())
    if not isinstance(open_device(name), TileKernelFactory):
        assert isinstance(error.value, CapabilityError)


def test_too_much_memory_is_a_coded_error(device: Device) -> None:
    assert code(lambda: device.create_buffer(u8, 1 << 62)) == "TW636"

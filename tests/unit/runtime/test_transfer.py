"""Copies: host arrays in place or refused, guard bands around views, nothing enqueued after a refusal."""

import array
import ctypes
import gc
import weakref
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from tilewright.core.dtypes import ALL_DTYPES, DType, bf16, boolean, f32, f64, u8
from tilewright.core.errors import DispatchError
from tilewright.numerics.arrays import numpy_dtype
from tilewright.runtime import Device, Stream, synchronize


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=repr)
def test_a_round_trip_keeps_every_byte(device: Device, stream: Stream, dtype: type[DType]) -> None:
    source = np.arange(24).reshape(2, 3, 4).astype(numpy_dtype(dtype))
    result = np.zeros_like(source)
    buffer = device.create_buffer(dtype, 24)
    stream << buffer.copy_from(source) << buffer.copy_to(result) << synchronize()
    assert result.tobytes() == source.tobytes()


def test_a_view_is_written_between_its_guards(device: Device, stream: Stream) -> None:
    guard = np.full(40, -731.25, "f4")
    buffer, result = device.create_buffer(f32, 40), np.empty(40, "f4")
    stream << buffer.copy_from(guard) << buffer[13:23].copy_from(np.arange(10, dtype="f4")) << buffer.copy_to(result)
    inner = np.empty(4, "f4")
    stream << buffer[15:19].copy_to(inner) << synchronize()
    assert inner.tolist() == [2, 3, 4, 5]
    assert result[13:23].tolist() == list(range(10))
    assert (result[:13] == -731.25).all()
    assert (result[23:] == -731.25).all()


def test_device_copies_between_views(device: Device, stream: Stream) -> None:
    a, b, result = device.create_buffer(f32, 8), device.create_buffer(f32, 8), np.empty(8, "f4")
    stream << a.copy_from(np.arange(8, dtype="f4")) << b.copy_from(np.full(8, -1, "f4"))
    stream << b[1:4].copy_from(a[5:8]) << b[4:6].copy_to(b[6:8]) << a[0:1].copy_to(b[4:5]) << b.copy_to(result)
    stream.synchronize()
    assert result.tolist() == [-1, 5, 6, 7, 0, -1, -1, -1]


def test_equal_ranges_of_two_buffers_do_not_overlap(device: Device, stream: Stream) -> None:
    a, b, result = device.create_buffer(f32, 4), device.create_buffer(f32, 4), np.empty(4, "f4")
    stream << a.copy_from(np.arange(4, dtype="f4")) << b.copy_from(a) << b.copy_to(result) << synchronize()
    assert result.tolist() == [0, 1, 2, 3]


def test_within_one_buffer_disjoint_ranges_copy(device: Device, stream: Stream) -> None:
    buffer, result = device.create_buffer(f32, 4), np.empty(4, "f4")
    stream << buffer.copy_from(np.arange(4, dtype="f4")) << buffer[2:].copy_from(buffer[:2]) << buffer.copy_to(result)
    stream.synchronize()
    assert result.tolist() == [0, 1, 0, 1]


def test_the_buffer_protocol_and_dlpack_will_do(device: Device, stream: Stream) -> None:
    class OnlyDLPack:
        def __init__(self) -> None:
            self.memory = np.arange(4, dtype="f4")

        def __dlpack__(self, **options: object) -> object:
            return self.memory.__dlpack__(**options)  # pyright: ignore[reportArgumentType, reportCallIssue]

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.memory.__dlpack_device__()

    buffer, bytes_ = device.create_buffer(f32, 4), device.create_buffer(u8, 3)
    native, floats, foreign = bytearray(3), array.array("f", [0] * 4), OnlyDLPack()
    stream << bytes_.copy_from(b"abc") << bytes_.copy_to(native) << synchronize()
    stream << buffer.copy_from(foreign) << buffer.copy_to(floats) << synchronize()
    stream << buffer.copy_from((ctypes.c_float * 4)(9, 8, 7, 6)) << buffer.copy_to(foreign) << synchronize()
    assert native == b"abc"
    assert floats.tolist() == [0, 1, 2, 3]
    assert foreign.memory.tolist() == [9, 8, 7, 6]


def readonly() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    memory = np.zeros(4, "f4")
    memory.flags.writeable = False
    return memory


class BrokenDLPack:
    def __dlpack__(self, **options: object) -> object:
        raise BufferError("not on the CPU")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ([1.0, 2.0, 3.0, 4.0], "TW609"),
        (3.0, "TW609"),
        (None, "TW609"),
        (BrokenDLPack(), "TW609"),
        (np.ma.masked_array(np.zeros(4, "f4"), np.array([1, 0, 0, 0], bool)), "TW609"),
        (np.zeros(4, "f8"), "TW610"),
        (np.zeros(4, ">f4"), "TW610"),
        (np.zeros(4, "i4"), "TW610"),
        (np.zeros(4, object), "TW610"),
        (bytes(16), "TW610"),
        (np.zeros(3, "f4"), "TW611"),
        (np.zeros(5, "f4"), "TW611"),
        (np.zeros(0, "f4"), "TW611"),
        (np.zeros(8, "f4")[::2], "TW612"),
        (np.zeros(4, "f4")[::-1], "TW612"),
        (np.zeros((2, 2), "f4").T, "TW612"),
        (np.broadcast_to(np.float32(1), (4,)), "TW612"),
    ],
)
def test_other_host_memory_is_refused_both_ways(device: Device, host: object, code: str) -> None:
    buffer = device.create_buffer(f32, 4)
    for command in (buffer.copy_from, buffer.copy_to):
        with pytest.raises(DispatchError) as error:
            command(host)
        assert error.value.diagnostic.code.id == code


def test_a_read_only_array_is_a_source_only(device: Device, stream: Stream) -> None:
    buffer = device.create_buffer(f32, 4)
    stream << buffer.copy_from(readonly()) << synchronize()
    for destination in (readonly(), readonly().data):
        with pytest.raises(DispatchError) as error:
            buffer.copy_to(destination)
        assert error.value.diagnostic.code.id == "TW613"


def test_low_precision_types_are_not_their_storage(device: Device) -> None:
    buffer = device.create_buffer(bf16, 4)
    with pytest.raises(DispatchError):
        buffer.copy_from(np.zeros(4, "u2"))
    buffer.copy_from(np.zeros(4, ml_dtypes.bfloat16))
    with pytest.raises(DispatchError):
        device.create_buffer(boolean, 4).copy_from(np.zeros(4, "u1"))


def test_a_command_keeps_its_array_and_no_longer(device: Device, stream: Stream) -> None:
    buffer, host, result = device.create_buffer(f32, 4), np.arange(4, dtype="f4"), np.empty(4, "f4")
    gone = weakref.ref(host)
    command = buffer.copy_from(host)
    del host
    gc.collect()
    stream << command << buffer.copy_to(result)
    del command
    stream.synchronize()
    assert gone() is None
    assert result.tolist() == [0, 1, 2, 3]


def test_a_pending_copy_holds_a_resizable_array(device: Device) -> None:
    native = bytearray(4)
    command = device.create_buffer(u8, 4).copy_from(native)
    with pytest.raises(BufferError):
        native.append(0)
    del command
    native.append(0)


def refusals(device: Device) -> list[tuple[str, Callable[[], object]]]:
    a, b, wide = device.create_buffer(f32, 4), device.create_buffer(f32, 5), device.create_buffer(f64, 4)
    return [
        ("TW614", lambda: a.copy_from(b)),
        ("TW614", lambda: b.copy_to(a)),
        ("TW615", lambda: a.copy_from(wide)),
        ("TW616", lambda: a.copy_from(a)),
        ("TW616", lambda: b[0:4].copy_from(b[1:5])),
    ]


@pytest.mark.parametrize("case", range(5))
def test_device_copies_that_do_not_fit(device: Device, case: int) -> None:
    code, use = refusals(device)[case]
    with pytest.raises(DispatchError) as error:
        use()
    assert error.value.diagnostic.code.id == code


def test_copies_stay_on_one_device(device: Device, native: object) -> None:
    twin = Device(type(native)())  # pyright: ignore[reportArgumentType]
    a, b = device.create_buffer(f32, 4), twin.create_buffer(f32, 4)
    with pytest.raises(DispatchError) as error:
        a.copy_from(b)
    assert error.value.diagnostic.code.id == "TW617"


def test_an_upload_reads_when_it_runs(device: Device, stream: Stream) -> None:
    """The documented contract: host memory is not copied at `<<`."""
    buffer, host, result = device.create_buffer(f32, 1), np.zeros(1, "f4"), np.empty(1, "f4")
    command = buffer.copy_from(host)
    host[0] = 5
    stream << command << buffer.copy_to(result) << synchronize()
    assert result[0] == 5

"""Buffers, views and their bounds."""

import gc

import numpy as np
import pytest

from tests.unit.runtime.fakes import FakeDevice
from tilewright.core.dtypes import f16, f32, f64, i8, u8, u16
from tilewright.core.errors import DispatchError
from tilewright.runtime import Buffer, Device, Stream, synchronize


def code_of(error: pytest.ExceptionInfo[DispatchError]) -> str:
    return error.value.diagnostic.code.id


def test_a_buffer_knows_its_extents(device: Device) -> None:
    buffer = device.create_buffer(f64, 5)
    assert (buffer.size, len(buffer), buffer.size_bytes, buffer.stride, buffer.dtype) == (5, 5, 40, 8, f64)
    assert buffer.native.size_bytes == 40
    assert buffer.address is not None
    assert buffer.address % 64 == 0


@pytest.mark.parametrize("size", [-1, 1.0, "4", None, True])
def test_a_size_is_a_count(device: Device, size: object) -> None:
    with pytest.raises(DispatchError) as error:
        device.create_buffer(f32, size)  # pyright: ignore[reportArgumentType]
    assert code_of(error) == "TW604"


def test_a_size_may_be_a_numpy_integer(device: Device) -> None:
    assert device.create_buffer(f32, np.int32(3)).size == 3  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("dtype", [float, np.float32, "f32", None])
def test_a_dtype_is_ours(device: Device, dtype: object) -> None:
    with pytest.raises(DispatchError) as error:
        device.create_buffer(dtype, 1)  # pyright: ignore[reportArgumentType]
    assert code_of(error) == "TW605"


def test_handles_are_unique(device: Device) -> None:
    buffers = [device.create_buffer(f32, 0) for _ in range(10)]
    assert len({buffer.handle for buffer in buffers}) == 10
    assert len({buffer.address for buffer in buffers}) == 10


def test_views_count_in_their_elements(device: Device) -> None:
    view = device.create_buffer(f32, 20).view(3, 10)
    inner = view.subview(2, 4)
    assert (inner.byte_offset, inner.size, inner.size_bytes) == (20, 4, 16)
    assert inner.address == (inner.buffer.address or 0) + 20
    assert inner.subview(4).size == 0


@pytest.mark.parametrize(
    ("index", "offset", "size"),
    [
        (slice(None), 0, 10), (slice(2, 5), 2, 3), (slice(-3, None), 7, 3), (slice(2, -2), 2, 6),
        (slice(5, 2), 5, 0), (slice(10, 10), 10, 0), (slice(0, 4, 1), 0, 4),
    ],
)  # fmt: skip
def test_slices(device: Device, index: slice, offset: int, size: int) -> None:
    view = device.create_buffer(f16, 10)[index]
    assert (view.byte_offset, view.size) == (2 * offset, size)


@pytest.mark.parametrize("index", [slice(0, 11), slice(11, None), slice(-11, None), slice(0, -11)])
def test_slices_are_never_clipped(device: Device, index: slice) -> None:
    with pytest.raises(DispatchError) as error:
        device.create_buffer(f16, 10)[index]
    assert code_of(error) == "TW606"


@pytest.mark.parametrize("index", [3, slice(0, 4, 2), slice(4, 0, -1), (0, 1), ..., None])
def test_only_plain_slices(device: Device, index: object) -> None:
    with pytest.raises(DispatchError) as error:
        device.create_buffer(f16, 10)[index]  # pyright: ignore[reportArgumentType]
    assert code_of(error) == "TW607"


@pytest.mark.parametrize(("offset", "count"), [(0, 11), (11, None), (10, 1), (5, 6)])
def test_views_stay_inside(device: Device, offset: int, count: int | None) -> None:
    with pytest.raises(DispatchError) as error:
        device.create_buffer(f32, 10).view(offset, count)
    assert code_of(error) == "TW606"


def test_subviews_stay_inside_their_view(device: Device) -> None:
    view = device.create_buffer(f32, 10)[2:5]
    with pytest.raises(DispatchError) as error:
        view.subview(1, 3)
    assert code_of(error) == "TW606"


def test_reinterpretation_keeps_the_bytes(device: Device) -> None:
    view = device.create_buffer(f32, 10)[2:5]
    halves = view.as_type(u16)
    assert (halves.byte_offset, halves.size, halves.dtype) == (8, 6, u16)
    assert halves.as_type(f32).size == 3
    assert device.create_buffer(f32, 0).view().as_type(f64).size == 0


@pytest.mark.parametrize(("begin", "end"), [(0, 12), (4, 12), (1, 9)])
def test_reinterpretation_needs_multiples(device: Device, begin: int, end: int) -> None:
    view = device.create_buffer(u8, 16)[begin:end]
    with pytest.raises(DispatchError) as error:
        view.as_type(f64)
    assert code_of(error) == "TW608"


def test_a_closed_buffer_is_useless(device: Device) -> None:
    buffer = device.create_buffer(f32, 4)
    view, host = buffer[1:3], np.zeros(4, "f4")
    buffer.close()
    uses = [
        buffer.view, lambda: buffer[:2], lambda: buffer.copy_from(host), lambda: buffer.copy_to(host),
        lambda: buffer.address, lambda: view.address, lambda: view[:1], lambda: view.subview(0),
        lambda: view.as_type(i8), lambda: view.copy_from(host[:2]), lambda: view.copy_to(host[:2]),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(DispatchError) as error:
            use()
        assert code_of(error) == "TW602"
    assert "closed" in repr(buffer)


def test_closing_gives_the_memory_back_once(device: Device, native: FakeDevice) -> None:
    buffer = device.create_buffer(f32, 4)
    buffer.close()
    buffer.close()
    del buffer
    assert native.destroyed == [1]


def test_with_closes(device: Device, native: FakeDevice) -> None:
    with device.create_buffer(f32, 4) as buffer:
        assert native.alive
    assert buffer.closed
    assert not native.alive


def test_the_last_reference_gives_the_memory_back(device: Device, native: FakeDevice) -> None:
    buffer = device.create_buffer(f32, 4)
    view = buffer[1:2]
    del buffer
    assert native.alive
    del view
    assert not native.alive


def test_garbage_in_a_circle_leaves_nothing(device: Device, native: FakeDevice) -> None:
    buffer: Buffer = device.create_buffer(f32, 4)
    circle: list[object] = [buffer, device]
    circle.append(circle)
    del circle, buffer
    gc.collect()
    assert not native.alive


def test_an_empty_buffer_copies_nothing(device: Device, stream: Stream) -> None:
    empty = device.create_buffer(f32, 0)
    host = np.zeros((3, 0), "f4")
    stream << empty.copy_from(host) << empty.copy_to(host) << empty.view().copy_from(empty.view()) << synchronize()

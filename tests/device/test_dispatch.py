"""Kernels on every device: those that run, run right and touch nothing else; those that do not, say so."""

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest

from tilewright import tile
from tilewright.core.abi import Usage
from tilewright.core.dtypes import f32
from tilewright.core.errors import DispatchError
from tilewright.runtime import Device, Shader, Stream, create_device, synchronize
from tilewright.runtime.registry import DEVICES

RUNS_NOTHING = ("null",)
SENTINEL = -917.25


@tile.kernel
def add_to(A: tile.ConstView1[f32], B: tile.View1[f32], *, b: int = 8):
    """B += A"""
    blocks, i = tile.axis("blocks", tile.cdiv(A.shape[0], b)), tile.axis("i", b)
    for nest in tile.parallel(tile.shape(blocks)):
        at = tile.coord(nest.index(blocks) * b)
        a = A[at, tile.shape(i)]
        B.at(at, tile.shape(i)).store(a + B[at, tile.shape(i)])


def compiled(device: Device, size: int) -> Shader:
    return tile.compile(device, add_to.capture(tile.tensor_shape(size), tile.tensor_shape(size)))


@pytest.fixture(params=[name for name in DEVICES if name not in RUNS_NOTHING])
def device(request: pytest.FixtureRequest) -> Device:
    return create_device(request.param)


@pytest.fixture
def stream(device: Device) -> Generator[Stream]:
    with device.create_stream() as stream:
        yield stream


def floats(*values: Any) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    return np.array(values, "f4")


@pytest.mark.parametrize("name", DEVICES)
def test_the_metadata_does_not_depend_on_running(name: str) -> None:
    shader = compiled(create_device(name), 19)
    a, b = shader.metadata.arguments
    assert shader
    assert (a.name, a.usage, a.element, a.minimum_size_bytes) == ("A", Usage.READ, f32, 76)
    assert (b.name, b.usage, b.element, b.minimum_size_bytes) == ("B", Usage.READ_WRITE, f32, 76)
    assert shader.metadata.source
    assert shader.assembly()
    assert shader.explain()


@pytest.mark.parametrize("name", RUNS_NOTHING)
def test_a_device_that_runs_nothing_says_so_and_changes_nothing(name: str) -> None:
    device, result = create_device(name), np.zeros(4, "f4")
    shader, a, b = compiled(device, 4), device.create_buffer(f32, 4), device.create_buffer(f32, 4)
    with device.create_stream() as stream:
        stream << b.copy_from(floats(1, 2, 3, 4)) << shader(a, b).dispatch()
        with pytest.raises(DispatchError, match="TW635"):
            stream.synchronize()
        stream << b.copy_to(result) << synchronize()
    assert result.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("size", [1, 7, 8, 19, 64])
def test_views_at_odd_offsets_between_guards(device: Device, stream: Stream, size: int) -> None:
    shader = compiled(device, size)
    a, b = device.create_buffer(f32, size + 34), device.create_buffer(f32, size + 26)
    source, result = np.full(size + 34, SENTINEL, "f4"), np.full(size + 26, SENTINEL, "f4")
    for start in (0, 1000):
        source[17:-17] = np.arange(start, start + size)
        result[13:-13] = 0.5
        kept = np.empty_like(source)
        stream << a.copy_from(source) << b.copy_from(result)
        stream << shader(a[17:-17], b[13:-13]).dispatch() << shader(a[17:-17], b[13:-13]).dispatch()
        stream << b.copy_to(result) << a.copy_to(kept) << synchronize()
        assert (result[13:-13] == 2 * source[17:-17] + 0.5).all()
        assert (np.delete(result, range(13, 13 + size)) == SENTINEL).all()
        assert (kept == source).all()


def test_disjoint_views_of_one_buffer(device: Device, stream: Stream) -> None:
    shader, buffer, result = compiled(device, 8), device.create_buffer(f32, 16), np.empty(16, "f4")
    stream << buffer.copy_from(np.arange(16, dtype="f4")) << shader(buffer[:8], buffer[8:]).dispatch()
    stream << buffer.copy_to(result) << synchronize()
    assert result.tolist() == [*range(8), *(2 * i + 8 for i in range(8))]


def test_an_empty_kernel_runs(device: Device, stream: Stream) -> None:
    shader, empty = compiled(device, 0), device.create_buffer(f32, 0)
    stream << shader(empty, empty).dispatch() << synchronize()


def test_a_shader_outlives_its_device_handle(device: Device) -> None:
    shader, a, b = compiled(device, 4), device.create_buffer(f32, 4), device.create_buffer(f32, 4)
    stream, result = device.create_stream(), np.empty(4, "f4")
    device.close()
    del device
    stream << a.copy_from(floats(1, 2, 3, 4)) << b.copy_from(floats(4, 3, 2, 1)) << shader(a, b).dispatch()
    stream << b.copy_to(result) << synchronize()
    assert result.tolist() == [5, 5, 5, 5]
    stream.close()


def test_a_shader_dropped_while_pending_still_runs(device: Device, stream: Stream) -> None:
    a, b, result = device.create_buffer(f32, 4), device.create_buffer(f32, 4), np.empty(4, "f4")
    stream << a.copy_from(floats(1, 2, 3, 4)) << b.copy_from(a) << compiled(device, 4)(a, b).dispatch()
    stream << b.copy_to(result)
    del a, b
    stream.synchronize()
    assert result.tolist() == [2, 4, 6, 8]

"""Calls of a shader that were checked before: no second check, and no second truth."""

import weakref
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from tests.unit.runtime.fakes import FakeDevice, FakeShader, argument, metadata, nothing
from tilewright.core.dtypes import f32
from tilewright.core.errors import DispatchError, InternalError
from tilewright.runtime import Buffer, Device, Shader, Stream, synchronize


class Preparing(FakeShader):
    """Runs on addresses; `ran` records them."""

    ran: list[tuple[int, ...]]

    def prepare(self, addresses: Sequence[int], /) -> Callable[[], object]:
        self.ran = getattr(self, "ran", [])
        return partial(self.ran.append, tuple(addresses))


@pytest.fixture
def shader(device: Device) -> Shader:
    return Shader(device, Preparing(metadata(argument("x", 4), argument("y", 4)), nothing))


def code(use: Callable[[], object]) -> str:
    with pytest.raises(DispatchError) as error:
        use()
    return error.value.diagnostic.code.id


def test_a_call_that_comes_again_is_not_checked_again(device: Device, shader: Shader) -> None:
    x, y = device.create_buffer(f32, 4), device.create_buffer(f32, 4)
    first = shader(x, y)
    assert shader(x, y).bound is first.bound
    assert shader(y, x).bound is not first.bound
    assert shader(x, y).views == (x, y)
    assert shader(x, y).span.line == first.span.line + 4


def test_a_prepared_launch_gets_the_addresses(device: Device, stream: Stream, shader: Shader) -> None:
    x, y = device.create_buffer(f32, 8), device.create_buffer(f32, 4)
    stream << shader(x[3:7], y).dispatch() << shader(y, y).dispatch() << shader(y, y).dispatch() << synchronize()
    assert isinstance(shader.native, Preparing)
    assert (x.address, y.address) != (None, None)
    assert shader.native.ran == [((x.address or 0) + 12, y.address), *[(y.address, y.address)] * 2]


def test_a_remembered_call_notices_what_was_closed(device: Device, stream: Stream, shader: Shader) -> None:
    x, y = device.create_buffer(f32, 4), device.create_buffer(f32, 4)
    command = shader(x, y).dispatch()
    stream << command << synchronize()
    y.close()
    assert code(lambda: stream << command) == "TW602"
    assert code(lambda: shader(x, y)) == "TW602"
    shader.close()
    assert code(lambda: shader(x, x)) == "TW602"


@pytest.mark.parametrize("kind", [Preparing, FakeShader])
def test_a_call_keeps_no_memory(device: Device, native: FakeDevice, kind: type[FakeShader]) -> None:
    shader = Shader(device, kind(metadata(argument("x", 4), argument("y", 4)), nothing))
    x, y = device.create_buffer(f32, 4), device.create_buffer(f32, 4)
    memory = [weakref.ref(buffer.data) for buffer in native.alive.values()]
    shader(x, y)
    del x, y
    assert not native.alive
    assert [each() for each in memory] == [None, None]


def test_a_buffer_in_the_place_of_another_is_another(device: Device, shader: Shader) -> None:
    """Python gives the identity of an object that is gone to a later one."""
    places: set[int] = set()
    again = 0
    for number in range(50):
        buffer = device.create_buffer(f32, 4 - number % 2)
        again += id(buffer) in places
        places.add(id(buffer))
        if number % 2:
            assert code(lambda buffer=buffer: shader(buffer, buffer)) == "TW633"
        else:
            assert shader(buffer, buffer).bound.accesses[0].handle == buffer.handle
    assert again


def test_the_oldest_calls_are_forgotten(device: Device, shader: Shader) -> None:
    buffers = [device.create_buffer(f32, 4) for _ in range(12)]
    bounds = [shader(each, each).bound for each in buffers]
    assert shader(buffers[-8], buffers[-8]).bound is bounds[-8]
    assert shader(buffers[0], buffers[0]).bound is not bounds[0]


def test_views_and_numbers_are_checked_every_time(device: Device) -> None:
    shader = Shader(device, Preparing(metadata(argument("x", 4)), nothing))
    buffer = device.create_buffer(f32, 8)
    for _ in range(20):
        assert code(lambda: shader(buffer[1:4])) == "TW633"
        shader(buffer[1:5])


def test_a_prepared_launch_on_destroyed_memory_is_our_bug(validated: Device) -> None:
    shader = Shader(validated, Preparing(metadata(argument("x", 4), argument("y", 4)), nothing))
    buffer: Buffer = validated.create_buffer(f32, 4)
    launch = shader(buffer, buffer).bound.launch
    launch()
    buffer.close()
    with pytest.raises(InternalError, match="does not hold"):
        launch()

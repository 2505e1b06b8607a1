"""Shaders and calls: every check of an invocation, before anything is enqueued."""

import functools
from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.runtime.fakes import Bytes, FakeDevice, FakeShader, argument, make_shader, metadata, nothing
from tilewright.core.abi import KernelMetadata, Usage
from tilewright.core.codes.types import K_MISMATCH
from tilewright.core.codes.unsupported import NO_TILE_COMPILER
from tilewright.core.dtypes import bf16, f16, f32, u16
from tilewright.core.errors import DispatchError, TileTypeError, TilewrightError, UnsupportedError
from tilewright.core.source import UNKNOWN
from tilewright.runtime import Device, Shader, Stream
from tilewright.runtime.interface import Binding
from tilewright.runtime.shader import RefusedShader


def message(use: Callable[[], object], code: str) -> str:
    with pytest.raises(DispatchError) as error:
        use()
    assert error.value.diagnostic.code.id == code
    return error.value.diagnostic.message


def test_a_shader_gets_base_and_offset_of_every_argument(device: Device, stream: Stream) -> None:
    native = FakeShader(metadata(argument("x", 4), argument("y", 2, element=f16)), nothing)
    shader = Shader(device, native)
    x, y = device.create_buffer(f32, 32), device.create_buffer(f16, 32)
    stream << shader(x[17:23], y[19:21]).dispatch()
    stream.synchronize()
    assert native.launches == [(Binding(x.native, 68, 24), Binding(y.native, 38, 4))]


def test_a_shader_writes_between_guards(device: Device, stream: Stream) -> None:
    def double(arguments: list[Bytes]) -> None:
        source, result = (bytes_.view(np.float32) for bytes_ in arguments)
        result[:] = 2 * source

    shader = make_shader(device, argument("x", 5, Usage.READ), argument("y", 5, Usage.WRITE), body=double)
    x, y = device.create_buffer(f32, 30), device.create_buffer(f32, 30)
    guard, result, source = np.full(30, -719.5, "f4"), np.empty(30, "f4"), np.empty(30, "f4")
    stream << x.copy_from(guard) << y.copy_from(guard) << y[13:18].copy_from(np.full(5, np.nan, "f4"))
    for start in (0, 100):
        values = np.arange(start, start + 5, dtype="f4")
        stream << x[17:22].copy_from(values) << shader(x[17:22], y[13:18]).dispatch()
        stream << y.copy_to(result) << x.copy_to(source)
        stream.synchronize()
        assert (result[13:18] == 2 * values).all()
        assert (source[17:22] == values).all()
        assert (np.delete(result, range(13, 18)) == -719.5).all()
        assert (np.delete(source, range(17, 22)) == -719.5).all()


def test_a_call_needs_every_argument(device: Device) -> None:
    shader, buffer = make_shader(device, argument("x", 4), argument("y", 4)), device.create_buffer(f32, 4)
    assert "takes 2 argument(s), got 1" in message(lambda: shader(buffer), "TW629")
    assert "got 3" in message(lambda: shader(buffer, buffer, buffer), "TW629")


@pytest.mark.parametrize("wrong", [np.zeros(4, "f4"), None, 3, [1.0]])
def test_an_argument_is_a_buffer(device: Device, wrong: object) -> None:
    shader = make_shader(device, argument("x", 4))
    text = message(lambda: shader(wrong), "TW630")  # pyright: ignore[reportArgumentType]
    assert "argument 0 (`x`) of fake" in text
    assert type(wrong).__name__ in text


def test_an_argument_is_of_the_shaders_device(device: Device) -> None:
    other = Device(FakeDevice()).create_buffer(f32, 4)
    shader = make_shader(device, argument("x", 4))
    for given in (other, other.view()):
        message(lambda given=given: shader(given), "TW631")


def test_an_argument_has_the_element_type_even_of_equal_size(device: Device) -> None:
    shader = make_shader(device, argument("x", 4, element=bf16))
    for dtype in (f16, u16, f32):
        text = message(lambda dtype=dtype: shader(device.create_buffer(dtype, 4)), "TW632")
        assert f"holds {dtype}, expected bf16" in text
    shader(device.create_buffer(u16, 4).view().as_type(bf16))


def test_an_argument_covers_the_footprint(device: Device) -> None:
    shader, buffer = make_shader(device, argument("x", 4)), device.create_buffer(f32, 10)
    text = message(lambda: shader(buffer[3:6]), "TW633")
    assert "has 12 bytes, expected at least 16" in text
    shader(buffer[3:7])
    shader(buffer[3:10])


def test_empty_footprints_take_empty_buffers(device: Device, stream: Stream) -> None:
    shader = make_shader(device, argument("x", 0, Usage.WRITE), argument("y", 0), disjoint_writes=True)
    empty = device.create_buffer(f32, 0)
    stream << shader(empty, empty).dispatch()


def test_a_closed_argument_is_named(device: Device) -> None:
    shader, buffer = make_shader(device, argument("x", 4)), device.create_buffer(f32, 4)
    view = buffer.view()
    buffer.close()
    for given in (buffer, view):
        assert "buffer 1" in message(lambda given=given: shader(given), "TW602")


R, W, RW, NONE = Usage.READ, Usage.WRITE, Usage.READ_WRITE, Usage.NONE


@pytest.mark.parametrize(
    ("first", "second", "legal"),
    [(R, R, True), (R, W, False), (W, R, False), (W, W, False), (RW, R, False), (R, NONE, True), (NONE, W, False)],
)
def test_disjoint_writes_are_checked_byte_by_byte(device: Device, first: Usage, second: Usage, legal: bool) -> None:
    shader = make_shader(device, argument("x", 4, first), argument("y", 4, second), disjoint_writes=True)
    buffer, other = device.create_buffer(f32, 16), device.create_buffer(f32, 16)
    shader(buffer[0:4], buffer[4:8])
    shader(buffer[4:8], buffer[0:4])
    shader(buffer[0:4], other[0:4])
    for a, b in ((buffer, buffer), (buffer[0:4], buffer[3:7]), (buffer[3:8], buffer[0:4])):
        if legal:
            shader(a, b)
        else:
            assert "overlap in buffer 1" in message(lambda a=a, b=b: shader(a, b), "TW634")


def test_only_footprints_must_be_disjoint(device: Device) -> None:
    shader = make_shader(device, argument("x", 4, W), argument("y", 4, W), disjoint_writes=True)
    buffer = device.create_buffer(f32, 16)
    shader(buffer[0:16], buffer[4:16])


def test_routes_without_the_promise_take_overlaps(device: Device) -> None:
    shader, buffer = make_shader(device, argument("x", 4), argument("y", 4)), device.create_buffer(f32, 4)
    shader(buffer, buffer)


def test_a_refused_call_launches_nothing(device: Device, stream: Stream) -> None:
    native = FakeShader(metadata(argument("x", 4), argument("y", 4)), lambda xs: [x.fill(0xFF) for x in xs])
    shader, buffer, result = Shader(device, native), device.create_buffer(f32, 4), np.empty(4, "f4")
    stream << buffer.copy_from(np.arange(4, dtype="f4"))
    with pytest.raises(DispatchError):
        stream << shader(buffer, buffer[1:]).dispatch()
    stream << buffer.copy_to(result)
    stream.synchronize()
    assert native.launches == []
    assert result.tolist() == [0, 1, 2, 3]


def refused(error: object) -> KernelMetadata:
    return metadata(argument("x", 4), error=error)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (K_MISMATCH.at(UNKNOWN, axis="k", a=1, b=2), TileTypeError),
        (NO_TILE_COMPILER.at(UNKNOWN, device="fake"), UnsupportedError),
    ],
)
def test_a_falsy_shader_says_why_and_raises_it(device: Device, error: object, kind: type[TilewrightError]) -> None:
    facts = refused(error)
    assert facts.error is not None
    shader = Shader(device, RefusedShader(facts, facts.error))
    assert not shader
    assert shader.metadata.error is error
    assert "refused" in repr(shader)
    assert facts.error.message in shader.explain()
    for use in (lambda: shader(device.create_buffer(f32, 4)), shader.assembly, lambda: shader.native.launch([])):
        with pytest.raises(kind) as raised:
            use()
        assert raised.value.diagnostic is error
    shader.close()


def test_a_shader_shows_what_it_is(device: Device) -> None:
    shader = make_shader(device, argument("x", 4), name="gemm")
    assert shader
    assert shader.metadata.arguments[0].name == "x"
    assert shader.explain() == "a fake report"
    assert shader.assembly() == "fake assembly"
    assert shader(device.create_buffer(f32, 4)).dispatch_size == (1, 1, 1)
    assert "gemm" in repr(shader)


def test_a_closed_shader_is_falsy_and_refuses(device: Device) -> None:
    native = FakeShader(metadata(argument("x", 4)), nothing)
    shader, buffer = Shader(device, native), device.create_buffer(f32, 4)
    shader.close()
    shader.close()
    assert not shader
    assert native.closed == 1
    message(functools.partial(shader, buffer), "TW602")
    message(shader.assembly, "TW602")
    del shader
    assert native.closed == 1

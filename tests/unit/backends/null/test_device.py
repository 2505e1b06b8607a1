"""The null device compiles and copies, and runs nothing."""

import numpy as np
import pytest

from tests.unit.runtime.fakes import FakeShader, argument, metadata, nothing
from tilewright import tile
from tilewright.backends.null.device import Compiled, NullDevice, NullShader
from tilewright.core.abi import CompileOptions
from tilewright.core.dtypes import f32
from tilewright.core.errors import DispatchError
from tilewright.runtime import Device, Shader, create_device, synchronize


def test_what_it_compiles_has_everything_but_a_launch() -> None:
    compiled = FakeShader(metadata(argument("x", 4), name="gemm"), nothing)
    seen: list[tuple[object, CompileOptions]] = []

    def compile_step(kernel: object, options: CompileOptions, /) -> Compiled:
        seen.append((kernel, options))
        return compiled

    device, kernel, options = Device(NullDevice(compile_step)), object(), CompileOptions(name="gemm")
    shader = Shader(device, device.create_tile_kernel(kernel, options))
    assert seen == [(kernel, options)]
    assert isinstance(shader.native, NullShader)
    assert (shader.metadata, shader.explain(), shader.assembly()) == (
        compiled.metadata, "a fake report", "fake assembly",
    )  # fmt: skip
    buffer, result = device.create_buffer(f32, 4), np.zeros(4, "f4")
    stream = device.create_stream()
    stream << buffer.copy_from(np.ones(4, "f4")) << shader(buffer).dispatch() << buffer.copy_to(result)
    with pytest.raises(DispatchError) as error:
        stream.synchronize()
    assert error.value.diagnostic.code.id == "TW635"
    assert compiled.launches == []
    stream << buffer.copy_to(result) << synchronize()
    assert result.tolist() == [1, 1, 1, 1]
    shader.close()


@tile.kernel
def double(A: tile.ConstView1[f32], B: tile.View1[f32], *, b: int = 8):
    blocks, i = tile.axis("blocks", tile.cdiv(A.shape[0], b)), tile.axis("i", b)
    for nest in tile.parallel(tile.shape(blocks)):
        at = tile.coord(nest.index(blocks) * b)
        a = A[at, tile.shape(i)]
        B.at(at, tile.shape(i)).store(a + a)


def test_its_code_is_that_of_the_simd_device() -> None:
    kernel = double.capture(tile.tensor_shape(100), tile.tensor_shape(100))
    null, simd = (tile.compile(create_device(name), kernel) for name in ("null", "simd"))
    assert null
    assert null.metadata == simd.metadata
    assert null.assembly() == simd.assembly()
    assert null.explain()

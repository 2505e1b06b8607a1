"""From captured kernels to results on the device, and what the code of real kernels must and must not hold."""

import re
from pathlib import Path

import numpy as np
import pytest

from examples.gallery.attention import attention
from examples.gallery.elementwise import swiglu
from examples.gallery.gemm import gemm
from examples.gallery.rows import layer_norm, softmax
from tilewright import tile
from tilewright.backends.llvm import kernel as kernel_module
from tilewright.backends.simd.device import SIMDDevice
from tilewright.core.abi import CompileOptions
from tilewright.core.config import Config
from tilewright.core.errors import CapabilityError
from tilewright.ir.kernel import Kernel
from tilewright.runtime.interface import AddressableShader, TileKernelFactory
from tilewright.tile import ConstView1, View1, axis, cdiv, coord, f32, parallel, shape, tensor_shape

VECTORS = {
    "gemm": gemm.capture(tensor_shape(100, 70), tensor_shape(70, 90), tensor_shape(100, 90)),
    "softmax": softmax.capture(tensor_shape(40, 300), tensor_shape(40, 300)),
    "layer norm": layer_norm.capture(*(tensor_shape(*each) for each in ((40, 300), (300,), (300,), (40, 300)))),
    "swiglu": swiglu.capture(*(tensor_shape(40, 300) for _ in range(3))),
    "attention": attention.capture(*(tensor_shape(2, 64, 32) for _ in range(4))),
}


@pytest.fixture(scope="module")
def device() -> SIMDDevice:
    return SIMDDevice()


def made(device: SIMDDevice, kernel: Kernel) -> AddressableShader:
    return device.create_tile_kernel(kernel, CompileOptions(cache=False))


@pytest.mark.parametrize("name", VECTORS)
def test_real_kernels_are_vectors_without_library_calls(device: SIMDDevice, name: str) -> None:
    shader = made(device, VECTORS[name])
    source, code = shader.metadata.source, shader.assembly()
    external = re.findall(r"^declare .*@([\w.]+)\(", source, re.MULTILINE)
    assert {symbol for symbol in external if not symbol.startswith("llvm.")} == {"tilewright_pool_run"}
    assert not re.search(r"\b(contract|fast|fmuladd)\b", source)
    assert re.search(r"v(add|mul|fmadd\w+)ps\s.*%[yz]mm|f(add|mul|mla)\s+v\d+\.4s", code)
    assert not re.search(r"\b(expf?|logf?|tanhf?|erff?|fmaf?|memcpy|memset)\b", code)
    assert shader.metadata.realization["operations"]
    shader.close()


@tile.kernel
def running(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 32)
    for nest in parallel(shape(cdiv(X.shape[0], 32))):
        at = coord(nest.index() * 32)
        Y.at(at, shape(e)).store(X[at, shape(e)] * 2.5 + Y[at, shape(e)])


def test_arguments_may_be_one_and_the_same(device: SIMDDevice) -> None:
    shader = made(device, running.capture(tensor_shape(75), tensor_shape(75)))
    x = np.arange(75, dtype=np.float32)
    shader.launch_addresses([x.ctypes.data, x.ctypes.data])
    assert x.tolist() == [np.float32(k * 2.5) + k for k in range(75)]


def test_nothing_to_do_is_no_launch(device: SIMDDevice) -> None:
    shader = made(device, running.capture(tensor_shape(0), tensor_shape(0)))
    shader.launch_addresses([64, 64])
    assert shader.metadata.dispatch_size == (0, 1, 1)


def test_it_compiles_captured_kernels_only(device: SIMDDevice) -> None:
    assert isinstance(device, TileKernelFactory)
    with pytest.raises(CapabilityError, match="TW401"):
        device.create_tile_kernel(object(), CompileOptions())


def test_compiling_changes_no_kernel_and_gives_the_same_code_again(device: SIMDDevice) -> None:
    kernel = VECTORS["softmax"]
    before = kernel.text()
    first, second = made(device, kernel), made(device, kernel)
    assert first.metadata.source == second.metadata.source
    assert kernel.text() == before


def test_every_stage_is_written_where_the_settings_say(
    device: SIMDDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_module, "config", lambda: Config(num_threads=1, dump_dir=tmp_path / "dump"))
    shader = made(device, VECTORS["swiglu"])
    files = {path.suffix: path.read_text() for path in (tmp_path / "dump").iterdir()}
    assert sorted(files) == [".ll", ".tile", ".xir"]
    assert files[".ll"] == shader.metadata.source


def test_the_report_tells_every_stage(device: SIMDDevice) -> None:
    shown = made(device, VECTORS["gemm"]).report.render()
    for part in ("fold-constants", "mapping:", "expand-contract", "schedule of gemm"):
        assert part in shown

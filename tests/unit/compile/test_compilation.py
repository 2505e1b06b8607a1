"""`tile.compile`: the order of its checks, and falsy shaders."""

from importlib.metadata import PackageNotFoundError
from typing import Any

import numpy as np
import pytest

from tests.unit.compile.fakes import InterpretingDevice
from tests.unit.runtime.fakes import FakeDevice
from tilewright import tile
from tilewright.core.abi import CompileOptions, Lowering, Usage
from tilewright.core.errors import CapabilityError, PlanError, TilewrightError, UnsupportedError
from tilewright.ir.kernel import Kernel
from tilewright.runtime.device import Device
from tilewright.tile import ConstView1, TirxOptions, View1, XirOptions, axis, cdiv, coord, f32, parallel, shape


@tile.kernel
def double(x: ConstView1[f32], y: View1[f32], *, block: int = 4):
    g, i = axis("g", cdiv(x.shape[0], block)), axis("i", block)
    for nest in parallel(shape(g)):
        y.at(coord(nest.index() * block), shape(i)).store(x[coord(nest.index() * block), shape(i)] * 2.0)


def captured(n: int = 10) -> Kernel:
    return double.capture(tile.tensor_shape(n), tile.tensor_shape(n))


def device() -> Device:
    return Device(InterpretingDevice())


def code_of(error: pytest.ExceptionInfo[Any]) -> str:
    assert isinstance(error.value, TilewrightError)
    return error.value.diagnostic.code.id


def test_a_kernel_and_a_device_give_a_shader_that_runs() -> None:
    there = device()
    shader = tile.compile(there, captured())
    x, y = there.create_buffer(f32, 10), there.create_buffer(f32, 10)
    result = np.zeros(10, np.float32)
    stream = there.create_stream()
    stream << x.copy_from(np.arange(10, dtype=np.float32)) << shader(x, y).dispatch() << y.copy_to(result)
    stream.synchronize()
    assert result.tolist() == [2.0 * i for i in range(10)]


def test_the_options_reach_the_device_as_one_record() -> None:
    native = InterpretingDevice()
    xir = XirOptions(block_size=2)
    tile.compile(Device(native), captured(), xir=xir, name="twice", fast_math=True)
    assert native.compiled[0][1] == CompileOptions(xir=xir, name="twice", fast_math=True)


def test_explain_is_the_report_of_the_shader() -> None:
    shader = tile.compile(device(), captured())
    assert "mapping: 3 programs" in shader.explain()
    assert shader.assembly() == "interpreted"


@pytest.mark.parametrize(
    ("options", "code", "kind"),
    [
        ({"compile_only": True}, "TW402", UnsupportedError),
        ({"compile_only": True, "lowering": Lowering.TIRX}, "TW402", UnsupportedError),
        ({"tirx": TirxOptions()}, "TW404", UnsupportedError),
        ({"tirx": object(), "lowering": Lowering.TIRX}, "TW406", UnsupportedError),
        ({"lowering": Lowering.TIRX, "xir": XirOptions()}, "TW404", UnsupportedError),
        ({"threads": 4}, "TW405", UnsupportedError),
        ({"fast_math": 1}, "TW406", UnsupportedError),
        ({"threads_per_group": -1}, "TW406", UnsupportedError),
        ({"threads_per_group": True}, "TW406", UnsupportedError),
        ({"lowering": "native"}, "TW406", UnsupportedError),
        ({"xir": {"block_size": 2}}, "TW406", UnsupportedError),
        ({"name": ""}, "TW406", UnsupportedError),
        ({"threads_per_group": 4, "xir": XirOptions(block_size=8)}, "TW427", PlanError),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(options: Any, code: str, kind: type[TilewrightError]) -> None:
    with pytest.raises(kind) as error:
        tile.compile(device(), captured(), **options)
    assert code_of(error) == code


@pytest.fixture
def without_tvm(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("tilewright.bridge.tirx.door.version", missing)


@pytest.mark.usefixtures("without_tvm")
def test_a_lowering_that_is_not_installed_is_refused_with_its_extra() -> None:
    with pytest.raises(CapabilityError) as error:
        tile.compile(device(), captured(), lowering=Lowering.TIRX)
    assert code_of(error) == "TW403"


def test_a_device_without_a_compiler_refuses() -> None:
    with pytest.raises(CapabilityError) as error:
        tile.compile(Device(FakeDevice()), captured())
    assert code_of(error) == "TW401"


def test_what_is_compiled_is_a_captured_kernel_for_a_device() -> None:
    made: Any = tile.compile
    for operands in [(device(), double), (device(), "double"), ("simd", captured())]:
        with pytest.raises(UnsupportedError) as error:
            made(*operands)
        assert code_of(error) == "TW407"


def test_the_module_is_verified_before_anything_else() -> None:
    broken = Kernel(captured().module.clone(), "broken")
    broken.op.body.block.ops.last.detach()  # type: ignore[union-attr]
    with pytest.raises(TilewrightError, match="verifier rule"):
        tile.compile(device(), broken, compile_only=True)


@pytest.mark.usefixtures("without_tvm")
def test_without_check_a_refusal_is_a_falsy_shader() -> None:
    shader = tile.compile(device(), captured(), check=False, lowering=Lowering.TIRX)
    assert not shader
    error = shader.metadata.error
    assert error is not None
    assert error.code.id == "TW403"
    assert "tilewright[tirx]" in shader.explain()
    assert [(each.name, each.usage) for each in shader.metadata.arguments] == [("x", Usage.READ), ("y", Usage.WRITE)]
    with pytest.raises(UnsupportedError, match="TW403"):
        shader.assembly()
    with pytest.raises(UnsupportedError, match="TW403"):
        shader()


def test_a_falsy_shader_keeps_what_the_planner_rejected() -> None:
    options = XirOptions(max_scratch_bytes=0, lanes=tile.element("nowhere"))
    shader = tile.compile(device(), captured(), check=False, xir=options)
    assert not shader
    assert any("nowhere" in refusal for refusal in shader.metadata.refusals)


def test_a_kernel_that_compiles_is_truthy_without_check_too() -> None:
    assert tile.compile(device(), captured(), check=False)

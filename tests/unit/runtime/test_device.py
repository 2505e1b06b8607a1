"""Devices: found by name, compiled for when they can, empty-handed when they cannot."""

import subprocess
import sys

import pytest

from tests.unit.runtime.fakes import FakeDevice, FakeShader, metadata, nothing
from tilewright.core.abi import CompileOptions
from tilewright.core.dtypes import u8
from tilewright.core.errors import CapabilityError, DispatchError
from tilewright.runtime import Device, create_device
from tilewright.runtime.interface import NativeShader
from tilewright.runtime.validation import ValidatedDevice


@pytest.mark.parametrize("name", ["SIMD", "cpu", "", "cuda:0"])
def test_a_wrong_name_opens_nothing(name: str) -> None:
    with pytest.raises(DispatchError, match="there is no device named") as error:
        create_device(name)
    assert error.value.diagnostic.code.id == "TW601"


def test_validation_is_the_default() -> None:
    assert isinstance(create_device("null").context.interface, ValidatedDevice)
    assert not isinstance(create_device("null", validate=False).context.interface, ValidatedDevice)


def test_a_device_without_a_compiler_says_so(device: Device) -> None:
    with pytest.raises(CapabilityError) as error:
        device.create_tile_kernel(object(), CompileOptions())
    assert error.value.diagnostic.code.id == "TW401"


def test_a_device_with_a_compiler_compiles(device: Device) -> None:
    class Compiling(FakeDevice):
        def create_tile_kernel(self, kernel: object, options: CompileOptions, /) -> NativeShader:
            return FakeShader(metadata(name=str(kernel)), nothing)

    for validate in (True, False):
        native = Device(Compiling(), validate=validate).create_tile_kernel("gemm", CompileOptions())
        assert native.metadata.name == "gemm"


def test_too_much_memory_is_a_coded_error(device: Device) -> None:
    for size in (1 << 62, 1 << 70):
        with pytest.raises(DispatchError) as error:
            device.create_buffer(u8, size)
        assert error.value.diagnostic.code.id == "TW636"


def test_opening_null_loads_no_compiler() -> None:
    program = "import sys\nfrom tilewright.runtime import create_device\ncreate_device('null')\n"
    program += "print([name for name in ('llvmlite', 'tvm', 'xdsl') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"

"""DLPack, as exporters of any age give it."""

import ctypes
from typing import Any

import numpy as np
import pytest

from tests.unit.compile.test_calls import copy, ramp
from tests.unit.compile.test_compilation import double
from tilewright.compile.dlpack import CPU, read_dlpack
from tilewright.core.dtypes import DType, bf16, boolean, f32, f64, float8_e4m3fn, i64, u8
from tilewright.core.errors import DispatchError, TileTypeError, TilewrightError

pytestmark = pytest.mark.usefixtures("interpreting")


class Exporter:
    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0


class New(Exporter):
    """An exporter that knows versions: the array's own."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)


class Old(Exporter):
    """One from before the keywords."""

    def __dlpack__(self) -> Any:
        return self.array.__dlpack__()


class Failing(New):
    """One that cannot export, as a tensor that records gradients."""

    def __dlpack__(self, **keywords: Any) -> Any:
        raise BufferError("this tensor requires a gradient")


class Lying(New):
    """One that exports something else."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return object()


@pytest.mark.parametrize("exporter", [New, Old])
def test_both_ends_of_a_call_may_be_exporters(exporter: Any) -> None:
    y = np.zeros(12, np.float32)
    double(exporter(ramp(20)[5:15]), exporter(y[1:11]))
    assert y.tolist() == [0.0, *(2.0 * i for i in range(5, 15)), 0.0]


@pytest.mark.parametrize(("dtype", "element"), [("f4", f32), ("f8", f64), ("i8", i64), ("u1", u8), ("?", boolean)])
def test_element_types(dtype: str, element: type[DType]) -> None:
    assert read_dlpack(New(np.zeros(3, dtype))).element == element


def test_shape_strides_and_address() -> None:
    array = np.zeros((4, 6), np.float32)[1:, ::2].T
    found = read_dlpack(New(array))
    assert (found.shape, found.strides) == ((3, 3), (2, 6))
    assert found.address == array.__array_interface__["data"][0]


def test_the_memory_lives_as_long_as_what_was_read() -> None:
    found = read_dlpack(New(np.full(1000, 7, np.float32)))
    np.zeros(1000, np.float32)
    assert (ctypes.c_float * 1000).from_address(found.address)[:] == [7.0] * 1000


def test_read_only_memory_goes_to_const_views_only() -> None:
    fixed, y = ramp(), np.zeros(10, np.float32)
    fixed.flags.writeable = False
    double(New(fixed), y)
    with pytest.raises(TileTypeError, match="TW218"):
        double(y, New(fixed))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 2), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64), ("rest", ctypes.c_void_p * 2),
    )  # fmt: skip


class HandMade:
    """A tensor of two bytes an element, without strides, that begins behind an offset."""

    def __init__(self, code: int, bits: int, lanes: int = 1) -> None:
        self.memory = (ctypes.c_uint8 * 16)(*range(16))
        self.shape = (ctypes.c_int64 * 2)(2, 3)
        address, shape = ctypes.addressof(self.memory), ctypes.addressof(self.shape)
        self.tensor = _Tensor(address, (CPU, 0), 2, (code, bits), lanes, shape, None, 4, (None, None))

    def __dlpack__(self, **_: Any) -> Any:
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0


def test_types_that_numpy_lacks_are_read_too() -> None:
    tensor = HandMade(4, 16)
    found = read_dlpack(tensor)
    assert (found.element, found.shape, found.strides) == (bf16, (2, 3), (3, 1))
    assert found.address == ctypes.addressof(tensor.memory) + 4
    assert read_dlpack(HandMade(10, 8)).element == float8_e4m3fn
    target = HandMade(4, 16)
    tensor.memory[4] = 99
    copy(tensor, target)
    assert target.memory[4] == 99


@pytest.mark.parametrize("tensor", [HandMade(5, 64), HandMade(2, 32, lanes=4), HandMade(0, 4)])
def test_types_without_an_element_type_are_refused(tensor: HandMade) -> None:
    with pytest.raises(DispatchError, match="TW641"):
        copy(tensor, tensor)


@pytest.mark.parametrize("exporter", [Failing, Lying])
def test_an_exporter_that_gives_no_capsule_is_refused_with_its_reason(exporter: Any) -> None:
    with pytest.raises(TilewrightError, match=r"TW651.*(gradient|no DLPack capsule)"):
        double(exporter(ramp()), ramp())


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2), ("rest", ctypes.c_void_p * 2), ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )  # fmt: skip


class Labelled(HandMade):
    """A versioned capsule with these flags."""

    def __init__(self, major: int, flags: int) -> None:
        super().__init__(4, 16)
        self.managed = _Versioned((major, 0), (None, None), flags, self.tensor)

    def __dlpack__(self, **_: Any) -> Any:
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self.managed), b"dltensor_versioned", None)


def test_the_flags_of_a_versioned_capsule() -> None:
    assert not read_dlpack(Labelled(1, 0)).read_only
    assert read_dlpack(Labelled(1, 1)).read_only
    with pytest.raises(BufferError, match="copy"):
        read_dlpack(Labelled(1, 2))


def test_a_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(BufferError, match="version"):
        read_dlpack(Labelled(2, 0))


class Negated(New):
    """A view of Torch's that negates when it is read."""

    def is_neg(self) -> bool:
        return True


def test_a_tensor_whose_memory_holds_other_values_is_refused() -> None:
    with pytest.raises(DispatchError, match=r"TW651.*resolve_neg"):
        double(Negated(ramp()), ramp())


def test_strides_of_a_tensor_are_held_to_the_same_rules() -> None:
    with pytest.raises(DispatchError, match="TW653"):
        double(New(ramp()[::-1]), ramp())
    y = np.zeros(10, np.float32)
    double(New(ramp(20)[::2]), y)
    assert np.array_equal(y, 2 * ramp(20)[::2])

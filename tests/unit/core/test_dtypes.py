import importlib.util
import pickle

import pytest

from tilewright.core import dtypes
from tilewright.core.dtypes import ALL_DTYPES, DType, bf16, boolean, by_name, f16, f32, float8_e4m3fn, i8, u8
from tilewright.core.errors import TileTypeError


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_a_dtype_prints_as_its_name_and_is_found_by_it(dtype: type[DType]) -> None:
    assert repr(dtype) == dtype.name == dtype.__name__
    assert by_name(dtype.name) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_a_dtype_is_a_float_an_integer_or_boolean(dtype: type[DType]) -> None:
    kinds = {"float": (True, False, True), "int": (False, True, True), "uint": (False, True, False)}
    assert (dtype.is_float, dtype.is_integer, dtype.is_signed) == kinds.get(dtype.kind, (False, False, False))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_a_dtype_is_never_instantiated(dtype: type[DType]) -> None:
    with pytest.raises(TileTypeError, match=dtype.name):
        dtype(1)


def test_equality_is_by_name_also_across_reloads() -> None:
    spec = importlib.util.find_spec(dtypes.__name__)
    assert spec is not None
    assert spec.loader is not None
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    assert again.f32 is not f32
    assert again.f32 == f32
    assert hash(again.f32) == hash(f32)
    assert again.f32 != again.f16
    assert f32 != "f32"
    assert len(set(ALL_DTYPES)) == len(ALL_DTYPES)


def test_facts() -> None:
    assert (f16.max, f16.smallest_normal, f16.eps) == (65504.0, 2.0**-14, 2.0**-10)
    assert (float8_e4m3fn.max, float8_e4m3fn.has_infinity) == (448.0, False)
    assert (bf16.exponent_bits, bf16.mantissa_bits, bf16.itemsize) == (8, 7, 2)
    assert (i8.min, i8.max, u8.min, u8.max) == (-128, 127, 0, 255)
    assert (boolean.bits, boolean.itemsize) == (1, 1)


def test_other_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(TileTypeError, match="float8_e5m2"):
        by_name("float")

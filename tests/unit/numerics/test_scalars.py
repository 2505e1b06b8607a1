"""Numbers of the host as bytes of an element type: a value is kept or refused, never changed."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilewright.core.dtypes import DType, bf16, boolean, f16, f32, f64, float8_e5m2, i8, i64, u8
from tilewright.numerics.scalars import element_type_of, packed

KEPT: list[tuple[Any, type[DType]]] = [
    (0.1, f32), (3, f32), (1 << 24, f32), (float("inf"), f16), (-0.0, f64), (127, i8), (-128, i8), (255, u8),
    (True, boolean), (np.float64(0.5), f32), (np.int8(5), i64), (np.bool_(False), boolean), (np.float32(0.1), f32),
    (np.array(7), i64), (ml_dtypes.bfloat16(1.5), bf16), (2.0, bf16), (2.0, float8_e5m2),
]  # fmt: skip
REFUSED: list[tuple[object, type[DType]]] = [
    (True, f32), (1, boolean), ((1 << 24) + 1, f32), (1e60, f32), (128, i8), (-1, u8), (2.0, i64), (1 << 64, i64),
    ("1", f32), (None, f32), (np.array([1.0]), f64), (np.array(1.0), f32), (1j, f64), (ml_dtypes.bfloat16(1.5), f32),
]  # fmt: skip


@pytest.mark.parametrize(("value", "dtype"), KEPT, ids=str)
def test_a_number_of_the_type_is_kept(value: Any, dtype: type[DType]) -> None:
    array = packed(value, dtype)
    assert array is not None
    assert (array.shape, element_type_of(array)) == ((), dtype)
    assert float(array) == float(np.asarray(value).astype(array.dtype))


@pytest.mark.parametrize(("value", "dtype"), REFUSED, ids=str)
def test_what_the_type_does_not_hold_is_refused(value: object, dtype: type[DType]) -> None:
    assert packed(value, dtype) is None


def test_a_packed_array_is_a_copy() -> None:
    source = np.array(1.0)
    array = packed(source, f64)
    source[()] = 2.0
    assert array is not None
    assert float(array) == 1.0


def test_python_numbers_have_no_element_type() -> None:
    assert element_type_of(1.0) is None
    assert element_type_of(np.float32(1.0)) is f32
    assert element_type_of(np.array([1.0])) is None

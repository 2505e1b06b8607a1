import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.core.dtypes import ALL_DTYPES, DType, FloatType, bf16, boolean, f16, f32, f64, float8_e4m3fn, i16, i32
from tilewright.numerics.arrays import numpy_dtype
from tilewright.numerics.bits import from_bits, from_hex, to_bits, to_hex, ulp_distance
from tilewright.numerics.faults import UndefinedOperationError

FLOATS = [dtype for dtype in ALL_DTYPES if issubclass(dtype, FloatType)]


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_bits_lead_back_to_the_value(dtype: type[DType]) -> None:
    values = np.array([[0, 1, 1]]).astype(numpy_dtype(dtype))
    bits = to_bits(dtype, values)
    assert bits.shape == values.shape
    assert bits.dtype == np.dtype(f"u{dtype.itemsize}")
    assert from_bits(dtype, bits).tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        (f32, 1.0, "0x3f800000"),
        (f32, -0.0, "0x80000000"),
        (f64, math.inf, "0x7ff0000000000000"),
        (f16, 2.0**-24, "0x0001"),
        (bf16, 1.0, "0x3f80"),
        (float8_e4m3fn, 448.0, "0x7e"),
        (i16, -1, "0xffff"),
        (boolean, True, "0x01"),
    ],
)
def test_the_written_form_of_a_constant(dtype: type[DType], value: float, text: str) -> None:
    constant = np.asarray(value).astype(numpy_dtype(dtype))
    assert to_hex(dtype, constant) == text
    assert from_hex(dtype, text).tobytes() == constant.tobytes()
    assert from_hex(dtype, text).shape == ()


def test_a_payload_survives_the_written_form() -> None:
    assert to_hex(f32, from_hex(f32, "0x7fc12345")) == "0x7fc12345"


@pytest.mark.parametrize("text", ["3f800000", "0x3f80000", "0x3f8000000", "0x3f80000g", ""])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"bit pattern|invalid literal"):
        from_hex(f32, text)


def test_distance_counts_neighbours_across_zero_and_infinity() -> None:
    tiny = f32.smallest_subnormal
    pairs = [(1.0, 1 + f32.eps, 1), (0.0, -0.0, 0), (-tiny, tiny, 2), (f32.max, math.inf, 1), (-1.0, -1.0, 0)]
    a, b, expected = (np.array(column) for column in zip(*pairs, strict=True))
    assert ulp_distance(f32, a.astype(np.float32), b.astype(np.float32)).tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_distance_to_nan_is_0_or_the_largest(dtype: type[FloatType]) -> None:
    nan, one = (np.asarray(x).astype(numpy_dtype(dtype)) for x in (math.nan, 1.0))
    assert int(ulp_distance(dtype, nan, nan)) == 0
    assert int(ulp_distance(dtype, nan, one)) == 2**64 - 1


@given(st.floats(max_value=1e308, allow_nan=False, allow_infinity=False), st.integers(1, 5))
def test_distance_of_f64_counts_steps(start: float, steps: int) -> None:
    end = start
    for _ in range(steps):
        end = math.nextafter(end, math.inf)
    assert int(ulp_distance(f64, np.array(start), np.array(end))) == steps


def test_distance_is_for_floats() -> None:
    with pytest.raises(UndefinedOperationError):
        ulp_distance(i32, np.zeros(1), np.zeros(1))

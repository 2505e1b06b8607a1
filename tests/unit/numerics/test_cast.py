import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.numerics.oracle import decode, nearest
from tilewright.core.dtypes import (
    ALL_DTYPES,
    DType,
    FloatType,
    IntType,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    float8_e4m3fn,
    float8_e5m2,
    i8,
    i16,
    i32,
    i64,
    u8,
    u32,
    u64,
)
from tilewright.numerics.arrays import Array, numpy_dtype
from tilewright.numerics.bits import from_bits, to_bits
from tilewright.numerics.cast import PythonNumber, bitcast, cast, exact_literal, literal
from tilewright.numerics.faults import UndefinedOperationError

FLOATS = [dtype for dtype in ALL_DTYPES if issubclass(dtype, FloatType)]
INTS = [dtype for dtype in ALL_DTYPES if issubclass(dtype, IntType)]
FLOAT8 = [float8_e4m3fn, float8_e5m2]
SMALL_FLOATS = [f16, bf16, *FLOAT8]


def one(value: object, source: type[DType], target: type[DType]) -> Array:
    return cast(np.asarray(value, numpy_dtype(source)), source, target)


def same(actual: Array, expected: Array) -> bool:
    """Equal with NaN equal to NaN and the zeros told apart."""
    with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
        actual, expected = np.asarray(actual).astype(np.float64), np.asarray(expected).astype(np.float64)
    equal = (actual == expected) & (np.signbit(actual) == np.signbit(expected))
    return bool(np.all(equal | (np.isnan(actual) & np.isnan(expected))))


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
@pytest.mark.parametrize("wide", [f32, f64])
def test_every_code_widens_exactly(dtype: type[FloatType], wide: type[FloatType]) -> None:
    codes = np.arange(1 << dtype.bits)
    expected = np.array([decode(int(code), dtype) for code in codes])
    assert same(cast(from_bits(dtype, codes), dtype, wide), expected)


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
@pytest.mark.parametrize("wide", [f32, f64])
def test_every_code_survives_the_way_back(dtype: type[FloatType], wide: type[FloatType]) -> None:
    values = from_bits(dtype, np.arange(1 << dtype.bits))
    assert same(cast(cast(values, dtype, wide), wide, dtype), values)


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_between_any_two_neighbours_ties_go_to_even_and_nothing_else_does(dtype: type[FloatType]) -> None:
    top = int(to_bits(dtype, literal(dtype.max, dtype)))
    low, high = (cast(from_bits(dtype, np.arange(i, top + i)), dtype, f64) for i in (0, 1))
    middle = (low + high) / 2
    even = np.where(np.arange(top) % 2 == 0, low, high)
    for sign in (1.0, -1.0):
        assert same(cast(sign * middle, f64, dtype), sign * even)
        assert same(cast(sign * np.nextafter(middle, 0), f64, dtype), sign * low)
        assert same(cast(sign * np.nextafter(middle, np.inf), f64, dtype), sign * high)


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_between_any_two_neighbours_from_f32(dtype: type[FloatType]) -> None:
    top = int(to_bits(dtype, literal(dtype.max, dtype)))
    low, high = (cast(from_bits(dtype, np.arange(i, top + i)), dtype, f32) for i in (0, 1))
    middle = low + (high - low) / np.float32(2)
    even = np.where(np.arange(top) % 2 == 0, low, high)
    exact = middle.astype(np.float64) == (low.astype(np.float64) + high.astype(np.float64)) / 2
    assert exact.all()
    assert same(cast(middle, f32, dtype), even)
    assert same(cast(np.nextafter(middle, np.float32(0)), f32, dtype), low)
    assert same(cast(np.nextafter(middle, np.float32(np.inf)), f32, dtype), high)


@pytest.mark.parametrize(
    ("value", "dtype", "bits"),
    [
        (1.00390625, bf16, 0x3F80),
        (1.01171875, bf16, 0x3F82),
        (448.0, float8_e4m3fn, 0x7E),
        (2.0**-9, float8_e4m3fn, 0x01),
        (-(2.0**-9), float8_e4m3fn, 0x81),
        (57344.0, float8_e5m2, 0x7B),
        (2.0**-16, float8_e5m2, 0x01),
        (math.inf, float8_e5m2, 0x7C),
        (-0.0, float8_e5m2, 0x80),
    ],
)
def test_published_codes(value: float, dtype: type[FloatType], bits: int) -> None:
    assert int(to_bits(dtype, one(value, f32, dtype))) == bits
    assert np.isnan(cast(from_bits(float8_e4m3fn, np.array([0x7F])), float8_e4m3fn, f32)).all()


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([f16, bf16, f32, *FLOAT8]))
def test_f64_is_rounded_once(value: float, dtype: type[FloatType]) -> None:
    expected = math.copysign(nearest(Fraction(value), dtype), value)
    assert same(one(value, f64, dtype), np.array(expected))


@given(st.floats(-1e3, 1e3, width=32), st.sampled_from(SMALL_FLOATS))
def test_f32_is_rounded_once(value: float, dtype: type[FloatType]) -> None:
    expected = math.copysign(nearest(Fraction(value), dtype), value)
    assert same(one(value, f32, dtype), np.array(expected))


@given(st.data(), st.sampled_from(INTS), st.sampled_from(FLOATS))
def test_an_integer_is_rounded_once(data: st.DataObject, source: type[IntType], target: type[FloatType]) -> None:
    value = data.draw(st.integers(source.min, source.max))
    assert same(one(value, source, target), np.array(nearest(Fraction(value), target)))


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (1 + 2**-8 + 2**-40, f64, bf16, 1 + 2**-7),  # through f32 the tie would win, and stay at 1
        (1 + 2**-4 + 2**-40, f64, float8_e4m3fn, 1 + 2**-3),
        (2**62 + 2**54 + 1, i64, bf16, 2**62 + 2**55),
        (-(2**62 + 2**54 + 1), i64, bf16, -(2**62 + 2**55)),
        (2**63 + 2**39 + 1, u64, f32, 2**63 + 2**40),  # through f64 the tie would win
        (2**62 + 2**38 + 1, i64, f32, 2**62 + 2**39),
    ],
)
def test_witnesses_of_double_rounding(value: float, source: type[DType], target: type[DType], expected: float) -> None:
    assert float(one(value, source, target)) == expected


@given(st.floats(), st.sampled_from(INTS))
def test_float_to_integer_truncates_and_saturates(value: float, dtype: type[IntType]) -> None:
    if math.isnan(value):
        expected = 0
    elif math.isinf(value):
        expected = dtype.max if value > 0 else dtype.min
    else:
        expected = min(max(int(value), dtype.min), dtype.max)
    assert int(one(value, f64, dtype)) == expected


@pytest.mark.parametrize("dtype", INTS)
def test_the_first_floats_outside_an_integer_type(dtype: type[IntType]) -> None:
    outside = [float(dtype.max + 1), math.nextafter(dtype.min - 1.0, -math.inf)]
    inside = [math.nextafter(dtype.max + 1.0, 0), float(dtype.min)]
    assert [int(one(value, f64, dtype)) for value in outside] == [dtype.max, dtype.min]
    assert [int(one(value, f64, dtype)) for value in inside] == [math.trunc(value) for value in inside]


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("source", FLOATS)
def test_the_limits_of_an_integer_type_from_every_float(source: type[FloatType], dtype: type[IntType]) -> None:
    for value in (source.max, source.min):
        assert int(one(value, source, dtype)) == min(max(int(value), dtype.min), dtype.max)
    assert int(one(math.nan, source, dtype)) == 0


@given(st.data(), st.sampled_from(INTS), st.sampled_from(INTS))
def test_integers_wrap(data: st.DataObject, source: type[IntType], target: type[IntType]) -> None:
    value = data.draw(st.integers(source.min, source.max))
    expected = (value - target.min) % 2**target.bits + target.min
    assert int(one(value, source, target)) == expected


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL_DTYPES if dtype != boolean])
def test_booleans_are_0_and_1(dtype: type[DType]) -> None:
    assert cast(np.array([False, True]), boolean, dtype).astype(np.float64).tolist() == [0, 1]
    assert cast(np.array([0, 1, 2]).astype(numpy_dtype(dtype)), dtype, boolean).tolist() == [False, True, True]


def test_to_boolean_only_zero_is_false() -> None:
    values = np.array([0.0, -0.0, np.nan, np.inf, 1e-45], np.float32)
    assert cast(values, f32, boolean).tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("source", [f16, bf16, f32, f64])
def test_float8_overflow_is_infinity_or_nan_unless_saturated(source: type[FloatType]) -> None:
    values = np.array([np.inf, -np.inf, np.nan, 65000.0]).astype(numpy_dtype(source))
    plain = {dtype: cast(values, source, dtype) for dtype in FLOAT8}
    assert same(plain[float8_e4m3fn], np.array([np.nan] * 4))
    assert same(plain[float8_e5m2], np.array([np.inf, -np.inf, np.nan, np.inf]))
    for dtype in FLOAT8:
        clipped = cast(values, source, dtype, saturate=True)
        assert same(clipped, np.array([dtype.max, dtype.min, np.nan, dtype.max]))


def test_saturation_takes_integers_too() -> None:
    assert float(cast(np.array(-(2**40)), i64, float8_e4m3fn, saturate=True)) == -448


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_signed_zero_pass_through_every_float(dtype: type[FloatType]) -> None:
    for source in FLOATS:
        assert same(
            cast(np.array([np.nan, 0.0, -0.0]).astype(numpy_dtype(source)), source, dtype), np.array([np.nan, 0, -0.0])
        )


def test_bitcast_keeps_the_bits_and_the_shape() -> None:
    values = np.array([[1.0, -0.0], [np.nan, np.inf]], np.float32)
    bits = bitcast(values, f32, u32)
    assert bits.tolist()[0] == [0x3F800000, 0x80000000]
    assert bitcast(bits, u32, f32).tobytes() == values.tobytes()
    assert bitcast(np.array(1, np.float32), f32, i32).shape == ()


@pytest.mark.parametrize(("source", "target"), [(f32, f64), (u8, boolean), (boolean, u8), (f16, i32)])
def test_bitcast_refuses_other_widths(source: type[DType], target: type[DType]) -> None:
    with pytest.raises(UndefinedOperationError):
        bitcast(np.zeros(1), source, target)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (2**24, f32, True),
        (2**24 + 1, f32, False),
        (2**24 + 1, f64, True),
        (2**53 + 1, f64, False),
        (257, bf16, False),
        (256, bf16, True),
        (65504, f16, True),
        (65520, f16, False),
        (10**400, f64, False),
        (127, i8, True),
        (128, i8, False),
        (-1, u8, False),
        (1.0, i16, False),
        (0.1, f16, True),
        (1e5, f16, False),
        (math.inf, f16, True),
        (math.inf, float8_e4m3fn, False),
        (math.nan, float8_e4m3fn, True),
        (True, boolean, True),
        (True, f32, False),
        (True, i32, False),
        (1, boolean, False),
        (0.0, boolean, False),
    ],
)
def test_literals(value: PythonNumber, dtype: type[DType], expected: bool) -> None:
    assert exact_literal(value, dtype) is expected

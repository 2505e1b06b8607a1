import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.numerics.oracle import nearest
from tilewright.core.dtypes import DType, FloatType, IntType, bf16, boolean, f16, f32, f64, float8_e5m2, i8, i64, u32
from tilewright.numerics.arrays import numpy_dtype
from tilewright.numerics.faults import UndefinedOperationError
from tilewright.numerics.fma import fma

TINY32, HUGE32 = f32.smallest_subnormal, f32.max
TINY64, HUGE64 = f64.smallest_subnormal, f64.max


def singles() -> st.SearchStrategy[float]:
    return st.floats(width=32, allow_nan=False, allow_infinity=False)


def doubles() -> st.SearchStrategy[float]:
    return st.floats(allow_nan=False, allow_infinity=False)


def check(dtype: type[FloatType], a: float, b: float, c: float) -> None:
    result = float(fma(dtype, *(np.asarray(x, numpy_dtype(dtype)) for x in (a, b, c))))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        assert result == nearest(exact, dtype)
        assert math.copysign(1, result) == (1 if exact > 0 else -1)
    else:
        assert (result, math.copysign(1, result)) == (0, math.copysign(1, a * b + c if 0 in (a, b) else 0.0))


@given(singles(), singles(), singles())
@example(1 + 2**-12, 1 + 2**-12, -1.0)
@example(2**-75, 2**-75, 1.0)  # far below the last bit
@example(2**-75, -(2**-75), 1.0)
@example(TINY32, 0.5, TINY32)  # a tie between subnormals
@example(TINY32, TINY32, 0.0)
@example(-TINY32, TINY32, 0.0)
@example(HUGE32, 1.0, 2.0**102)  # half of the last bit more than the largest: infinity
@example(HUGE32, 1.0, 2.0**102 - 2.0**78)  # a little less
@example(HUGE32, HUGE32, -HUGE32)
@example(-0.0, 1.0, -0.0)
@example(3.0, 5.0, -15.0)
def test_f32_is_rounded_once(a: float, b: float, c: float) -> None:
    check(f32, a, b, c)


@given(singles(), singles(), st.integers(-30, 30))
def test_f32_is_rounded_once_where_terms_cancel(a: float, b: float, step: int) -> None:
    near = np.float32(np.clip(-a * b, f32.min / 2, f32.max / 2))
    check(f32, a, b, float(near + step * np.spacing(near)))


# Products a little above and below a power of two, by 1 + x**3 = (1 + x) * (1 - x + x**2) and its mirror image.
ABOVE_32 = (2.0**-24 * (1 + 2.0**-11), 1 - 2.0**-11 + 2.0**-22)
BELOW_32 = (2.0**-24 * (1 - 2.0**-11), 1 + 2.0**-11 + 2.0**-22)
ABOVE_64 = (2.0**-53 * (1 + 2.0**-23), 1 - 2.0**-23 + 2.0**-46)
BELOW_64 = (2.0**-53 * (1 - 2.0**-23), 1 + 2.0**-23 + 2.0**-46)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("dtype", "factors", "c"),
    [
        (f32, ABOVE_32, 1.0),
        (f32, BELOW_32, 1 + f32.eps),
        (f64, ABOVE_64, 1.0),
        (f64, BELOW_64, 1 + f64.eps),
        (f64, (ABOVE_64[0] * 2.0**-500, ABOVE_64[1] * 2.0**-500), 2.0**-1000),  # that term is no f64 any more
        (f64, (BELOW_64[0] * 2.0**-500, BELOW_64[1] * 2.0**-500), (1 + f64.eps) * 2.0**-1000),
    ],
)
def test_a_term_far_below_decides_a_tie(
    dtype: type[FloatType], factors: tuple[float, float], c: float, sign: int
) -> None:
    """Summed in one step too few, the last term is lost and the tie goes to even, which is wrong in all of these."""
    a, b = factors
    check(dtype, sign * a, b, sign * c)


@given(doubles(), doubles(), doubles())
@example(1 + 2**-30, 1 + 2**-30, -1.0)
@example(TINY64, 0.5, TINY64)
@example(TINY64, TINY64, 0.0)
@example(-TINY64, TINY64, 0.0)
@example(-TINY64, TINY64, 1.0)
@example(2.0**-537, 2.0**-537, -TINY64)
@example(HUGE64, 2.0, -HUGE64)
@example(HUGE64, HUGE64, -HUGE64)
@example(2.0**-600, 2.0**-400, 1.0)
@example(1 + 2**-52, 2.0**-53, 1.0)
@example(1e300, 1e-300, -1.0)
@example(3.0, 5.0, -15.0)
@example(-0.0, 1.0, -0.0)
@example(1.5, 0.0, -0.0)
def test_f64_is_rounded_once(a: float, b: float, c: float) -> None:
    check(f64, a, b, c)


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.integers(-30, 30))
def test_f64_is_rounded_once_where_terms_cancel(a: float, b: float, step: int) -> None:
    near = np.float64(-a * b)
    check(f64, a, b, float(near + step * np.spacing(near)))


def scaled(low: int, high: int) -> st.SearchStrategy[float]:
    return st.builds(math.ldexp, st.floats(1, 2, exclude_max=True), st.integers(low, high))


@given(scaled(-545, -480), scaled(-545, -480), scaled(-1074, -1000), st.sampled_from([1, -1]))
def test_f64_is_rounded_once_near_the_smallest_values(a: float, b: float, c: float, sign: int) -> None:
    check(f64, sign * a, b, c)


@given(scaled(490, 512), scaled(490, 512), scaled(1000, 1023), st.sampled_from([1, -1]))
def test_f64_is_rounded_once_near_the_largest_values(a: float, b: float, c: float, sign: int) -> None:
    check(f64, sign * a, b, c)


@given(scaled(990, 1023), scaled(-1000, -900), scaled(-20, 120), st.sampled_from([1, -1]))
def test_f64_is_rounded_once_where_factors_are_far_apart(a: float, b: float, c: float, sign: int) -> None:
    check(f64, sign * a, b, c)


@pytest.mark.parametrize("dtype", [f32, f64])
@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        (math.inf, 1.0, 1.0, math.inf),
        (math.inf, 0.0, 1.0, math.nan),
        (math.inf, 1.0, -math.inf, math.nan),
        (1.0, 1.0, -math.inf, -math.inf),
        (1e30, 1e30, -math.inf, -math.inf),
        (math.nan, 1.0, 1.0, math.nan),
        (1.0, 1.0, math.nan, math.nan),
        (0.0, 1.0, math.inf, math.inf),
    ],
)
def test_infinities_and_nan(dtype: type[DType], a: float, b: float, c: float, expected: float) -> None:
    result = float(fma(dtype, *(np.asarray(x, numpy_dtype(dtype)) for x in (a, b, c))))
    assert result == expected or (math.isnan(result) and math.isnan(expected))


def test_a_product_beyond_f64_still_loses_against_an_infinity() -> None:
    assert float(fma(f64, np.array(HUGE64), np.array(HUGE64), np.array(-math.inf))) == -math.inf


@given(st.data(), st.sampled_from([i8, u32, i64]))
def test_integers_wrap(data: st.DataObject, dtype: type[IntType]) -> None:
    a, b, c = (data.draw(st.integers(dtype.min, dtype.max)) for _ in range(3))
    expected = (a * b + c - dtype.min) % 2**dtype.bits + dtype.min
    assert int(fma(dtype, *(np.array(x, numpy_dtype(dtype)) for x in (a, b, c)))) == expected


@pytest.mark.parametrize("dtype", [f32, f64, i8])
def test_operands_broadcast(dtype: type[DType]) -> None:
    column, row, c = np.arange(3)[:, None], np.arange(4)[None, :], np.ones((3, 4))
    result = fma(dtype, *(x.astype(numpy_dtype(dtype)) for x in (column, row, c)))
    assert result.dtype == numpy_dtype(dtype)
    assert result.tolist() == (column * row + 1).tolist()


def test_operands_are_not_written() -> None:
    c = np.full(4, 1 / 3)
    fma(f64, np.zeros(4), np.zeros(4), c)
    assert (c == 1 / 3).all()


@pytest.mark.parametrize("dtype", [f16, bf16, float8_e5m2, boolean])
def test_nothing_else_accumulates(dtype: type[DType]) -> None:
    with pytest.raises(UndefinedOperationError):
        fma(dtype, np.zeros(1), np.zeros(1), np.zeros(1))

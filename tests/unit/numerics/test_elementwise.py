import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.numerics.oracle import nearest
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
    u64,
)
from tilewright.numerics.arrays import Array, numpy_dtype
from tilewright.numerics.bits import from_bits, ulp_distance
from tilewright.numerics.cast import cast, round_from_f64
from tilewright.numerics.elementwise import OPERANDS, OPS
from tilewright.numerics.faults import DivisionByZeroError, UndefinedOperationError

INTS = [dtype for dtype in ALL_DTYPES if issubclass(dtype, IntType)]
HALVES = [f16, bf16]
FLOATS = [*HALVES, f32, f64]
UNARY_TRANSCENDENTAL = ["exp", "exp2", "log", "log2", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid"]
BOOLEAN_RESULTS = {"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "logical_and", "logical_or", "logical_not"}
UNARY = {"neg", "abs", "not", "logical_not", "sqrt", "floor", "ceil", "round", "trunc", "isnan", "isinf"}


def apply(op: str, dtype: type[DType], *values: object) -> Array:
    with np.errstate(all="ignore"):
        return OPS[op](dtype, *(np.asarray(value).astype(numpy_dtype(dtype)) for value in values))


def arity(op: str) -> int:
    return 3 if op == "select" else 1 if op in UNARY or op in UNARY_TRANSCENDENTAL else 2


def wrap(value: int, dtype: type[IntType]) -> int:
    return (value - dtype.min) % 2**dtype.bits + dtype.min


def same(actual: Array, expected: Array) -> bool:
    with np.errstate(all="ignore"):
        actual, expected = np.asarray(actual).astype(np.float64), np.asarray(expected).astype(np.float64)
    equal = (actual == expected) & (np.signbit(actual) == np.signbit(expected))
    return bool(np.all(equal | (np.isnan(actual) & np.isnan(expected))))


def test_the_table_names_the_whole_language() -> None:
    names = """
        neg abs not add sub mul div floor_div floor_mod trunc_div trunc_mod min max pow and or xor shl shr
        logical_and logical_or logical_not eq ne lt le gt ge exp exp2 log log2 sqrt rsqrt sin cos tanh erf sigmoid
        floor ceil round trunc isnan isinf select
    """
    assert set(OPS) == set(names.split())


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_each_op_takes_exactly_its_element_types(op: str, dtype: type[DType]) -> None:
    ones = [np.ones((2, 1), numpy_dtype(dtype)), np.ones((1, 3), numpy_dtype(dtype)), np.ones(3, numpy_dtype(dtype))]
    arrays = ones[: arity(op)]
    takes = dtype.kind in OPERANDS[op] and (op == "select" or dtype not in {float8_e4m3fn, float8_e5m2})
    if not takes:
        with pytest.raises(UndefinedOperationError):
            OPS[op](dtype, *arrays)
        return
    result = OPS[op](dtype, *arrays)
    assert result.shape == np.broadcast_shapes(*(array.shape for array in arrays))
    assert result.dtype == (np.bool_ if op in BOOLEAN_RESULTS else numpy_dtype(dtype))


PYTHON_INT: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
}


@given(st.data(), st.sampled_from(sorted(PYTHON_INT)), st.sampled_from(INTS))
def test_integers_are_pythons_and_wrap(data: st.DataObject, op: str, dtype: type[IntType]) -> None:
    a, b = (data.draw(st.integers(dtype.min, dtype.max)) for _ in range(2))
    assert int(apply(op, dtype, a, b)) == wrap(PYTHON_INT[op](a, b), dtype)


@given(st.data(), st.sampled_from(INTS))
def test_integer_divisions(data: st.DataObject, dtype: type[IntType]) -> None:
    a = data.draw(st.integers(dtype.min, dtype.max))
    b = data.draw(st.integers(dtype.min, dtype.max).filter(bool))
    toward_zero = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    assert int(apply("floor_div", dtype, a, b)) == wrap(a // b, dtype)
    assert int(apply("floor_mod", dtype, a, b)) == a % b
    assert int(apply("trunc_div", dtype, a, b)) == wrap(toward_zero, dtype)
    assert int(apply("trunc_mod", dtype, a, b)) == a - toward_zero * b


@pytest.mark.parametrize("dtype", [i8, i16, i32, i64])
def test_the_smallest_integer_wraps_to_itself(dtype: type[IntType]) -> None:
    for op in ("floor_div", "trunc_div"):
        assert int(apply(op, dtype, dtype.min, -1)) == dtype.min
    for op in ("floor_mod", "trunc_mod"):
        assert int(apply(op, dtype, dtype.min, -1)) == 0
    assert int(apply("abs", dtype, dtype.min)) == dtype.min
    assert int(apply("neg", dtype, dtype.min)) == dtype.min


@pytest.mark.parametrize("op", ["floor_div", "floor_mod", "trunc_div", "trunc_mod"])
def test_division_by_zero_names_the_first_element(op: str) -> None:
    with pytest.raises(DivisionByZeroError) as caught:
        apply(op, i32, np.ones((2, 1)), [[1, 0, 0]])
    assert caught.value.position == (0, 1)
    assert str(caught.value) == f"{op} divides by zero at element (0, 1)"


def test_no_elements_divide_by_nothing() -> None:
    assert apply("floor_div", i32, np.ones((0, 1)), [[0, 0]]).shape == (0, 2)


@given(st.data(), st.sampled_from(INTS))
def test_shifts_by_any_amount(data: st.DataObject, dtype: type[IntType]) -> None:
    a = data.draw(st.integers(dtype.min, dtype.max))
    amount = data.draw(st.integers(dtype.min, dtype.max) | st.integers(0, dtype.bits))
    count = amount if 0 <= amount < dtype.bits else dtype.bits
    assert int(apply("shl", dtype, a, amount)) == wrap(a << count, dtype)
    assert int(apply("shr", dtype, a, amount)) == a >> count


@given(st.data(), st.sampled_from(INTS))
def test_integer_power_wraps(data: st.DataObject, dtype: type[IntType]) -> None:
    base, exponent = data.draw(st.integers(dtype.min, dtype.max)), data.draw(st.integers(0, min(dtype.max, 300)))
    assert int(apply("pow", dtype, base, exponent)) == wrap(base**exponent, dtype)


@pytest.mark.parametrize(
    ("base", "exponent", "expected"), [(1, -3, 1), (-1, -3, -1), (-1, -4, 1), (2, -1, 0), (5, -9, 0)]
)
def test_a_negative_integer_power_is_rounded_toward_zero(base: int, exponent: int, expected: int) -> None:
    assert int(apply("pow", i32, base, exponent)) == expected


def test_zero_has_no_negative_power() -> None:
    with pytest.raises(DivisionByZeroError) as caught:
        apply("pow", i32, [0, 2, 0], [0, -1, -1])
    assert caught.value.position == (2,)


EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": lambda a, b: a / b,
}


@given(st.data(), st.sampled_from(sorted(EXACT)), st.sampled_from(HALVES))
def test_half_arithmetic_is_rounded_once(data: st.DataObject, op: str, dtype: type[FloatType]) -> None:
    codes = st.integers(0, 2**16 - 1).map(lambda code: float(from_bits(dtype, np.array(code))))
    finite = codes.filter(math.isfinite)
    a, b = data.draw(finite), data.draw(finite.filter(bool))
    exact = EXACT[op](Fraction(a), Fraction(b))
    assert float(apply(op, dtype, a, b)) == nearest(exact, dtype)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.sampled_from(sorted(EXACT)))
@example(f32.smallest_subnormal, "mul")
def test_f32_arithmetic_is_rounded_once(a: float, op: str) -> None:
    b = float(np.float32(0.7))
    assert float(apply(op, f32, a, b)) == nearest(EXACT[op](Fraction(a), Fraction(b)), f32)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("op", ["neg", "abs", "sqrt", "floor", "ceil", "trunc", "round"])
def test_every_half_code_against_f64(op: str, dtype: type[FloatType]) -> None:
    codes = from_bits(dtype, np.arange(2**16))
    wide = OPS[op](f64, cast(codes, dtype, f64))
    assert same(OPS[op](dtype, codes), round_from_f64(wide, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_halves_round_to_even(dtype: type[FloatType]) -> None:
    assert same(apply("round", dtype, [-2.5, -0.5, 0.5, 1.5, 2.5]), np.array([-2, -0.0, 0, 2, 2]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_extrema_propagate_nan_from_either_side(dtype: type[FloatType]) -> None:
    for op, ordered in (("min", 1), ("max", 2)):
        assert same(
            apply(op, dtype, [math.nan, 1, 1, 2], [1, math.nan, 2, 1]), np.array([math.nan] * 2 + [ordered] * 2)
        )


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_compares_unequal_and_the_zeros_equal(dtype: type[FloatType]) -> None:
    nan = {op: bool(apply(op, dtype, math.nan, math.nan)) for op in ("eq", "ne", "lt", "le", "gt", "ge")}
    zero = {op: bool(apply(op, dtype, 0.0, -0.0)) for op in ("eq", "ne", "lt", "le", "gt", "ge")}
    assert nan == {"eq": False, "ne": True, "lt": False, "le": False, "gt": False, "ge": False}
    assert zero == {"eq": True, "ne": False, "lt": False, "le": True, "gt": False, "ge": True}


@pytest.mark.parametrize("dtype", FLOATS)
def test_division_by_a_float_zero_is_ieees(dtype: type[FloatType]) -> None:
    assert same(
        apply("div", dtype, [1, -1, 0, 1], [0, 0, 0, -0.0]), np.array([math.inf, -math.inf, math.nan, -math.inf])
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_two_questions(dtype: type[FloatType]) -> None:
    assert apply("isnan", dtype, [math.nan, math.inf, 1]).tolist() == [True, False, False]
    assert apply("isinf", dtype, [math.nan, -math.inf, 1]).tolist() == [False, True, False]


PYTHON_FLOAT: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "log": math.log,
    "log2": math.log2,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "erf": math.erf,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
}


@pytest.mark.parametrize("op", UNARY_TRANSCENDENTAL)
@pytest.mark.parametrize("dtype", FLOATS)
def test_transcendentals_are_f64_rounded_once(op: str, dtype: type[FloatType]) -> None:
    values = np.linspace(0.01, 9, 500).astype(numpy_dtype(dtype))
    expected = round_from_f64(np.array([PYTHON_FLOAT[op](float(value)) for value in values]), dtype)
    assert ulp_distance(dtype, OPS[op](dtype, values), expected).max() <= (2 if dtype == f64 else 1)


@pytest.mark.parametrize(
    ("op", "values", "expected"),
    [
        ("exp", [-math.inf, -1e4, 0, 1e4, math.inf, math.nan], [0, 0, 1, math.inf, math.inf, math.nan]),
        ("exp2", [-math.inf, -1e4, 0, 1e4, math.inf, 3], [0, 0, 1, math.inf, math.inf, 8]),
        ("log", [0, -0.0, -1, 1, math.inf, math.nan], [-math.inf, -math.inf, math.nan, 0, math.inf, math.nan]),
        ("log2", [0, -1, 8, math.inf], [-math.inf, math.nan, 3, math.inf]),
        ("sqrt", [-0.0, 4, -1, math.inf], [-0.0, 2, math.nan, math.inf]),
        ("rsqrt", [0, -0.0, 4, -1, math.inf], [math.inf, -math.inf, 0.5, math.nan, 0]),
        ("sin", [-0.0, math.inf], [-0.0, math.nan]),
        ("cos", [0, math.inf], [1, math.nan]),
        ("tanh", [-math.inf, -0.0, math.inf, math.nan], [-1, -0.0, 1, math.nan]),
        ("erf", [-math.inf, -0.0, math.inf, math.nan], [-1, -0.0, 1, math.nan]),
        ("sigmoid", [-math.inf, -1e4, 0, 1e4, math.inf, math.nan], [0, 0, 0.5, 1, 1, math.nan]),
    ],
)
def test_special_values(op: str, values: list[float], expected: list[float]) -> None:
    for dtype in (f32, f64):
        assert same(apply(op, dtype, values), np.array(expected))


def test_float_power_is_ieees() -> None:
    base, exponent = [math.nan, 1, 2, -2, -8, 0, -1], [0, math.nan, -2, 3, 1 / 3, -1, math.inf]
    assert same(apply("pow", f32, base, exponent), np.array([1, 1, 0.25, -8, math.nan, math.inf, 1]))


def test_truth_tables() -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert OPS["logical_and"](boolean, a, b).tolist() == OPS["and"](boolean, a, b).tolist() == [False] * 3 + [True]
    assert OPS["logical_or"](boolean, a, b).tolist() == OPS["or"](boolean, a, b).tolist() == [False] + [True] * 3
    assert OPS["logical_not"](boolean, a).tolist() == OPS["not"](boolean, a).tolist() == [True, True, False, False]
    assert OPS["xor"](boolean, a, b).tolist() == [False, True, True, False]


def test_bitwise_not() -> None:
    assert apply("not", u8, [0, 1]).tolist() == [255, 254]
    assert apply("not", i8, [0, -1]).tolist() == [-1, 0]


def test_unsigned_values_above_the_signed_range() -> None:
    top = np.array(u64.max, np.uint64)
    assert int(OPS["max"](u64, top, np.array(1, np.uint64))) == u64.max
    assert bool(OPS["gt"](u64, top, np.array(1, np.uint64)))
    assert int(OPS["shr"](u64, top, np.array(63, np.uint64))) == 1


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_select_copies_bits(dtype: type[DType]) -> None:
    a, b = (np.array([code, code]).astype(f"u{dtype.itemsize}").view(numpy_dtype(dtype)) for code in (1, 0))
    result: Any = OPS["select"](dtype, np.array([True, False]), a, b)
    assert result.tobytes() == a[:1].tobytes() + b[:1].tobytes()


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_single_elements_raise_no_numpy_warning(dtype: type[DType]) -> None:
    top = np.asarray(dtype.max).astype(numpy_dtype(dtype))
    for op in ("add", "sub", "mul", "max"):
        assert OPS[op](dtype, top, top).shape == ()

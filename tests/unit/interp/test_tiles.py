"""Constants, elementwise operations, maps, extraction and contraction."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.unit.interp.hand import Hand, View, space
from tilewright import interp
from tilewright.core.dtypes import bf16, boolean, f16, f32, float8_e4m3fn, float8_e5m2, i8, i32, u8
from tilewright.core.errors import EffectError, InternalError
from tilewright.numerics.arrays import numpy_dtype


def test_operands_meet_by_dimension_not_by_position() -> None:
    h = Hand(x=View(i32, (2, 3)), y=View(i32, (3, 2)), z=View(i32, (2, 3)))
    with h.parallel(space(p=1)) as p:
        o = p.indices[0]
        x, y = h.load(h.x, [o, o], space(m=2, n=3)), h.load(h.y, [o, o], space(n=3, m=2))
        h.store(h.z, [o, o], h.do("sub", x, y))
    x, y, z = (np.arange(6, dtype="i4").reshape(shape) for shape in ((2, 3), (3, 2), (2, 3)))
    interp.run(h.kernel(), [x, 10 * y, z])
    assert (z == x - 10 * y.T).all()


def test_a_missing_axis_and_an_extent_of_one_repeat() -> None:
    h = Hand(x=View(i32, (2, 3)), row=View(i32, (3,)), column=View(i32, (2, 1)), z=View(i32, (2, 3)))
    with h.parallel(space(p=1)) as p:
        o = p.indices[0]
        x, row = h.load(h.x, [o, o], space(m=2, n=3)), h.load(h.row, [o], space(n=3))
        column = h.load(h.column, [o, o], space(m=2, n=1))
        h.store(h.z, [o, o], h.do("add", h.do("mul", x, row), column))
    x = np.arange(6, dtype="i4").reshape(2, 3)
    row, column = np.asarray([1, 10, 100], "i4"), np.asarray([[7], [9]], "i4")
    z = np.zeros((2, 3), "i4")
    interp.run(h.kernel(), [x, row, column, z])
    assert (z == x * row + column).all()


def test_each_half_operation_rounds() -> None:
    h = Hand(x=View(f16, (1,)), z=View(f16, (1,)))
    with h.parallel(space(p=1)) as p:
        x = h.load(h.x, p.indices, space(m=1))
        h.store(h.z, p.indices, h.do("sub", h.do("add", x, h.const(1, f16)), x))
    z = np.zeros(1, "f2")
    interp.run(h.kernel(), [np.asarray([2048], "f2"), z])
    assert z[0] == 0  # 2049 is not a half; in float32 this would be 1


@pytest.mark.parametrize("dtype", [float8_e4m3fn, float8_e5m2])
def test_float8_is_stored_and_cast_exactly(dtype: type) -> None:
    h = Hand(x=View(dtype, (256,), const=True), y=View(f32, (256,)), z=View(dtype, (256,)))
    with h.parallel(space(p=1)) as p:
        wide = h.cast(h.load(h.x, p.indices, space(m=256)), f32)
        h.store(h.y, p.indices, wide)
        h.store(h.z, p.indices, h.cast(wide, dtype))
    codes = np.arange(256, dtype="u1").view(numpy_dtype(dtype))
    y, z = np.zeros(256, "f4"), np.zeros(256, numpy_dtype(dtype))
    interp.run(h.kernel(), [codes, y, z])
    number = ~np.isnan(y)
    assert (y[number] == codes.astype("f4")[number]).all()
    assert (z.view("u1")[number] == codes.view("u1")[number]).all()


def test_a_saturating_cast_stays_finite() -> None:
    h = Hand(x=View(f32, (1,)), y=View(float8_e4m3fn, (2,)))
    with h.parallel(space(p=1)) as p:
        x = h.load(h.x, p.indices, space(m=1))
        h.store(h.y, [h.index(0)], h.cast(x, float8_e4m3fn, saturating=True))
        h.store(h.y, [h.index(1)], h.cast(x, float8_e4m3fn))
    y = np.zeros(2, numpy_dtype(float8_e4m3fn))
    interp.run(h.kernel(), [np.asarray([1e6], "f4"), y])
    assert y[0] == 448
    assert np.isnan(y[1].astype("f4"))


def test_float8_arithmetic_is_refused() -> None:
    h = Hand(x=View(float8_e5m2, (1,)))
    with h.parallel(space(p=1)) as p:
        x = h.load(h.x, p.indices, space(m=1))
        h.store(h.x, p.indices, h.do("add", x, x))
    with pytest.raises(InternalError, match="add is not defined for float8_e5m2"):
        interp.run(h.unverified(), [np.zeros(1, numpy_dtype(float8_e5m2))])


def test_any_nonzero_byte_of_a_boolean_is_true() -> None:
    h = Hand(x=View(boolean, (3,)), y=View(boolean, (3,)))
    with h.parallel(space(p=1)) as p:
        h.store(h.y, p.indices, h.load(h.x, p.indices, space(m=3)))
    x, y = np.asarray([0, 1, 2], "u1").view("?"), np.zeros(3, "?")
    interp.run(h.kernel(), [x, y])
    assert y.view("u1").tolist() == [0, 1, 1]


def test_bits_survive_a_bitcast() -> None:
    h = Hand(x=View(f32, (2,)), y=View(i32, (2,)))
    with h.parallel(space(p=1)) as p:
        h.store(h.y, p.indices, h.bitcast(h.load(h.x, p.indices, space(m=2)), i32))
    x, y = np.asarray([-0.0, np.nan], "f4"), np.zeros(2, "i4")
    interp.run(h.kernel(), [x, y])
    assert (y == x.view("i4")).all()


def test_a_map_permutes_and_a_nested_map_sees_the_outer_point() -> None:
    h = Hand(x=View(i32, (2, 3)), y=View(i32, (3, 2)))
    with h.parallel(space(p=1)) as p:
        o = p.indices[0]
        x = h.load(h.x, [o, o], space(m=2, n=3))
        with h.map(i32, space(n=3, m=2)) as outer:
            n, m = outer.indices
            with h.map(i32, space(k=4)) as inner:
                inner.yields(h.do("add", h.extract(x, m, n), h.cast(inner.indices[0], i32)))
            with h.reduce(space(k=4), h.const(0, i32)) as total:
                total.yields(h.do("add", total.carries[0], h.extract(inner.results[0], total.indices[0])))
            outer.yields(total.results[0])
        h.store(h.y, [o, o], outer.results[0])
    x, y = np.arange(6, dtype="i4").reshape(2, 3), np.zeros((3, 2), "i4")
    interp.run(h.kernel(), [x, y])
    assert (y == 4 * x.T + 6).all()


def test_a_map_over_nothing_evaluates_nothing() -> None:
    h = Hand(x=View(i32, (0,)))
    with h.parallel(space(p=1)) as p:
        with h.map(i32, space(m=0)) as points:
            points.yields(h.do("floor_div", h.const(1, i32), h.const(0, i32)))
        h.store(h.x, p.indices, points.results[0])
    interp.run(h.kernel(), [np.zeros(0, "i4")])


@pytest.mark.parametrize("lanes", [1, 100])
@pytest.mark.parametrize("at", [-1, 3])
def test_an_extract_outside_is_an_error(at: int, lanes: int) -> None:
    h = Hand(x=View(i32, (3,)))
    with h.parallel(space(p=1)) as p:
        x = h.load(h.x, p.indices, space(m=3))
        with h.map(i32, space(n=2)) as points:
            points.yields(h.extract(x, h.do("mul", points.indices[0], h.index(at))))
        h.store(h.x, p.indices, points.results[0])
    with pytest.raises(EffectError, match=rf"(?s)extract at index {at} of axis m .* which has 3.*\(p=0\).*\(n=1\)"):
        interp.run(h.kernel(), [np.zeros(3, "i4")], lanes=lanes)


def test_integer_division_by_zero_names_the_element() -> None:
    h = Hand(x=View(i32, (3,)))
    with h.parallel(space(p=1)) as p:
        x = h.load(h.x, p.indices, space(m=3))
        h.store(h.x, p.indices, h.do("trunc_mod", x, x))
    with pytest.raises(EffectError, match=r"(?s)trunc_mod divides an integer by zero.*\(m=2\)"):
        interp.run(h.kernel(), [np.asarray([1, 2, 0], "i4")])


def _contraction(a: np.ndarray, b: np.ndarray, c: np.ndarray, dtype: type, operand: type) -> Hand:
    h = Hand(a=View(operand, a.shape), b=View(operand, b.shape), c=View(dtype, c.shape))
    with h.parallel(space(p=1)) as p:
        o = p.indices[0]
        # a is [k1, m, k2], b is [n, k2, k1]: the chain runs over k1, then k2
        x = h.load(h.a, [o, o, o], space(k=a.shape[0], m=a.shape[1], l=a.shape[2]))
        y = h.load(h.b, [o, o, o], space(n=b.shape[0], l=b.shape[1], k=b.shape[2]))
        h.store(h.c, [o, o], h.mma(x, y, h.load(h.c, [o, o], space(n=c.shape[0], m=c.shape[1]))))
    return h


def _mma(a: np.ndarray, b: np.ndarray, c: np.ndarray, dtype: type, operand: type) -> np.ndarray:
    out = c.copy()
    interp.run(_contraction(a, b, c, dtype, operand).kernel(), [a, b, out])
    return out


def test_mma_is_the_exact_chain_in_the_order_of_a() -> None:
    rng = np.random.default_rng(1)
    a, b, c = (rng.standard_normal(shape).astype("f4") for shape in ((3, 2, 4), (2, 4, 3), (2, 2)))
    out = _mma(a, b, c, f32, f32)
    for n, m in product(range(2), range(2)):
        total = c[n, m]
        for k, l in product(range(3), range(4)):
            exact = Fraction(float(a[k, m, l])) * Fraction(float(b[n, l, k])) + Fraction(float(total))
            total = _rounded(exact)
        assert out[n, m] == total


def _rounded(exact: Fraction) -> np.float32:
    """The float32 nearest to a number: the best of the neighbours of a first guess."""
    guess = np.float32(float(exact))
    near = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(near, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view("i4")) & 1))


def test_mma_of_integers_wraps() -> None:
    a, b, c = np.full((1, 1, 2), 2**30, "i4"), np.full((1, 2, 1), 2, "i4"), np.zeros((1, 1), "i4")
    assert _mma(a, b, c, i32, i32)[0, 0] == 0


def test_mma_converts_operands_to_the_accumulator() -> None:
    a, b = np.full((1, 1, 1), 200, "u1"), np.full((1, 1, 1), 200, "u1")
    assert _mma(a, b, np.zeros((1, 1), "i4"), i32, u8)[0, 0] == 40_000
    low = numpy_dtype(bf16)
    assert _mma(a.astype(low), b.astype(low), np.ones((1, 1), "f4"), f32, bf16)[0, 0] == 40_001


def test_mma_over_nothing_leaves_c() -> None:
    c = np.full((2, 2), 3, "f4")
    assert (_mma(np.zeros((0, 2, 4), "f4"), np.zeros((2, 4, 0), "f4"), c, f32, f32) == 3).all()


@pytest.mark.parametrize("dtype", [f16, bf16])
def test_a_half_accumulator_is_refused(dtype: type) -> None:
    one = np.ones((1, 1, 1), numpy_dtype(dtype))
    with pytest.raises(InternalError, match="fma is not defined for"):
        interp.run(_contraction(one, one, one[0], dtype, dtype).unverified(), [one, one, one[0]])


def test_a_batched_mma_in_a_map() -> None:
    h = Hand(a=View(i8, (2, 3)), c=View(i32, (2,)))
    with h.parallel(space(p=1)) as p:
        o = p.indices[0]
        a = h.load(h.a, [o, o], space(m=2, k=3))
        with h.map(i32, space(m=2)) as rows:
            with h.map(i8, space(k=3, n=1)) as row:
                row.yields(h.extract(a, rows.indices[0], row.indices[0]))
            square = h.mma(row.results[0], row.results[0], h.const(0, i32, space(n=1)))
            rows.yields(h.extract(square, h.index(0)))
        h.store(h.c, [o], rows.results[0])
    a, c = np.asarray([[1, 2, 3], [4, 5, 6]], "i1"), np.zeros(2, "i4")
    interp.run(h.kernel(), [a, c])
    assert c.tolist() == [14, 77]

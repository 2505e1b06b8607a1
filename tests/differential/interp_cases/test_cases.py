"""Public bug reports as small kernels with known answers, each named by its number in the log of cases."""

import numpy as np
import pytest

from tests.differential.interp_cases.kernels import (
    Banded,
    arg_extremum,
    blocks,
    cdiv,
    fold_vector,
    gemm,
    ramps,
    result,
    scan_in_place,
    scan_vector,
)
from tests.unit.interp.hand import Hand, View, space
from tilewright import interp
from tilewright.core.dtypes import DType, bf16, boolean, f16, f32, i8, i32, i64
from tilewright.core.errors import EffectError
from tilewright.ir.attrs import UpdateKind
from tilewright.numerics.arrays import numpy_dtype


@pytest.mark.parametrize("n", [1, 15, 16, 17, 31])
def test_c01_ragged_add(n: int) -> None:
    kernel = blocks(n, 16, lambda h, x: h.do("add", x, h.const(100)))
    assert (result(kernel, [np.arange(n, dtype="f4")], Banded((n,))) == 100 + np.arange(n)).all()


def test_c02_ragged_gemm() -> None:
    a, b = ramps(1000, 999, 1001)
    c = Banded((1000, 1001))
    interp.run(gemm(1000, 999, 1001, 256, 256, 128), [a, b, c.array])
    assert c.intact()
    assert (c.array[0, 0], c.array[999, 1000], c.array.max()) == (29951, 29998, 30030)
    assert c.array.sum(dtype="f8") == 29_999_970_000
    assert (c.array == a.astype("f8") @ b.astype("f8")).all()


def test_c03_what_follows_in_memory_is_not_read() -> None:
    memory = np.full(300, np.nan, "f4")
    memory[:100] = np.arange(100)
    kernel = blocks(100, 128, lambda h, x: h.do("mul", x, h.const(2)))
    interp.run(kernel, [memory[:100], memory[150:250]])
    assert (memory[150:250] == 2 * np.arange(100)).all()
    assert np.isnan(memory[100:150]).all()
    assert np.isnan(memory[250:]).all()


def test_c04_one_element_of_the_second_tile() -> None:
    out = Banded((40,))
    out.array[...] = -731.25
    interp.run(blocks(33, 32, lambda _h, x: x), [np.arange(33, dtype="f4"), out.array[:33]])
    assert (out.array[:33] == np.arange(33)).all()
    assert (out.array[33:] == -731.25).all()


def test_c05_maximum_with_an_infinite_fill() -> None:
    x = -(np.arange(131) % 50).astype("f4") - 3
    assert result(fold_vector(131, 32, "max", -np.inf), [x], Banded((1,)))[0] == -3


def test_c06_sum_of_a_padded_tile() -> None:
    assert result(fold_vector(16, 256, "add", 0), [np.ones(16, "f4")], Banded((1,)))[0] == 16


def test_c08_every_second_element() -> None:
    x = np.arange(10, dtype="f4")[0::2]
    kernel = blocks(5, 8, lambda h, t: h.do("add", t, h.const(1)))
    assert result(kernel, [x], Banded((5,))).tolist() == [1, 3, 5, 7, 9]


@pytest.mark.parametrize("n", [1, 2, 3, 31, 33, 64])
def test_c09_every_live_lane_updates_one_cell(n: int) -> None:
    tile = 1 << (n - 1).bit_length()
    h = Hand(y=View(f32, (1,)))
    with h.parallel(space(p=1)):
        with h.map(boolean, space(m=tile)) as live:
            live.yields(h.do("lt", live.indices[0], h.index(n)))
        h.update(h.y, [h.index(0)], h.const(0.5, f32, space(m=tile)), mask=live.results[0])
    y = np.zeros(1, "f4")
    interp.run(h.kernel(), [y])
    assert y[0] == n / 2


def test_c12_a_negative_origin() -> None:
    h = Hand(x=View(f32, (8,)), y=View(f32, (4,)))
    with h.parallel(space(p=1)) as p:
        h.store(h.y, p.indices, h.load(h.x, [h.index(-2)], space(m=4), fill=h.const(0)))
        h.store(h.x, [h.index(-2)], h.const(9, f32, space(m=4)))
    x, y = np.arange(1, 9, dtype="f4"), np.zeros(4, "f4")
    interp.run(h.kernel(), [x, y])
    assert y.tolist() == [0, 0, 1, 2]
    assert x.tolist() == [9, 9, 3, 4, 5, 6, 7, 8]


def test_c13_a_tile_wholly_outside() -> None:
    h = Hand(x=View(f32, (10,)), y=View(f32, (4,)))
    with h.parallel(space(p=1)) as p:
        h.store(h.y, p.indices, h.load(h.x, [h.index(12)], space(m=4), fill=h.const(5)))
        h.store(h.x, [h.index(12)], h.const(9, f32, space(m=4)))
    x, y = Banded((10,)), np.zeros(4, "f4")
    x.array[...] = 1
    interp.run(h.kernel(), [x.array, y])
    assert x.intact()
    assert (x.array == 1).all()
    assert y.tolist() == [5] * 4


@pytest.mark.parametrize("shape", [(5, 3), (7, 3)])
def test_c14_rows_of_twelve_bytes(shape: tuple[int, int]) -> None:
    h = Hand(x=View(f32, shape, const=True), y=View(f32, shape))
    with h.parallel(space(a=cdiv(shape[0], 5))) as p:
        at = [h.do("mul", p.indices[0], h.index(5)), h.index(0)]
        h.store(h.y, at, h.load(h.x, at, space(m=5, n=3)))
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    assert (result(h.kernel(), [x], Banded(shape)) == x).all()


def test_c15_gemm_with_a_deep_k_tile() -> None:
    a, b = ramps(256, 192, 256)
    c = result(gemm(256, 192, 256, 64, 64, 64), [a, b], Banded((256, 256)))
    assert (c[0, 0], c[255, 255], c.sum(dtype="f8")) == (5722, 5748, 377_479_454)


def test_c16_gemm_stored_transposed() -> None:
    a, b = ramps(1752, 64, 48)
    c = result(gemm(1752, 64, 48, 128, 48, 32, transposed=True), [a, b], Banded((48, 1752)))
    assert (c.flat[0], c.flat[-1], c.sum(dtype="f8")) == (1982, 1924, 161_360_444)


def test_c27_floor_division_and_remainder() -> None:
    h = Hand(x=View(i32, (3,), const=True), d=View(i32, (3,), const=True), q=View(i32, (3,)), r=View(i32, (3,)))
    with h.parallel(space(p=1)) as p:
        x, d = h.load(h.x, p.indices, space(m=3)), h.load(h.d, p.indices, space(m=3))
        h.store(h.q, p.indices, h.do("floor_div", x, d))
        h.store(h.r, p.indices, h.do("floor_mod", x, d))
    q, r = np.zeros(3, "i4"), np.zeros(3, "i4")
    interp.run(h.kernel(), [np.asarray([-7, 7, -36], "i4"), np.asarray([2, -2, 5], "i4"), q, r])
    assert (q.tolist(), r.tolist()) == ([-4, -4, -8], [1, -1, 4])


def test_c28_maximum_propagates_nan_in_both_orders() -> None:
    h = Hand(a=View(f32, (2,), const=True), b=View(f32, (2,), const=True), y=View(f32, (2,)))
    with h.parallel(space(p=1)) as p:
        a, b = h.load(h.a, p.indices, space(m=2)), h.load(h.b, p.indices, space(m=2))
        h.store(h.y, p.indices, h.do("max", a, b))
    inputs = [np.asarray([np.nan, 1], "f4"), np.asarray([1, np.nan], "f4")]
    assert np.isnan(result(h.kernel(), inputs, Banded((2,)))).all()


def test_c29_row_maximum_of_special_values() -> None:
    top = fold_vector(3, 4, "max", -np.inf)
    assert np.isnan(result(top, [np.asarray([np.nan, np.inf, 1], "f4")], Banded((1,)))[0])
    low = fold_vector(2, 4, "max", -np.inf)
    assert result(low, [np.full(2, -np.inf, "f4")], Banded((1,)))[0] == -np.inf


@pytest.mark.parametrize("compare", ["gt", "lt"])
def test_c30_the_first_nan_wins(compare: str) -> None:
    x = np.asarray([np.nan, 6, 8], "f4")
    assert result(arg_extremum(3, compare), [x], Banded((1,), i64))[0] == 0


def test_c31_the_first_maximum_wins() -> None:
    x = np.asarray([3, 2, 2, 3, 2, 4, 3, 1, 4, 1], "f4")
    assert result(arg_extremum(10, "gt"), [x], Banded((1,), i64))[0] == 5


def test_c36_sums_of_booleans_and_bytes() -> None:
    h = Hand(x=View(boolean, (256,), const=True), y=View(i32, (1,)), b=View(boolean, (1,)))
    with h.parallel(space(p=1)) as p:
        total = h.extract(h.fold(h.cast(h.load(h.x, p.indices, space(m=256)), i32), "m", "add", 0))
        h.set(h.y, p.indices, total)
        h.set(h.b, p.indices, h.cast(total, boolean))
    y, b = np.zeros(1, "i4"), np.zeros(1, "?")
    interp.run(h.kernel(), [np.ones(256, "?"), y, b])
    assert y[0] == 256
    assert b.view("u1")[0] == 1
    h = Hand(x=View(i8, (200,), const=True), y=View(i32, (1,)))
    with h.parallel(space(p=1)) as p:
        wide = h.cast(h.load(h.x, p.indices, space(m=200)), i32)
        h.set(h.y, p.indices, h.extract(h.fold(wide, "m", "add", 0)))
    assert result(h.kernel(), [np.ones(200, "i1")], Banded((1,), i32))[0] == 200


@pytest.mark.parametrize("dtype", [f16, bf16])
def test_c37_a_wide_accumulator_counts_past_the_half(dtype: type[DType]) -> None:
    h = Hand(x=View(dtype, (4096,), const=True), y=View(dtype, (1,)))
    with h.parallel(space(p=1)) as p:
        wide = h.cast(h.load(h.x, p.indices, space(m=4096)), f32)
        h.set(h.y, p.indices, h.cast(h.extract(h.fold(wide, "m", "add", 0)), dtype))
    out = result(h.kernel(), [np.ones(4096, numpy_dtype(dtype))], Banded((1,), dtype))
    assert float(out[0]) == 4096


def test_c38_a_dot_product_keeps_all_bits() -> None:
    a, b = np.full((1, 64), 1 + 2**-12, "f4"), np.ones((64, 1), "f4")
    assert result(gemm(1, 64, 1, 16, 16, 16), [a, b], Banded((1, 1)))[0, 0] == 64.015625


def test_c39_sums_of_large_integers() -> None:
    x = np.full(4, 2**40, "i8")
    assert result(fold_vector(4, 4, "add", 0, dtype=i64), [x], Banded((1,), i64))[0] == 4_398_046_511_104


def test_c41_booleans_stay_one_byte() -> None:
    kernel = blocks(3, 4, lambda h, x: h.do("logical_not", x), dtype=boolean)
    out = result(kernel, [np.asarray([True, False, True])], Banded((3,), boolean))
    assert out.view("u1").tolist() == [0, 1, 0]


def test_c42_bf16_adds_round_once() -> None:
    h = Hand(a=View(bf16, (3,), const=True), b=View(bf16, (3,), const=True), y=View(bf16, (3,)))
    with h.parallel(space(p=1)) as p:
        a, b = h.load(h.a, p.indices, space(m=3)), h.load(h.b, p.indices, space(m=3))
        h.store(h.y, p.indices, h.do("add", a, b))
    low = numpy_dtype(bf16)
    inputs = [np.asarray([1, 1, 3], low), np.asarray([2**-9, 2**-7, np.nan], low)]
    out = result(h.kernel(), inputs, Banded((3,), bf16)).astype("f4")
    assert out[:2].tolist() == [1, 1.0078125]
    assert np.isnan(out[2])


def test_c44_scatter_add() -> None:
    h = Hand(i=View(i64, (3,), const=True), y=View(f32, (4,)))
    with h.parallel(space(p=1)) as p:
        h.update(h.y, [h.load(h.i, p.indices, space(m=3))], h.const(1))
    y = np.zeros(4, "f4")
    interp.run(h.kernel(), [np.asarray([0, 1, 1], "i8"), y])
    assert y.tolist() == [1, 2, 0, 0]


def test_c45_whole_tile_updates() -> None:
    h = Hand(y=View(i32, (3,)))
    with h.parallel(space(p=1)):
        with h.map(i32, space(m=128)) as lane:
            lane.yields(h.cast(lane.indices[0], i32))
        for cell, kind in enumerate((UpdateKind.ADD, UpdateKind.MAXIMUM, UpdateKind.MINIMUM)):
            h.update(h.y, [h.index(cell)], lane.results[0], kind)
    y = np.asarray([0, -1, 500], "i4")
    interp.run(h.kernel(), [y])
    assert y.tolist() == [8128, 127, 0]


def test_c46_integer_updates_keep_odd_numbers() -> None:
    h = Hand(v=View(i32, (4,), const=True), y=View(i32, (4,)))
    with h.parallel(space(p=1)) as p:
        with h.map(i64, space(m=4)) as lane:
            lane.yields(lane.indices[0])
        h.update(h.y, [lane.results[0]], h.load(h.v, p.indices, space(m=4)))
    y = np.full(4, 16_777_217, "i4")
    interp.run(h.kernel(), [np.arange(1, 5, dtype="i4"), y])
    assert y.tolist() == list(range(16_777_218, 16_777_222))


def test_c47_running_sum_of_one_lane_a_step() -> None:
    h = Hand(y=View(i32, (8,)))
    with h.parallel(space(p=1)), h.serial(space(k=8), h.const(0, i32)) as steps:
        with h.map(i32, space(m=8)) as lane:
            mine = h.do("eq", lane.indices[0], steps.indices[0])
            lane.yields(h.do("select", mine, h.const(1, i32), h.const(0, i32)))
        with h.scan([lane.results[0]], [steps.carries[0]], "m") as body:
            body.yields(h.do("add", *h.builder.block.args))
        last = h.extract(body.results[0], h.index(7))
        h.set(h.y, steps.indices, last)
        steps.yields(last)
    assert result(h.kernel(), [], Banded((8,), i32)).tolist() == list(range(1, 9))


def test_c48_scans_of_recurrences() -> None:
    ones = np.ones(8, "f4")
    double = scan_vector(ones, lambda h, s, x: h.do("add", h.do("mul", s, h.const(2)), x))
    assert result(double, [ones], Banded((8,))).tolist() == [1, 3, 7, 15, 31, 63, 127, 255]
    x = np.arange(1, 9, dtype="f4")
    half = scan_vector(x, lambda h, s, v: h.do("add", h.do("div", s, h.const(2)), v))
    expected = [1, 2.5, 4.25, 6.125, 8.0625, 10.03125, 12.015625, 14.0078125]
    assert result(half, [x], Banded((8,))).tolist() == expected


@pytest.mark.parametrize("n", [8, 7])
def test_c49_reverse_sums(n: int) -> None:
    x = np.arange(1, n + 1, dtype="i4")
    kernel = scan_vector(x, lambda h, s, v: h.do("add", s, v), reverse=True)
    assert result(kernel, [x], Banded((n,), i32)).tolist() == x[::-1].cumsum()[::-1].tolist()


@pytest.mark.parametrize("tile", [32, 1024])
def test_c50_scan_in_place(tile: int) -> None:
    n = 30_720 if tile == 1024 else 1920
    x = np.ones(n, "i4")
    interp.run(scan_in_place(n, tile), [x])
    assert (x == np.arange(1, n + 1)).all()


def test_c51_two_tiles_that_own_one_row_are_refused() -> None:
    h = Hand(a=View(f32, (4, 4), const=True), x=View(f32, (4,), const=True), y=View(f32, (4,)))
    with h.parallel(space(p=8)) as p:
        row = h.do("floor_div", p.indices[0], h.index(2))
        with h.reduce(space(k=4), h.const(0)) as fold:
            product = h.do("mul", h.get(h.a, row, fold.indices[0]), h.get(h.x, fold.indices[0]))
            fold.yields(h.do("add", fold.carries[0], product))
        h.set(h.y, [row], fold.results[0])
    with pytest.raises(EffectError, match=r"TW341.*programs \(p=0\) and \(p=1\) both touch y\[0\]"):
        interp.run(h.kernel(), [np.ones((4, 4), "f4"), np.ones(4, "f4"), np.zeros(4, "f4")])


@pytest.mark.parametrize("window", [0, 1, 2])
def test_c57_an_update_then_a_read_in_one_iteration(window: int) -> None:
    h = Hand(c=View(i32, (1,)), y=View(i32, (4,)))
    with h.parallel(space(p=1)), h.pipeline(space(k=4), window=window) as steps:
        h.update(h.c, [h.index(0)], h.const(1, i32))
        h.set(h.y, steps.indices, h.get(h.c, h.index(0)))
    assert result_of_four(h) == [1, 2, 3, 4]


def result_of_four(h: Hand) -> list[int]:
    y = np.zeros(4, "i4")
    interp.run(h.kernel(), [np.zeros(1, "i4"), y])
    return y.tolist()


@pytest.mark.parametrize("shape", [(5, 2, 0), (0, 2, 5), (5, 0, 2)])
def test_c75_gemm_over_nothing(shape: tuple[int, int, int]) -> None:
    M, N, K = shape
    c = result(gemm(M, K, N, 4, 4, 4), [np.zeros((M, K), "f4"), np.zeros((K, N), "f4")], Banded((M, N)))
    assert (c == np.zeros((M, N))).all()


def test_c76_sums_over_an_empty_axis() -> None:
    h = Hand(x=View(f32, (0, 7), const=True), a=View(f32, (7,)), b=View(f32, (0,)))
    with h.parallel(space(p=1)) as p:
        x = h.load(h.x, [*p.indices, *p.indices], space(m=0, n=7))
        h.store(h.a, p.indices, h.fold(x, "m", "add", 0))
        h.store(h.b, p.indices, h.fold(x, "n", "add", 0))
    a = Banded((7,))
    interp.run(h.kernel(), [np.zeros((0, 7), "f4"), a.array, np.zeros(0, "f4")])
    assert a.intact()
    assert (a.array == 0).all()


def test_c77_an_empty_domain() -> None:
    h = Hand(y=View(f32, (3,)))
    with h.parallel(space(p=0, q=4)) as p:
        h.store(h.y, [p.indices[1]], h.const(1, f32, space(m=1)))
    y = Banded((3,))
    interp.run(h.kernel(), [y.array])
    assert y.intact()
    assert np.isnan(y.array).all()


def test_c80_rows_of_a_column_major_array() -> None:
    x = np.asfortranarray((np.arange(17)[:, None] * 65 + np.arange(65)) % 5, "f4")
    h = Hand(x=View(f32, (17, 65), const=True), y=View(f32, (17,)))
    with h.parallel(space(p=17)) as p:
        tile = h.load(h.x, [p.indices[0], h.index(0)], space(m=1, n=65))
        h.store(h.y, p.indices, h.fold(tile, "n", "add", 0))
    assert (result(h.kernel(), [x], Banded((17,))) == 130).all()


def test_c81_gemm_with_a_transposed_view() -> None:
    a, b = ramps(16, 17, 20)
    c = result(gemm(16, 17, 20, 8, 8, 8), [np.ascontiguousarray(a.T).T, b], Banded((16, 20)))
    assert (c[0, 0], c[15, 19], c.sum(dtype="f8")) == (473, 525, 163_296)

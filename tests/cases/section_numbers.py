"""NaN, infinity and element types."""

import math
from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from tests.cases.bench import In, Out, Route, blocks, check, floats, ints, longs
from tests.cases.section_edges import gemm, product_of
from tests.cases.table import Tag, case
from tilewright import tile
from tilewright.tile import (
    ConstView1,
    ConstView2,
    Reducer,
    View1,
    View2,
    add,
    axis,
    bf16,
    boolean,
    cast,
    cdiv,
    coord,
    exp,
    f16,
    f32,
    float8_e4m3fn,
    i8,
    i32,
    i64,
    iota,
    isnan,
    logical_not,
    maximum,
    mma,
    parallel,
    reduce,
    scalar,
    shape,
    where,
    zeros,
)  # fmt: skip

NAN, INF = math.nan, math.inf


@tile.kernel
def two_maxima(A: ConstView1[f32], B: ConstView1[f32], P: View1[f32], Q: View1[f32]):
    e = axis("e", A.shape[0])
    for _ in parallel(shape(1)):
        a, b = A[coord(0), shape(e)], B[coord(0), shape(e)]
        P.at(coord(0), shape(e)).store(maximum(a, b))
        Q.at(coord(0), shape(e)).store(where(isnan(a), b, where(isnan(b), a, maximum(a, b))))


@case("C28", Tag.MUST, "maximum of NaN and 1 in both orders")
def c28(route: Route) -> None:
    a, b = floats([NAN, 1]), floats([1, NAN])
    answers = Out(floats([NAN, NAN])), Out(floats([1, 1]))
    check(route, two_maxima, In(a), In(b), *answers, again=lambda a, b: (np.maximum(a, b), np.fmax(a, b)))


@tile.kernel
def row_maximum(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y[0].store(reduce(X[coord(0), shape(e)], e, maximum).scalar())


@case("C29", Tag.MUST, "row maximum of NaN and of infinities")
def c29(route: Route) -> None:
    for x, y in (([NAN, INF, 1], NAN), ([-INF, -INF], -INF)):
        check(route, row_maximum, In(floats(x)), Out(floats([y])), again=lambda v: v.max(keepdims=True))


@tile.kernel
def extremum_places(X: ConstView1[f32], Y: View1[i64]):
    """By a region with two carries: the first extremum, and the first NaN before all."""
    for nest in parallel(shape(1)):
        high, low = X[0].load(), X[0].load()
        at_high, at_low = scalar(i64, 0), scalar(i64, 0)
        for step in nest.serial(shape(axis("k", X.shape[0]))):
            k = step.index()
            x = X[k].load()
            higher = ((x > high) | isnan(x)) & ~isnan(high)
            lower = ((x < low) | isnan(x)) & ~isnan(low)
            high, at_high = where(higher, x, high), where(higher, k, at_high)
            low, at_low = where(lower, x, low), where(lower, k, at_low)
        Y[0].store(at_high)
        Y[1].store(at_low)


def places(x: Any) -> Any:
    return longs([np.argmax(x), np.argmin(x)])


@case("C30", Tag.MUST, "argmax and argmin of [NaN, 6, 8]")
def c30(route: Route) -> None:
    check(route, extremum_places, In(floats([NAN, 6, 8])), Out(longs([0, 0])), again=places)


@case("C31", Tag.MUST, "the first of equal maxima")
def c31(route: Route) -> None:
    x = floats([3, 2, 2, 3, 2, 4, 3, 1, 4, 1])
    check(route, extremum_places, In(x), Out(longs([5, 7])), again=places)


@tile.kernel
def library_places(X: ConstView1[f32], Y: View1[i64]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        Y[0].store(cast(i64, tile.argmax(x, e).scalar()))
        Y[1].store(cast(i64, tile.argmin(x, e).scalar()))


@case("C30 library", Tag.MUST, "argmax and argmin of the library with NaN")
def c30_library(route: Route) -> None:
    check(route, library_places, In(floats([NAN, 6, 8])), Out(longs([0, 0])), again=places)


@case("C31 library", Tag.MUST, "argmax of the library: the first of equals")
def c31_library(route: Route) -> None:
    x = floats([3, 2, 2, 3, 2, 4, 3, 1, 4, 1])
    check(route, library_places, In(x), Out(longs([5, 7])), again=places)


@tile.kernel
def library_softmax(X: ConstView2[f32], keep: ConstView2[boolean], Y: View2[f32], *, rows: int):
    r, c = axis("r", rows), axis("c", X.shape[1])
    for nest in parallel(shape(cdiv(X.shape[0], rows))):
        here = coord(nest.index() * rows, 0)
        Y.at(here, shape(r, c)).store(tile.softmax(X[here, shape(r, c)], c, where=keep[here, shape(r, c)]))


@case("C33 where", Tag.MUST, "softmax(where=...) of the rows of C33 and of C34")
def c33_where(route: Route) -> None:
    x = floats([[0] * 5] * 3 + [[-2e5, -2e5, -199999, 0, 7]])
    keep = np.asarray([[1] * 5, [0] * 5, [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]], bool)
    answer = softmax_of(x, keep).astype("f4")
    for rows in blocks(1):
        check(route, library_softmax, In(x), In(keep), Out(answer), again=softmax_of, within=1e-6, rows=rows)


@tile.kernel
def without_nan(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        Y.at(coord(0), shape(e)).store(where(isnan(x), 0.0, x))


FAST_WITHOUT_NAN = without_nan.with_options(fast_math=True)


@case("C32", Tag.EITHER, "isnan with fast math")
def c32(route: Route) -> None:
    x = floats([1, NAN, 3])
    check(route, FAST_WITHOUT_NAN, In(x), Out(floats([1, 0, 3])), again=lambda v: np.nan_to_num(v, nan=0.0))


@tile.kernel
def masked_softmax(X: ConstView2[f32], keep: ConstView2[boolean], Y: View2[f32], *, rows: int):
    r, c = axis("r", rows), axis("c", X.shape[1])
    for nest in parallel(shape(cdiv(X.shape[0], rows))):
        here = coord(nest.index() * rows, 0)
        x = where(keep[here, shape(r, c)], X[here, shape(r, c)], -INF)
        Y.at(here, shape(r, c)).store(tile.softmax(x, c))


def softmax_of(x: Any, keep: Any) -> Any:
    """A row without any key gives zeros."""
    wide = np.where(keep, x.astype("f8"), -INF)
    top = wide.max(-1, keepdims=True)
    weights = np.where(keep, np.exp(wide - np.where(np.isinf(top), 0, top)), 0)
    sums = weights.sum(-1, keepdims=True)
    return weights / np.where(sums == 0, 1, sums)


@case("C33", Tag.MUST, "softmax of rows with none, all and four of five masked")
def c33(route: Route) -> None:
    keep = np.ones((3, 5), bool)
    keep[1], keep[2, 1:] = False, False
    x, answer = np.zeros((3, 5), "f4"), floats([[0.2] * 5, [0] * 5, [1, 0, 0, 0, 0]])
    for rows in blocks(1):
        check(route, masked_softmax, In(x), In(keep), Out(answer), again=softmax_of, within=1e-6, rows=rows)


@case("C34", Tag.MUST, "softmax of logits of -200,000 beside a masked 0")
def c34(route: Route) -> None:
    x, keep = floats([[-2e5, -2e5, -199999, 0]]), np.asarray([[True, True, True, False]])
    answer = floats([[0.211942, 0.211942, 0.576117, 0]])
    assert np.allclose(softmax_of(x, keep), answer, atol=1e-6)
    for rows in blocks(1):
        check(route, masked_softmax, In(x), In(keep), Out(answer), again=softmax_of, within=1e-6, rows=rows)


@tile.kernel
def causal(
    Q: ConstView2[f32], K: ConstView2[f32], V: ConstView2[f32], Y: View2[f32], *, rows: int, block: int, offset: int
):
    """Block by block with a running maximum; query i sees the keys up to i + offset."""
    (Sq, D), Sk = Q.shape, K.shape[0]
    q, k, d, v = axis("q", rows), axis("k", block), axis("d", D), axis("v", V.shape[1])
    for nest in parallel(shape(cdiv(Sq, rows))):
        q0 = nest.index() * rows
        query = Q[coord(q0, 0), shape(q, d)]
        top, total, out = tile.full(f32, shape(q), -1e30), zeros(f32, shape(q)), zeros(f32, shape(q, v))
        for step in nest.pipeline(shape(cdiv(Sk, block)), window=2):
            k0 = step.index() * block
            keys, values = K[coord(k0, 0), shape(k, d)], V[coord(k0, 0), shape(k, v)]
            place = iota(k) + k0
            seen = (place <= iota(q) + (q0 + offset)) & (place < Sk)
            scores = where(seen, mma(query, keys, zeros(f32, shape(q, k))), -1e30)
            peak = maximum(top, reduce(scores, k, maximum))
            weights = where(seen, exp(scores - peak), 0.0)
            fade = exp(top - peak)
            total = total * fade + reduce(weights, k, add)
            out = mma(weights, values, out * fade)
            top = peak
        Y.at(coord(q0, 0), shape(q, v)).store(out / where(total == 0.0, 1.0, total))


def counting(n: int) -> Any:
    return np.arange(n)


def causal_of(offset: int) -> Any:
    def model(q: Any, k: Any, v: Any) -> Any:
        seen = counting(k.shape[0]) <= counting(q.shape[0])[:, None] + offset
        return softmax_of(q.astype("f8") @ k.T, seen) @ v.astype("f8")

    return model


@case("C35", Tag.MUST, "causal attention with fewer and with more queries than keys")
def c35(route: Route) -> None:
    def run(sq: int, sk: int, offset: int, some: dict[int, float], sizes: Iterable[int]) -> None:
        q, k, v = np.zeros((sq, 2), "f4"), np.ones((sk, 2), "f4"), np.arange(sk, dtype="f4")[:, None]
        answer = causal_of(offset)(q, k, v)
        assert {row: answer[row, 0] for row in some} == some
        for block in sizes:
            check(
                route, causal, In(q), In(k), In(v), Out(answer.astype("f4")), again=causal_of(offset), within=1e-5,
                rows=16, block=block, offset=offset,
            )  # fmt: skip

    run(88, 448, 360, {0: 180.0, 87: 223.5}, blocks(32, route))  # aligned at the bottom right
    run(88, 448, 0, {0: 0.0, 87: 43.5}, (48,))  # at the top left
    run(6, 4, -2, {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.5, 4: 1.0, 5: 1.5}, (16, 48))


@tile.kernel
def counted(T: ConstView1[boolean], B: ConstView1[i8], N: View1[i32], M: View1[i32], P: View1[boolean]):
    t, b = axis("t", T.shape[0]), axis("b", B.shape[0])
    for _ in parallel(shape(1)):
        truths = reduce(cast(i32, T[coord(0), shape(t)]), t, add).scalar()
        N[0].store(truths)
        M[0].store(reduce(cast(i32, B[coord(0), shape(b)]), b, add).scalar())
        P[0].store(cast(boolean, truths))


@case("C36", Tag.MUST, "sums of truths and of bytes")
def c36(route: Route) -> None:
    check(
        route, counted, In(np.ones(256, bool)), In(np.ones(200, "i1")),
        Out(ints([256])), Out(ints([200])), Out(np.asarray([True])),
        again=lambda t, b: (ints([t.sum()]), ints([b.sum(dtype="i4")]), np.asarray([bool(t.sum())])),
    )  # fmt: skip


@tile.kernel
def half_sum(X: ConstView1[f16], Y: View1[f16]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y[0].store(tile.sum(X[coord(0), shape(e)], e).scalar())


@tile.kernel
def bfloat_sum(X: ConstView1[bf16], Y: View1[bf16]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y[0].store(tile.sum(X[coord(0), shape(e)], e).scalar())


@case("C37", Tag.MUST, "4096 ones of half width")
def c37(route: Route) -> None:
    for kernel, kind in ((half_sum, np.float16), (bfloat_sum, ml_dtypes.bfloat16)):
        ones = np.ones(4096, kind)
        check(route, kernel, In(ones), Out(np.asarray([4096], kind)), again=lambda x: x.astype("f8").sum(keepdims=True))


@case("C38", Tag.MUST, "a dot product that keeps every bit")
def c38(route: Route) -> None:
    a, b = np.full((1, 64), 1 + 2**-12, "f4"), np.ones((64, 1), "f4")
    for block in blocks(8):
        check(route, gemm, In(a), In(b), Out(floats([[64.015625]])), again=product_of, bm=1, bn=1, bk=block)
    a, b = np.full((16, 64), 1 + 2**-12, "f4"), np.ones((64, 16), "f4")
    answer = np.full((16, 16), 64.015625, "f4")
    check(route, gemm, In(a), In(b), Out(answer), again=product_of, bm=16, bn=16, bk=16)


@tile.kernel
def long_sum(X: ConstView1[i64], Y: View1[i64]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y[0].store(reduce(X[coord(0), shape(e)], e, add).scalar())


@case("C39", Tag.MUST, "the sum of four times 2^40")
def c39(route: Route) -> None:
    answer = longs([4_398_046_511_104])
    check(route, long_sum, In(np.full(4, 1 << 40)), Out(answer), again=lambda x: x.sum(keepdims=True))


@tile.kernel
def eight_bit_maximum(X: ConstView1[float8_e4m3fn], Y: View1[f32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y[0].store(reduce(cast(f32, X[coord(0), shape(e)]), e, maximum).scalar())


@case("C40", Tag.EITHER, "the maximum of float8", says=("float8_e4m3fn",))
def c40(route: Route) -> None:
    x = np.asarray([-3.5, -0.25, -448], ml_dtypes.float8_e4m3fn)
    check(route, eight_bit_maximum, In(x), Out(floats([-0.25])))


@tile.kernel
def negated(X: ConstView1[boolean], Y: View1[boolean]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(e)).store(logical_not(X[coord(0), shape(e)]))


@case("C41", Tag.MUST, "logical not of booleans")
def c41(route: Route) -> None:
    x = np.asarray([True, False, True])
    check(route, negated, In(x), Out(~x), again=lambda v: ~v)
    out = np.asarray([True, True, True])
    route.handle(negated, [x, out], {})([x, out])
    assert out.view("u1").tolist() == [0, 1, 0]


@tile.kernel
def bfloat_add(A: ConstView1[bf16], B: ConstView1[bf16], Y: View1[bf16]):
    e = axis("e", A.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(e)).store(A[coord(0), shape(e)] + B[coord(0), shape(e)])


@case("C42", Tag.MUST, "bfloat16 sums round once")
def c42(route: Route) -> None:
    a = np.asarray([1, 1, 3], ml_dtypes.bfloat16)
    b = np.asarray([2**-9, 2**-7, NAN], ml_dtypes.bfloat16)
    answer = np.asarray([1, 1.0078125, NAN], ml_dtypes.bfloat16)
    check(route, bfloat_add, In(a), In(b), Out(answer), again=lambda a, b: a.astype("f8") + b.astype("f8"))


def both(a: Any, b: Any) -> Any:
    return a & b


bit_and = Reducer("bit_and", both, lambda _: -1)


@tile.kernel
def anded(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        Y[0].store(reduce(X[coord(0), shape(e)], e, bit_and).scalar())


@case("C43", Tag.REFUSE, "bitwise and of floats", says=("&", "f32"))
def c43(route: Route) -> None:
    check(route, anded, In(np.ones(4, "f4")), Out(np.ones(1, "f4")))

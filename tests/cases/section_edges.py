"""Ragged edges, masks and bounds."""

import math
from itertools import product
from typing import Any

import numpy as np

from tests.cases.bench import In, Out, Raw, Route, blocks, check, floats, longs, ramps
from tests.cases.table import Tag, case
from tilewright import tile
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    add,
    axis,
    cast,
    cdiv,
    coord,
    f32,
    full,
    i32,
    i64,
    iota,
    maximum,
    mma,
    parallel,
    reduce,
    shape,
    where,
    zeros,
)  # fmt: skip


def ramp(n: int) -> Any:
    return np.arange(n, dtype="f4")


@tile.kernel
def plus(X: ConstView1[f32], Y: View1[f32], *, amount: float, block: int):
    e = axis("e", block)
    for nest in parallel(shape(cdiv(X.shape[0], block))):
        here = coord(nest.index() * block)
        Y.at(here, shape(e)).store(X[here, shape(e)] + amount)


@tile.kernel
def times(X: ConstView1[f32], Y: View1[f32], *, factor: float, block: int):
    e = axis("e", block)
    for nest in parallel(shape(cdiv(X.shape[0], block))):
        here = coord(nest.index() * block)
        Y.at(here, shape(e)).store(X[here, shape(e)] * factor)


@tile.kernel
def copy(X: ConstView1[f32], Y: View1[f32], *, block: int):
    e = axis("e", block)
    for nest in parallel(shape(cdiv(X.shape[0], block))):
        here = coord(nest.index() * block)
        Y.at(here, shape(e)).store(X[here, shape(e)])


@tile.kernel
def copy_rows(X: ConstView2[f32], Y: View2[f32], *, rows: int, columns: int):
    r, c = axis("r", rows), axis("c", columns)
    for nest in parallel(shape(cdiv(X.shape[0], rows), cdiv(X.shape[1], columns))):
        i, j = nest.coords()
        here = coord(i * rows, j * columns)
        Y.at(here, shape(r, c)).store(X[here, shape(r, c)])


@tile.kernel
def gemm(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, bm: int, bn: int, bk: int, transposed: bool = False):
    (M, K), N = A.shape, B.shape[1]
    m, n, k = axis("m", bm), axis("n", bn), axis("k", bk)
    for nest in parallel(shape(cdiv(M, bm), cdiv(N, bn))):
        i, j = nest.coords()
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(cdiv(K, bk)), window=2):
            k0 = step.index() * bk
            step.stage("load")
            a, b = A[coord(i * bm, k0), shape(m, k)], B[coord(k0, j * bn), shape(k, n)]
            step.stage("compute")
            acc = mma(a, b, acc)
        if transposed:
            C.at(coord(j * bn, i * bm), shape(n, m)).store(acc)
        else:
            C.at(coord(i * bm, j * bn), shape(m, n)).store(acc)


def product_of(a: Any, b: Any) -> Any:
    return a.astype("f8") @ b.astype("f8")


@case("C01", Tag.MUST, "a + b with a ragged end")
def c01(route: Route) -> None:
    for n, block in product((1, 15, 16, 17, 31), blocks(16)):
        check(route, plus, In(ramp(n)), Out(100 + ramp(n)), again=lambda x: x + 100, amount=100.0, block=block)


@case("C02", Tag.MUST, "tiled GEMM 1000 x 999 x 1001")
def c02(route: Route) -> None:
    a, b = ramps(1000, 999, 1001)
    c = product_of(a, b)
    assert (c[0, 0], c[999, 1000], c.sum(), c.max()) == (29951, 29998, 29_999_970_000, 30030)
    for size in (256,) if route.brief else (32, 64, 128, 16, 48):
        check(
            route, gemm, In(a), In(b), Out(c.astype("f4")), again=product_of, once=route.brief,
            bm=size, bn=size, bk=size,
        )  # fmt: skip


@case("C02 small", Tag.MUST, "tiled GEMM, every tile size, ragged three ways")
def c02_small(route: Route) -> None:
    a, b = ramps(100, 99, 101)
    for size in blocks(128):
        c = product_of(a, b).astype("f4")
        check(route, gemm, In(a), In(b), Out(c), again=product_of, bm=size, bn=size, bk=size)


@case("C03", Tag.MUST, "what follows in memory is not read")
def c03(route: Route) -> None:
    for block in blocks(128):
        memory = np.full(300, np.nan, "f4")
        memory[:100] = ramp(100)
        check(route, times, Raw(memory[:100]), Out(2 * ramp(100)), factor=2.0, block=block)
        assert np.isnan(memory[100:]).all()


@case("C04", Tag.MUST, "one element of the second tile")
def c04(route: Route) -> None:
    for block in blocks(32):
        check(route, copy, In(ramp(33)), Out(ramp(33)), again=lambda x: x, block=block)


@tile.kernel
def top(X: ConstView1[f32], Y: View1[f32], *, block: int):
    e = axis("e", block)
    for nest in parallel(shape(1)):
        best = full(f32, shape(e), -math.inf)
        for step in nest.pipeline(shape(cdiv(X.shape[0], block)), window=2):
            step.stage("load")
            x = X.at(coord(step.index() * block), shape(e)).load(fill=-math.inf)
            step.stage("fold")
            best = maximum(best, x)
        Y[0].store(reduce(best, e, maximum).scalar())


@case("C05", Tag.MUST, "a pipelined maximum filled with -inf")
def c05(route: Route) -> None:
    x = -(np.arange(131) % 50).astype("f4") - 3
    for block in blocks(32):
        check(route, top, In(x), Out(floats([-3])), again=lambda v: v.max(keepdims=True), block=block)


@tile.kernel
def total(X: ConstView1[f32], Y: View1[f32], *, block: int):
    e = axis("e", block)
    for nest in parallel(shape(1)):
        x = X.at(coord(nest.index()), shape(e)).load(fill=0.0)
        Y[nest.index()].store(reduce(x, e, add).scalar())


@case("C06", Tag.MUST, "the sum of a padded tile")
def c06(route: Route) -> None:
    for block in blocks(256):
        check(
            route,
            total,
            In(np.ones(16, "f4")),
            Out(floats([16])),
            again=lambda x: x.sum(keepdims=True),
            block=block,
        )


@tile.kernel
def live_total(X: ConstView1[f32], live: ConstView1[i64], Y: View1[f32], *, block: int):
    e = axis("e", block)
    for _ in parallel(shape(1)):
        x = X.at(coord(0), shape(e)).load(where=iota(e) < live[0].load())
        Y[0].store(reduce(x, e, add).scalar())


@case("C07", Tag.EITHER, "a masked load without a fill")
def c07(route: Route) -> None:
    for block in blocks(8):
        ones = np.ones(block, "f4")
        check(
            route, live_total, In(ones), In(longs([5])), Out(floats([5])),
            again=lambda x, n: x[: n[0]].sum(keepdims=True), block=block,
        )  # fmt: skip


@case("C08", Tag.MUST, "every second element of an array")
def c08(route: Route) -> None:
    base = ramp(10)
    for block in blocks(8):
        check(route, plus, Raw(base[0::2]), Out(floats([1, 3, 5, 7, 9])), amount=1.0, block=block)


@tile.kernel
def halves(live: ConstView1[i64], Y: View1[f32], *, block: int):
    e = axis("e", block)
    for _ in parallel(shape(1)):
        Y.update(coord(0), full(f32, shape(e), 0.5), reducer=add, where=iota(e) < live[0].load())


@case("C09", Tag.MUST, "every live lane adds to one cell")
def c09(route: Route) -> None:
    for n in range(1, 65):
        block = 1 << (n - 1).bit_length()
        check(route, halves, In(longs([n])), Out(floats([n / 2]), np.zeros(1, "f4")), block=block)


@tile.kernel
def statistics(X: ConstView2[f32], mean: View1[f32], variance: View1[f32], *, block: int):
    """Two passes over blocks that overhang; lanes outside take no part."""
    N = X.shape[1]
    one, e = axis("one", 1), axis("e", block)
    for nest in parallel(shape(X.shape[0])):
        row = nest.index()
        sums = zeros(f32, shape(one, e))
        for step in nest.serial(shape(cdiv(N, block))):
            sums = sums + X[coord(row, step.index() * block), shape(one, e)]
        centre = reduce(sums, (one, e), add).scalar() / float(N)
        squares = zeros(f32, shape(one, e))
        for step in nest.serial(shape(cdiv(N, block))):
            inside = iota(e) + step.index() * block < N
            x = where(inside, X[coord(row, step.index() * block), shape(one, e)] - centre, 0.0)
            squares = squares + x * x
        mean[row].store(centre)
        variance[row].store(reduce(squares, (one, e), add).scalar() / float(N))


@tile.kernel
def library_statistics(X: ConstView2[f32], mean: View1[f32], variance: View1[f32], *, rows: int):
    r, c = axis("r", rows), axis("c", X.shape[1])
    for nest in parallel(shape(cdiv(X.shape[0], rows))):
        x = X[coord(nest.index() * rows, 0), shape(r, c)]
        mean.at(coord(nest.index() * rows), shape(r)).store(tile.mean(x, c))
        variance.at(coord(nest.index() * rows), shape(r)).store(tile.var(x, c))


@case("C10", Tag.MUST, "LayerNorm statistics of 1537 columns")
def c10(route: Route) -> None:
    row = -2.3 + 0.5 * np.sin(0.37 * np.arange(1537))
    assert (round(row.mean(), 8), round(row.var(), 8)) == (-2.29825330, 0.12498373)
    x = np.tile(row, (3, 1)).astype("f4")

    def model(x: Any) -> tuple[Any, Any]:
        return x.astype("f8").mean(1), x.astype("f8").var(1)

    answers = [Out(each.astype("f4")) for each in model(x)]
    for block in blocks(2048):
        check(route, statistics, In(x), *answers, again=model, within=4e-6, block=block)
    for rows in (1, 2, 16):
        check(route, library_statistics, In(x), *answers, again=model, within=4e-6, rows=rows)


@tile.kernel
def scattered(idx: ConstView1[i32], v: ConstView1[f32], Y: View1[f32], *, block: int):
    n = v.shape[0]
    for nest in parallel(shape(cdiv(n, block))):
        for lane in nest.parallel(shape(axis("lane", block))):
            i = nest.index() * block + lane.index()
            inside = i < n
            Y[cast(i64, idx[i].load(where=inside))].store(v[i].load(where=inside), where=inside)


@case("C11", Tag.MUST, "out[idx[i]] = v[i]")
def c11(route: Route) -> None:
    idx, v = (7 * np.arange(20) % 40).astype("i4"), ramp(20)

    def model(idx: Any, v: Any) -> Any:
        out = np.full(40, -1, "f4")
        out[idx] = v
        return out

    answer = model(idx, v)
    assert (answer == -1).sum() == 20
    for block in blocks(32):
        check(route, scattered, In(idx), In(v), Out(answer, np.full(40, -1, "f4")), again=model, block=block)


@tile.kernel
def library_scattered(idx: ConstView1[i32], v: ConstView1[f32], Y: View1[f32], *, block: int):
    e = axis("e", block)
    for nest in parallel(shape(1)):
        for step in nest.serial(shape(cdiv(v.shape[0], block))):
            here = coord(step.index() * block)
            inside = iota(e) + step.index() * block < v.shape[0]
            tile.scatter(Y, coord(idx[here, shape(e)]), v[here, shape(e)], where=inside)


@case("C11 library", Tag.MUST, "the same by scatter")
def c11_library(route: Route) -> None:
    idx, v = (7 * np.arange(20) % 40).astype("i4"), ramp(20)
    answer = np.full(40, -1, "f4")
    answer[idx] = v
    for block in blocks(32):
        check(route, library_scattered, In(idx), In(v), Out(answer, np.full(40, -1, "f4")), block=block)


@tile.kernel
def outside(X: View1[f32], Y: View1[f32], *, origin: int, fill: float):
    e = axis("e", 4)
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(e)).store(X.at(coord(origin), shape(e)).load(fill=fill))
        X.at(coord(origin), shape(e)).store(full(f32, shape(e), 9.0))


@case("C12", Tag.MUST, "a tile at origin -2, loaded and stored")
def c12(route: Route) -> None:
    x = np.arange(1, 9, dtype="f4")
    after = floats([9, 9, 3, 4, 5, 6, 7, 8])
    check(route, outside, Out(after, x), Out(floats([0, 0, 1, 2])), origin=-2, fill=0.0)


@case("C13", Tag.MUST, "a tile wholly outside")
def c13(route: Route) -> None:
    x = ramp(10)
    check(route, outside, Out(x, x), Out(np.full(4, 5, "f4")), origin=12, fill=5.0)
    check(route, outside, Out(x, x), Out(np.full(4, -2, "f4")), origin=-4, fill=-2.0)

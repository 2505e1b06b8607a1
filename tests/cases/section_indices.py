"""Blocks, slices and index arithmetic."""

import mmap
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tests.cases.bench import In, Out, Raw, Route, blocks, check, floats, ints, longs, ramps
from tests.cases.section_edges import copy, copy_rows, gemm, product_of, ramp, times
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
    parallel,
    reduce,
    scalar,
    shape,
    u8,
)  # fmt: skip

GIB = 1 << 30


def same(x: Any) -> Any:
    return x


@case("C14", Tag.MUST, "rows of 12 bytes")
def c14(route: Route) -> None:
    for rows in (5, 7):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype("f4")
        for block in blocks(5):
            check(route, copy_rows, In(x), Out(x), again=same, rows=block, columns=3)


@case("C15", Tag.EITHER, "GEMM with a deep K tile")
def c15(route: Route) -> None:
    a, b = ramps(256, 192, 256)
    c = product_of(a, b)
    assert (c[0, 0], c[255, 255], c.sum()) == (5722, 5748, 377_479_454)
    for block in blocks(64, route):
        check(route, gemm, In(a), In(b), Out(c.astype("f4")), again=product_of, bm=64, bn=64, bk=block)


@case("C16", Tag.MUST, "GEMM stored transposed")
def c16(route: Route) -> None:
    a, b = ramps(1752, 64, 48)
    c = product_of(a, b).T
    assert (c.flat[0], c.flat[-1], c.sum()) == (1982, 1924, 161_360_444)
    for block in (128,) if route.brief else blocks(128):
        check(
            route, gemm, In(a), In(b), Out(c.astype("f4")), again=lambda a, b: product_of(a, b).T,
            bm=block, bn=48, bk=32, transposed=True,
        )  # fmt: skip


@case("C17", Tag.MUST, "copies by blocks")
def c17(route: Route) -> None:
    for n, own in ((16, 8), (24, 8), (32, 8), (384, 128)):
        for block in blocks(own):
            check(route, copy, In(ramp(n)), Out(ramp(n)), again=same, block=block)


@tile.kernel
def every_second(X: ConstView2[f32], Y: View2[f32]):
    r, c, h = axis("r", X.shape[0]), axis("c", X.shape[1]), axis("h", Y.shape[1])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(r, c)]
        Y.at(coord(0, 0), shape(r, h)).store(tile.reindex(x, shape(r, h), lambda p: coord(p.index(r), p.index(h) * 2)))


@case("C18", Tag.MUST, "x[:, ::2] of a tile")
def c18(route: Route) -> None:
    x = ramp(6).reshape(2, 3)
    check(route, every_second, In(x), Out(floats([[0, 2], [3, 5]])), again=lambda v: v[:, ::2])


@case("C18 view", Tag.MUST, "x[:, ::2] of an array")
def c18_view(route: Route) -> None:
    x = ramp(6).reshape(2, 3)
    for block in blocks(2):
        check(route, copy_rows, Raw(x[:, ::2]), Out(floats([[0, 2], [3, 5]])), rows=block, columns=2)


@tile.kernel
def split_sum(X: ConstView1[f32], Y: View1[f32], *, block: int):
    e = axis("e", block)
    for nest in parallel(shape(1)):
        whole = scalar(f32, 0.0)
        for part in nest.reduce(shape(cdiv(X.shape[0], block))):
            whole = whole + reduce(X[coord(part.index() * block), shape(e)], e, add).scalar()
        Y[0].store(whole)


@case("C19", Tag.MUST, "15 elements split by 8, a map and a sum")
def c19(route: Route) -> None:
    for block in blocks(8):
        check(route, times, In(ramp(15)), Out(2 * ramp(15)), again=lambda x: 2 * x, factor=2.0, block=block)
        check(route, split_sum, In(ramp(15)), Out(floats([105])), again=lambda x: x.sum(keepdims=True), block=block)


@tile.kernel
def unlike(X: ConstView1[f32], Y: View1[f32]):
    for _ in parallel(shape(1)):
        a, b = X[coord(0), shape(16)], X[coord(0), shape(20)]
        Y.at(coord(0), shape(16)).store(tile.where(a < b, a, b))


@case("C20", Tag.REFUSE, "a tile of 16 compared with a tile of 20", says=("16", "20"))
def c20(route: Route) -> None:
    check(route, unlike, In(ramp(20)), Out(ramp(16)))


@tile.kernel
def wrapped_rows(A: ConstView1[f32], B: ConstView1[f32], Y: View2[f32]):
    for nest in parallel(shape(axis("i", Y.shape[0]), axis("j", Y.shape[1]))):
        i, j = nest.coords()
        Y[i, j].store(A[i].load() + B[j % B.shape[0]].load())


@case("C21", Tag.MUST, "B[j mod 7] added to A[i]")
def c21(route: Route) -> None:
    a, b = 1000 * (ramp(4) + 1), ramp(7)

    def model(a: Any, b: Any) -> Any:
        return a[:, None] + b[np.arange(32) % 7]

    y = model(a, b)
    assert y[1, :9].tolist() == [2000, 2001, 2002, 2003, 2004, 2005, 2006, 2000, 2001]
    assert y.sum() == 320_360
    check(route, wrapped_rows, In(a), In(b), Out(y), again=model)


@tile.kernel
def picked(X: ConstView1[f32], idx: ConstView1[i64], Y: View1[f32]):
    e, j = axis("e", X.shape[0]), axis("j", idx.shape[0])
    for _ in parallel(shape(1)):
        x, at = X[coord(0), shape(e)], idx[coord(0), shape(j)]
        Y.at(coord(0), shape(j)).store(tile.reindex(x, shape(j), lambda p: coord(at.at(p))))


@case("C22", Tag.EITHER, "x[-1] by an index array", says=("-1", "3"))
def c22(route: Route) -> None:
    """The interpreter refuses and names index and extent; machine code gives some value, and never one from outside."""
    memory = np.full(64, np.nan, "f4")
    memory[30:33] = [10, 20, 30]
    y = np.full(3, np.nan, "f4")
    idx = longs([0, -1, 2])
    route.handle(picked, [memory[30:33], idx, y], {})([memory[30:33], idx, y])
    assert (y[0], y[2]) == (10, 30)
    assert y[1] in (0, 10, 20, 30)


DEBUGGED = picked.with_options(debug=True)


@case("C22 debug", Tag.REFUSE, "the same in debug mode", says=("axis e", "-1", "3"))
def c22_debug(route: Route) -> None:
    """(The interpreter checks always.)"""
    check(route, DEBUGGED, In(floats([10, 20, 30])), In(longs([0, -1, 2])), Out(floats([10, 0, 30])))


@tile.kernel
def gathered(X: ConstView1[f32], idx: ConstView1[i64], Y: View1[f32]):
    e, j = axis("e", X.shape[0]), axis("j", idx.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(j)).store(tile.gather(X[coord(0), shape(e)], idx[coord(0), shape(j)], e, fill=-5.0))


@case("C22 gather", Tag.MUST, "the same by gather, which fills")
def c22_gather(route: Route) -> None:
    check(route, gathered, In(floats([10, 20, 30])), In(longs([0, -1, 2])), Out(floats([10, -5, 30])))


@tile.kernel
def copy_bytes(X: ConstView2[u8], Y: View2[u8], *, rows: int):
    r, c = axis("r", rows), axis("c", X.shape[1])
    for nest in parallel(shape(cdiv(X.shape[0], rows))):
        here = coord(nest.index() * rows, 0)
        Y.at(here, shape(r, c)).store(X[here, shape(r, c)])


def mapped(size_bytes: int) -> Any:
    """Memory whose pages come into being when they are touched."""
    return np.frombuffer(mmap.mmap(-1, size_bytes), np.uint8)


@case("C23", Tag.MUST, "rows 2^30 bytes apart", large=True)
def c23(route: Route) -> None:
    memory = mapped(3 * GIB + 16)
    x = as_strided(memory, (4, 16), (GIB, 1))
    answer = np.arange(64, dtype="u1").reshape(4, 16)
    x[...] = answer
    for rows in (1, 4, *blocks(16)):
        check(route, copy_bytes, Raw(x), Out(answer), rows=rows)


@tile.kernel
def sevens(Y: View1[u8], *, block: int):
    e = axis("e", block)
    for nest in parallel(shape(cdiv(Y.shape[0], block))):
        Y.at(coord(nest.index() * block), shape(e)).store(full(u8, shape(e), 7))


@case("C24", Tag.MUST, "2^31 + 16 bytes filled", large=True, timeout_s=600)
def c24(route: Route) -> None:
    n, guard = (1 << 31) + 16, 64
    memory = mapped(n + guard)
    memory[n:] = 0x55
    y = memory[:n]
    route.handle(sevens, [y], {"block": 1 << 24})([y])
    assert (y[0], y[n // 2], y[1 << 31], y[n - 1]) == (7, 7, 7, 7)
    assert int(y[:: 1 << 12].min()) == 7
    assert (memory[n:] == 0x55).all()


@tile.kernel
def far_marks(X: ConstView1[u8], Y: View1[i32], *, step: int):
    for nest in parallel(shape(axis("i", 4))):
        i = nest.index() + 32
        Y[nest.index()].store(cast(i32, X[(i - 32) * step].load()))


@case("C25", Tag.MUST, "loads at (i - 32) * 2^26", large=True)
def c25(route: Route) -> None:
    memory = mapped((3 << 26) + 1)
    for place in range(4):
        memory[place << 26] = 10 + place
    check(route, far_marks, Raw(memory), Out(ints([10, 11, 12, 13])), step=1 << 26)
    narrow = memory[: (3 << 10) + 1].copy()
    narrow[:: 1 << 10] = [1, 2, 3, 4]
    check(route, far_marks, In(narrow), Out(ints([1, 2, 3, 4])), step=1 << 10)


@tile.kernel
def own_index(Y: View1[i32]):
    for nest in parallel(shape(axis("i", Y.shape[0]))):
        Y[nest.index()].store(cast(i32, nest.index()))


@case("C26", Tag.MUST, "70,000 programs")
def c26(route: Route) -> None:
    check(route, own_index, Out(np.arange(70_000, dtype="i4")), once=route.brief)


@tile.kernel
def divided(X: ConstView1[i32], D: ConstView1[i32], Q: View1[i32], R: View1[i32], C: View1[i32]):
    e = axis("e", X.shape[0])
    for _ in parallel(shape(1)):
        x, d = X[coord(0), shape(e)], D[coord(0), shape(e)]
        Q.at(coord(0), shape(e)).store(x // d)
        R.at(coord(0), shape(e)).store(x % d)
        C.at(coord(0), shape(e)).store(-(-x // d))


@tile.kernel
def divided_coordinates(Q: View1[i64], R: View1[i64], Y: View1[i64]):
    """The quotient as a value, and as a place: one write for each place."""
    for nest in parallel(shape(axis("i", 8))):
        i = nest.index()
        shifted = i - 3
        Q[i].store(shifted // 4)
        R[i].store(shifted % 4)
        Y[(shifted // 4 + 1) * 4 + shifted % 4].store(i)


@case("C27", Tag.MUST, "floor division and remainder of traced integers")
def c27(route: Route) -> None:
    x, d = ints([-7, 7, -36]), ints([2, -2, 5])
    answers = Out(ints([-4, -4, -8])), Out(ints([1, -1, 4])), Out(ints([-3, -3, -7]))
    check(route, divided, In(x), In(d), *answers, again=lambda x, d: (x // d, x % d, -(-x // d)))
    quotients, remainders = longs([-1, -1, -1, 0, 0, 0, 0, 1]), longs([1, 2, 3, 0, 1, 2, 3, 0])
    places = (quotients + 1) * 4 + remainders
    y = np.full(12, -1)
    y[places] = np.arange(8)
    check(route, divided_coordinates, Out(quotients), Out(remainders), Out(y, np.full(12, -1)))

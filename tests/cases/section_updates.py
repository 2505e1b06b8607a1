"""Atomic updates, races, and stores of several programs to one place."""

from typing import Any

import numpy as np

from tests.cases.bench import In, Out, Route, blocks, check, floats, ints
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
    minimum,
    parallel,
    reduce,
    scalar,
    shape,
)  # fmt: skip


@tile.kernel
def scatter_ones(idx: ConstView1[i32], Y: View1[f32], *, block: int):
    e = axis("e", block)
    for nest in parallel(shape(cdiv(idx.shape[0], block))):
        at = idx.at(coord(nest.index() * block), shape(e)).load(fill=-1)
        Y.update(coord(cast(i64, at)), full(f32, shape(e), 1.0), reducer=add)


@case("C44", Tag.MUST, "ones added to cells 0, 1, 1")
def c44(route: Route) -> None:
    def model(idx: Any) -> Any:
        return np.bincount(idx, minlength=4)

    for block in blocks(2):
        out = Out(floats([1, 2, 0, 0]), np.zeros(4, "f4"))
        check(route, scatter_ones, In(ints([0, 1, 1])), out, again=model, block=block)


@tile.kernel
def library_ones(idx: ConstView1[i32], Y: View1[f32]):
    e = axis("e", idx.shape[0])
    for _ in parallel(shape(1)):
        tile.scatter_add(Y, coord(idx[coord(0), shape(e)]), full(f32, shape(e), 1.0))


@case("C44 library", Tag.MUST, "the same by scatter_add")
def c44_library(route: Route) -> None:
    check(route, library_ones, In(ints([0, 1, 1])), Out(floats([1, 2, 0, 0]), np.zeros(4, "f4")))


@tile.kernel
def whole_tile(Y: View1[i32]):
    e = axis("e", 128)
    for _ in parallel(shape(1)):
        value = cast(i32, iota(e))
        Y.update(coord(0), value, reducer=add)
        Y.update(coord(1), value, reducer=maximum)
        Y.update(coord(2), value, reducer=minimum)


@case("C45", Tag.MUST, "128 lanes update three cells")
def c45(route: Route) -> None:
    check(route, whole_tile, Out(ints([8128, 127, 0]), ints([0, -1, 500])))


@tile.kernel
def integer_adds(X: ConstView1[i32], Y: View1[i32], *, block: int):
    e = axis("e", block)
    for nest in parallel(shape(cdiv(X.shape[0], block))):
        here = coord(nest.index() * block)
        Y.at(here, shape(e)).update(X[here, shape(e)], reducer=add)


@case("C46", Tag.MUST, "integer updates keep odd numbers above 2^24")
def c46(route: Route) -> None:
    start = np.full(4, 16_777_217, "i4")
    for block in blocks(4):
        answer = np.arange(16_777_218, 16_777_222, dtype="i4")
        check(
            route, integer_adds, In(np.arange(1, 5, dtype="i4")), Out(answer, start), again=lambda x: x + 16_777_217,
            block=block,
        )  # fmt: skip


@tile.kernel
def rows_owned_twice(A: ConstView2[f32], X: ConstView1[f32], Y: View1[f32]):
    r, c = axis("r", 1), axis("c", A.shape[1])
    for nest in parallel(shape(axis("g", 8))):
        row = nest.index() // 2
        Y.at(coord(row), shape(r)).store(reduce(A[coord(row, 0), shape(r, c)] * X[coord(0), shape(c)], c, add))


@case("C51", Tag.EITHER, "two tiles own one row")
def c51(route: Route) -> None:
    check(route, rows_owned_twice, In(np.ones((4, 4), "f4")), In(np.ones(4, "f4")), Out(np.full(4, 4, "f4")))


@tile.kernel
def one_cell(X: ConstView1[f32], Y: View1[f32]):
    for nest in parallel(shape(axis("i", X.shape[0]))):
        Y[0].store(X[nest.index()].load())


@case("C52", Tag.REFUSE, "every program stores one cell", says=("several iterations write one location",))
def c52(route: Route) -> None:
    check(route, one_cell, In(np.ones(4, "f4")), Out(np.ones(1, "f4")))


@tile.kernel
def accumulated(X: ConstView1[f32], Y: View2[f32]):
    for nest in parallel(shape(axis("i", X.shape[0]))):
        Y[0, 1].store(Y[0, 1].load() + X[nest.index()].load())


@tile.kernel
def updated(X: ConstView1[f32], Y: View2[f32]):
    for nest in parallel(shape(axis("i", X.shape[0]))):
        Y.update(coord(0, 1), X[nest.index()].load(), reducer=add)


@tile.kernel
def reduced(X: ConstView1[f32], Y: View2[f32]):
    for nest in parallel(shape(1)):
        total = scalar(f32, 0.0)
        for step in nest.reduce(shape(axis("i", X.shape[0]))):
            total = total + X[step.index()].load()
        Y[0, 1].store(total)


@case("C53", Tag.REFUSE, "y[0, 1] += x[i] in a parallel", says=("reduce", "update"))
def c53(route: Route) -> None:
    check(route, accumulated, In(np.arange(10, dtype="f4")), Out(floats([[0, 45]]), np.zeros((1, 2), "f4")))


@case("C53 declared", Tag.MUST, "the same as an update and as a reduce")
def c53_declared(route: Route) -> None:
    for kernel in (updated, reduced):
        out = Out(floats([[0, 45]]), np.zeros((1, 2), "f4"))
        check(route, kernel, In(np.arange(10, dtype="f4")), out, again=lambda x: floats([[0, x.sum()]]))


@tile.kernel
def counted_up(C: View1[i32], Y: View1[i32], *, window: int):
    for nest in parallel(shape(1)):
        for step in nest.pipeline(shape(4), window=window or None):
            C.update(coord(0), 1, reducer=add)
            Y[step.index()].store(C[0].load())


@case("C57", Tag.MUST, "an update and a read in each step of a pipeline")
def c57(route: Route) -> None:
    for window in (0, 1, 2):
        check(route, counted_up, Out(ints([4]), ints([0])), Out(ints([1, 2, 3, 4])), window=window)

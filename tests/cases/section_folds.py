"""Reductions, scans, carries and local tiles."""

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
    i32,
    iota,
    parallel,
    reduce,
    reducer,
    scalar,
    scan,
    shape,
    where,
    zeros,
)  # fmt: skip


@tile.kernel
def running_total(Y: View1[i32]):
    e = axis("e", 8)
    for nest in parallel(shape(1)):
        total = scalar(i32, 0)
        for step in nest.serial(shape(8)):
            mine = cast(i32, iota(e) == step.index())
            total = total + scan(mine, e, add).at(coord(7))
            Y[step.index()].store(total)


@case("C47", Tag.MUST, "a running sum of one masked lane a step")
def c47(route: Route) -> None:
    check(route, running_total, Out(np.arange(1, 9, dtype="i4")))


affine = reducer(  # x -> a x + b, first f and then g
    state=(f32, f32), identity=(1, 0), merge=lambda f, g: (g[0] * f[0], g[0] * f[1] + g[1]), commutative=False
)  # fmt: skip


@tile.kernel
def recurrences(A: ConstView1[f32], X: ConstView2[f32], H: View2[f32]):
    """h = a h + x along each row, from 0."""
    r, e = axis("r", X.shape[0]), axis("e", X.shape[1])
    for _ in parallel(shape(1)):
        maps = A[coord(0), shape(r)], X[coord(0, 0), shape(r, e)]
        _, h = scan(maps, e, affine, policy=tile.ordered_tree)
        H.at(coord(0, 0), shape(r, e)).store(h)


def recurrences_of(a: Any, x: Any) -> Any:
    h = np.zeros_like(x)
    for place in range(x.shape[1]):
        h[:, place] = a * (h[:, place - 1] if place else 0) + x[:, place]
    return h


@case("C48", Tag.MUST, "scans of x -> 2x + 1 and h -> h/2 + x")
def c48(route: Route) -> None:
    h = floats([[1, 3, 7, 15, 31, 63, 127, 255], [1, 2.5, 4.25, 6.125, 8.0625, 10.03125, 12.015625, 14.0078125]])
    x = np.stack([np.ones(8, "f4"), np.arange(1, 9, dtype="f4")])
    check(route, recurrences, In(floats([2, 0.5])), In(x), Out(h), again=recurrences_of)


@tile.kernel
def reverse_sums(X: ConstView1[i32], Y: View1[i32], *, block: int):
    """From the last block to the first; what came before is carried."""
    n, e = X.shape[0], axis("e", block)
    count = cdiv(n, block)
    for nest in parallel(shape(1)):
        carried = scalar(i32, 0)
        for step in nest.serial(shape(count)):
            here = coord((count - 1 - step.index()) * block)
            sums = scan(X[here, shape(e)], e, add, reverse=True) + carried
            Y.at(here, shape(e)).store(sums)
            carried = sums.at(coord(0))


@case("C49", Tag.MUST, "inclusive sums from the end")
def c49(route: Route) -> None:
    answers = {8: [36, 35, 33, 30, 26, 21, 15, 8], 7: [28, 27, 25, 22, 18, 13, 7]}
    for n, answer in answers.items():
        x = np.arange(1, n + 1, dtype="i4")
        for block in blocks(4):
            check(route, reverse_sums, In(x), Out(ints(answer)), again=lambda v: v[::-1].cumsum()[::-1], block=block)


@tile.kernel
def sums_in_place(X: View1[i32], *, block: int):
    e = axis("e", block)
    for nest in parallel(shape(1)):
        carried = scalar(i32, 0)
        for step in nest.serial(shape(cdiv(X.shape[0], block))):
            here = coord(step.index() * block)
            sums = scan(X[here, shape(e)], e, add) + carried
            X.at(here, shape(e)).store(sums)
            carried = sums.at(coord(block - 1))


@case("C50", Tag.MUST, "inclusive sums in place of 30,720 ones, ten times")
def c50(route: Route) -> None:
    n = 30_720
    for block in (1024,) if route.brief else (32, 16, 48, 64, 128, 256, 512, 1024):
        for _ in range(1 if route.brief else 5):  # two launches each
            out = Out(np.arange(1, n + 1, dtype="i4"), np.ones(n, "i4"))
            check(route, sums_in_place, out, once=route.brief, block=block)


@case("C50 small", Tag.MUST, "inclusive sums in place, every tile size")
def c50_small(route: Route) -> None:
    for block in blocks(128):
        check(route, sums_in_place, Out(np.arange(1, 301, dtype="i4"), np.ones(300, "i4")), block=block)


@tile.kernel
def counted(X: ConstView1[f32], Y: View1[i32]):
    for nest in parallel(shape(1)):
        count = scalar(i32, 0)
        for step in nest.reduce(shape(X.shape[0])):
            count = count + cast(i32, X[step.index()].load() > 0.0)
        Y[0].store(count)


@case("C54", Tag.MUST, "a count under a condition")
def c54(route: Route) -> None:
    check(route, counted, In(np.ones(10, "f4")), Out(ints([10])), again=lambda x: (x > 0).sum(keepdims=True))


@tile.kernel
def sum_from_five(X: ConstView1[i32], Y: View1[i32]):
    for nest in parallel(shape(1)):
        total = scalar(i32, 5)
        for step in nest.reduce(shape(X.shape[0])):
            total = total + X[step.index()].load()
        Y[0].store(total)


@tile.kernel
def tiles_from_five(X: ConstView1[f32], Y: View1[f32], *, block: int):
    e = axis("e", block)
    for nest in parallel(shape(1)):
        total = scalar(f32, 5.0)
        for step in nest.reduce(shape(cdiv(X.shape[0], block))):
            total = total + reduce(X[coord(step.index() * block), shape(e)], e, add).scalar()
        Y[0].store(total)


@case("C55", Tag.MUST, "a sum that starts at 5")
def c55(route: Route) -> None:
    x = np.arange(1, 11, dtype="i4")
    check(route, sum_from_five, In(x), Out(ints([60])), again=lambda v: v.sum(keepdims=True) + 5)
    for block in blocks(4):
        check(
            route, tiles_from_five, In(x.astype("f4")), Out(floats([60])),
            again=lambda v: v.sum(keepdims=True) + 5, block=block,
        )  # fmt: skip


@tile.kernel
def halved_by_a_parallel(Y: View1[i32]):
    for nest in parallel(shape(1)):
        acc = scalar(i32, 1024)
        for _ in nest.parallel(shape(5)):
            acc = acc // 2
        Y[0].store(acc)


@tile.kernel
def halved(Y: View1[i32], *, start: int):
    for nest in parallel(shape(1)):
        acc = scalar(i32, start)
        for _ in nest.serial(shape(5)):
            acc = acc // 2
        Y[0].store(acc)


@case("C56", Tag.REFUSE, "a value carried by a parallel", says=("acc", "parallel"))
def c56(route: Route) -> None:
    check(route, halved_by_a_parallel, Out(ints([32])))


@case("C56 serial", Tag.MUST, "the same carried by a serial")
def c56_serial(route: Route) -> None:
    check(route, halved, Out(ints([32])), start=1024)
    check(route, halved, Out(ints([-32])), start=-1023)


@tile.kernel
def filled_by_rows(Y: View2[f32]):
    r, c = axis("r", 16), axis("c", 16)
    for nest in parallel(shape(1)):
        local = zeros(f32, shape(r, c))
        for step in nest.serial(shape(16)):
            local = where(iota(r) == step.index(), cast(f32, iota(c) + 16 * step.index()), local)
        Y.at(coord(0, 0), shape(r, c)).store(local)


@case("C58", Tag.MUST, "a local tile filled row by row")
def c58(route: Route) -> None:
    check(route, filled_by_rows, Out(np.arange(256, dtype="f4").reshape(16, 16)))


@tile.kernel
def counted_if(X: ConstView1[f32], Y: View1[i32]):
    for nest in parallel(shape(1)):
        count = scalar(i32, 0)
        for step in nest.reduce(shape(X.shape[0])):
            if X[step.index()].load() > 0.0:
                count += 1
        Y[0].store(count)


@case("C54 if", Tag.MUST, "a count under an if")
def c54_if(route: Route) -> None:
    check(route, counted_if, In(np.ones(10, "f4")), Out(ints([10])), again=lambda x: (x > 0).sum(keepdims=True))

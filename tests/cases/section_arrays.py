"""Arrays without elements, and arrays of others."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tests.cases.bench import In, Interpreter, Out, Raw, Route, blocks, check, floats, ramps
from tests.cases.section_edges import gemm, plus, product_of, ramp
from tests.cases.table import Tag, case
from tilewright import tile
from tilewright.tile import (
    ConstView2,
    View1,
    View2,
    add,
    axis,
    cdiv,
    coord,
    f32,
    full,
    maximum,
    parallel,
    reduce,
    shape,
)  # fmt: skip


class Foreign:
    """What another library hands over: an object with DLPack and nothing else."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def foreign(route: Route, array: Any) -> Raw:
    """The array through DLPack where the route takes such objects; the interpreter works on NumPy arrays."""
    return Raw(array if isinstance(route, Interpreter) else Foreign(array))


@case("C75", Tag.MUST, "GEMM over nothing")
def c75(route: Route) -> None:
    for M, N, K in ((5, 2, 0), (0, 2, 5), (5, 0, 2)):
        a, b = np.ones((M, K), "f4"), np.ones((K, N), "f4")
        for block in blocks(4) if K == 0 else (4, 48):
            check(route, gemm, In(a), In(b), Out(np.zeros((M, N), "f4")), bm=block, bn=block, bk=block)


@tile.kernel
def column_and_row_sums(X: ConstView2[f32], columns: View1[f32], rows: View1[f32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(m, n)]
        columns.at(coord(0), shape(n)).store(reduce(x, m, add))
        rows.at(coord(0), shape(m)).store(reduce(x, n, add))


@tile.kernel
def column_maxima(X: ConstView2[f32], columns: View1[f32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        columns.at(coord(0), shape(n)).store(reduce(X[coord(0, 0), shape(m, n)], m, maximum))


@case("C76", Tag.MUST, "sums of a 0 x 7 array")
def c76(route: Route) -> None:
    check(route, column_and_row_sums, In(np.zeros((0, 7), "f4")), Out(np.zeros(7, "f4")), Out(np.zeros(0, "f4")))


@case("C76 maximum", Tag.REFUSE, "the maximum over an empty axis", says=("maximum",))
def c76_maximum(route: Route) -> None:
    check(route, column_maxima, In(np.zeros((0, 7), "f4")), Out(np.zeros(7, "f4")))


@tile.kernel
def ones_for_each(Y: View2[f32], *, programs: int):
    e, one = axis("e", 3), axis("one", 1)
    for nest in parallel(shape(axis("p", programs), axis("q", 4))):
        _, j = nest.coords()
        Y.at(coord(j, 0), shape(one, e)).store(full(f32, shape(one, e), 1.0))


@case("C77", Tag.MUST, "an empty parallel domain")
def c77(route: Route) -> None:
    start = np.full((4, 3), -5, "f4")
    check(route, ones_for_each, Out(start, start), programs=0)
    check(route, ones_for_each, Out(np.ones((4, 3), "f4"), start), programs=1)


@tile.kernel
def plus_rows(X: ConstView2[f32], Y: View2[f32], *, columns: int):
    r, c = axis("r", 3), axis("c", columns)
    for nest in parallel(shape(cdiv(X.shape[0], 3), cdiv(X.shape[1], columns))):
        i, j = nest.coords()
        here = coord(i * 3, j * columns)
        Y.at(here, shape(r, c)).store(X[here, shape(r, c)] + 1.0)


@case("C78", Tag.EITHER, "every second element through DLPack")
def c78(route: Route) -> None:
    for block in blocks(8):
        x = foreign(route, ramp(10)[::2])
        check(route, plus, x, Out(floats([1, 3, 5, 7, 9])), amount=1.0, block=block)


@case("C78 broadcast", Tag.EITHER, "a row broadcast to 3 x 4 through DLPack")
def c78_broadcast(route: Route) -> None:
    x = as_strided(ramp(4), (3, 4), (0, 4))
    answer = np.tile(ramp(4) + 1, (3, 1))
    for columns in blocks(4):
        check(route, plus_rows, foreign(route, x), Out(answer), columns=columns)


@case("C78 output", Tag.REFUSE, "an output whose rows are one row")
def c78_output(route: Route) -> None:
    x, y = np.zeros((3, 4), "f4"), np.zeros(4, "f4")
    folded = as_strided(y, (3, 4), (0, 4))
    try:
        check(route, plus_rows, Raw(x), Raw(folded), columns=4)
    finally:
        assert (y == 0).all(), "something was written before the refusal"


@case("C79", Tag.MUST, "x[3:] through DLPack")
def c79(route: Route) -> None:
    for block in blocks(8):
        x = foreign(route, ramp(10)[3:])
        check(route, plus, x, Out(np.arange(4, 11, dtype="f4")), amount=1.0, block=block)


@tile.kernel
def row_sums(X: ConstView2[f32], Y: View1[f32], *, rows: int):
    r, c = axis("r", rows), axis("c", X.shape[1])
    for nest in parallel(shape(cdiv(X.shape[0], rows))):
        here = nest.index() * rows
        Y.at(coord(here), shape(r)).store(reduce(X[coord(here, 0), shape(r, c)], c, add))


@case("C80", Tag.MUST, "row sums of a column-major array")
def c80(route: Route) -> None:
    x = np.asfortranarray((np.arange(17)[:, None] * 65 + np.arange(65)) % 5, "f4")
    for rows in blocks(4):
        check(route, row_sums, Raw(x), Out(np.full(17, 130, "f4")), rows=rows)
        check(route, row_sums, In(np.ascontiguousarray(x)), Out(np.full(17, 130, "f4")), rows=rows)


@case("C81", Tag.MUST, "GEMM with a transposed view")
def c81(route: Route) -> None:
    a, b = ramps(16, 17, 20)
    c = product_of(a, b)
    assert (c[0, 0], c[15, 19], c.sum()) == (473, 525, 163_296)
    for block in blocks(8):
        view = np.ascontiguousarray(a.T).T
        check(route, gemm, Raw(view), In(b), Out(c.astype("f4")), bm=block, bn=block, bk=block)

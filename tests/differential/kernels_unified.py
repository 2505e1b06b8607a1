"""Sweeps over the same elements under axes of their own."""

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    View2,
    axis,
    cdiv,
    coord,
    f32,
    full,
    maximum,
    parallel,
    reduce,
    shape,
    sqrt,
    tensor_shape,
    transpose,
)

__all__ = ["KERNELS", "made"]


@tile.kernel
def sweeps(X: View2[f32], Y: View2[f32], *, case: str = ""):
    """How far every element lies below the largest of its row, as a share of the largest distance: three sweeps."""
    rows, columns = X.shape
    r, s = axis("r", 2), axis("s", 2)
    c, d, e = axis("c", columns), axis("d", columns), axis("e", columns)
    for nest in parallel(shape(axis("g", cdiv(rows, 2)))):
        here = coord(nest.index() * 2, 0)
        first = X[here, shape(r, c)]
        top = reduce(first, c, maximum)
        if case == "written between":
            Y.at(here, shape(r, c)).store(first)
        second = X.at(coord(nest.index() * 2, 1) if case == "elsewhere" else here, shape(r, d)).load()
        worst = reduce(top - second, d, maximum)
        if case == "brought together":
            worst = worst + reduce(reduce(first * second, c, maximum), d, maximum)
        if case == "a loop along one":
            for _ in nest.serial(shape(d)):
                worst = worst + 1.0
        if case == "more axes":
            third = X[here, shape(s, e)]
            Y.at(here, shape(s, e)).store(third / reduce(third, e, maximum))
        else:
            (X if case == "in place" else Y).at(here, shape(r, e)).store((top - X[here, shape(r, e)]) / worst)


@tile.kernel
def turned(X: View2[f32], Y: View2[f32]):
    c, d = axis("c", X.shape[0]), axis("d", X.shape[0])
    for _ in parallel(shape(axis("g", 1))):
        first, second = X[coord(0, 0), shape(c, d)], X[coord(0, 0), shape(d, c)]
        Y.at(coord(0, 0), shape(c, d)).store(first + transpose(second, d, c))


@tile.kernel
def roots_in_loops(X: View2[f32], Y: View2[f32]):
    rows, columns = X.shape
    r, c, d, e = axis("r", 2), axis("c", 4), axis("d", 4), axis("e", columns)
    s, t = axis("s", cdiv(columns, 4)), axis("t", cdiv(columns, 4))
    for nest in parallel(shape(axis("g", cdiv(rows, 2)))):
        row, top = nest.index() * 2, full(f32, shape(r), float("-inf"))
        for step in nest.reduce(shape(s)):
            top = maximum(top, reduce(X[coord(row, step.index() * 4), shape(r, c)], c, maximum))
        widest = full(f32, shape(r), 0.0)
        for step in nest.reduce(shape(t)):
            at = coord(row, step.index() * 4)
            widest = maximum(widest, reduce(sqrt(top - X[at, shape(r, d)]), d, maximum))
        Y.at(coord(row, 0), shape(r, e)).store(sqrt(top - X[coord(row, 0), shape(r, e)]) / widest)


CASES = ("", "written between", "elsewhere", "brought together", "a loop along one", "more axes", "in place")


def made(case: str = "", rows: int = 5, columns: int = 19) -> Kernel:
    return sweeps.capture(tensor_shape(rows, columns), tensor_shape(rows, columns), case=case)


KERNELS: dict[str, Kernel] = {
    **{f"three sweeps, {case or 'plain'}": made(case) for case in CASES},
    **{f"three sweeps of {rows} by {columns}": made("", rows, columns) for rows, columns in ((1, 1), (0, 3), (3, 2))},
    "a tile and its transpose": turned.capture(tensor_shape(5, 5), tensor_shape(5, 5)),
    "roots in loops": roots_in_loops.capture(tensor_shape(5, 16), tensor_shape(5, 16)),
}

"""Kernels that place data by hand, in layouts of every kind."""

from collections.abc import Callable, Mapping

from tilewright import tile
from tilewright.tile import (
    Axis,
    ConstView1,
    ConstView2,
    Layout,
    Shape,
    Tile,
    View1,
    View2,
    axis,
    blocked,
    cdiv,
    coord,
    f32,
    layout,
    maximum,
    memory,
    mma,
    padded,
    parallel,
    permuted,
    shape,
    swizzled,
    zeros,
)

__all__ = [
    "LAYOUTS", "crosswise", "empty", "incremented", "laid_out", "mirrored", "overwritten", "resourced",
    "staged_product", "unprovable", "zero_division",
]  # fmt: skip

Making = Callable[[Shape], Layout | Shape]


def shifted(space: Shape) -> Layout:
    """Each coordinate through a shift to the left and back, and a mask that keeps it."""
    return layout(space, lambda i, j: (((i << 40) >> 40) & 0xFFFF, ((j << 40) >> 40) & 0xFFFF))


def divided(space: Shape) -> Layout:
    """The column split into quotient and remainder by 3, remainders outermost: decided by looking at all points."""
    split = cdiv(space.extents[1], 3)
    return layout(space, lambda i, j: (i * 3 + j % 3) * split + j // 3)


LAYOUTS: Mapping[str, Making] = {
    "none": lambda space: space,
    "padded": lambda space: padded(space, 3),
    "turned": lambda space: permuted(space, *reversed(space.axes)),
    "swizzled": lambda space: padded(swizzled(space), 1),
    "shifted": shifted,
    "divided": divided,
    "blocked": lambda space: blocked(space, 2, 3),
}
"""Storage of 9 rows by name; a swizzle is checked over GF(2)."""


@tile.kernel
def crosswise(X: ConstView2[f32], Y: View2[f32], *, trips: int):
    """Two buffers that are exchanged; a load from before the loop keeps what it saw."""
    n = axis("n", X.shape[1])
    r = axis("r", 1)
    for nest in parallel(shape(X.shape[0])):
        at = coord(nest.index(), 0)
        first, second = memory(f32, shape(r, n)), memory(f32, shape(r, n), "private")
        first.store(X[at, shape(r, n)])
        second.store(X[at, shape(r, n)] * 2.0)
        before = first.load()
        for step in nest.pipeline(shape(axis("t", trips)), window=2):
            kept = first.load()
            for _ in step.serial(shape(axis("s", 2))):
                first.store(second.load() + 1.0)
            second.store(kept + before)
        Y.at(at, shape(r, n)).store(first.load() + second.load() * 3.0 + before)


@tile.kernel
def mirrored(X: ConstView2[f32], Y: View2[f32], *, step: int):
    """Children read their ancestor's buffer in reverse, each through a cell of its own."""
    (rows, columns) = X.shape
    r, n = axis("r", 1), axis("n", columns)
    one = axis("one", 1)
    for nest in parallel(shape(rows)):
        row = memory(f32, layout(shape(r, n), strides=(step * columns, step)), "private")
        row.store(X[coord(nest.index(), 0), shape(r, n)])
        for child in nest.parallel(shape(axis("c", columns))):
            cell = memory(f32, layout(shape(one), lambda _: 0), "private")
            cell.store(zeros(f32, shape(one)) + row.load().at(coord(0, columns - 1 - child.index())))
            for _ in child.serial(shape(axis("t", 3))):
                temporary = memory(f32, shape(one))
                temporary.store(cell.load() + 1.0)
                cell.store(temporary.load())
            Y[nest.index(), child.index()].store(cell.load().at(coord(0)))


@tile.kernel
def staged_product(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, b: int = 8):
    """Both operands go through buffers with padded strides."""
    (M, K), N = A.shape, B.shape[1]
    gm, gn, gk = axis("gm", cdiv(M, b)), axis("gn", cdiv(N, b)), axis("gk", cdiv(K, b))
    m, n, k = axis("m", b), axis("n", b), axis("k", b)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * b, nest.index(gn) * b
        left = memory(f32, padded(shape(m, k), 1), "private")
        right = memory(f32, layout(shape(k, n), strides=(1, b + 2)))
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            left.store(A[coord(m0, step.index() * b), shape(m, k)])
            right.store(B[coord(step.index() * b, n0), shape(k, n)])
            acc = mma(left.load(), right.load(), acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def incremented(X: ConstView2[f32], Y: View2[f32], *, making: Making = lambda space: space):
    """3x + 3: a buffer of one row, tripled and incremented in a fold."""
    r, n = axis("r", 1), axis("n", X.shape[1])
    for nest in parallel(shape(X.shape[0])):
        at = coord(nest.index(), 0)
        scratch = memory(f32, making(shape(r, n)), "private")
        scratch.store(X[at, shape(r, n)] * 3.0)
        for _ in nest.reduce(shape(axis("t", 3)), policy="ordered_tree"):
            scratch.store(scratch.load() + 1.0)
        Y.at(at, shape(r, n)).store(scratch.load())


def mirrored_rows(t: Tile, r: Axis, n: Axis) -> Tile:
    """The rows in reverse, read element by element."""
    return tile.map(f32, shape(r, n), lambda p: t.at(coord(r.extent - 1 - p.index(r), p.index(n))))


@tile.kernel
def laid_out(X: ConstView2[f32], Y: View2[f32], *, making: Making):
    """3x + 6 through a buffer with a layout: stored, read in place, overwritten by itself, read from elsewhere."""
    rows, columns = X.shape
    r, n = axis("r", rows), axis("n", columns)
    for _ in parallel(shape(1)):
        scratch = memory(f32, making(shape(r, n)))
        scratch.store(X[coord(0, 0), shape(r, n)])
        scratch.store(scratch.load() * 3.0)
        scratch.store(mirrored_rows(scratch.load(), r, n) + 6.0)
        Y.at(coord(0, 0), shape(r, n)).store(mirrored_rows(scratch.load(), r, n))


@tile.kernel
def overwritten(X: ConstView2[f32], Y: View2[f32]):
    """A quotient of the first contents, folded after the second ones were stored, then read again."""
    r, n = axis("r", 4), axis("n", X.shape[1])
    for nest in parallel(shape(cdiv(X.shape[0], 4))):
        at = coord(nest.index() * 4, 0)
        scratch = memory(f32, shape(r, n))
        scratch.store(X[at, shape(r, n)])
        quotient = scratch.load() / 3.0
        scratch.store(zeros(f32, shape(r, n)) + 5.0)
        Y.at(at, shape(r, n)).store(quotient - tile.reduce(quotient, n, maximum) + scratch.load())


def zero_division(space: Shape) -> Layout:
    return layout(space, lambda i: i // (i - i))


@tile.kernel
def empty(X: ConstView1[f32], Y: View1[f32]):
    """Nothing is in the buffer, so nothing of its layout may be evaluated."""
    n = axis("n", X.shape[0])
    for _ in parallel(shape(2)):
        scratch = memory(f32, zero_division(shape(n)))
        scratch.store(X[coord(0), shape(n)] + 1.0)
        Y.at(coord(0), shape(n)).store(scratch.load())


def thinned(space: Shape) -> Layout:
    """Every fourth cell stays empty: what neither an affine form nor one over bits decides."""
    return layout(space, lambda i: i + i // 3, extents=2 * space.extents[0])


@tile.kernel
def unprovable(Y: View1[f32]):
    n = axis("n", Y.shape[0])
    for _ in parallel(shape(1)):
        scratch = memory(f32, thinned(shape(n)))
        scratch.store(zeros(f32, shape(n)))
        Y.at(coord(0), shape(n)).store(scratch.load())


@tile.kernel
def resourced(X: ConstView1[f32], Y: View1[f32], *, programs: int, resource: str, scope: str | None):
    n = axis("n", X.shape[0])
    for _ in parallel(shape(axis("g", programs)), scope=scope):
        scratch = memory(f32, shape(n), resource)
        scratch.store(X[coord(0), shape(n)])
        Y.at(coord(0), shape(n)).store(scratch.load())

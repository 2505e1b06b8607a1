"""Kernels that place data by hand, and layouts for them that no stride describes."""

from collections.abc import Callable, Mapping

from tilewright import tile
from tilewright.ir.index_expr import coordinate
from tilewright.ir.index_map import IndexMap, compose, permute, strided
from tilewright.ir.types import AxisAttr, SpaceAttr
from tilewright.lang.context import current
from tilewright.lang.memory import Layout
from tilewright.lang.spaces import Axis, Shape
from tilewright.tile import (
    ConstView1,
    ConstView2,
    Tile,
    View1,
    View2,
    axis,
    cdiv,
    coord,
    f32,
    layout,
    maximum,
    memory,
    mma,
    parallel,
    shape,
    zeros,
)

__all__ = [
    "LAYOUTS", "crosswise", "empty", "incremented", "laid_out", "mirrored", "overwritten", "resourced",
    "staged_product", "unprovable", "zero_division",
]  # fmt: skip

Making = Callable[[Shape], Layout | Shape]


def padded(space: Shape) -> Layout:
    """Rows three cells longer than their elements."""
    rows, columns = space.space.extents
    return layout(space, strides=(columns + 3, 1)) if rows else layout(space, strides=(1, 1))


def turned(space: Shape) -> Layout:
    """Columns first, in storage of two axes."""
    return Layout(space, permute(space.space, tuple(reversed(space.space.dims))))


def swizzled(space: Shape) -> Layout:
    """The column XOR the row, in rows padded to a power of two: Gray-like, and checked over GF(2)."""
    rows, columns = space.space.dims
    width = 1 << max(space.space.extents[1] - 1, space.space.extents[0] - 1, 1).bit_length()
    cells = SpaceAttr.of([AxisAttr.of(rows, space.space.extents[0]), AxisAttr.of(columns, width)])
    inner = IndexMap(space.space, cells, (coordinate(rows), coordinate(columns) ^ coordinate(rows)))
    storage = current("a layout").fresh_dim("storage")
    return Layout(space, compose(strided(cells, storage, (width + 1, 1)), inner))


def shifted(space: Shape) -> Layout:
    """Each coordinate through a shift to the left and back, and a mask that keeps it."""
    outputs = tuple(((coordinate(dim) << 40) >> 40) & 0xFFFF for dim in space.space.dims)
    return Layout(space, IndexMap(space.space, space.space, outputs))


def divided(space: Shape) -> Layout:
    """The column split into quotient and remainder by 3, remainders outermost: decided by looking at all points."""
    rows, columns = space.space.dims
    count, width = space.space.extents
    storage = current("a layout").fresh_dim("storage")
    split = -(-width // 3)
    cells = SpaceAttr.of([AxisAttr.of(storage, max(count * 3 * split, 1))])
    column = coordinate(columns)
    return Layout(space, IndexMap(space.space, cells, ((coordinate(rows) * 3 + column % 3) * split + column // 3,)))


LAYOUTS: Mapping[str, Making] = {
    "none": lambda space: space,
    "padded": padded,
    "turned": turned,
    "swizzled": swizzled,
    "shifted": shifted,
    "divided": divided,
}


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
        row = memory(f32, layout(shape(r, n), strides=(step * columns, step)))
        row.store(X[coord(nest.index(), 0), shape(r, n)])
        for child in nest.parallel(shape(axis("c", columns))):
            cell = memory(f32, layout(shape(one), strides=(0,)))
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
        left = memory(f32, layout(shape(m, k), strides=(b + 1, 1)), "private")
        right = memory(f32, layout(shape(k, n), strides=(1, b + 2)))
        acc = zeros(f32, shape(m, n))
        for step in nest.pipeline(shape(gk), window=2):
            left.store(A[coord(m0, step.index() * b), shape(m, k)])
            right.store(B[coord(step.index() * b, n0), shape(k, n)])
            acc = mma(left.load(), right.load(), acc)
        C.at(coord(m0, n0), shape(m, n)).store(acc)


@tile.kernel
def incremented(X: ConstView2[f32], Y: View2[f32]):
    """3x + 3: a buffer tripled and incremented in a fold."""
    r, n = axis("r", 1), axis("n", X.shape[1])
    for nest in parallel(shape(X.shape[0])):
        at = coord(nest.index(), 0)
        scratch = memory(f32, shape(r, n), "private")
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
    (dim,) = space.space.dims
    outputs = (coordinate(dim) // (coordinate(dim) - coordinate(dim)),)
    return Layout(space, IndexMap(space.space, space.space, outputs))


@tile.kernel
def empty(X: ConstView1[f32], Y: View1[f32]):
    """Nothing is in the buffer, so nothing of its layout may be evaluated."""
    n = axis("n", X.shape[0])
    for _ in parallel(shape(2)):
        scratch = memory(f32, zero_division(shape(n)))
        scratch.store(X[coord(0), shape(n)] + 1.0)
        Y.at(coord(0), shape(n)).store(scratch.load())


def halved(space: Shape) -> Layout:
    """Injective, but neither affine nor linear in bits."""
    (dim,) = space.space.dims
    storage = current("a layout").fresh_dim("storage")
    cells = SpaceAttr.of([AxisAttr.of(storage, 2 * space.space.volume)])
    return Layout(space, IndexMap(space.space, cells, (coordinate(dim) + coordinate(dim) // 3,)))


@tile.kernel
def unprovable(Y: View1[f32]):
    n = axis("n", Y.shape[0])
    for _ in parallel(shape(1)):
        scratch = memory(f32, halved(shape(n)))
        scratch.store(zeros(f32, shape(n)))
        Y.at(coord(0), shape(n)).store(scratch.load())


@tile.kernel
def resourced(X: ConstView1[f32], Y: View1[f32], *, programs: int, resource: str):
    n = axis("n", X.shape[0])
    for _ in parallel(shape(axis("g", programs))):
        scratch = memory(f32, shape(n), resource)
        scratch.store(X[coord(0), shape(n)])
        Y.at(coord(0), shape(n)).store(scratch.load())

"""Programs, guards and lanes that meet at odd places: ragged roots, integers that wrap, empty extents."""

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    ConstView3,
    View1,
    View2,
    View3,
    add,
    axis,
    boolean,
    cast,
    cdiv,
    coord,
    f32,
    f64,
    full,
    i32,
    i64,
    iota,
    ite,
    maximum,
    minimum,
    parallel,
    shape,
    tensor_shape,
    u32,
)

__all__ = ["KERNELS"]

KERNELS: dict[str, Kernel] = {}
LAST = (1 << 63) - 1


@tile.kernel
def three_axes(X: ConstView3[f32], Y: View3[f32]):
    a, b, c = axis("a", 1), axis("b", 2), axis("c", 3)
    roots = shape(X.shape[0], cdiv(X.shape[1], 2), cdiv(X.shape[2], 3))
    for nest in parallel(roots):
        i, j, k = nest.coords()
        at = coord(i, j * 2, k * 3)
        Y.at(at, shape(a, b, c)).store(X[at, shape(a, b, c)] * cast(f32, i * 100 + j * 10 + k))


KERNELS["a root of three ragged axes"] = three_axes.capture(tensor_shape(3, 5, 7), tensor_shape(3, 5, 7))
KERNELS["a root whose innermost axis fills vectors"] = three_axes.capture(
    tensor_shape(2, 3, 48), tensor_shape(2, 3, 48)
)
KERNELS["a root with an empty axis"] = three_axes.capture(tensor_shape(3, 0, 7), tensor_shape(3, 0, 7))
KERNELS["a root with an empty last axis"] = three_axes.capture(tensor_shape(3, 5, 0), tensor_shape(3, 5, 0))


@tile.kernel
def by_program(X: ConstView2[f32], Y: View2[f32], Z: View1[f32]):
    one, e = axis("one", 1), axis("e", 6)
    for nest in parallel(shape(5)):
        i = nest.index()
        x = X[coord(0, 0), shape(one, e)]
        mine = x.at(coord(0, i))
        flat = tile.map(f32, shape(e), lambda p: x.at(coord(0, (p.index(e) + i) % 6)))
        Y.at(coord(i, 0), shape(one, e)).store(flat * mine, where=iota(e) != i)
        Z[i].store(mine + tile.reduce(flat, e, maximum).at(coord()), where=i % 2 == 0)


KERNELS["extracts at the program's own place"] = by_program.capture(
    tensor_shape(1, 6), tensor_shape(5, 6), tensor_shape(5)
)


@tile.kernel
def wrapping(X: ConstView1[i64], Y: View1[i64], Z: View1[boolean]):
    e = axis("e", 20)
    for _ in parallel(shape(1)):
        n = X[0].load()
        far = iota(e) + (n * 0 + LAST - 3)
        Y.at(coord(0), shape(e)).store(iota(e) * (1 << 62) * 4 + far * far + (iota(e) << 61))
        Z.at(coord(0), shape(e)).store(far < n - n - LAST)
        Z.at(coord(20), shape(e)).store(iota(e) <= n * 0 + LAST)
        Z.at(coord(40), shape(e)).store(iota(e) - LAST > n * 0 + LAST)
        Z.at(coord(60), shape(e)).store(iota(e) * 3 - 7 >= iota(e))


KERNELS["comparisons of integers that wrap"] = wrapping.capture(tensor_shape(1), tensor_shape(20), tensor_shape(80))


@tile.kernel
def far_origins(X: ConstView1[f32], N: ConstView1[i64], Y: View2[f32]):
    one, e = axis("one", 1), axis("e", 18)
    for nest in parallel(shape(8)):
        at = ite(nest.index() == 0, -LAST - 1, ite(nest.index() == 1, LAST, N[nest.index()].load()))
        x = X.at(coord(at), shape(e)).load(fill=-7.0)
        Y.at(coord(nest.index(), 0), shape(one, e)).store(x)
        Y.at(coord(nest.index(), at), shape(one, e)).store(5.0)


KERNELS["origins anywhere in 64 bits"] = far_origins.capture(tensor_shape(19), tensor_shape(8), tensor_shape(8, 18))


@tile.kernel
def clamped(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 4)
    for nest in parallel(shape(5)):
        i = nest.index()
        inside = tile.minimum(tile.maximum(i * 4 - 2, 0), 12)
        below = (i * 4 + 3) // 5 * 4
        x = X[coord(inside), shape(e)] + X[coord(i % 3 * 4), shape(e)] + X[coord(below), shape(e)]
        Y.at(coord(i * 4), shape(e)).store(x + X.at(coord(inside), shape(e), tile.bounds.assume).load())


KERNELS["guards removed and kept by intervals"] = clamped.capture(tensor_shape(16), tensor_shape(18))


@tile.kernel
def nothing(X: ConstView2[f32], Y: View2[f32], S: View1[f32]):
    r, c = axis("r", X.shape[0]), axis("c", X.shape[1])
    for nest in parallel(shape(2)):
        x = X[coord(0, 0), shape(r, c)]
        for inner in nest.parallel(shape(axis("empty", 0))):
            Y.at(coord(inner.index(), 0), shape(r, c)).store(x * 9.0)
        acc = x
        for step in nest.pipeline(shape(axis("none", 0), axis("some", 3))):
            acc = acc + cast(f32, step.coords()[1])
        Y.at(coord(nest.index() * r.extent, 0), shape(r, c)).store(tile.scan(acc, c, add))
        S.at(coord(nest.index() * r.extent), shape(r)).store(tile.reduce(acc, c, add, policy=tile.fold_left))


for rows, columns in ((3, 0), (0, 18), (0, 0), (1, 1)):
    KERNELS[f"empty loops over {rows} by {columns}"] = nothing.capture(
        tensor_shape(rows, columns), tensor_shape(2 * rows, columns), tensor_shape(2 * rows)
    )


@tile.kernel
def views_of_nothing(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 5)
    for nest in parallel(shape(2)):
        x = X.at(coord(nest.index()), shape(e)).load(fill=2.0)
        Y.at(coord(nest.index() * 5), shape(e)).store(x)


KERNELS["a load of an empty view"] = views_of_nothing.capture(tensor_shape(0), tensor_shape(10))
KERNELS["a store to an empty view"] = views_of_nothing.capture(tensor_shape(7), tensor_shape(0))


@tile.kernel
def scattered(X: ConstView1[i32], I: ConstView2[i64], H: View2[i32], G: View1[f32]):
    e, f = axis("e", 6), axis("f", 3)
    for nest in parallel(shape(5)):
        row = cast(i64, X[coord(nest.index() * 6), shape(e)])
        column = I[coord(nest.index(), 0), shape(axis("one", 1), f)].at
        columns = tile.map(i64, shape(f), lambda p: column(coord(0, p.index(f))))
        H.update(coord(row, columns), full(i32, shape(e), 3), reducer=add, where=(iota(e) != 2) & (columns != 1))
        H.update(coord(row % 4, columns * 0 + nest.index()), cast(i32, row), reducer=maximum)
        G.update(coord(nest.index() % 2), 1.0, reducer=maximum)


KERNELS["masked updates over two dimensions"] = scattered.capture(
    tensor_shape(30), tensor_shape(5, 3), tensor_shape(20, 5), tensor_shape(2)
)


@tile.kernel
def extremes(U: ConstView1[u32], I: ConstView1[i32], F: ConstView1[f32], A: View2[u32], B: View2[i32], C: View2[f32]):
    e = axis("e", 6)
    for nest in parallel(shape(cdiv(U.shape[0], 6))):
        start, column = nest.index() * 6, cast(i64, iota(e)) % 3
        u, i, f = (view[coord(start), shape(e)] for view in (U, I, F))
        u = u * 20_000_000  # beyond what a signed number holds
        A.update(coord(0, column), u, reducer=maximum)
        A.update(coord(1, column), u, reducer=minimum)
        B.update(coord(0, column), i, reducer=maximum)
        B.update(coord(1, column), i, reducer=minimum)
        C.update(coord(0, column), f, reducer=maximum)
        C.update(coord(1, column), f, reducer=minimum)


KERNELS["the largest and the smallest by atomic updates"] = extremes.capture(
    tensor_shape(30), tensor_shape(30), tensor_shape(30), tensor_shape(2, 3), tensor_shape(2, 3), tensor_shape(2, 3)
)


@tile.kernel
def strided_columns(X: ConstView2[f32], Y: View2[f32], Z: View2[f64]):
    r, c = axis("r", 18), axis("c", 2)
    for nest in parallel(shape(cdiv(X.shape[1], 2))):
        x = X[coord(0, nest.index() * 2), shape(r, c)]
        Y.at(coord(nest.index() * 2, 0), shape(c, r)).store(tile.transpose(x, c, r))
        Z.at(coord(0, nest.index() * 2), shape(r, c)).store(cast(f64, x) * 0.1, where=iota(r) > iota(c) * 9)


KERNELS["transposed through strides"] = strided_columns.capture(
    tensor_shape(18, 5), tensor_shape(5, 18), tensor_shape(18, 5)
)


@tile.kernel
def bools(X: ConstView1[boolean], Y: View1[boolean], Z: View1[i32]):
    e = axis("e", 19)
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        flipped = tile.map(boolean, shape(e), lambda p: x.at(coord(18 - p.index(e))))
        Y.at(coord(0), shape(e)).store(ite(x, flipped, x == flipped))
        Z.at(coord(0), shape(e)).store(cast(i32, x) + cast(i32, x > flipped) * 2)


KERNELS["tiles of booleans"] = bools.capture(*[tensor_shape(19)] * 3)


@tile.kernel
def deep(X: ConstView1[f32], Y: View1[f32], N: View1[i64]):
    e = axis("e", 5)
    for nest in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        n = nest.index() + 1
        for _ in range(40):
            x, n = x * x + x, n + n
        Y.at(coord(0), shape(e)).store(x)
        N[n - n].store(n)


KERNELS["forty doublings"] = deep.capture(tensor_shape(5), tensor_shape(5), tensor_shape(1))


@tile.kernel
def stencils(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 20)
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        for _ in range(12):
            old = x
            x = tile.map(f32, shape(e), lambda p: old.at(coord(p.index(e))) - old.at(coord(19 - p.index(e))) * 0.5)
        Y.at(coord(0), shape(e)).store(x)


KERNELS["twelve maps, each reading two points"] = stencils.capture(tensor_shape(20), tensor_shape(20))


@tile.kernel
def partial_blocks(X: ConstView1[f32], N: ConstView1[i64], Y: View1[f32], Z: View1[f32]):
    e = axis("e", 4)
    for nest in parallel(shape(2)):
        x = X[coord(nest.index() * 4), shape(e)] + 1.0
        Y.at(coord(nest.index() * 4), shape(e)).store(x)
        Z.at(coord(N[nest.index()].load() * 0 + nest.index() * 4), shape(e)).store(x * 2.0)


KERNELS["two stores that see different parts"] = partial_blocks.capture(
    tensor_shape(7), tensor_shape(2), tensor_shape(7), tensor_shape(8)
)


@tile.kernel
def beyond(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 4), axis("n", 5), axis("k", 3)
    for nest in parallel(shape(3, 4)):
        i, j = nest.coords()
        a, b = A[coord(i * 4, 0), shape(m, k)], B[coord(0, j * 5), shape(k, n)]
        C.at(coord(i * 4, j * 5), shape(m, n)).store(tile.mma(a, b, tile.zeros(f32, shape(m, n))) + 1.0)


for rows, columns in ((3, 18), (11, 4), (12, 20), (9, 17), (0, 5)):
    KERNELS[f"a root over more than its view of {rows} by {columns}"] = beyond.capture(
        tensor_shape(rows, 3), tensor_shape(3, columns), tensor_shape(rows, columns)
    )

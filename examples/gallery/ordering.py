"""Sorting, selection, running sums, sums by number, and data in other places."""

from tilewright import tile
from tilewright.tile import (
    ConstView1,
    ConstView2,
    ConstView4,
    View1,
    View2,
    add,
    axis,
    cdiv,
    coord,
    cumsum,
    f32,
    i32,
    i64,
    ordered_tree,
    parallel,
    reduce,
    reducer,
    scalar,
    scan,
    shape,
    shift,
    where,
    zeros,
)  # fmt: skip


@tile.kernel
def sort_rows(X: ConstView2[f32], Y: View2[f32], *, rows: int = 2, descending: bool = False):
    """Each row in order, NaN last."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * rows, 0)
        Y.at(here, shape(r, c)).store(tile.sort(X[here, shape(r, c)], c, descending=descending))


@tile.kernel
def top_k(X: ConstView2[f32], V: View2[f32], P: View2[i64], *, rows: int = 2):
    """The largest elements of each row and their places, as many as V has columns."""
    (M, N), K = X.shape, V.shape[1]
    g, r, c, k = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N), axis("k", K)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        values, places = tile.topk(X[coord(m0, 0), shape(r, c)], c, k)
        V.at(coord(m0, 0), shape(r, k)).store(values)
        P.at(coord(m0, 0), shape(r, k)).store(places)


@tile.kernel
def row_scan(X: ConstView2[f32], Y: View2[f32], *, rows: int = 2):
    """The running sum of each row."""
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", N)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * rows, 0)
        Y.at(here, shape(r, c)).store(cumsum(X[here, shape(r, c)], c))


@tile.kernel
def blocked_scan(X: ConstView2[f32], Y: View2[f32], *, rows: int = 2, block: int = 16):
    """The same in blocks: inside one, sums over distances 1, 2, 4, ...; from one to the next, a carried sum.

    Hillis and Steele, "Data parallel algorithms" (1986).
    """
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", block)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        before = zeros(f32, shape(r))
        for step in nest.serial(shape(axis("blocks", cdiv(N, block)))):
            here = coord(m0, step.index() * block)
            x = X[here, shape(r, c)]
            for level in range((block - 1).bit_length()):
                x = x + shift(x, c, 1 << level)
            x = x + before
            Y.at(here, shape(r, c)).store(x)
            before = tile.reindex(x, shape(r), lambda at: coord(at.index(r), block - 1))


affine = reducer(  # h -> a h + x, first f and then g
    state=(f32, f32), identity=(1, 0), merge=lambda f, g: (g[0] * f[0], g[0] * f[1] + g[1]), commutative=False,
    name="affine",
)  # fmt: skip


@tile.kernel
def recurrence(A: ConstView2[f32], X: ConstView2[f32], H: View2[f32], *, rows: int = 2, block: int = 16):
    """h[t] = a[t] h[t - 1] + x[t] along each row, from 0: a layer of a state-space model.

    Such steps compose (Blelloch, "Prefix sums and their applications", 1990), so that a block is one scan; from one
    block to the next h is carried.
    """
    M, N = X.shape
    g, r, c = axis("g", cdiv(M, rows)), axis("r", rows), axis("c", block)
    for nest in parallel(shape(g)):
        m0 = nest.index() * rows
        before = zeros(f32, shape(r))
        for step in nest.serial(shape(axis("blocks", cdiv(N, block)))):
            here = coord(m0, step.index() * block)
            slope, offset = scan((A[here, shape(r, c)], X[here, shape(r, c)]), c, affine, policy=ordered_tree)
            h = slope * before + offset
            H.at(here, shape(r, c)).store(h)
            before = tile.reindex(h, shape(r), lambda at: coord(at.index(r), block - 1))


@tile.kernel
def segment_sums(X: ConstView2[f32], numbers: ConstView1[i32], Y: View2[f32], *, block: int = 16):
    """Y[s] = the sum of the rows of X whose number is s; one program a bucket."""
    (M, N), S = X.shape, Y.shape[0]
    g, gr, r, c, one = axis("g", S), axis("gr", cdiv(M, block)), axis("r", block), axis("c", N), axis("one", 1)
    for nest in parallel(shape(g)):
        bucket = nest.index(g)
        total = zeros(f32, shape(c))
        for step in nest.serial(shape(gr)):
            m0 = step.index() * block
            mine = numbers.at(coord(m0), shape(r)).load(fill=-1) == bucket.astype(i32)
            total = total + reduce(where(mine, X[coord(m0, 0), shape(r, c)], 0.0), r, add)
        Y.at(coord(bucket, 0), shape(one, c)).store(total)


@tile.kernel
def transpose(X: ConstView2[f32], Y: View2[f32], *, b: int = 16):
    """Y[j, i] = X[i, j], block by block, each turned by a map."""
    M, N = X.shape
    gm, gn, m, n = axis("gm", cdiv(M, b)), axis("gn", cdiv(N, b)), axis("m", b), axis("n", b)
    for nest in parallel(shape(gm, gn)):
        m0, n0 = nest.index(gm) * b, nest.index(gn) * b
        x = X[coord(m0, n0), shape(m, n)]
        turned = tile.reindex(x, shape(n, m), lambda at: coord(at.index(m), at.index(n)))
        Y.at(coord(n0, m0), shape(n, m)).store(turned)


@tile.kernel
def nested(X: ConstView4[f32], Y: View1[f32]):
    """All four regions inside each other: programs, ordered steps, stages, a fold. Y is a sum with fading steps."""
    M, T, P, R = X.shape
    m, t, p, r = axis("m", M), axis("t", T), axis("p", P), axis("r", R)
    for nest in parallel(shape(m)):
        total = scalar(f32, 0.0)
        for outer in nest.serial(shape(t)):
            total = total * 0.5
            for step in outer.pipeline(shape(p), window=2):
                step.stage("fold")
                part = scalar(f32, 0.0)
                for inner in step.reduce(shape(r)):
                    part = part + X[nest.index(m), outer.index(t), step.index(p), inner.index(r)].load()
                step.stage("add")
                total = total + part
        Y[nest.index(m)].store(total)

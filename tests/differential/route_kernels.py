"""Small kernels, each there for one thing that lowering can get wrong."""

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
    bf16,
    boolean,
    cast,
    cdiv,
    coord,
    f16,
    f32,
    f64,
    full,
    i8,
    i32,
    i64,
    iota,
    ite,
    maximum,
    minimum,
    mma,
    mul,
    parallel,
    scalar,
    scan,
    shape,
    tensor_shape,
    u8,
    u32,
    zeros,
)

__all__ = ["KERNELS"]

KERNELS: dict[str, Kernel] = {}


@tile.kernel
def saxpy(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 32)
    for nest in parallel(shape(cdiv(X.shape[0], 32))):
        at = coord(nest.index() * 32)
        Y.at(at, shape(e)).store(X[at, shape(e)] * 2.5 + Y[at, shape(e)])


KERNELS["saxpy in place, ragged"] = saxpy.capture(tensor_shape(75), tensor_shape(75))
KERNELS["saxpy in place, exact"] = saxpy.capture(tensor_shape(96), tensor_shape(96))
KERNELS["saxpy of one element"] = saxpy.capture(tensor_shape(1), tensor_shape(1))
KERNELS["saxpy of nothing"] = saxpy.capture(tensor_shape(0), tensor_shape(0))


@tile.kernel
def shifted(X: View1[f32], Y: View1[f32]):
    e = axis("e", 16)
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        X.at(coord(3), shape(e)).store(x + 1.0)
        Y.at(coord(0), shape(e)).store(x)


KERNELS["a load is a snapshot"] = shifted.capture(tensor_shape(19), tensor_shape(16))


@tile.kernel
def transposed_in_place(X: View2[f32]):
    r, c = axis("r", 7), axis("c", 7)
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(r, c)]
        X.at(coord(0, 0), shape(c, r)).store(tile.map(f32, shape(c, r), lambda p: x.at(coord(p.index(r), p.index(c)))))


KERNELS["transpose in place"] = transposed_in_place.capture(tensor_shape(7, 7))


@tile.kernel
def windows(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 4)
    for nest in parallel(shape(6)):
        start = nest.index() * 3 - 5
        x = X.at(coord(start), shape(e)).load(fill=-7.0)
        Y.at(coord(nest.index() * 4), shape(e)).store(x)


KERNELS["negative origins and a fill"] = windows.capture(tensor_shape(9), tensor_shape(22))


@tile.kernel
def swapped(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 3), axis("c", 20)
    for nest in parallel(shape(2)):
        a = X[coord(0, 0), shape(r, c)]
        b = X[coord(3, 0), shape(r, c)]
        for _ in nest.serial(shape(5)):
            a, b = b, a + b
        Y.at(coord(nest.index() * 6, 0), shape(r, c)).store(a)
        Y.at(coord(nest.index() * 6 + 3, 0), shape(r, c)).store(b)


KERNELS["swapped carries"] = swapped.capture(tensor_shape(6, 20), tensor_shape(12, 20))


@tile.kernel
def no_trips(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 9)
    for nest in parallel(shape(1)):
        a = X[coord(0), shape(e)]
        n = scalar(i64, 4)
        for step in nest.serial(shape(0)):
            a = a * 2.0
            n = n + step.index()
        Y.at(coord(n - 4), shape(e)).store(a)


KERNELS["zero trips keep the initial values"] = no_trips.capture(tensor_shape(9), tensor_shape(9))


@tile.kernel
def three_carries(X: ConstView1[f32], Y: View2[f32]):
    e = axis("e", 17)
    for nest in parallel(shape(2)):
        a = X[coord(0), shape(e)]
        b, c = a * 2.0, a * 3.0
        s, t = axis("s", 2), axis("t", 3)
        for step in nest.serial(shape(s, t)):
            old = a
            a = b - c
            b = old + cast(f32, step.index(t) + step.index(s))
        row = axis("row", 1)
        Y.at(coord(nest.index() * 3, 0), shape(row, e)).store(a)
        Y.at(coord(nest.index() * 3 + 1, 0), shape(row, e)).store(b)
        Y.at(coord(nest.index() * 3 + 2, 0), shape(row, e)).store(c)


KERNELS["three carries from one value"] = three_carries.capture(tensor_shape(17), tensor_shape(6, 17))


@tile.kernel
def rows(X: ConstView2[f32], S: View1[f32], M: View1[f32], P: View1[f32], L: View1[f32], R: View1[f32]):
    r, c = axis("r", 4), axis("c", X.shape[1])
    for nest in parallel(shape(cdiv(X.shape[0], 4))):
        at = nest.index() * 4
        x = X[coord(at, 0), shape(r, c)]
        S.at(coord(at), shape(r)).store(tile.reduce(x, c, add))
        M.at(coord(at), shape(r)).store(tile.reduce(x, c, maximum))
        P.at(coord(at), shape(r)).store(tile.reduce(x, c, minimum))
        L.at(coord(at), shape(r)).store(tile.reduce(x, c, add, policy=tile.fold_left))
        R.at(coord(at), shape(r)).store(tile.reduce(x, c, add, policy=tile.fold_right))


KERNELS["row folds"] = rows.capture(tensor_shape(7, 71), *[tensor_shape(7)] * 5)
KERNELS["row folds of one column"] = rows.capture(tensor_shape(5, 1), *[tensor_shape(5)] * 5)


@tile.kernel
def columns(X: ConstView2[i32], S: View1[i32], M: View1[i32], O: View1[i32]):
    r, c = axis("r", X.shape[0]), axis("c", 33)
    for nest in parallel(shape(cdiv(X.shape[1], 33))):
        at = nest.index() * 33
        x = X[coord(0, at), shape(r, c)]
        S.at(coord(at), shape(c)).store(tile.reduce(x, r, mul))
        M.at(coord(at), shape(c)).store(tile.reduce(x, r, maximum))
        O.at(coord(at), shape(c)).store(tile.reduce(x * x, r, add))


KERNELS["column folds of integers"] = columns.capture(tensor_shape(9, 50), *[tensor_shape(50)] * 3)


@tile.kernel
def scalars(X: ConstView1[f32], Y: View1[f32]):
    for nest in parallel(shape(X.shape[0])):
        i = nest.index()
        total = scalar(f32, 1.0)
        for step in nest.reduce(shape(4)):
            total = total + X[i].load() * cast(f32, step.index() * step.index())
        left = X[i - 1].load(where=i > 0, fill=-3.0)
        Y[i].store(total + left)


KERNELS["scalar accesses and a guarded neighbour"] = scalars.capture(tensor_shape(37), tensor_shape(37))


@tile.kernel
def batched(A: ConstView3[f32], B: ConstView3[f32], C: View3[f32]):
    b, m, n, k = axis("b", 1), axis("m", 8), axis("n", 24), axis("k", A.shape[2])
    for nest in parallel(shape(axis("gb", A.shape[0]), axis("gm", cdiv(A.shape[1], 8)))):
        h, i = nest.coords()
        x = A[coord(h, i * 8, 0), shape(b, m, k)]
        y = B[coord(h, 0, 0), shape(b, k, n)]
        c = C[coord(h, i * 8, 0), shape(b, m, n)]
        C.at(coord(h, i * 8, 0), shape(b, m, n)).store(mma(x, y, c))


KERNELS["batched product onto C"] = batched.capture(
    tensor_shape(3, 11, 10), tensor_shape(3, 10, 21), tensor_shape(3, 11, 21)
)


@tile.kernel
def nt_product(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 12), axis("n", 20), axis("k", A.shape[1])
    for nest in parallel(shape(cdiv(A.shape[0], 12), cdiv(B.shape[0], 20))):
        i, j = nest.coords()
        a = A[coord(i * 12, 0), shape(m, k)]
        b = B[coord(j * 20, 0), shape(n, k)]
        C.at(coord(i * 12, j * 20), shape(m, n)).store(mma(a, b, zeros(f32, shape(m, n))))


KERNELS["product with B transposed"] = nt_product.capture(
    tensor_shape(24, 13), tensor_shape(40, 13), tensor_shape(24, 40)
)
KERNELS["ragged product with B transposed"] = nt_product.capture(
    tensor_shape(25, 13), tensor_shape(33, 13), tensor_shape(25, 33)
)


@tile.kernel
def tn_product(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 12), axis("n", 20), axis("k", A.shape[0])
    for nest in parallel(shape(cdiv(A.shape[1], 12), cdiv(B.shape[1], 20))):
        i, j = nest.coords()
        a = A[coord(0, i * 12), shape(k, m)]
        b = B[coord(0, j * 20), shape(k, n)]
        C.at(coord(i * 12, j * 20), shape(m, n)).store(mma(a, b, full(f32, shape(m, n), 0.5), reassociate=False))


KERNELS["product with A transposed onto a constant"] = tn_product.capture(
    tensor_shape(13, 24), tensor_shape(13, 40), tensor_shape(24, 40)
)


@tile.kernel
def two_contracted(A: ConstView3[f32], B: ConstView3[f32], C: View2[f32]):
    m, n, p, q = axis("m", A.shape[0]), axis("n", B.shape[2]), axis("p", A.shape[1]), axis("q", A.shape[2])
    for _ in parallel(shape(1)):
        a = A[coord(0, 0, 0), shape(m, p, q)]
        b = B[coord(0, 0, 0), shape(p, q, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, zeros(f32, shape(m, n))))


KERNELS["two contracted dimensions"] = two_contracted.capture(
    tensor_shape(5, 3, 4), tensor_shape(3, 4, 18), tensor_shape(5, 18)
)


@tile.kernel
def half_product(A: ConstView2[f16], B: ConstView2[bf16], C: View2[f32]):
    m, n, k = axis("m", 9), axis("n", 17), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, zeros(f32, shape(m, n))))


KERNELS["product of half types"] = half_product.capture(tensor_shape(9, 6), tensor_shape(6, 17), tensor_shape(9, 17))


@tile.kernel
def byte_product(A: ConstView2[i8], B: ConstView2[i8], C: View2[i32]):
    m, n, k = axis("m", 9), axis("n", 17), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, zeros(i32, shape(m, n))))


KERNELS["product of bytes"] = byte_product.capture(tensor_shape(9, 6), tensor_shape(6, 17), tensor_shape(9, 17))


@tile.kernel
def rescaled(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 8), axis("n", 16), axis("k", 4)
    for nest in parallel(shape(1)):
        acc = zeros(f32, shape(m, n))
        den = zeros(f32, shape(m))
        for step in nest.pipeline(shape(cdiv(A.shape[1], 4)), window=2):
            a = A[coord(0, step.index() * 4), shape(m, k)]
            b = B[coord(step.index() * 4, 0), shape(k, n)]
            fade = tile.reduce(a, k, maximum)
            acc = mma(a, b, acc * fade)
            den = den * fade + tile.reduce(a, k, add, policy=tile.fold_left)
        C.at(coord(0, 0), shape(m, n)).store(acc + den)


KERNELS["accumulators rescaled in a loop"] = rescaled.capture(
    tensor_shape(8, 14), tensor_shape(14, 16), tensor_shape(8, 16)
)


@tile.kernel
def running(X: ConstView2[f32], A: View2[f32], B: View2[f32], C: View2[f32]):
    r, c = axis("r", 3), axis("c", X.shape[1])
    for nest in parallel(shape(cdiv(X.shape[0], 3))):
        at = coord(nest.index() * 3, 0)
        x = X[at, shape(r, c)]
        A.at(at, shape(r, c)).store(scan(x, c, add))
        B.at(at, shape(r, c)).store(scan(x, c, maximum, reverse=True))
        C.at(at, shape(r, c)).store(scan(x, r, add, exclusive=True))


KERNELS["scans"] = running.capture(tensor_shape(8, 19), *[tensor_shape(8, 19)] * 3)


@tile.kernel
def histogram(X: ConstView1[i32], H: View1[i32]):
    e = axis("e", 16)
    for nest in parallel(shape(cdiv(X.shape[0], 16))):
        at = coord(nest.index() * 16)
        x = cast(i64, X.at(at, shape(e)).load(fill=-1000))
        H.update(coord(x), full(i32, shape(e), 1), reducer=add)


KERNELS["updates drop what lies outside"] = histogram.capture(tensor_shape(50), tensor_shape(20))


@tile.kernel
def logic(X: ConstView1[i32], M: ConstView1[boolean], Y: View1[boolean], Z: View1[i32]):
    e = axis("e", 24)
    for _ in parallel(shape(1)):
        x, m = X[coord(0), shape(e)], M[coord(0), shape(e)]
        positive = x > 3
        Y.at(coord(0), shape(e)).store((m & ~positive) | (x == -5))
        q = ite(m, x // 7, x % 7) + ite(positive, x << 2, x >> 1)
        Z.at(coord(0), shape(e)).store(q ^ 21)


KERNELS["booleans and integers"] = logic.capture(*[tensor_shape(24)] * 4)


@tile.kernel
def halves(X: ConstView1[f16], Y: ConstView1[bf16], A: View1[f16], B: View1[bf16]):
    e = axis("e", 21)
    for _ in parallel(shape(1)):
        x, y = X[coord(0), shape(e)], Y[coord(0), shape(e)]
        A.at(coord(0), shape(e)).store(x * x + x)
        B.at(coord(0), shape(e)).store(cast(bf16, cast(f32, y) / 3.0) - y)


KERNELS["half types round once an operation"] = halves.capture(*[tensor_shape(21)] * 4)


@tile.kernel
def casts(X: ConstView1[f32], A: View1[i8], B: View1[u8], C: View1[f64], D: View1[u32], E: View1[boolean]):
    e = axis("e", 26)
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)] * 1000.0
        A.at(coord(0), shape(e)).store(cast(i8, x))
        B.at(coord(0), shape(e)).store(cast(u8, x))
        C.at(coord(0), shape(e)).store(cast(f64, x) * 0.1)
        D.at(coord(0), shape(e)).store(cast(u32, cast(i64, x)))
        E.at(coord(0), shape(e)).store(cast(boolean, cast(i32, x / 500.0)))


KERNELS["casts"] = casts.capture(*[tensor_shape(26)] * 6)


@tile.kernel
def gathered(X: ConstView2[f32], I: ConstView1[i32], Y: View2[f32]):
    r, c, j = axis("r", 5), axis("c", 18), axis("j", 11)
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(r, c)]
        at = cast(i64, I[coord(0), shape(j)])
        inside = ite((at >= 0) & (at < 18), at, 0)
        picked = tile.map(f32, shape(r, j), lambda p: x.at(coord(p.index(r), inside.at(coord(p.index(j))))))
        Y.at(coord(0, 0), shape(r, j)).store(picked)


KERNELS["a gather from a tile"] = gathered.capture(tensor_shape(5, 18), tensor_shape(11), tensor_shape(5, 11))


@tile.kernel
def masked(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", 20)
    for nest in parallel(shape(cdiv(X.shape[0], 4))):
        at = coord(nest.index() * 4, 0)
        below = iota(c) <= iota(r) + nest.index() * 4
        x = X.at(at, shape(r, c)).load(where=below, fill=-1.0)
        Y.at(at, shape(r, c)).store(x * 2.0, where=iota(c) != 3)


KERNELS["masked loads and stores"] = masked.capture(tensor_shape(10, 20), tensor_shape(10, 20))


@tile.kernel
def nested(X: ConstView2[f32], Y: View2[f32]):
    e = axis("e", 6)
    one = axis("one", 1)
    for nest in parallel(shape(axis("g", 4))):
        h = axis("h", 3)
        for inner in nest.parallel(shape(h)):
            row = nest.index() * 3 + inner.index(h)
            total = zeros(f32, shape(one, e))
            for step in inner.serial(shape(axis("s", 2))):
                total = total + X[coord(row, step.index() * 6), shape(one, e)]
            Y.at(coord(row, 0), shape(one, e)).store(total)


KERNELS["nested parallel and serial"] = nested.capture(tensor_shape(12, 12), tensor_shape(12, 6))


@tile.kernel
def outer_product(X: ConstView1[f32], Z: ConstView1[f32], Y: View2[f32]):
    r, c = axis("r", 5), axis("c", 8)
    for nest in parallel(shape(axis("i", cdiv(X.shape[0], 5)), axis("j", cdiv(Z.shape[0], 8)))):
        i, j = nest.coords()
        Y.at(coord(i * 5, j * 8), shape(r, c)).store(X[coord(i * 5), shape(r)] * Z[coord(j * 8), shape(c)])


KERNELS["outer product by broadcasting"] = outer_product.capture(
    tensor_shape(13), tensor_shape(21), tensor_shape(13, 21)
)

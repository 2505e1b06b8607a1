"""Loops that carry values in every shape: swapped, rotated, repeated, read after their update, of every type."""

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    add,
    axis,
    boolean,
    cast,
    coord,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    iota,
    ite,
    maximum,
    mma,
    parallel,
    scalar,
    scan,
    shape,
    tensor_shape,
    zeros,
)

__all__ = ["KERNELS"]

KERNELS: dict[str, Kernel] = {}


@tile.kernel
def rotated(X: ConstView2[f32], Y: View2[f32]):
    one, e = axis("one", 1), axis("e", 18)
    for nest in parallel(shape(1)):
        a, b, c = X[coord(0, 0), shape(one, e)], X[coord(1, 0), shape(one, e)], X[coord(2, 0), shape(one, e)]
        for _ in nest.serial(shape(4)):
            a, b, c = b, c, a
        Y.at(coord(0, 0), shape(one, e)).store(a)
        Y.at(coord(1, 0), shape(one, e)).store(b)
        Y.at(coord(2, 0), shape(one, e)).store(c)


KERNELS["rotated carries"] = rotated.capture(tensor_shape(3, 18), tensor_shape(3, 18))


@tile.kernel
def repeated(X: ConstView1[f32], Y: View2[f32]):
    one, e = axis("one", 1), axis("e", 18)
    for nest in parallel(shape(1)):
        a, b, c = zeros(f32, shape(e)), zeros(f32, shape(e)), X[coord(0), shape(e)]
        for _ in nest.serial(shape(3)):
            total = a + c
            a, b, c = total, total, a
        Y.at(coord(0, 0), shape(one, e)).store(a)
        Y.at(coord(1, 0), shape(one, e)).store(b)
        Y.at(coord(2, 0), shape(one, e)).store(c)


KERNELS["one value yielded twice"] = repeated.capture(tensor_shape(18), tensor_shape(3, 18))


@tile.kernel
def unchanged(X: ConstView1[f32], Y: View2[f32]):
    one, e = axis("one", 1), axis("e", 18)
    for nest in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        a, b = x * 2.0, x
        for _ in nest.serial(shape(3)):
            kept = a
            b = b + kept
            a = kept
        Y.at(coord(0, 0), shape(one, e)).store(a)
        Y.at(coord(1, 0), shape(one, e)).store(b)


KERNELS["a carry that stays"] = unchanged.capture(tensor_shape(18), tensor_shape(2, 18))


@tile.kernel
def outside_yield(X: ConstView1[f32], Y: View2[f32]):
    one, e = axis("one", 1), axis("e", 18)
    for nest in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        costly = tile.exp2(zeros(f32, shape(e))) / (x * x + 1.0)
        a, b = x, costly
        for _ in nest.serial(shape(2)):
            a, b = costly, a + b
        Y.at(coord(0, 0), shape(one, e)).store(a)
        Y.at(coord(1, 0), shape(one, e)).store(b + costly)


KERNELS["a value of outside yielded"] = outside_yield.capture(tensor_shape(18), tensor_shape(2, 18))


@tile.kernel
def read_after_update(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], D: View2[f32]):
    m, n, k = axis("m", 5), axis("n", 18), axis("k", 4)
    for nest in parallel(shape(1)):
        acc, seen = zeros(f32, shape(m, n)), zeros(f32, shape(m, n))
        for step in nest.serial(shape(3)):
            a, b = A[coord(0, step.index() * 4), shape(m, k)], B[coord(step.index() * 4, 0), shape(k, n)]
            old = acc
            acc = mma(a, b, acc)
            seen = seen + old * 0.5 + acc
        C.at(coord(0, 0), shape(m, n)).store(acc)
        D.at(coord(0, 0), shape(m, n)).store(seen)


KERNELS["a carry read after the product updated it"] = read_after_update.capture(
    tensor_shape(5, 12), tensor_shape(12, 18), tensor_shape(5, 18), tensor_shape(5, 18)
)


@tile.kernel
def reversed_each_trip(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 18)
    for nest in parallel(shape(1)):
        a = X[coord(0), shape(e)]
        for _ in nest.serial(shape(3)):
            old = a
            a = tile.map(f32, shape(e), lambda p: old.at(coord(17 - p.index(e)))) + old
        Y.at(coord(0), shape(e)).store(a)


KERNELS["a map reads the carry it becomes"] = reversed_each_trip.capture(tensor_shape(18), tensor_shape(18))


@tile.kernel
def masked_by_carry(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 18)
    for nest in parallel(shape(1)):
        a = X[coord(0), shape(e)]
        for step in nest.serial(shape(3)):
            x = X.at(coord(step.index()), shape(e)).load(where=a > 0.0, fill=0.25)
            a = tile.map(f32, shape(e), lambda p: x.at(coord(17 - p.index(e)))) - 0.125
        Y.at(coord(0), shape(e)).store(a)


KERNELS["a load masked by the carry, read back to front"] = masked_by_carry.capture(tensor_shape(18), tensor_shape(18))


@tile.kernel
def costly_by_carry(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", 18)
    for nest in parallel(shape(1)):
        a = X[coord(0, 0), shape(r, c)]
        top = zeros(f32, shape(r))
        for _ in nest.serial(shape(3)):
            before = top
            top = tile.reduce(a, c, maximum)
            weight = (a - top) / (abs(top) + 1.0)
            a = weight * before + a * weight
        Y.at(coord(0, 0), shape(r, c)).store(a + top)


KERNELS["folds of a carry that is rescaled"] = costly_by_carry.capture(tensor_shape(4, 18), tensor_shape(4, 18))


@tile.kernel
def scanned_carry(X: ConstView1[i32], Y: View1[i32]):
    e = axis("e", 18)
    for nest in parallel(shape(1)):
        a = X[coord(0), shape(e)]
        for _ in nest.serial(shape(3)):
            a = scan(a, e, add)
        Y.at(coord(0), shape(e)).store(a)


KERNELS["a scan of the carry becomes the carry"] = scanned_carry.capture(tensor_shape(18), tensor_shape(18))


@tile.kernel
def squared(A: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 6), axis("n", 6), axis("k", 6)
    for nest in parallel(shape(1)):
        acc = A[coord(0, 0), shape(m, n)]
        for _ in nest.serial(shape(2)):
            left, right = tile.relabel(acc, shape(m, k)), tile.relabel(acc, shape(k, n))
            acc = mma(left, right, acc)
        C.at(coord(0, 0), shape(m, n)).store(acc)


KERNELS["a product of the carry with itself onto itself"] = squared.capture(tensor_shape(6, 6), tensor_shape(6, 6))


@tile.kernel
def powers(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 6), axis("n", 6), axis("k", 6)
    for nest in parallel(shape(1)):
        acc = A[coord(0, 0), shape(m, k)]
        b = B[coord(0, 0), shape(k, n)]
        for _ in nest.serial(shape(3)):
            acc = tile.relabel(mma(acc, b, zeros(f32, shape(m, n))), shape(m, k))
        C.at(coord(0, 0), shape(m, k)).store(acc)


KERNELS["a carry as operand of the product"] = powers.capture(*[tensor_shape(6, 6)] * 3)


@tile.kernel
def every_type(
    H: ConstView1[f16], D: ConstView1[f64], I: ConstView1[i8], Y: View2[f64], Z: View1[i64], W: View1[boolean]
):
    one, e = axis("one", 1), axis("e", 18)
    for nest in parallel(shape(1)):
        h, d, i = H[coord(0), shape(e)], D[coord(0), shape(e)], I[coord(0), shape(e)]
        b, w = i > 3, cast(i64, i)
        n, flag, x, y = scalar(i64, -3), scalar(boolean, True), scalar(f16, 0.1), scalar(f64, 0.1)
        for step in nest.serial(shape(3)):
            h, d, i = h * x + h, d * y - cast(f64, h), i + i
            b, w = b ^ (i > 5), w * n + step.index()
            n, flag = n * 3 + step.index(), ~flag
            x, y = x * x + x, ite(flag, y * 3.0, y)
        Y.at(coord(0, 0), shape(one, e)).store(d + y)
        Y.at(coord(1, 0), shape(one, e)).store(cast(f64, h) + cast(f64, x))
        Z.at(coord(0), shape(e)).store(w + n + cast(i64, i))
        W.at(coord(0), shape(e)).store(b & flag)


KERNELS["carries of every type"] = every_type.capture(
    *[tensor_shape(18)] * 3, tensor_shape(2, 18), *[tensor_shape(18)] * 2
)


@tile.kernel
def nested_loops(X: ConstView2[f32], Y: View2[f32], Z: View1[i64]):
    one, e = axis("one", 1), axis("e", 18)
    for nest in parallel(shape(axis("g", 3))):
        a, n = X[coord(0, 0), shape(e, one)], nest.index()
        for outer in nest.serial(shape(2)):
            b, m = a * 0.5, n + outer.index()
            for inner in outer.serial(shape(axis("s", 2), axis("t", 2))):
                s, t = inner.coords()
                b, m = b + a * cast(f32, m + t), m * 2 + s
            for _ in outer.pipeline(shape(0)):
                b, m = a, n
            a, n = b, m
        Y.at(coord(0, nest.index()), shape(e, one)).store(a)
        Z[nest.index()].store(n)


KERNELS["loops in loops carry tiles and scalars"] = nested_loops.capture(
    tensor_shape(18, 1), tensor_shape(18, 3), tensor_shape(3)
)


@tile.kernel
def inner_result_yielded(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 18)
    for nest in parallel(shape(1)):
        a, b = X[coord(0), shape(e)], zeros(f32, shape(e))
        for outer in nest.serial(shape(3)):
            c = a
            for _ in outer.serial(shape(2)):
                c = c * 0.5 + a
            a, b = b, c
        Y.at(coord(0), shape(e)).store(a - b)


KERNELS["results of an inner loop yielded, swapped"] = inner_result_yielded.capture(tensor_shape(18), tensor_shape(18))


@tile.kernel
def unused(X: ConstView1[f32], Y: View1[f32]):
    e = axis("e", 18)
    for nest in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        a, n = x, scalar(i64, 0)
        for step in nest.serial(shape(3)):
            a, n = a + x, n + step.index()
        Y.at(coord(0), shape(e)).store(x)


KERNELS["a loop whose results are unused"] = unused.capture(tensor_shape(18), tensor_shape(18))


@tile.kernel
def folded_regions(X: ConstView1[i32], Y: View1[i32], Z: View1[i32]):
    e = axis("e", 18)
    for nest in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        a, b = x, x
        for step in nest.reduce(shape(3), policy=tile.fold_right):
            a = a * 3 + cast(i32, step.index())
        for step in nest.reduce(shape(2, 2), policy=tile.fold_left):
            i, j = step.coords()
            b = b * 3 + cast(i32, i * 2 + j)
        Y.at(coord(0), shape(e)).store(a)
        Z.at(coord(0), shape(e)).store(b)


KERNELS["regions folded from the right"] = folded_regions.capture(*[tensor_shape(18)] * 3)


@tile.kernel
def stores_inside(X: ConstView1[f32], Y: View2[f32]):
    one, e = axis("one", 1), axis("e", 18)
    for nest in parallel(shape(1)):
        a = X[coord(0), shape(e)]
        b = a
        for step in nest.serial(shape(3)):
            Y.at(coord(step.index(), 0), shape(one, e)).store(a)
            a, b = b + 1.0, a
            Y.at(coord(step.index() + 3, 0), shape(one, e)).store(a, where=iota(e) < step.index() * 5)


KERNELS["carries stored inside the loop"] = stores_inside.capture(tensor_shape(18), tensor_shape(6, 18))


@tile.kernel
def scalar_tiles(X: ConstView1[i32], Y: View1[i32]):
    e, one = axis("e", 18), axis("one", 1)
    for nest in parallel(shape(1)):
        total = tile.reduce(X[coord(0), shape(e)], e, add)
        for _ in nest.serial(shape(2)):
            total = total + tile.reduce(X[coord(0), shape(e)], e, maximum)
        Y.at(coord(0), shape(one)).store(tile.map(i32, shape(one), lambda p: total.at(coord())))


KERNELS["a carried tile of rank 0"] = scalar_tiles.capture(tensor_shape(18), tensor_shape(1))


@tile.kernel
def extracts_from_carry(X: ConstView1[i64], Y: View1[i64]):
    e = axis("e", 18)
    for nest in parallel(shape(1)):
        a = X[coord(0), shape(e)]
        n = scalar(i64, 1)
        for step in nest.serial(shape(4)):
            head = a.at(coord(step.index() * 2))
            old = a
            a = ite(iota(e) == step.index() + 1, old + head, old - n)
            n = n + old.at(coord(3)) - a.at(coord(4))
        Y.at(coord(0), shape(e)).store(a + n)


KERNELS["scalars read from the carry before and after"] = extracts_from_carry.capture(
    tensor_shape(18), tensor_shape(18)
)

"""Contractions in every orientation, of every type, with extents of 0 and 1, and with operands that others use too."""

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView2,
    ConstView3,
    View1,
    View2,
    View3,
    axis,
    bf16,
    cast,
    coord,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    iota,
    mma,
    parallel,
    shape,
    tensor_shape,
    u8,
    u32,
    zeros,
)

__all__ = ["KERNELS"]

KERNELS: dict[str, Kernel] = {}


@tile.kernel
def product(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", A.shape[0]), axis("n", B.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        c = C[coord(0, 0), shape(m, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, c) + mma(a, b, zeros(f32, shape(m, n))))


SIZES = ((3, 18, 0), (1, 18, 5), (18, 1, 5), (1, 1, 5), (0, 18, 5), (18, 0, 5), (5, 3, 1), (0, 0, 0))

for rows, columns, depth in SIZES:
    KERNELS[f"product of {rows} by {columns} by {depth}"] = product.capture(
        tensor_shape(rows, depth), tensor_shape(depth, columns), tensor_shape(rows, columns)
    )


@tile.kernel
def folded_pairs(A: ConstView3[f32], B: ConstView3[f32], C: View2[f32]):
    m, n, p, q = axis("m", A.shape[0]), axis("n", B.shape[0]), axis("p", A.shape[1]), axis("q", A.shape[2])
    for _ in parallel(shape(1)):
        a = A[coord(0, 0, 0), shape(m, p, q)]
        b = B[coord(0, 0, 0), shape(n, q, p)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, zeros(f32, shape(m, n))))


KERNELS["two contracted dimensions in two orders"] = folded_pairs.capture(
    tensor_shape(5, 3, 2), tensor_shape(18, 2, 3), tensor_shape(5, 18)
)
KERNELS["a contracted dimension of 0 beside one of 2"] = folded_pairs.capture(
    tensor_shape(5, 0, 2), tensor_shape(18, 2, 0), tensor_shape(5, 18)
)


@tile.kernel
def many_free(A: ConstView3[f32], B: ConstView3[f32], C: View3[f32]):
    h, m, n, j, k = axis("h", 2), axis("m", 3), axis("n", 5), axis("j", 4), axis("k", 6)
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0, 0), shape(h, m, k)], B[coord(0, 0, 0), shape(j, n, k)]
        one = axis("one", 1)
        d = mma(a, b, zeros(f32, shape(n, h, j, m)))
        flat = tile.map(f32, shape(one, h, n), lambda p: d.at(coord(p.index(n), p.index(h), 3, 2)))
        C.at(coord(0, 0, 0), shape(one, h, n)).store(flat)
        C.at(coord(1, 0, 0), shape(h, m, n)).store(mma(a, b, zeros(f32, shape(h, m, n, j))).at(coord(0, 0, 0, 1)))


KERNELS["several rows and columns"] = many_free.capture(
    tensor_shape(2, 3, 6), tensor_shape(4, 5, 6), tensor_shape(3, 3, 5)
)


@tile.kernel
def shared_operand(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], D: View2[f32]):
    m, n, k = axis("m", 17), axis("n", 18), axis("k", 19)
    for _ in parallel(shape(1)):
        b = B[coord(0, 0), shape(k, n)] * 2.0
        a = A[coord(0, 0), shape(m, k)]
        c = mma(a, b, zeros(f32, shape(m, n)))
        C.at(coord(0, 0), shape(m, n)).store(c)
        D.at(coord(0, 0), shape(m, k)).store(mma(c, b, zeros(f32, shape(m, k))))


KERNELS["an operand that two products read along two axes"] = shared_operand.capture(
    tensor_shape(17, 19), tensor_shape(19, 18), tensor_shape(17, 18), tensor_shape(17, 19)
)


@tile.kernel
def attention(Q: ConstView2[f32], K: ConstView2[f32], V: ConstView2[f32], O: View2[f32]):
    m, n, d, e = axis("m", 5), axis("n", 6), axis("d", 4), axis("e", 7)
    for nest in parallel(shape(2)):
        q = Q[coord(nest.index() * 5, 0), shape(m, d)]
        acc, top = zeros(f32, shape(m, e)), zeros(f32, shape(m))
        for step in nest.serial(shape(2)):
            at = coord(step.index() * 6, 0)
            k, v = K[at, shape(n, d)], V[at, shape(n, e)]
            s = mma(q, k, zeros(f32, shape(m, n)))
            s = tile.ite(iota(n) + step.index() * 6 <= iota(m) + nest.index() * 5, s, -3.0)
            following = tile.maximum(top, tile.reduce(s, n, tile.maximum))
            acc = mma(s - following, v, acc * (top - following))
            top = following
        O.at(coord(nest.index() * 5, 0), shape(m, e)).store(acc / (top + 1.0))


KERNELS["two products in a loop, rescaled and masked"] = attention.capture(
    tensor_shape(10, 4), tensor_shape(12, 4), tensor_shape(12, 7), tensor_shape(10, 7)
)


@tile.kernel
def inner_products(X: ConstView2[f32], Y: ConstView2[f32], Z: View1[f32]):
    r, k = axis("r", 7), axis("k", 9)
    for _ in parallel(shape(1)):
        x, y = X[coord(0, 0), shape(r, k)], Y[coord(0, 0), shape(r, k)]
        both = mma(x, x, zeros(f32, shape(r))) + mma(x, y, tile.full(f32, shape(r), 0.5))
        Z.at(coord(0), shape(r)).store(both)


KERNELS["rows as a batch, an operand with itself"] = inner_products.capture(
    tensor_shape(7, 9), tensor_shape(7, 9), tensor_shape(7)
)


@tile.kernel
def typed(A: ConstView2, B: ConstView2, C: View2):
    m, n, k = axis("m", 5), axis("n", 18), axis("k", 6)
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, C[coord(0, 0), shape(m, n)]))


for left, right, total in (
    (f16, f16, f64), (bf16, f16, f32), (f32, f32, f64), (f64, f64, f64), (i8, u8, i32), (i32, i32, i32),
    (u32, u32, u32), (i64, i8, i64), (i8, u8, f32), (i32, f32, f64), (i32, i32, f32),
):  # fmt: skip
    KERNELS[f"product of {left!r} and {right!r} in {total!r}"] = typed.capture(
        tensor_shape(5, 6, dtype=left), tensor_shape(6, 18, dtype=right), tensor_shape(5, 18, dtype=total)
    )


@tile.kernel
def overtaken_operand(A: View2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 5), axis("n", 18), axis("k", 6)
    for nest in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        acc = zeros(f32, shape(m, n))
        for step in nest.serial(shape(2)):
            acc = mma(a, b, acc)
            A.at(coord(0, 0), shape(m, k)).store(a + cast(f32, step.index() + 1))
            inner = A[coord(0, 0), shape(m, k)]
            acc = mma(inner, b, acc)
        C.at(coord(0, 0), shape(m, n)).store(acc)


KERNELS["operands stored between products"] = overtaken_operand.capture(
    tensor_shape(5, 6), tensor_shape(6, 18), tensor_shape(5, 18)
)


@tile.kernel
def onto_its_operand(A: View2[f32], B: ConstView2[f32]):
    m, k, n = axis("m", 6), axis("k", 6), axis("n", 6)
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        A.at(coord(0, 0), shape(m, n)).store(mma(a, b, A[coord(0, 0), shape(m, n)]))


KERNELS["a product stored over its operand"] = onto_its_operand.capture(tensor_shape(6, 6), tensor_shape(6, 6))


@tile.kernel
def masked_operands(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 5), axis("n", 18), axis("k", 6)
    for _ in parallel(shape(1)):
        a = A.at(coord(0, 0), shape(m, k)).load(where=iota(k) <= iota(m), fill=2.0)
        b = B.at(coord(-2, 3), shape(k, n)).load(fill=-1.0)
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, mma(a, b, zeros(f32, shape(m, n)))))


KERNELS["operands masked and outside, a product onto a product"] = masked_operands.capture(
    tensor_shape(5, 6), tensor_shape(6, 18), tensor_shape(5, 18)
)


@tile.kernel
def short_types(A: ConstView2[f16], B: ConstView2[f16], C: View2[f16]):
    for _ in parallel(shape(1)):
        m, n, k = axis("m", 5), axis("n", 18), axis("k", 6)
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        C.at(coord(0, 0), shape(m, n)).store(tile.matmul(a, b) + 0.5)


KERNELS["a product of halves, rounded once"] = short_types.capture(
    tensor_shape(5, 6), tensor_shape(6, 18), tensor_shape(5, 18)
)


@tile.kernel
def epilogues(A: ConstView2[f32], B: ConstView2[f32], R: View2[f32], C: View2[f32], D: View2[f32]):
    m, n, k = axis("m", 5), axis("n", 18), axis("k", 7)
    for _ in parallel(shape(1)):
        a, b, r = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)], R[coord(0, 0), shape(m, n)]
        first = mma(a, b, r)
        R.at(coord(0, 0), shape(m, n)).store(first * 2.0 + r)
        second = mma(a, b, zeros(f32, shape(m, n)))
        C.at(coord(0, 0), shape(m, n)).store(tile.maximum(second, 0.0) + R[coord(0, 0), shape(m, n)] - r)
        third = mma(a, b, second)
        turned = tile.map(f32, shape(m, n), lambda p: second.at(coord(4 - p.index(m), p.index(n))))
        D.at(coord(0, 0), shape(m, n)).store(third - turned)


KERNELS["work after products, on what they overwrite"] = epilogues.capture(
    tensor_shape(5, 7), tensor_shape(7, 18), *[tensor_shape(5, 18)] * 3
)


@tile.kernel
def overtaken_between(A: View2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 5), axis("n", 18), axis("k", 7)
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        product = mma(a, b, zeros(f32, shape(m, n)))
        A.at(coord(0, 0), shape(m, k)).store(a * 0.5)
        C.at(coord(0, 0), shape(m, n)).store(product + 1.0)


KERNELS["an operand stored between the product and its store"] = overtaken_between.capture(
    tensor_shape(5, 7), tensor_shape(7, 18), tensor_shape(5, 18)
)


@tile.kernel
def carried_operands(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", 5), axis("n", 18), axis("k", 7)
    for nest in parallel(shape(1)):
        a, acc = A[coord(0, 0), shape(m, k)], zeros(f32, shape(m, n))
        b = B[coord(0, 0), shape(k, n)]
        for _ in nest.serial(shape(3)):
            product = mma(a, b, acc)
            a = a * 0.5 + 1.0
            acc = product - 0.25
        C.at(coord(0, 0), shape(m, n)).store(acc)


KERNELS["a carried operand replaced before the sums are used"] = carried_operands.capture(
    tensor_shape(5, 7), tensor_shape(7, 18), tensor_shape(5, 18)
)


@tile.kernel
def forked(
    A: ConstView2[f32], B: ConstView2[f32], R: ConstView2[f32], C: View2[f32], D: View2[f32], *, seen: bool = False
):
    """What follows the product reads it several times and becomes one value; `seen` stores a part of the way, too."""
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        x = mma(A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)], zeros(f32, shape(m, n)))
        y = x * 0.5 + R[coord(0, 0), shape(m, n)]
        part = tile.where(y > 0.25, y * y, tile.abs(x))
        if seen:
            D.at(coord(0, 0), shape(m, n)).store(part)
        last = cast(f32, cast(f16, part)) * y - tile.minimum(x, part) + tile.maximum(y, x * y)
        C.at(coord(0, 0), shape(m, n)).store(last)


def _forked(rows: int, columns: int, depth: int, *, seen: bool) -> Kernel:
    c = tensor_shape(rows, columns)
    return forked.capture(tensor_shape(rows, depth), tensor_shape(depth, columns), c, c, c, seen=seen)


KERNELS["a product read on several ways to one value"] = _forked(19, 53, 7, seen=False)
KERNELS["a product read on several ways, one of them stored"] = _forked(19, 53, 7, seen=True)
KERNELS["one row read on several ways to one value"] = _forked(1, 37, 3, seen=False)


@tile.kernel
def onto_itself(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        x = mma(A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)], zeros(f32, shape(m, n)))
        old = C[coord(0, 0), shape(m, n)]
        C.at(coord(0, 0), shape(m, n)).store(x * old + tile.maximum(x, old) * (x - old) + tile.minimum(x * x, old))


KERNELS["a product read on several ways, over what they read"] = onto_itself.capture(
    tensor_shape(10, 9), tensor_shape(9, 50), tensor_shape(10, 50)
)

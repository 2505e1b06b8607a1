"""Products of operands that are computed: scaled, masked, dequantised, guarded, turned, in every place of a product."""

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View2,
    axis,
    bf16,
    boolean,
    cast,
    coord,
    f16,
    f32,
    i8,
    i32,
    maximum,
    mma,
    parallel,
    shape,
    tensor_shape,
    transpose,
    u8,
    where,
    zeros,
)

__all__ = ["KERNELS"]

M, N, K = 21, 37, 35
KERNELS: dict[str, Kernel] = {}


@tile.kernel
def scaled(
    A: ConstView2[f32],
    B: ConstView2[f32],
    S: ConstView1[f32],
    C: View2[f32],
    *,
    what: str,
    a_turned: bool,
    b_turned: bool,
):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", S.shape[0])
    for _ in parallel(shape(1)):
        a = A[coord(0, 0), shape(k, m) if a_turned else shape(m, k)]
        b = B[coord(0, 0), shape(n, k) if b_turned else shape(k, n)]
        s = S[coord(0), shape(k)]
        if "a" in what:
            a = a * s + 1.0
        if "b" in what:
            b = (b - 0.5) * s
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, C[coord(0, 0), shape(m, n)]) * 2.0)


for what in ("a", "b", "ab"):
    for turned in ((False, False), (True, False), (False, True), (True, True)):
        shapes = ((K, M) if turned[0] else (M, K), (N, K) if turned[1] else (K, N), (K,), (M, N))
        KERNELS[f"{what} scaled, turned {turned}"] = scaled.capture(
            *[tensor_shape(*each) for each in shapes], what=what, a_turned=turned[0], b_turned=turned[1]
        )
KERNELS["a product of 0 steps, scaled"] = scaled.capture(
    tensor_shape(M, 0),
    tensor_shape(0, N),
    tensor_shape(0),
    tensor_shape(M, N),
    what="ab",
    a_turned=False,
    b_turned=False,
)


@tile.kernel
def dequantised(A: ConstView2[f32], Q: ConstView2[u8], S: ConstView1[f16], C: View2[f32]):
    """Weights by row of Q, which is a column of the product."""
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        weights = (cast(f32, Q[coord(0, 0), shape(n, k)]) - 128.0) * cast(f32, S[coord(0), shape(n)])
        C.at(coord(0, 0), shape(m, n)).store(mma(A[coord(0, 0), shape(m, k)], weights, zeros(f32, shape(m, n))))


KERNELS["weights of bytes"] = dequantised.capture(
    tensor_shape(M, K), tensor_shape(N, K), tensor_shape(N), tensor_shape(M, N)
)


@tile.kernel
def masked(A: ConstView2[f32], B: ConstView2[f32], keep: ConstView2[boolean], C: View2[f32], *, load: bool):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        chosen = keep[coord(0, 0), shape(k, n)]
        at = B.at(coord(0, 0), shape(k, n))
        b = at.load(where=chosen, fill=0.25) if load else where(chosen, at.load(), -3.0)
        C.at(coord(0, 0), shape(m, n)).store(mma(A[coord(0, 0), shape(m, k)], b, zeros(f32, shape(m, n))))


for load in (False, True):
    shapes = [tensor_shape(*each) for each in ((M, K), (K, N), (K, N), (M, N))]
    KERNELS[f"{'loads' if load else 'values'} masked"] = masked.capture(*shapes, load=load)


@tile.kernel
def outside(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, start: int, turned: bool):
    """Both operands reach over the edges of their views on all sides, with fills that count."""
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", K)
    for _ in parallel(shape(1)):
        a = A.at(coord(start, start), shape(m, k)).load(fill=1.5)
        b = B.at(coord(start, start), shape(n, k) if turned else shape(k, n)).load(fill=-0.5)
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, zeros(f32, shape(m, n))))


for start in (-3, 4):
    for turned in (False, True):
        shapes = [tensor_shape(M, K), tensor_shape(N, K) if turned else tensor_shape(K, N), tensor_shape(M, N)]
        KERNELS[f"guarded from {start}, turned {turned}"] = outside.capture(*shapes, start=start, turned=turned)


@tile.kernel
def narrow(A: ConstView2[f16], B: ConstView2[bf16], C: View2[f32]):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(a + a, b, zeros(f32, shape(m, n))))


KERNELS["half types"] = narrow.capture(tensor_shape(M, K), tensor_shape(K, N), tensor_shape(M, N))


@tile.kernel
def whole(A: ConstView2[i8], B: ConstView2[u8], C: View2[i32]):
    m, n, k = axis("m", C.shape[0]), axis("n", C.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        C.at(coord(0, 0), shape(m, n)).store(mma(-a, b, zeros(i32, shape(m, n))))


KERNELS["bytes of both signs"] = whole.capture(tensor_shape(M, K), tensor_shape(K, N), tensor_shape(M, N))


@tile.kernel
def batches(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    """The columns differ from block to block of rows, so that they are packed anew for each."""
    m, n, k = axis("m", 7), axis("n", N), axis("k", K)
    for nest in parallel(shape(1)):
        for block in nest.serial(shape(3)):
            row = block.index() * 7
            b = maximum(B[coord(0, 0), shape(k, n)] * cast(f32, block.index()), 0.25)
            made = mma(A[coord(row, 0), shape(m, k)], b, zeros(f32, shape(m, n)))
            C.at(coord(row, 0), shape(m, n)).store(made)


KERNELS["blocks of rows"] = batches.capture(tensor_shape(M, K), tensor_shape(K, N), tensor_shape(M, N))


@tile.kernel
def overwritten(A: View2[f32], B: ConstView2[f32], C: View2[f32], *, before: bool):
    """A is written after it was loaded: before the product, or by where the product ends."""
    m, n, k = axis("m", A.shape[0]), axis("n", A.shape[1]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        a = A[coord(0, 0), shape(m, k)] * 2.0
        if before:
            A.at(coord(0, 0), shape(m, k)).store(B[coord(0, 0), shape(m, k)])
        made = mma(a, B[coord(0, 0), shape(k, n)], zeros(f32, shape(m, n)))
        (C if before else A).at(coord(0, 0), shape(m, n)).store(made)


for before in (False, True):
    shapes = [tensor_shape(19, 19)] * 3
    KERNELS[f"overwritten {'before' if before else 'by'} the product"] = overwritten.capture(*shapes, before=before)


@tile.kernel
def both_sides(A: ConstView2[f32], C: View2[f32]):
    """One tile is both operands, and is stored."""
    m, k = axis("m", A.shape[0]), axis("k", A.shape[1])
    n = axis("n", A.shape[0])
    for _ in parallel(shape(1)):
        a = A[coord(0, 0), shape(m, k)] + 1.0
        b = transpose(A[coord(0, 0), shape(n, k)] * 3.0, k, n)
        C.at(coord(0, 0), shape(m, n)).store(mma(a, b, zeros(f32, shape(m, n))))


KERNELS["a turned tile"] = both_sides.capture(tensor_shape(M, K), tensor_shape(M, M))

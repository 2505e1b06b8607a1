"""Operands of products that only show elements of other tiles: windows, axes split, turned or reversed, in place or
from the tile that they show.
"""

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView2,
    ConstView4,
    View2,
    View4,
    axis,
    cdiv,
    conv2d,
    coord,
    f32,
    i32,
    mma,
    parallel,
    shape,
    tensor_shape,
    zeros,
)

__all__ = ["KERNELS", "convolved", "reversed_chain", "turned_factor"]

KERNELS: dict[str, Kernel] = {}


@tile.kernel
def convolved(X: ConstView4, W: ConstView4, Y: View4, *, band: int, padding: int = 0, stride: int = 1):
    """Channels last, in bands of rows, the last one partial."""
    (N, _, width, C), (kh, kw, _, O), (_, OH, OW, _) = X.shape, W.shape, Y.shape
    n, c, o, oh, ow = axis("n", 1), axis("c", C), axis("o", O), axis("oh", band), axis("ow", OW)
    h, w = axis("h", (band - 1) * stride + kh), axis("w", width + 2 * padding)
    p, q, i = axis("p", kh), axis("q", kw), axis("i", C)
    for nest in parallel(shape(N, cdiv(OH, band))):
        item, top = nest.coords()
        x = X[coord(item, top * band * stride - padding, -padding, 0), shape(n, h, w, c)]
        y = conv2d(x, W[coord(0, 0, 0, 0), shape(p, q, i, o)], stride=stride, layout="NHWC", weights="HWIO")
        Y.at(coord(item, top * band, 0, 0), shape(n, oh, ow, o)).store(y)


for name, dtype, image, filters, result, band, padding, stride in (
    ("padded", i32, (2, 7, 9, 17), (3, 3, 17, 5), (2, 7, 9, 5), 3, 1, 1),
    ("with long rows of filters", i32, (1, 5, 6, 3), (2, 3, 3, 40), (1, 4, 4, 40), 2, 0, 1),
    ("in steps", i32, (1, 9, 9, 4), (3, 3, 4, 18), (1, 4, 4, 18), 4, 0, 2),
    ("of few channels in order", f32, (1, 5, 20, 2), (3, 3, 2, 18), (1, 3, 18, 18), 3, 0, 1),
    ("by filters of one place", f32, (1, 4, 18, 19), (1, 1, 19, 3), (1, 4, 18, 3), 4, 0, 1),
):
    KERNELS[f"a convolution {name}"] = convolved.capture(
        *(tensor_shape(*extents, dtype=dtype) for extents in (image, filters, result)),
        band=band, padding=padding, stride=stride,
    )  # fmt: skip


@tile.kernel
def turned_factor(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    """B is stored by columns, and turned in words before it is multiplied."""
    m, n, k = axis("m", A.shape[0]), axis("n", B.shape[0]), axis("k", A.shape[1])
    for _ in parallel(shape(1)):
        b = B[coord(0, 0), shape(n, k)]
        turned = tile.reindex(b, shape(k, n), lambda at: coord(at.index(n), at.index(k)))
        C.at(coord(0, 0), shape(m, n)).store(mma(A[coord(0, 0), shape(m, k)], turned, zeros(f32, shape(m, n))))


for rows, columns, depth in ((5, 18, 7), (33, 17, 18), (1, 40, 3)):
    KERNELS[f"a product with a turned factor, {rows} by {columns} by {depth}"] = turned_factor.capture(
        tensor_shape(rows, depth), tensor_shape(columns, depth), tensor_shape(rows, columns)
    )


@tile.kernel
def reversed_chain(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
    """The chain runs through A's columns from the last to the first, and the columns of C from right to left."""
    m, n, k = axis("m", A.shape[0]), axis("n", B.shape[1]), axis("k", A.shape[1])
    depth, width = A.shape[1], B.shape[1]
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        left = tile.reindex(a, shape(m, k), lambda at: coord(at.index(m), depth - 1 - at.index(k)))
        right = tile.reindex(b, shape(k, n), lambda at: coord(depth - 1 - at.index(k), width - 1 - at.index(n)))
        C.at(coord(0, 0), shape(m, n)).store(mma(left, right, zeros(f32, shape(m, n))))


KERNELS["a product from the last to the first"] = reversed_chain.capture(
    tensor_shape(9, 6), tensor_shape(6, 21), tensor_shape(9, 21)
)


@tile.kernel
def own_neighbours(X: ConstView2[i32], W: ConstView2[i32], Y: View2[i32]):
    """Windows of a carried tile, which the product replaces."""
    e, f, j, c, d = axis("e", 9), axis("f", 7), axis("j", 3), axis("c", 18), axis("d", 5)
    for nest in parallel(shape(1)):
        x, w = X[coord(0, 0), shape(e, c)], W[coord(0, 0), shape(c, d)]
        for _ in nest.serial(shape(2)):
            around = tile.reindex(x, shape(f, j, c), lambda at: coord(at.index(f) + at.index(j), at.index(c)))
            made = mma(around, w, zeros(i32, shape(f, j, d)))
            x = x - tile.reindex(made, shape(e, c), lambda at: coord(at.index(e) // 2, at.index(c) // 9, 4))
        Y.at(coord(0, 0), shape(e, c)).store(x)


KERNELS["a product of windows of a carried tile"] = own_neighbours.capture(
    tensor_shape(9, 18), tensor_shape(18, 5), tensor_shape(9, 18)
)

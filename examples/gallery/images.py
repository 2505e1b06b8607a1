"""Images: convolution, depthwise convolution with pooling, an edge filter, a median filter."""

from tilewright import tile
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
    max_pool2d,
    parallel,
    shape,
    sqrt,
    window,
)  # fmt: skip


@tile.kernel
def conv(
    X: ConstView4[f32], W: ConstView4[f32], Y: View4[f32], *, stride: int = 1, padding: int = 0, band: int = 4
):  # fmt: skip
    """Y = X convolved with W, in NCHW by OIHW: a program makes a band of rows of one image.

    The padding is the zero fill of the load.
    """
    (N, C, _, width), (_, _, kh, kw) = X.shape, W.shape
    (_, O, OH, OW) = Y.shape
    gn, gh = axis("gn", N), axis("gh", cdiv(OH, band))
    n, c, o = axis("n", 1), axis("c", C), axis("o", O)
    h, w = axis("h", (band - 1) * stride + kh), axis("w", width + 2 * padding)
    oh, ow = axis("oh", band), axis("ow", OW)
    i, p, q = axis("i", C), axis("p", kh), axis("q", kw)
    for nest in parallel(shape(gn, gh)):
        item, top = nest.index(gn), nest.index(gh) * band
        x = X[coord(item, 0, top * stride - padding, -padding), shape(n, c, h, w)]
        y = conv2d(x, W[coord(0, 0, 0, 0), shape(o, i, p, q)], stride=stride)
        Y.at(coord(item, 0, top, 0), shape(n, o, oh, ow)).store(y)


@tile.kernel
def conv_last(X: ConstView4[f32], W: ConstView4[f32], Y: View4[f32], *, padding: int = 1, band: int = 4):
    """The same with channels last, NHWC by HWIO, one step to the next."""
    (N, _, width, C), (kh, kw, _, O) = X.shape, W.shape
    (_, OH, OW, _) = Y.shape
    gn, gh = axis("gn", N), axis("gh", cdiv(OH, band))
    n, c, o = axis("n", 1), axis("c", C), axis("o", O)
    h, w = axis("h", band - 1 + kh), axis("w", width + 2 * padding)
    oh, ow = axis("oh", band), axis("ow", OW)
    p, q, i = axis("p", kh), axis("q", kw), axis("i", C)
    for nest in parallel(shape(gn, gh)):
        item, top = nest.index(gn), nest.index(gh) * band
        x = X[coord(item, top - padding, -padding, 0), shape(n, h, w, c)]
        y = conv2d(x, W[coord(0, 0, 0, 0), shape(p, q, i, o)], layout="NHWC", weights="HWIO")
        Y.at(coord(item, top, 0, 0), shape(n, oh, ow, o)).store(y)


@tile.kernel
def depthwise_pool(X: ConstView4[f32], W: ConstView4[f32], Y: View4[f32]):
    """A filter for each channel, padded by one, then the largest of every two by two; NCHW, one image a program."""
    (N, C, H, width), (_, _, kh, kw) = X.shape, W.shape
    (_, _, OH, OW) = Y.shape
    gn, n, c, h, w = axis("gn", N), axis("n", 1), axis("c", C), axis("h", H), axis("w", width)
    o, i, p, q = axis("o", C), axis("i", 1), axis("p", kh), axis("q", kw)
    for nest in parallel(shape(gn)):
        x = X[coord(nest.index(), 0, 0, 0), shape(n, c, h, w)]
        y = max_pool2d(conv2d(x, W[coord(0, 0, 0, 0), shape(o, i, p, q)], padding=1, groups=C), 2)
        Y.at(coord(nest.index(), 0, 0, 0), shape(n, c, axis("oh", OH), axis("ow", OW))).store(y)


@tile.kernel
def sobel(X: ConstView2[f32], Y: View2[f32], *, bm: int = 8, bn: int = 64):
    """The length of the gradient, by Sobel's filters; outside the image is black."""
    M, N = X.shape
    gm, gn = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn))
    m, n = axis("m", bm), axis("n", bn)
    for nest in parallel(shape(gm, gn)):
        y0, x0 = nest.index(gm) * bm, nest.index(gn) * bn
        (a, b, c), (d, _, f), (g, h, i) = (
            [X[coord(y0 + dy, x0 + dx), shape(m, n)] for dx in (-1, 0, 1)] for dy in (-1, 0, 1)
        )
        across = (c - a) + (f - d) * 2.0 + (i - g)
        down = (g - a) + (h - b) * 2.0 + (i - c)
        Y.at(coord(y0, x0), shape(m, n)).store(sqrt(across * across + down * down))


@tile.kernel
def median(X: ConstView2[f32], Y: View2[f32], *, bm: int = 4, bn: int = 16):
    """The median of every three by three, by sorting; outside the image is black."""
    M, N = X.shape
    gm, gn = axis("gm", cdiv(M, bm)), axis("gn", cdiv(N, bn))
    rows, columns = axis("rows", bm + 2), axis("columns", bn + 2)
    m, n, p, q, nine = axis("m", bm), axis("n", bn), axis("p", 3), axis("q", 3), axis("nine", 9)
    for nest in parallel(shape(gm, gn)):
        y0, x0 = nest.index(gm) * bm, nest.index(gn) * bn
        x = X[coord(y0 - 1, x0 - 1), shape(rows, columns)]
        near = window(window(x, rows, m, p), columns, n, q)
        ordered = tile.sort(tile.merge_axes(near, p, q, nine), nine)
        middle = tile.reindex(ordered, shape(m, n), lambda at: coord(at.index(m), at.index(n), 4))
        Y.at(coord(y0, x0), shape(m, n)).store(middle)

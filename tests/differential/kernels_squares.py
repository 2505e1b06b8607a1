"""Operands that lie turned against what is stored: whole and ragged squares, guards, every type, other reads beside."""

from tilewright import tile
from tilewright.core.dtypes import float8_e5m2
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    Axis,
    ConstView1,
    ConstView2,
    ConstView4,
    Tile,
    View2,
    View4,
    axis,
    bf16,
    boolean,
    cast,
    cdiv,
    coord,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    parallel,
    shape,
    tensor_shape,
    u16,
)

__all__ = ["KERNELS", "biased", "long_expression", "turn"]

KERNELS: dict[str, Kernel] = {}


def swapped(x: Tile, n: Axis, m: Axis) -> Tile:
    """The tile over (m, n) as one over (n, m)."""
    return tile.reindex(x, shape(n, m), lambda at: coord(at.index(m), at.index(n)))


@tile.kernel
def turn(X: ConstView2, Y: View2, *, block: int = 0):
    M, N = X.shape
    b, c = block or M, block or N
    m, n = axis("m", b), axis("n", c)
    for nest in parallel(shape(cdiv(M, max(b, 1)), cdiv(N, max(c, 1)))):
        m0, n0 = nest.coords()
        x = X[coord(m0 * b, n0 * c), shape(m, n)]
        Y.at(coord(n0 * c, m0 * b), shape(n, m)).store(swapped(x, n, m))


for rows, columns in ((32, 48), (33, 70), (16, 16), (5, 40), (40, 9), (1, 33), (33, 1), (0, 16), (17, 130)):
    KERNELS[f"a transpose of {rows} by {columns}"] = turn.capture(
        tensor_shape(rows, columns, dtype=f32), tensor_shape(columns, rows, dtype=f32)
    )
for block in (7, 16, 24):
    KERNELS[f"a transpose in blocks of {block}"] = turn.capture(
        tensor_shape(33, 70, dtype=i32), tensor_shape(70, 33, dtype=i32), block=block
    )
for dtype in (boolean, float8_e5m2, i8, f16, bf16, u16, f64, i64):
    KERNELS[f"a transpose of {dtype.name}"] = turn.capture(
        tensor_shape(19, 21, dtype=dtype), tensor_shape(21, 19, dtype=dtype)
    )


@tile.kernel
def among_others(X: ConstView2[f32], Z: ConstView2[i32], P: ConstView1[f32], Q: ConstView1[f32], Y: View2[f32]):
    """Turned and straight operands, one along either side, a fill below and beyond, a masked store."""
    (M, N), (K, L) = X.shape, Z.shape
    m, n = axis("m", M), axis("n", N)
    for _ in parallel(shape(1)):
        x = X.at(coord(-2, 3), shape(m, n)).load(fill=-7.0)
        z = Z.at(coord(K - N, L - M), shape(n, m)).load()
        p, q = P[coord(0), shape(m)], Q[coord(0), shape(n)]
        value = swapped(x * q, n, m) * p + cast(f32, z)
        Y.at(coord(0, 0), shape(n, m)).store(value + swapped(x, n, m), where=value > 0.0)


KERNELS["turned operands among others"] = among_others.capture(
    tensor_shape(21, 37), tensor_shape(37, 21), tensor_shape(21), tensor_shape(37), tensor_shape(37, 21)
)


@tile.kernel
def biased(X: ConstView2[f32], Z: ConstView2[f32], P: ConstView1[f32], Y: View2[f32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        x, z = X[coord(0, 0), shape(m, n)], Z[coord(0, 0), shape(n, m)]
        Y.at(coord(0, 0), shape(n, m)).store(swapped(x, n, m) * 2.0 + P[coord(0), shape(m)] - z)


KERNELS["a turned operand, a straight one and a bias"] = biased.capture(
    tensor_shape(33, 18), tensor_shape(18, 33), tensor_shape(33), tensor_shape(18, 33)
)


@tile.kernel
def elsewhere(X: ConstView2[f32], Y: View2[f32]):
    """The turned tile is also read at other points, which are not the turned ones."""
    e, f = axis("e", X.shape[0]), axis("f", X.shape[1])
    last = X.shape[0] - 1
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(e, f)]
        mirrored = tile.reindex(x, shape(f, e), lambda at: coord(last - at.index(e), at.index(f)))
        fixed = tile.reindex(x, shape(f, e), lambda at: coord(at.index(e), 0))
        Y.at(coord(0, 0), shape(f, e)).store(swapped(x, f, e) * 2.0 - mirrored + fixed)


KERNELS["a turned tile that is read elsewhere too"] = elsewhere.capture(tensor_shape(18, 35), tensor_shape(35, 18))


@tile.kernel
def in_place(X: ConstView2[f32], Y: View2[f32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        y = Y[coord(0, 0), shape(n, m)]
        Y.at(coord(0, 0), shape(n, m)).store(y * 3.0 + swapped(X[coord(0, 0), shape(m, n)], n, m))


KERNELS["a turned operand added in place"] = in_place.capture(tensor_shape(18, 35), tensor_shape(35, 18))


@tile.kernel
def onto_itself(Y: View2[f32]):
    m, n = axis("m", Y.shape[0]), axis("n", Y.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(0, 0), shape(n, m)).store(swapped(Y[coord(0, 0), shape(m, n)], n, m))


KERNELS["a transpose onto itself"] = onto_itself.capture(tensor_shape(37, 37))


@tile.kernel
def permuted(X: ConstView4[f32], Y: View4[f32]):
    a, b, c, d = (axis(name, extent) for name, extent in zip("abcd", X.shape, strict=True))
    for _ in parallel(shape(1)):
        x = X[coord(0, 0, 0, 0), shape(a, b, c, d)]
        turned = tile.reindex(x, shape(d, b, a, c), lambda at: coord(*(at.index(each) for each in (a, b, c, d))))
        Y.at(coord(0, 0, 0, 0), shape(d, b, a, c)).store(turned)


KERNELS["four axes permuted"] = permuted.capture(tensor_shape(2, 3, 17, 18), tensor_shape(18, 3, 2, 17))


@tile.kernel
def long_expression(X: ConstView2[f32], Y: View2[f32], *, steps: int = 40):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(m, n)]
        for _ in range(steps):
            x = x * x + 0.25
        Y.at(coord(0, 0), shape(n, m)).store(swapped(x, n, m))


KERNELS["a long expression stored turned"] = long_expression.capture(tensor_shape(18, 19), tensor_shape(19, 18))

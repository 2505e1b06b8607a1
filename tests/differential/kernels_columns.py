"""Folds along the outer axis of a tile: several vectors of columns at once, whole and ragged, in every order."""

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView2,
    View1,
    add,
    axis,
    cdiv,
    coord,
    f16,
    f32,
    i32,
    i64,
    maximum,
    parallel,
    shape,
    tensor_shape,
)

__all__ = ["KERNELS", "orders", "pairs"]

KERNELS: dict[str, Kernel] = {}


@tile.kernel
def orders(X: ConstView2[f32], H: ConstView2[f16], S: View1[f32], R: View1[f32], M: View1[f32], P: View1[f16]):
    r, c = axis("r", X.shape[0]), axis("c", X.shape[1])
    for _ in parallel(shape(1)):
        x, h = X[coord(0, 0), shape(r, c)], H[coord(0, 0), shape(r, c)]
        S.at(coord(0), shape(c)).store(tile.reduce(x * 2.0, r, add, policy=tile.fold_left))
        R.at(coord(0), shape(c)).store(tile.reduce(x, r, add, policy=tile.fold_right))
        M.at(coord(0), shape(c)).store(tile.reduce(tile.ite(x > 1.5, x / 0.0, x), r, maximum))
        P.at(coord(0), shape(c)).store(tile.reduce(h, r, add, policy=tile.fold_left))


for extents in ((3, 600), (2, 70), (1, 33), (4, 16), (5, 15)):
    KERNELS["columns in order, {} by {}".format(*extents)] = orders.capture(
        *[tensor_shape(*extents)] * 2, *[tensor_shape(extents[1])] * 4
    )


@tile.kernel
def blocks(X: ConstView2[i32], S: View1[i32], *, block: int = 300):
    """The last block is partial, and only the program knows which one it is."""
    r, c = axis("r", X.shape[0]), axis("c", block)
    for nest in parallel(shape(cdiv(X.shape[1], block))):
        n0 = nest.index() * block
        S.at(coord(n0), shape(c)).store(tile.reduce(X[coord(0, n0), shape(r, c)], r, add))


KERNELS["columns of a partial last block"] = blocks.capture(tensor_shape(3, 900 - 37), tensor_shape(900 - 37))
KERNELS["columns of a last block without a whole vector"] = blocks.capture(tensor_shape(3, 605), tensor_shape(605))

LATEST = tile.reducer(
    state=(i32, i64),
    identity=(-1000, -1),
    merge=lambda a, b: (tile.where(b[0] >= a[0], b[0], a[0]), tile.where(b[0] >= a[0], b[1], a[1])),
    commutative=False,
    name="latest",
)


@tile.kernel
def pairs(X: ConstView2[i32], V: View1[i32], I: View1[i64]):
    r, c = axis("r", X.shape[0]), axis("c", X.shape[1])
    for _ in parallel(shape(1)):
        value, index = tile.reduce((X[coord(0, 0), shape(r, c)], tile.iota(r)), r, LATEST, policy=tile.fold_left)
        V.at(coord(0), shape(c)).store(value)
        I.at(coord(0), shape(c)).store(index)


KERNELS["columns of pairs"] = pairs.capture(tensor_shape(3, 170), tensor_shape(170), tensor_shape(170))

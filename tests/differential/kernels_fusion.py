"""Tiles that the fold which reads them first may compute on its way, and everything that must stop it."""

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView2,
    View1,
    View2,
    axis,
    coord,
    f32,
    maximum,
    minimum,
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
SQUARE = tensor_shape(19, 19)


@tile.kernel
def two_folds(X: ConstView2[f32], Y: View2[f32], M: View1[f32]):
    r, c = axis("r", 19), axis("c", 19)
    for _ in parallel(shape(1)):
        costly = X[coord(0, 0), shape(r, c)] / 3.0
        top = tile.reduce(costly, c, maximum)
        low = tile.reduce(costly, r, minimum)
        Y.at(coord(0, 0), shape(r, c)).store(costly - top + low)
        M.at(coord(0), shape(r)).store(top)


KERNELS["one costly tile for two folds and a store"] = two_folds.capture(SQUARE, SQUARE, tensor_shape(19))


@tile.kernel
def store_between(X: View2[f32], Y: View2[f32]):
    r, c = axis("r", 19), axis("c", 19)
    for _ in parallel(shape(1)):
        at = coord(scalar(tile.i64, 0), scalar(tile.i64, 0))
        costly = X[at, shape(r, c)] / 3.0
        X.at(at, shape(r, c)).store(costly * 0.5)
        top = tile.reduce(costly, c, maximum)
        Y.at(at, shape(r, c)).store(costly - top)


KERNELS["a store between the tile and its fold"] = store_between.capture(SQUARE, SQUARE)


@tile.kernel
def folded_otherwise(X: ConstView2[f32], Y: View2[f32], M: View1[f32]):
    r, c = axis("r", 19), axis("c", 19)
    for _ in parallel(shape(1)):
        costly = X[coord(0, 0), shape(r, c)] / 3.0
        turned = tile.map(f32, shape(r, c), lambda p: costly.at(coord(p.index(c), p.index(r))))
        top = tile.reduce(turned, c, maximum)
        twice = tile.reduce(costly * costly, c, maximum) + tile.reduce(costly + 1.0, c, minimum)
        Y.at(coord(0, 0), shape(r, c)).store(costly - top)
        M.at(coord(0), shape(r)).store(twice)


KERNELS["folds that read the tile turned, squared and shifted"] = folded_otherwise.capture(
    SQUARE, SQUARE, tensor_shape(19)
)


@tile.kernel
def carried_between(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 19), axis("c", 19)
    for nest in parallel(shape(1)):
        a = X[coord(0, 0), shape(r, c)]
        for _ in nest.serial(shape(3)):
            costly = a / 3.0
            a = a * 0.5 + 1.0
            top = tile.reduce(costly, c, maximum)
            a = a + costly * top
        Y.at(coord(0, 0), shape(r, c)).store(a)


KERNELS["a carry replaced between the tile and its fold"] = carried_between.capture(SQUARE, SQUARE)


@tile.kernel
def inner_loop_between(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 19), axis("c", 19)
    for nest in parallel(shape(1)):
        a = X[coord(0, 0), shape(r, c)]
        b = a
        for outer in nest.serial(shape(2)):
            costly = b / 3.0
            for _ in outer.serial(shape(2)):
                b = b + a
            top = tile.reduce(costly, c, maximum)
            a = costly - top + b
        Y.at(coord(0, 0), shape(r, c)).store(a + b)


KERNELS["a loop between the tile and its fold"] = inner_loop_between.capture(SQUARE, SQUARE)


@tile.kernel
def fold_in_a_loop(X: ConstView2[f32], Y: View2[f32], M: View1[f32]):
    r, c = axis("r", 19), axis("c", 19)
    for nest in parallel(shape(1)):
        costly = X[coord(0, 0), shape(r, c)] / 3.0
        top = tile.full(f32, shape(r), -9.0)
        for _ in nest.serial(shape(0)):
            top = tile.maximum(top, tile.reduce(costly, c, maximum))
        Y.at(coord(0, 0), shape(r, c)).store(costly * top)
        M.at(coord(0), shape(r)).store(top)


KERNELS["the first fold never runs"] = fold_in_a_loop.capture(SQUARE, SQUARE, tensor_shape(19))


@tile.kernel
def scanned_and_multiplied(X: ConstView2[f32], Y: View2[f32], Z: View2[f32]):
    r, c, n = axis("r", 19), axis("c", 19), axis("n", 19)
    for _ in parallel(shape(1)):
        costly = X[coord(0, 0), shape(r, c)] / 3.0
        top = tile.reduce(costly, c, maximum)
        sums = scan(costly, c, maximum) - top
        b = tile.relabel(costly, shape(c, n))
        Y.at(coord(0, 0), shape(r, n)).store(mma(costly, b, zeros(f32, shape(r, n))))
        Z.at(coord(0, 0), shape(r, c)).store(sums)


KERNELS["a folded tile that is scanned and multiplied"] = scanned_and_multiplied.capture(SQUARE, SQUARE, SQUARE)


@tile.kernel
def chain_of_rows(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", 19)
    for nest in parallel(shape(5)):
        at = coord(nest.index() * 4, 0)
        x = X[at, shape(r, c)] / 7.0
        shifted = (x - tile.reduce(x, c, maximum)) / 3.0
        scaled = shifted / (tile.reduce(shifted, c, minimum) - 1.0)
        Y.at(at, shape(r, c)).store(scaled - tile.reduce(scaled, c, maximum))


KERNELS["three folds in a chain, rows cut off"] = chain_of_rows.capture(SQUARE, SQUARE)


@tile.kernel
def partly_folded(X: ConstView2[f32], Y: View2[f32], M: View1[f32]):
    r, c, h = axis("r", 19), axis("c", 19), axis("h", 7)
    for _ in parallel(shape(1)):
        costly = X[coord(0, 0), shape(r, c)] / 3.0
        half = tile.map(f32, shape(r, h), lambda p: costly.at(coord(p.index(r), p.index(h) * 2 + 1)))
        M.at(coord(0), shape(r)).store(tile.reduce(half, h, maximum))
        Y.at(coord(0, 0), shape(r, c)).store(costly / 2.0)


KERNELS["a fold of a part of the tile"] = partly_folded.capture(SQUARE, SQUARE, tensor_shape(19))

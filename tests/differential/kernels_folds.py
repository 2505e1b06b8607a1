"""Folds and scans of every shape: over nothing, over several dimensions, and folds that almost are closed."""

from collections.abc import Callable
from typing import Any, cast

from tilewright import tile
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    ConstView3,
    Reducer,
    Scalar,
    View1,
    View2,
    View3,
    add,
    axis,
    boolean,
    coord,
    f16,
    f32,
    i32,
    i64,
    maximum,
    minimum,
    mul,
    parallel,
    scan,
    shape,
    tensor_shape,
)

__all__ = ["KERNELS"]

KERNELS: dict[str, Kernel] = {}


@tile.kernel
def several(X: ConstView3[i32], A: View1[i32], B: View1[i32], C: View2[i32], D: View1[i32]):
    a, b, c = axis("a", X.shape[0]), axis("b", X.shape[1]), axis("c", X.shape[2])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0, 0), shape(a, b, c)]
        A.at(coord(0), shape(b)).store(tile.reduce(x, (a, c), add))
        B.at(coord(0), shape(c)).store(tile.reduce(x, (b, a), mul))
        C.at(coord(0, 0), shape(a, c)).store(tile.reduce(x, b, add))
        D[0].store(tile.reduce(x, (a, b, c), add).at(coord()))


for extents in ((3, 4, 18), (2, 1, 1), (3, 0, 18), (18, 5, 0), (0, 4, 3), (1, 70, 2)):
    KERNELS["folds over several of {} by {} by {}".format(*extents)] = several.capture(
        tensor_shape(*extents), tensor_shape(extents[1]), tensor_shape(extents[2]),
        tensor_shape(extents[0], extents[2]), tensor_shape(1),
    )  # fmt: skip


@tile.kernel
def extremes(X: ConstView2[f32], H: ConstView2[f16], M: View1[f32], N: View1[f32], P: View1[f16], Q: View1[f16]):
    r, c = axis("r", 4), axis("c", 37)
    for _ in parallel(shape(1)):
        x, h = X[coord(0, 0), shape(r, c)], H[coord(0, 0), shape(r, c)]
        broken = tile.ite(x > 1.5, x * 0.0 / 0.0, x)
        M.at(coord(0), shape(r)).store(tile.reduce(broken, c, maximum))
        N.at(coord(0), shape(r)).store(tile.reduce(x / 0.0, c, minimum))
        P.at(coord(0), shape(r)).store(tile.reduce(h, c, maximum))
        Q.at(coord(0), shape(r)).store(tile.reduce(h, c, add, policy=tile.fold_left))


KERNELS["extremes with infinities and halves"] = extremes.capture(
    tensor_shape(4, 37), tensor_shape(4, 37), *[tensor_shape(4)] * 4
)


@tile.kernel
def of_expressions(X: ConstView2[i32], W: ConstView1[i32], S: View1[i32], T: View1[i64]):
    r, c = axis("r", 5), axis("c", 41)
    for nest in parallel(shape(2)):
        x, w = X[coord(nest.index() * 5, 0), shape(r, c)], W[coord(0), shape(c)]
        weighted = x * w - tile.reduce(x, c, maximum)
        S.at(coord(nest.index() * 5), shape(r)).store(tile.reduce(weighted, c, add) + tile.reduce(w, c, add))
        place = tile.ite(weighted > 0, tile.iota(c), 0 - tile.iota(c)) + tile.iota(r)
        T.at(coord(nest.index() * 5), shape(r)).store(tile.reduce(place, c, maximum))


KERNELS["folds of expressions with other folds inside"] = of_expressions.capture(
    tensor_shape(10, 41), tensor_shape(41), tensor_shape(10), tensor_shape(10)
)


def reducer(name: str, combine: Callable[[Scalar, Scalar], Scalar], identity: int) -> Reducer:
    """A reducer of our own; inside folds it is called on scalars only."""
    return Reducer(name, cast(Any, combine), lambda _: identity)


BOTH = reducer("both", lambda a, b: a & b, -1)
ANY = reducer("any", lambda a, b: a | b, 0)
ODD = reducer("odd", lambda a, b: a ^ b, 0)
ALL = reducer("all", lambda a, b: a & b, identity=True)
SOME = reducer("some", tile.logical_or, identity=False)
TWICE = reducer("twice", lambda s, v: s + v * 2, 7)
LESS = reducer("less", lambda s, v: v - s, 0)
SQUARES = reducer("squares", lambda s, v: s + s * v, 1)


@tile.kernel
def bits(X: ConstView1[i32], M: ConstView1[boolean], Y: View1[i32], Z: View1[boolean]):
    e = axis("e", 53)
    for _ in parallel(shape(1)):
        x, m = X[coord(0), shape(e)], M[coord(0), shape(e)]
        Y[0].store(tile.reduce(x, e, BOTH).at(coord()))
        Y[1].store(tile.reduce(x, e, ANY).at(coord()))
        Y[2].store(tile.reduce(x, e, ODD).at(coord()))
        Z[0].store(tile.reduce(m, e, ALL).at(coord()))
        Z[1].store(tile.reduce(m, e, SOME).at(coord()))


KERNELS["folds of bits and truths"] = bits.capture(tensor_shape(53), tensor_shape(53), tensor_shape(3), tensor_shape(2))


@tile.kernel
def almost_closed(X: ConstView1[i32], Y: View1[i32]):
    e = axis("e", 23)
    for _ in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        Y[0].store(tile.reduce(x, e, TWICE).at(coord()))
        Y[1].store(tile.reduce(x, e, LESS).at(coord()))
        Y[2].store(tile.reduce(x, e, SQUARES).at(coord()))


KERNELS["folds that only look associative"] = almost_closed.capture(tensor_shape(23), tensor_shape(3))


@tile.kernel
def scans(X: ConstView3[i32], A: View3[i32], B: View3[i32], C: View3[i32]):
    a, b, c = axis("a", X.shape[0]), axis("b", X.shape[1]), axis("c", X.shape[2])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0, 0), shape(a, b, c)]
        A.at(coord(0, 0, 0), shape(a, b, c)).store(scan(x * 2, b, add, exclusive=True, reverse=True))
        B.at(coord(0, 0, 0), shape(a, b, c)).store(scan(scan(x, c, maximum), a, add))
        C.at(coord(0, 0, 0), shape(a, b, c)).store(scan(x, c, minimum, exclusive=True, policy=tile.fold_right))


for extents in ((3, 4, 18), (1, 1, 1), (3, 0, 2), (2, 3, 0)):
    KERNELS["scans of {} by {} by {}".format(*extents)] = scans.capture(*[tensor_shape(*extents)] * 4)


@tile.kernel
def softmax_rows(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 3), axis("c", 21)
    for nest in parallel(shape(2)):
        at = coord(nest.index() * 3, 0)
        x = X[at, shape(r, c)]
        top = tile.reduce(x, c, maximum)
        shifted = (x - top) / (abs(top) + 1.0)
        total = tile.reduce(shifted, c, add, policy=tile.fold_right)
        Y.at(at, shape(r, c)).store(shifted / total)


KERNELS["a row program of two folds"] = softmax_rows.capture(tensor_shape(6, 21), tensor_shape(6, 21))


@tile.kernel
def by_index(X: ConstView2[f32], Y: View1[f32]):
    r, c = axis("r", 4), axis("c", 19)
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(r, c)]
        last = tile.map(f32, shape(r), lambda p: x.at(coord(p.index(r), 18 - p.index(r) * 2)))
        widest = tile.map(
            f32, shape(r, c), lambda p: x.at(coord(3 - p.index(r), p.index(c))) * tile.cast(f32, p.index(c))
        )
        Y.at(coord(0), shape(r)).store(tile.reduce(widest, c, maximum) + last)


KERNELS["folds of maps read by index"] = by_index.capture(tensor_shape(4, 19), tensor_shape(4))


BEST = tile.reducer(
    state=(i32, i64),
    identity=(-1000, -1),
    merge=lambda a, b: (tile.where(b[0] > a[0], b[0], a[0]), tile.where(b[0] > a[0], b[1], a[1])),
    commutative=False,
    name="best",
)


@tile.kernel
def pairs(X: ConstView2[i32], V: View1[i32], I: View1[i64], J: View2[i64], W: View2[i32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(m, n)]
        value, index = tile.reduce((x, tile.iota(n)), n, BEST, policy=tile.ordered_tree)
        V.at(coord(0), shape(m)).store(value)
        I.at(coord(0), shape(m)).store(index)
        least, place = scan((x, tile.iota(n)), n, BEST, policy=tile.fold_left, exclusive=True, reverse=True)
        J.at(coord(0, 0), shape(m, n)).store(place)
        W.at(coord(0, 0), shape(m, n)).store(least + scan((x, tile.iota(n)), n, BEST, policy=tile.fold_right)[0])


for extents in ((3, 21), (18, 2), (2, 0)):
    KERNELS["folds and scans of pairs of {} by {}".format(*extents)] = pairs.capture(
        tensor_shape(*extents), *[tensor_shape(extents[0])] * 2, *[tensor_shape(*extents)] * 2
    )


@tile.kernel
def inside_maps(X: ConstView2[i32], Y: View1[i32]):
    r, c, k = axis("r", 5), axis("c", 19), axis("k", 4)
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(r, c)]

        def element(p: Any) -> Any:
            weight = x.at(coord(p.index(r), 3))
            row = tile.map(i32, shape(k), lambda q: x.at(coord(p.index(r), q.index(k) * 4)) * weight)
            return tile.reduce(row, k, add).at(coord()) - weight

        Y.at(coord(0), shape(r)).store(tile.map(i32, shape(r), element))


KERNELS["a fold inside the function of a map"] = inside_maps.capture(tensor_shape(5, 19), tensor_shape(5))


@tile.kernel
def maps_in_maps(X: ConstView2[i32], Y: View1[i32]):
    r, c, k = axis("r", 20), axis("c", 19), axis("k", 4)
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(r, c)]

        def element(p: Any) -> Any:
            row = tile.map(i32, shape(k), lambda q: x.at(coord(p.index(r), q.index(k) * 4)))
            return row.at(coord(2)) * 3 - row.at(coord(p.index(r) % 4)) + (row * row).at(coord(1))

        m = tile.map(i32, shape(r), element)
        Y.at(coord(0), shape(r)).store(
            tile.map(i32, shape(r), lambda p: m.at(coord(p.index(r))) - m.at(coord(19 - p.index(r))) * 2)
        )


KERNELS["a map inside the function of a map, read at two points"] = maps_in_maps.capture(
    tensor_shape(20, 19), tensor_shape(20)
)

"""Kernels whose loads must not be overtaken: what a tile holds is what the view held where the load is written."""

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
    f32,
    i32,
    i64,
    iota,
    ite,
    maximum,
    parallel,
    scalar,
    shape,
    tensor_shape,
)

__all__ = ["KERNELS"]

KERNELS: dict[str, Kernel] = {}


@tile.kernel
def stored_in_a_loop(X: View1[f32]):
    e = axis("e", 19)
    for nest in parallel(shape(1)):
        at = coord(scalar(i64, 0))
        x = X[at, shape(e)]
        for _ in nest.serial(shape(3)):
            X.at(at, shape(e)).store(x + 1.0)


KERNELS["a load before a loop that stores"] = stored_in_a_loop.capture(tensor_shape(19))


@tile.kernel
def stored_through_a_mask(X: View1[f32], Y: View1[f32]):
    e = axis("e", 19)
    for _ in parallel(shape(1)):
        at = coord(scalar(i64, 0))
        x = X[at, shape(e)]
        y = Y.at(at, shape(e)).load(where=x > 0.0, fill=3.0)
        X.at(at, shape(e)).store(tile.map(f32, shape(e), lambda p: y.at(coord(18 - p.index(e)))))


KERNELS["a mask read back to front by the store"] = stored_through_a_mask.capture(tensor_shape(19), tensor_shape(19))


@tile.kernel
def mask_of_a_store(X: View1[f32]):
    e = axis("e", 19)
    for _ in parallel(shape(1)):
        at = coord(scalar(i64, 0))
        x = X[at, shape(e)]
        shifted = X[coord(1), shape(e)]
        X.at(at, shape(e)).store(9.0, where=(x > 0.0) & (shifted < 0.0))


KERNELS["the mask of a store reads what it writes"] = mask_of_a_store.capture(tensor_shape(20))


@tile.kernel
def chained(X: View1[f32], Y: View1[f32]):
    e = axis("e", 17)
    for _ in parallel(shape(1)):
        at = coord(scalar(i64, 0))
        a = X[at, shape(e)]
        X.at(at, shape(e)).store(a * 2.0)
        b = X[at, shape(e)]
        X.at(coord(2), shape(e)).store(b + a)
        Y.at(at, shape(e)).store(X[at, shape(e)] + a)
        Y.at(coord(4), shape(e)).store(b)


KERNELS["loads between several stores to one view"] = chained.capture(tensor_shape(19), tensor_shape(21))


@tile.kernel
def twice_read(X: View1[f32], Y: View1[f32]):
    e = axis("e", 17)
    for nest in parallel(shape(1)):
        at = coord(scalar(i64, 0))
        x = X[at, shape(e)]
        for step in nest.serial(shape(2)):
            Y.at(coord(step.index() * 17), shape(e)).store(x)
            X.at(at, shape(e)).store(x * 2.0 + cast(f32, step.index()))


KERNELS["a load read by two stores of a loop"] = twice_read.capture(tensor_shape(17), tensor_shape(34))


@tile.kernel
def elements(X: View1[i64], Y: View1[i64]):
    for nest in parallel(shape(1)):
        first = X[0].load()
        X[0].store(first + 5)
        second = X[0].load()
        total = scalar(i64, 0)
        for step in nest.serial(shape(4)):
            before = X[step.index()].load()
            X[step.index() + 1].store(before + total)
            total = total + before * second
        Y[0].store(first)
        Y[1].store(second)
        Y[2].store(total)


KERNELS["element loads and stores in order"] = elements.capture(tensor_shape(5), tensor_shape(3))


@tile.kernel
def extracted_before(X: View1[f32], Y: View1[f32]):
    e = axis("e", 9)
    for _ in parallel(shape(1)):
        at = coord(scalar(i64, 0))
        x = X[at, shape(e)]
        head = x.at(coord(3))
        X[3].store(head + 1.0)
        Y.at(at, shape(e)).store(x + head)
        X.at(at, shape(e)).store(x + X[3].load())


KERNELS["an extract before an element store"] = extracted_before.capture(tensor_shape(9), tensor_shape(9))


@tile.kernel
def updated(X: View1[i32], Y: View1[i32]):
    e = axis("e", 12)
    for _ in parallel(shape(1)):
        at = coord(scalar(i64, 0))
        x = X[at, shape(e)]
        X.at(at, shape(e)).update(x, reducer=add)
        X.at(coord(1), shape(e)).update(x * 3, reducer=maximum, where=iota(e) != 5)
        Y.at(at, shape(e)).store(X[at, shape(e)] - x)


KERNELS["updates of what was loaded"] = updated.capture(tensor_shape(13), tensor_shape(12))


@tile.kernel
def folded_then_stored(X: View2[f32], M: View1[f32]):
    r, c = axis("r", 5), axis("c", 18)
    for _ in parallel(shape(1)):
        at = coord(scalar(i64, 0), scalar(i64, 0))
        x = X[at, shape(r, c)]
        top = tile.reduce(x, c, maximum)
        X.at(at, shape(r, c)).store(x - top)
        M.at(coord(0), shape(r)).store(tile.reduce(x, c, maximum) + top)


KERNELS["a fold of what is overwritten later"] = folded_then_stored.capture(tensor_shape(5, 18), tensor_shape(5))


@tile.kernel
def overlapping_windows(X: View1[f32]):
    e = axis("e", 16)
    for _ in parallel(shape(1)):
        low, high = X[coord(0), shape(e)], X[coord(5), shape(e)]
        X.at(coord(5), shape(e)).store(low + high)


KERNELS["two windows of the stored view"] = overlapping_windows.capture(tensor_shape(21))


@tile.kernel
def row_in_rows(X: View2[f32]):
    one, r, c = axis("one", 1), axis("r", 4), axis("c", 18)
    for _ in parallel(shape(1)):
        at = coord(scalar(i64, 0), scalar(i64, 0))
        first = X[coord(2, 0), shape(one, c)]
        x = X[at, shape(r, c)]
        X.at(at, shape(r, c)).store(x + tile.map(f32, shape(c), lambda p: first.at(coord(0, p.index(c)))))


KERNELS["one row added to all, itself included"] = row_in_rows.capture(tensor_shape(4, 18))


@tile.kernel
def predicated(X: View1[f32], M: ConstView1[boolean], N: ConstView2[i32], Y: View1[boolean]):
    for nest in parallel(shape(9)):
        i = nest.index()
        on = M[i].load()
        left = M[i + 1].load(where=(i < 8) & on, fill=True)
        value = X[i].load(where=on, fill=0.5)
        X[i].store(value * 2.0, where=left)
        Y[i].store(ite(on, left, N[i, 1].load() > 0), where=N[i, 0].load() > -20)


KERNELS["predicated elements of every kind"] = predicated.capture(
    tensor_shape(9), tensor_shape(9), tensor_shape(9, 2), tensor_shape(9)
)


@tile.kernel
def yielded_after_a_store(X: View1[f32], Y: View1[f32]):
    e = axis("e", 17)
    for nest in parallel(shape(1)):
        at = coord(scalar(i64, 0))
        kept = X[at, shape(e)]
        for _ in nest.serial(shape(3)):
            following = X[at, shape(e)]
            X.at(at, shape(e)).store(following + kept)
            kept = following
        Y.at(at, shape(e)).store(kept)


KERNELS["a load carried past a store"] = yielded_after_a_store.capture(tensor_shape(17), tensor_shape(17))


@tile.kernel
def root_values(X: ConstView2[f32], Y: View2[f32], Z: View2[f32]):
    m, n, k = axis("m", 5), axis("n", 18), axis("k", 4)
    ones = tile.full(f32, shape(m, k), 1.5)
    grown = tile.exp(tile.full(f32, shape(n), 0.0)) / 3.0
    half = scalar(f32, 1.0) / 2.0
    places = cast(f32, iota(n) * 3)
    last = places.at(coord(17)) + tile.reduce(places, n, maximum).at(coord())
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(k, n)]
        Y.at(coord(0, 0), shape(m, n)).store(tile.mma(ones, x, tile.zeros(f32, shape(m, n))) * grown + places)
        Z.at(coord(0, 0), shape(k, n)).store(x * grown + half - last)


KERNELS["tiles computed outside the root"] = root_values.capture(
    tensor_shape(4, 18), tensor_shape(5, 18), tensor_shape(4, 18)
)


@tile.kernel
def placed(X: ConstView1[f32], I: ConstView1[i64], Y: View1[f32]):
    """The end of a tile, in a view shorter than the tile: the place is known when the kernel runs, and negative."""
    e = axis("e", 8)
    for _ in parallel(shape(1)):
        Y.at(coord(I[0].load() % 2 - 5), shape(e)).store(X[coord(0), shape(e)])


KERNELS["a store at a place that is read"] = placed.capture(tensor_shape(8), tensor_shape(1), tensor_shape(4))

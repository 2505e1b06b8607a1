"""Laws of values, each a kernel with its answer: arms and their order, snapshots, simultaneous carries, coordinates."""

from typing import Any

import numpy as np
import pytest

from tilewright import interp, tile
from tilewright.core.errors import TileTypeError
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    View4,
    axis,
    cast,
    coord,
    f32,
    i32,
    iota,
    parallel,
    scalar,
    shape,
    u8,
    u32,
    where,
)  # fmt: skip


def both(kernel: Any, *arrays: Any, **config: object) -> list[Any]:
    """What the arrays hold after the interpreter and after machine code, which must be the same bits."""
    here, there = [each.copy() for each in arrays], [each.copy() for each in arrays]
    interp.run(kernel.capture(*(tile.tensor_shape(*each.shape) for each in arrays), **config), here)
    kernel(*there, **config)
    assert [each.tobytes() for each in here] == [each.tobytes() for each in there]
    return there


@tile.kernel
def arms(X: ConstView2[f32], Y: ConstView2[f32], OUT: View2[f32]):
    one, e = axis("one", 1), axis("e", X.shape[1])
    for nest in parallel(shape(axis("g", X.shape[0]))):
        g = nest.index()
        x, y = X[coord(g, 0), shape(one, e)], Y[coord(g, 0), shape(one, e)]
        low, high = scalar(f32, -1.0), cast(f32, g)
        values = [
            where(x < y, x, y), where(x < y, x, high), where(x < y, low, y), where(x < y, low, high),
            where(g > 0, x, y), where(g > 0, x, low), where(g > 0, low, high) + x * 0.0,
        ]  # fmt: skip
        for place, value in enumerate(values):
            OUT.at(coord(g + 2 * place, 0), shape(one, e)).store(value)


def test_a_select_takes_its_first_arm_where_the_condition_holds() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 17)).astype("f4"), rng.standard_normal((2, 17)).astype("f4")
    out = both(arms, x, y, np.zeros((14, 17), "f4"))[-1]
    for g in range(2):
        a, b, less = x[g], y[g], x[g] < y[g]
        mine: list[Any] = [
            np.where(less, a, b), np.where(less, a, g), np.where(less, -1, b), np.where(less, -1, g),
            a if g else b, a if g else np.full(17, -1), np.full(17, -1 if g else g),
        ]  # fmt: skip
        assert all((out[g + 2 * place] == want.astype("f4")).all() for place, want in enumerate(mine))


@tile.kernel
def read_then_overwritten(X: View2[f32], OUT: View2[f32]):
    r, c = axis("r", 3), axis("c", 5)
    for _ in parallel(shape(axis("g", 1))):
        here = coord(-1, 2)
        reads = [
            X[here, shape(r, c)], X.at(here, shape(r, c)).load(), X(here, shape(r, c), tile.bounds.zero).load(),
            X.at(here, shape(r, c)).load(fill=-3.0),
        ]  # fmt: skip
        X.at(coord(0, 0), shape(axis("m", X.shape[0]), axis("n", X.shape[1]))).store(17.0)
        for place, value in enumerate(reads):
            OUT.at(coord(3 * place, 0), shape(r, c)).store(value)


def test_reads_across_the_edge_are_snapshots_with_their_fill() -> None:
    x = np.arange(1, 25, dtype="f4").reshape(4, 6)
    after, out = both(read_then_overwritten, x, np.zeros((12, 5), "f4"))
    padded = np.zeros((3, 5), "f4")
    padded[1:, :4] = x[:2, 2:]
    filled = np.where(padded == 0, np.float32(-3), padded)
    assert (out == np.concatenate([padded, padded, padded, filled])).all()
    assert (after == 17).all()


@tile.kernel
def placed(Y: View4[i32]):
    for nest in parallel(shape(*(axis(name, extent) for name, extent in zip("abcd", Y.shape, strict=True)))):
        i, j, k, l = nest.coords()
        Y[i, j, k, l].store(cast(i32, i * 1000 + j * 100 + k * 10 + l))


def test_axes_of_one_keep_their_place_among_four() -> None:
    (y,) = both(placed, np.zeros((2, 1, 3, 1), "i4"))
    assert y.reshape(-1).tolist() == [0, 10, 20, 1000, 1010, 1020]


@tile.kernel
def swapped(X: ConstView2[f32], OUT: View2[f32], *, trips: int, pipelined: bool):
    one, e = axis("one", 1), axis("e", X.shape[1])
    for nest in parallel(shape(axis("g", 1))):
        a, b = X[coord(0, 0), shape(one, e)], X[coord(1, 0), shape(one, e)]
        kept, n, m = a, scalar(i32, 1), scalar(i32, 2)
        if pipelined:
            for step in nest.pipeline(shape(axis("t", trips)), window=2):
                step.stage("first")
                for inner in step.serial(shape(axis("u", 2))):
                    n = n + cast(i32, inner.index())
                step.stage("second")
                a, b, n, m = b + 1.0, a, m, n
        else:
            for step in nest.serial(shape(axis("t", trips))):
                for inner in step.serial(shape(axis("u", 2))):
                    n = n + cast(i32, inner.index())
                a, b, n, m = b + 1.0, a, m, n
        for place, value in enumerate((a, b, kept + cast(f32, n * 100 + m))):
            OUT.at(coord(place, 0), shape(one, e)).store(value)


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 5])
def test_carries_are_replaced_at_once_for_any_number_of_trips(trips: int, pipelined: bool) -> None:
    x = np.arange(74, dtype="f4").reshape(2, 37)
    _, out = both(swapped, x, np.zeros((3, 37), "f4"), trips=trips, pipelined=pipelined)
    a, b, n, m = x[0], x[1], 1, 2
    for _ in range(trips):
        n += 1
        a, b, n, m = b + 1, a, m, n
    assert (out == np.stack([a, b, x[0] + n * 100 + m])).all()


@tile.kernel
def far_origins(A: ConstView1[f32], NEAR: View2[f32], FAR: View2[f32]):
    one, e = axis("one", 1), axis("e", 1)
    for nest in parallel(shape(axis("g", 3))):
        i = nest.index()
        near, far = A[coord(i - 1), shape(e)], A[coord(i * ((1 << 63) - 1)), shape(e)]
        NEAR.at(coord(i, 0), shape(one, e)).store(near)
        FAR.at(coord(i, 0), shape(one, e)).store(far)


def test_an_origin_at_the_end_of_64_bits_does_not_wrap_into_the_view() -> None:
    """2 (2^63 - 1) wraps to -2, which is outside as well."""
    *_, near, far = both(far_origins, np.float32([5, 7]), np.zeros((3, 1), "f4"), np.zeros((3, 1), "f4"))  # pyright: ignore[reportArgumentType]
    assert near.reshape(-1).tolist() == [0, 5, 7]
    assert far.reshape(-1).tolist() == [5, 0, 0]


@tile.kernel
def row_after_row(X: View2[f32], Y: View2[f32]):
    """Writes row s + 1 while it reads row s."""
    one, e = axis("one", 1), axis("e", X.shape[1])
    for nest in parallel(shape(axis("g", 1))):
        for step in nest.pipeline(shape(X.shape[0] - 1), window=2):
            s = step.index()
            step.stage("read")
            x = X[coord(s, 0), shape(one, e)]
            step.stage("write")
            Y.at(coord(s + 1, 0), shape(one, e)).store(x + 1.0)


def test_a_pipeline_keeps_the_order_of_memory() -> None:
    x, y = np.zeros((8, 37), "f4"), np.full((8, 37), -1, "f4")
    row_after_row(x, x)
    assert (x == np.arange(8, dtype="f4")[:, None]).all()
    _, apart = both(row_after_row, np.zeros((8, 37), "f4"), y)
    assert (apart[1:] == 1).all()
    assert (apart[0] == -1).all()


@tile.kernel
def foreign_scan(X: ConstView1[f32], Y: View1[f32]):
    e, other = axis("e", 4), axis("other", 4)
    for _ in parallel(shape(axis("g", 1))):
        Y.at(coord(0), shape(e)).store(tile.scan(X[coord(0), shape(e)], other, tile.add))


def test_a_scan_along_an_axis_of_another_tile_is_refused() -> None:
    with pytest.raises(TileTypeError, match="TW214"):
        foreign_scan.capture(tile.tensor_shape(4), tile.tensor_shape(4))


def test_positions_are_words_of_64_bits() -> None:
    @tile.kernel
    def counted(Y: View1[i32]):
        e = axis("e", Y.shape[0])
        for _ in parallel(shape(axis("g", 1))):
            Y.at(coord(0), shape(e)).store(cast(i32, iota(e) * (1 << 40) // (1 << 40)))

    (y,) = both(counted, np.zeros(19, "i4"))
    assert y.tolist() == list(range(19))


@tile.kernel
def unsigned_extremes(
    X: ConstView2[u32], B: ConstView2[u8], LOW: View1[u32], HIGH: View1[u32], SMALL: View1[u8], BIG: View1[u8]
):
    one, e = axis("one", 1), axis("e", X.shape[1])
    for nest in parallel(shape(axis("g", X.shape[0]))):
        g = nest.index()
        x, b = X[coord(g, 0), shape(one, e)], B[coord(g, 0), shape(one, e)]
        LOW.at(coord(g), shape(one)).store(tile.reduce(x, e, tile.minimum))
        HIGH.at(coord(g), shape(one)).store(tile.reduce(x, e, tile.maximum))
        SMALL.at(coord(g), shape(one)).store(tile.reduce(b, e, tile.minimum))
        BIG.at(coord(g), shape(one)).store(tile.reduce(b, e, tile.maximum))


@pytest.mark.parametrize("width", [1, 16, 37, 130])
def test_extremes_of_unsigned_rows_are_above_the_signed_range(width: int) -> None:
    rng = np.random.default_rng(width)
    x, b = rng.integers(0, 1 << 32, (3, width)).astype("u4"), rng.integers(0, 256, (3, width)).astype("u1")
    outs = [np.zeros(3, each) for each in ("u4", "u4", "u1", "u1")]
    _, _, low, high, small, big = both(unsigned_extremes, x, b, *outs)
    assert (low == x.min(1)).all()
    assert (high == x.max(1)).all()
    assert (small == b.min(1)).all()
    assert (big == b.max(1)).all()

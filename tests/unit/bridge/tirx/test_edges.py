"""Edges that few kernels meet: places read from memory, indices outside, scans from the far end, double roundings."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilewright import tile
from tilewright.bridge.tirx import compile
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import Array
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    axis,
    bf16,
    cast,
    coord,
    f64,
    fold_left,
    fold_right,
    i32,
    i64,
    parallel,
    scan,
    shape,
    tensor_shape,
    u64,
)


def require_same(kernel: Kernel, *arrays: Array) -> list[Array]:
    want, got = [each.copy() for each in arrays], [each.copy() for each in arrays]
    interpret(kernel, want)
    compile(kernel)(*got)
    for a, b in zip(want, got, strict=True):
        assert a.tobytes() == b.tobytes()
    return got


@tile.kernel
def somewhere(X: ConstView1[i32], At: ConstView1[i64], Y: View2[i32], Z: View2[i32]):
    e, r = axis("e", 5), axis("r", 1)
    for nest in parallel(shape(axis("i", At.shape[0]))):
        at = At[nest.index()].load()
        x = X[coord(at), shape(e)]
        Y.at(coord(nest.index(), 0), shape(r, e)).store(tile.broadcast_to(x, shape(r, e)))
        Z.at(coord(nest.index(), at), shape(r, e)).store(tile.broadcast_to(x + 100, shape(r, e)))


def test_a_tile_may_lie_anywhere_in_64_bits() -> None:
    places = np.array([0, 3, 7, -1, -4, -5, -6, 9, 2**40, -(2**40), 2**63 - 1, -(2**63), 2**63 - 3], "i8")
    kernel = somewhere.capture(
        tensor_shape(8, dtype=i32),
        tensor_shape(len(places), dtype=i64),
        *[tensor_shape(len(places), width, dtype=i32) for width in (5, 8)],
    )
    out = [np.full((len(places), width), -1, "i4") for width in (5, 8)]
    found = require_same(kernel, np.arange(1, 9, dtype="i4"), places, *out)
    assert found[2][3].tolist() == [0, 1, 2, 3, 4]


@tile.kernel
def taken(X: ConstView1[i32], At: ConstView1[i64], Y: View1[i32]):
    e = axis("e", 5)
    for nest in parallel(shape(axis("i", At.shape[0]))):
        x = X[coord(0), shape(e)] * 1
        Y[nest.index()].store(x.at(coord(At[nest.index()].load())))


def test_an_index_outside_of_a_tile_gives_some_element_of_it() -> None:
    places = np.array([0, 4, -1, 5, 2**40, -(2**63)], "i8")
    kernel = taken.capture(*(tensor_shape(n, dtype=kind) for n, kind in ((5, i32), (6, i64), (6, i32))))
    y = np.zeros(6, "i4")
    compile(kernel)(np.arange(10, 15, dtype="i4"), places, y)
    assert y[:2].tolist() == [10, 14]
    assert set(y.tolist()) <= set(range(10, 15))


BASE_3 = tile.reducer(
    state=i32, identity=0, merge=lambda a, b: a * 3 + b, name="base 3", associative=False, commutative=False
)


@tile.kernel
def running(X: ConstView2[i32], Y: View2[i32], *, exclusive: bool, reverse: bool, policy: Any):
    r, c = axis("r", X.shape[0]), axis("c", X.shape[1])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(r, c)]
        Y.at(coord(0, 0), shape(r, c)).store(scan(x, c, BASE_3, exclusive=exclusive, reverse=reverse, policy=policy))


@pytest.mark.parametrize("policy", [fold_left, fold_right])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_a_scan_keeps_its_end_and_its_order(exclusive: bool, reverse: bool, policy: Any) -> None:
    kernel = running.capture(*[tensor_shape(2, 6, dtype=i32)] * 2, exclusive=exclusive, reverse=reverse, policy=policy)
    require_same(kernel, np.arange(1, 13, dtype="i4").reshape(2, 6), np.zeros((2, 6), "i4"))


def test_a_double_is_rounded_to_a_narrow_type_once() -> None:
    """Each is just above or below a tie of bf16, which float64 or float32 would round onto the tie."""
    wide = [2**60 + 2**52 + 1, 2**60 + 2**52, 2**60 + 3 * 2**52 - 1, 2**60 + 2**52 - 1]

    @tile.kernel
    def narrowed(U: ConstView1[u64], I: ConstView1[i64], D: ConstView1[f64], X: View1[bf16], Y: View1[bf16], Z: View1):
        e = axis("e", 4)
        for _ in parallel(shape(1)):
            X.at(coord(0), shape(e)).store(cast(bf16, U[coord(0), shape(e)]))
            Y.at(coord(0), shape(e)).store(cast(bf16, I[coord(0), shape(e)]))
            Z.at(coord(0), shape(e)).store(cast(bf16, D[coord(0), shape(e)]))

    kinds = (u64, i64, f64, bf16, bf16, bf16)
    kernel = narrowed.capture(*(tensor_shape(4, dtype=kind) for kind in kinds))
    doubles = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 3 * 2.0**-8 - 2.0**-40, 1 + 2.0**-8 - 2.0**-40])
    results = [np.zeros(4, ml_dtypes.bfloat16) for _ in range(3)]
    found = require_same(kernel, np.array(wide, "u8"), -np.array(wide, "i8"), doubles, *results)
    assert found[3].astype("f8").tolist() == [2**60 + 2**53, 2**60, 2**60 + 2**53, 2**60]

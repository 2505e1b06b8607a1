"""Which stores share a loop: neighbours of the same axes that write apart, and read nothing in between."""

import numpy as np
import pytest

from tests.unit.bridge.xir.planning import planned
from tilewright import tile
from tilewright.bridge.xir.options import XirOptions, element
from tilewright.compile.kernel import TileKernel
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    View1,
    axis,
    coord,
    f32,
    parallel,
    scalar,
    shape,
    tensor_shape,
)

N = 16


@tile.kernel
def two_stores(X: ConstView1[f32], Y: View1[f32], Z: View1[f32], *, case: str):
    e, other = axis("e", N), axis("other", N)
    for nest in parallel(shape(axis("g", 2))):
        start = nest.index() * (2 * N)
        at, after = coord(start), coord(start + N)
        x, y = X[at, shape(e)], Y[after, shape(e)]
        Y.at(at, shape(e)).store(x * 2.0)
        if case == "halves":
            Y.at(after, shape(e)).store(x + y)
        if case == "arguments":
            Z.at(at, shape(e)).store(x + 1.0)
        if case == "three":
            Z.at(at, shape(e)).store(x + 1.0)
            Z.at(after, shape(e)).store(x + 3.0)
        if case == "overlap":
            Y.at(coord(start + N - 1), shape(e)).store(x + 1.0)
        if case == "same place":
            Y.at(at, shape(e)).store(x + 1.0)
        if case == "by number":
            Y.at(coord(start + scalar(tile.i64, N)), shape(e)).store(x + 1.0)
        if case == "other axes":
            Z.at(at, shape(other)).store(1.0)


@tile.kernel
def read_then_written(X: ConstView1[f32], Y: View1[f32], Z: View1[f32], *, case: str):
    """The first store reads, elsewhere, what the second one writes."""
    e = axis("e", 2 * N)
    for _ in parallel(shape(axis("g", 1))):
        at = coord(N)
        x = X[at, shape(e)]
        before = Z[coord(N - 1) if case == "before, read" else at, shape(e)]
        if case == "turned, read":
            before = tile.reindex(before, shape(e), lambda p: coord(2 * N - 1 - p.index(e)))
        Y.at(at, shape(e)).store(before)
        Z.at(at, shape(e)).store(x)


@tile.kernel
def something_between(X: ConstView1[f32], Y: View1[f32], Z: View1[f32], *, case: str):
    e = axis("e", N)
    for nest in parallel(shape(axis("g", 2))):
        start = nest.index() * (2 * N)
        at, after = coord(start), coord(start + N)
        x = X[at, shape(e)]
        Y.at(at, shape(e)).store(x * 2.0)
        if case == "read between":
            Z.at(at, shape(e)).store(Y[at, shape(e)] + 1.0)
        if case == "summed between":
            Z.at(at, shape(e)).store(x + tile.reduce(x, e, tile.add))
        if case == "loop between":
            for _ in nest.serial(shape(2)):
                Z.at(at, shape(e)).store(x)
            Z.at(after, shape(e)).store(x)


def captured(case: str) -> Kernel:
    return kernel_of(case).capture(*[tensor_shape(4 * N)] * 3, case=case)


def kernel_of(case: str) -> TileKernel:
    return something_between if case.endswith("between") else read_then_written if case.endswith("read") else two_stores


def joined(case: str, *, may_alias: bool = False) -> list[int]:
    """How many other stores each group has."""
    decisions = planned(captured(case), XirOptions(lanes=element()), may_alias=may_alias).decisions
    return [len(others) for others in decisions.joined.values()]


@pytest.mark.parametrize(
    ("case", "groups"),
    [
        ("halves", [1]),
        ("arguments", [1]),
        ("three", [2]),
        ("by number", [1]),
        ("overlap", []),
        ("same place", []),
        ("other axes", []),
        ("read between", []),
        ("summed between", []),
        ("loop between", []),
        ("before, read", []),
        ("turned, read", []),
    ],
)
def test_stores_share_a_loop_where_that_is_the_same(case: str, groups: list[int]) -> None:
    assert joined(case) == groups


def test_arguments_that_may_overlap_are_written_one_after_the_other() -> None:
    assert joined("arguments", may_alias=True) == []
    assert joined("halves", may_alias=True) == [1]


@pytest.mark.parametrize(
    "case",
    [
        *("halves", "arguments", "three", "overlap", "same place", "by number"),
        *("read between", "summed between", "before, read", "turned, read"),
    ],
)
@pytest.mark.parametrize("shared", [False, True])
def test_the_device_writes_what_the_interpreter_writes(case: str, *, shared: bool) -> None:
    """Also into one array given for both arguments, where the order of the stores counts."""
    X, Y, Z = (np.arange(4 * N, dtype=np.float32) + k for k in (0, 100, 200))
    want, got = [X, Y.copy(), Z.copy()], [X, Y.copy(), Z.copy()]
    if shared:
        want[2], got[2] = want[1], got[1]
    interpret(captured(case), want)
    kernel_of(case)(*got, case=case)
    for a, b in zip(want, got, strict=True):
        assert np.array_equal(a, b)

"""Guards of accesses: one goes only when its axis is proved, for every element of the tile."""

import pytest

from tests.unit.analysis.finding import all_of
from tilewright import tile
from tilewright.analysis.access import guarded_axes, is_inside, negative_axes
from tilewright.analysis.forms import forms_of
from tilewright.analysis.limits import extent_of, limits_of
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.regions import ParallelOp
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    axis,
    bounds,
    coord,
    f32,
    i64,
    parallel,
    shape,
    tensor_shape,
)


@tile.kernel
def loads(X: ConstView2[f32], N: ConstView1[i64], Y: View2[f32]):
    r, c, none = axis("r", 4), axis("c", 5), axis("none", 0)
    for nest in parallel(shape(3)):
        i = nest.index()
        _ = X[coord(i * 4, 0), shape(r, c)]
        _ = X[coord(i * 4 + 1, 0), shape(r, c)]
        _ = X[coord(i * 4, -1), shape(r, c)]
        _ = X[coord(i - 1, 1), shape(r, c)]
        _ = X[coord(N[i].load(), 0), shape(r, c)]
        _ = X[coord(99, 0), shape(none, c)]
        _ = X.at(coord(N[i].load(), -7), shape(r, c), bounds.assume).load()
        Y.at(coord(i * 4, 0), shape(r, c)).store(1.0)


LOADS = all_of(loads.capture(tensor_shape(12, 5), tensor_shape(3), tensor_shape(12, 5)), LoadOp)


@pytest.mark.parametrize(
    ("place", "guarded", "negative"),
    [(0, (), ()), (1, (0,), ()), (2, (1,), (1,)), (3, (0, 1), (0,)), (4, (0,), (0,)), (5, (), ()), (6, (), ())],
)
def test_the_guards_of_a_load(place: int, guarded: tuple[int, ...], negative: tuple[int, ...]) -> None:
    assert guarded_axes(LOADS[place]) == guarded
    assert negative_axes(LOADS[place]) == negative
    assert is_inside(LOADS[place]) == (not guarded)


@tile.kernel
def blocks(X: ConstView1[f32], N: ConstView1[i64], Y: View1[f32], *, count: int, other: str):
    e = axis("e", 4)
    for nest in parallel(shape(count)):
        i = nest.index()
        x = X[coord(i * 4), shape(e)]
        Y.at(coord(i * 4), shape(e)).store(x)
        if other == "shifted":
            Y.at(coord(i * 4 + 1), shape(e)).store(x)
        if other == "unknown":
            Y.at(coord(N[i].load()), shape(e)).store(x)
        if other == "element":
            Y[i].store(1.0)
        if other == "reads across":
            Y.at(coord(i * 4), shape(e)).store(tile.map(f32, shape(e), lambda p: x.at(coord(3 - p.index(e)))))
        if other == "folds":
            Y.at(coord(i * 4), shape(e)).store(x + tile.reduce(x, e, tile.add))


def made(size: int, count: int, other: str = "") -> tuple[Kernel, ParallelOp]:
    kernel = blocks.capture(tensor_shape(size), tensor_shape(count), tensor_shape(size), count=count, other=other)
    (root,) = all_of(kernel, ParallelOp)
    return kernel, root


def test_a_partial_last_block_is_a_limit_that_proves_its_guards() -> None:
    kernel, root = made(10, 3)
    forms = forms_of(kernel.op)
    limits = limits_of(root, forms)
    ((dim, limit),) = limits.items()
    assert (kernel.label(dim), limit.size, extent_of(root, dim)) == ("e", 10, 4)
    for op in (*all_of(kernel, LoadOp), *all_of(kernel, StoreOp)):
        assert guarded_axes(op) == (0,)
        assert guarded_axes(op, limits, forms) == ()


@pytest.mark.parametrize("other", ["shifted", "unknown", "element", "reads across", "folds"])
def test_what_sees_more_than_the_block_takes_the_limit_away(other: str) -> None:
    kernel, root = made(10, 3, other)
    assert not limits_of(root, forms_of(kernel.op))


@tile.kernel
def anywhere(N: ConstView1[i64], Y: View1[f32]):
    for _ in parallel(shape(1)):
        Y.at(coord(N[0].load()), shape(axis("e", 8))).store(1.0)


def test_a_store_at_a_place_that_is_read_says_nothing() -> None:
    """Placed at -5 it shows its last elements, all of them beyond the extent of the view."""
    kernel = anywhere.capture(tensor_shape(1), tensor_shape(4))
    (root,) = all_of(kernel, ParallelOp)
    assert not limits_of(root, forms_of(kernel.op))


@pytest.mark.parametrize(("size", "count"), [(8, 3), (3, 2), (0, 1)])
def test_a_block_that_is_wholly_outside_is_no_last_block(size: int, count: int) -> None:
    kernel, root = made(size, count)
    assert not limits_of(root, forms_of(kernel.op)), "the limit would be negative in the last block"


@tile.kernel
def turned(X: View2[f32]):
    r, c = axis("r", 4), axis("c", 4)
    for nest in parallel(shape(2)):
        x = X[coord(nest.index() * 4, 0), shape(r, c)]
        X.at(coord(0, nest.index() * 4), shape(c, r)).store(tile.transpose(x, c, r))


def test_a_limit_needs_every_store_to_place_the_axis_alike() -> None:
    kernel = turned.capture(tensor_shape(7, 7))
    (root,) = all_of(kernel, ParallelOp)
    placed = {kernel.label(dim) for dim in limits_of(root, forms_of(kernel.op))}
    assert placed <= {"r", "c"}
    assert "c" not in placed or all(limit.size == 7 for limit in limits_of(root, forms_of(kernel.op)).values())

"""How many vectors of columns a fold along rows takes at once: as many as registers and code allow."""

import pytest

from tests.unit.bridge.xir.planning import planned
from tilewright import tile
from tilewright.bridge.xir.options import XirOptions, element
from tilewright.bridge.xir.records import NestPlan
from tilewright.ir.kernel import Kernel
from tilewright.tile import ConstView2, View1, View2, add, axis, coord, f32, mul, parallel, scan, shape, tensor_shape


@tile.kernel
def sums(X: ConstView2[f32], S: View1[f32], *, steps: int = 1):
    r, c = axis("r", X.shape[0]), axis("c", X.shape[1])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(r, c)]
        for _ in range(steps):
            x = x * x + 1.0
        S.at(coord(0), shape(c)).store(tile.reduce(x, r, add))


@tile.kernel
def kept(X: ConstView2[f32], S: View1[f32], Y: View2[f32]):
    r, c = axis("r", X.shape[0]), axis("c", X.shape[1])
    for _ in parallel(shape(1)):
        x = scan(X[coord(0, 0), shape(r, c)], r, add)
        S.at(coord(0), shape(c)).store(tile.reduce(x, r, add))
        Y.at(coord(0, 0), shape(r, c)).store(x)


@tile.kernel
def row_sums(X: ConstView2[f32], S: View1[f32]):
    r, c = axis("r", X.shape[0]), axis("c", X.shape[1])
    for _ in parallel(shape(1)):
        S.at(coord(0), shape(r)).store(tile.reduce(X[coord(0, 0), shape(r, c)], c, add))


@tile.kernel
def two_folds(X: ConstView2[f32], S: View1[f32]):
    r, c = axis("r", X.shape[0]), axis("c", X.shape[1])
    for _ in parallel(shape(1)):
        x = X[coord(0, 0), shape(r, c)]
        both = tile.map(
            f32, shape(c),
            lambda p: tile.reduce(x, r, add).at(coord(p.index(c))) + tile.reduce(x, r, mul).at(coord(p.index(c))),
        )  # fmt: skip
        S.at(coord(0), shape(c)).store(both)


def map_nests(kernel: Kernel, options: XirOptions | None = None) -> list[NestPlan]:
    nests = planned(kernel, options or XirOptions(lanes=element())).decisions.nests.values()
    return [nest for nest in nests if nest.what in ("map", "fold")]


def test_half_the_registers_hold_sums() -> None:
    (nest,) = map_nests(sums.capture(tensor_shape(9, 512), tensor_shape(512)))
    assert (nest.width, nest.copies) == (8, 8)


@pytest.mark.parametrize(("columns", "copies"), [(7, 1), (8, 1), (16, 2), (39, 4)])
def test_only_whole_vectors_stand_side_by_side(columns: int, copies: int) -> None:
    (nest,) = map_nests(sums.capture(tensor_shape(9, columns), tensor_shape(columns)))
    assert nest.copies == copies


def test_long_expressions_take_fewer_vectors() -> None:
    (nest,) = map_nests(sums.capture(tensor_shape(9, 512), tensor_shape(512), steps=12))
    assert 1 < nest.copies < 8


def test_a_few_vectors_are_enough_for_what_lies_in_a_buffer() -> None:
    kernel = kept.capture(tensor_shape(9, 512), tensor_shape(512), tensor_shape(9, 512))
    (nest,) = map_nests(kernel)
    assert nest.copies == 4


def test_lanes_along_the_folded_axis_have_partials_instead() -> None:
    (nest,) = map_nests(row_sums.capture(tensor_shape(9, 512), tensor_shape(9)))
    assert nest.fold
    assert nest.copies == 1


def test_one_element_at_a_time_stays_so() -> None:
    (nest,) = map_nests(
        sums.capture(tensor_shape(9, 512), tensor_shape(512)), XirOptions(lanes=element(), lane_width=1)
    )
    assert nest.copies == 1


def test_several_folds_in_one_map_go_vector_by_vector() -> None:
    (nest,) = map_nests(two_folds.capture(tensor_shape(9, 64), tensor_shape(64)))
    assert nest.copies == 1

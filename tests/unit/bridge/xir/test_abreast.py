"""How many vectors and rows go side by side: each condition with a kernel on either side of it, and what is told."""

from dataclasses import replace

import pytest

from tilewright import tile
from tilewright.bridge.xir.options import PROGRAM, Use, XirOptions, element
from tilewright.bridge.xir.plan import Plan, plan
from tilewright.bridge.xir.records import NestPlan
from tilewright.core.errors import PlanError
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512, Machine
from tilewright.tile import ConstView1, ConstView2, View1, View2, axis, coord, f32, parallel, shape, tensor_shape


@tile.kernel
def scaled(X: ConstView2[f32], w: ConstView1[f32], Y: View2[f32], *, what: str = ""):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        x, row = X[coord(0, 0), shape(m, n)], w[coord(0), shape(n)]
        if what == "fill":
            y = tile.zeros(f32, shape(m, n))
        elif what == "alone":
            y = x + 1.0
        elif what == "function":
            y = tile.exp(x) * row
        elif what == "division":
            y = x / row
        elif what == "fold":
            y = x * row * tile.reduce(x, n, tile.add)
        elif what == "maximum":
            y = x * row * tile.reduce(x, n, tile.maximum)
        else:
            y = x * row
        Y.at(coord(0, 0), shape(m, n)).store(y)


def planned(
    what: str = "",
    rows: int = 8,
    columns: int = 256,
    machine: Machine = GENERIC_AVX512,
    abreast: Use | None = None,
) -> Plan:
    shapes = tensor_shape(rows, columns), tensor_shape(columns), tensor_shape(rows, columns)
    chosen = XirOptions(lanes=element(), retile=False, abreast=abreast)
    return plan(scaled.capture(*shapes, what=what), machine, chosen, threads=1)


def nest(plan: Plan, what: str) -> NestPlan:
    (found,) = (each for each in plan.decisions.nests.values() if each.what == what)
    return found


def stored(what: str = "", rows: int = 8, columns: int = 256, abreast: Use | None = None) -> tuple[int, int]:
    """Vectors and rows of the store."""
    found = nest(planned(what, rows, columns, abreast=abreast), "store")
    return found.copies, found.rows


def folded(what: str = "fold", rows: int = 8, machine: Machine = GENERIC_AVX512, abreast: Use | None = None) -> int:
    return nest(planned(what, rows, machine=machine, abreast=abreast), "fold").rows


def test_rows_that_share_a_vector_are_stored_together() -> None:
    found = nest(planned(), "store")
    assert (found.copies, found.rows, found.reads) == (4, 2, (2, 1.5))


def test_rows_without_a_common_vector_go_one_by_one() -> None:
    assert stored("alone", rows=7) == (4, 1)  # an even number of rows whole in memory is one long row
    assert nest(planned("alone", rows=7), "store").reads is None


def test_rows_go_in_pairs_or_one_by_one() -> None:
    assert [stored(rows=rows)[1] for rows in (2, 3, 6, 7)] == [2, 1, 2, 1]


def test_a_store_that_reads_nothing_waits_for_nothing() -> None:
    assert stored("fill") == (1, 1)


@pytest.mark.parametrize("what", ["function", "division"])
def test_a_store_that_waits_for_arithmetic_does_not_wait_for_loads(what: str) -> None:
    assert stored(what) == (1, 1)
    assert stored(what, abreast=Use.WHEREVER_LEGAL) == (4, 2)


def test_short_rows_are_at_least_two_groups() -> None:
    assert [stored(rows=3, columns=columns)[0] for columns in (16, 32, 64, 127, 128)] == [1, 1, 2, 3, 4]


def test_folds_of_several_rows_add_side_by_side() -> None:
    assert [folded(rows=rows) for rows in (2, 3, 4, 6, 8)] == [2, 1, 4, 2, 4]


def test_rows_of_a_fold_fit_half_of_the_registers() -> None:
    assert folded(machine=GENERIC_AVX2) == 2
    assert folded(machine=replace(GENERIC_AVX512, vector_registers=8)) == 1


def test_a_maximum_has_few_registers_for_masks() -> None:
    assert folded("maximum") == 1
    assert folded("maximum", abreast=Use.WHEREVER_LEGAL) == 4


def test_a_fold_that_computes_a_function_has_no_room() -> None:
    @tile.kernel
    def powers(X: ConstView2[f32], S: View1[f32]):
        m, n = axis("m", 8), axis("n", 256)
        for _ in parallel(shape(1)):
            S.at(coord(0), shape(m)).store(tile.reduce(tile.exp(X[coord(0, 0), shape(m, n)]), n, tile.add))

    kernel = powers.capture(tensor_shape(8, 256), tensor_shape(8))
    rows = [
        nest(plan(kernel, GENERIC_AVX512, XirOptions(lanes=element(), abreast=asked), threads=1), "fold").rows
        for asked in (None, Use.WHEREVER_LEGAL)
    ]
    assert rows == [1, 4]


def test_what_waits_for_sums_has_as_many_lanes_as_there_are() -> None:
    @tile.kernel
    def means(X: ConstView2[f32], Y: View2[f32]):
        m, n = axis("m", 4), axis("n", 256)
        for _ in parallel(shape(1)):
            x = X[coord(0, 0), shape(m, n)]
            Y.at(coord(0, 0), shape(m, n)).store(x * tile.rsqrt(tile.reduce(x * x, n, tile.add)))

    kernel = means.capture(*[tensor_shape(4, 256)] * 2)
    width = [
        nest(plan(kernel, GENERIC_AVX512, XirOptions(lanes=element(), lane_width=lanes), threads=1), "rsqrt").width
        for lanes in (0, 8)
    ]
    assert width == [4, 8]


def test_rows_of_a_partial_last_block_go_one_by_one() -> None:
    @tile.kernel
    def blocks(X: ConstView2[f32], w: ConstView1[f32], Y: View2[f32]):
        m, n = axis("m", 4), axis("n", 256)
        for step in parallel(shape(axis("g", 3))):
            here = coord(step.index() * 4, 0)
            Y.at(here, shape(m, n)).store(X[here, shape(m, n)] * w[coord(0), shape(n)])

    def rows(count: int) -> int:
        shapes = tensor_shape(count, 256), tensor_shape(256), tensor_shape(count, 256)
        chosen = XirOptions(lanes=element(), retile=False)
        return nest(plan(blocks.capture(*shapes), GENERIC_AVX512, chosen, threads=1), "store").rows

    assert (rows(12), rows(11)) == (2, 1)


def test_nothing_is_side_by_side_where_that_is_asked_for_or_lanes_are_programs() -> None:
    assert stored("fold", abreast=Use.NEVER) == (1, 1)
    assert folded(abreast=Use.NEVER) == 1
    shapes = tensor_shape(8, 256), tensor_shape(256), tensor_shape(8, 256)
    programs = plan(scaled.capture(*shapes), GENERIC_AVX512, XirOptions(lanes=PROGRAM), threads=1)
    assert {(each.copies, each.rows) for each in programs.decisions.nests.values()} == {(1, 1)}


def test_the_report_says_what_goes_side_by_side() -> None:
    lines = planned("fold").render().splitlines()
    (store,) = (line for line in lines if ": store over" in line)
    (fold,) = (line for line in lines if ": fold over" in line)
    assert ", 4 vectors at once, 2 rows at once (1.5 instead of 2 vectors loaded for one)" in store
    assert ", 4 rows at once" in fold


@pytest.mark.parametrize("wrong", [True, "never", 0])
def test_the_choice_is_one_of_two(wrong: object) -> None:
    with pytest.raises(PlanError):
        XirOptions(abreast=wrong)  # type: ignore[arg-type]

"""How many vectors and rows go side by side: each condition with a kernel on either side of it, and what is told."""

import pytest

from tilewright import tile
from tilewright.bridge.xir.options import PROGRAM, Use, XirOptions, element
from tilewright.bridge.xir.plan import Plan, plan
from tilewright.bridge.xir.records import NestPlan
from tilewright.core.errors import PlanError
from tilewright.core.machine import GENERIC_AVX512
from tilewright.tile import ConstView1, ConstView2, View2, axis, coord, f32, parallel, shape, tensor_shape


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
        elif what == "long function":
            y = tile.erf(x) * row
        elif what == "long":
            y = (x * row + row) * (x - row) + x
        elif what == "division":
            y = x / row
        else:
            y = x * row
        Y.at(coord(0, 0), shape(m, n)).store(y)


def planned(
    what: str = "",
    rows: int = 8,
    columns: int = 256,
    abreast: Use | None = None,
) -> Plan:
    shapes = tensor_shape(rows, columns), tensor_shape(columns), tensor_shape(rows, columns)
    chosen = XirOptions(lanes=element(), retile=False, abreast=abreast)
    return plan(scaled.capture(*shapes, what=what), GENERIC_AVX512, chosen, threads=1)


def nest(plan: Plan, what: str) -> NestPlan:
    (found,) = (each for each in plan.decisions.nests.values() if each.what == what)
    return found


def stored(what: str = "", rows: int = 8, columns: int = 256, abreast: Use | None = None) -> tuple[int, int]:
    """Vectors and rows of the store."""
    found = nest(planned(what, rows, columns, abreast=abreast), "store")
    return found.copies, found.rows


def test_rows_that_share_a_vector_are_stored_together() -> None:
    found = nest(planned(), "store")
    assert (found.copies, found.rows, found.reads) == (4, 2, (2, 1.5))


def test_rows_without_a_common_vector_go_one_by_one() -> None:
    assert stored("alone", rows=7) == (4, 1)  # an even number of rows whole in memory is one long row
    assert nest(planned("alone", rows=7), "store").reads is None


def test_rows_go_in_pairs_or_one_by_one() -> None:
    assert [stored(rows=rows) for rows in (7, 8)] == [(4, 1), (4, 2)]


def test_a_short_loop_has_half_of_the_code() -> None:
    assert [stored(rows=rows) for rows in (2, 6)] == [(2, 2), (2, 2)]


def test_a_long_body_of_two_rows_has_half_of_the_vectors() -> None:
    assert [stored("long", rows=rows) for rows in (7, 8)] == [(4, 1), (2, 2)]


def test_a_store_that_reads_nothing_waits_for_nothing() -> None:
    assert stored("fill") == (1, 1)


def test_short_functions_of_four_vectors_take_turns() -> None:
    assert stored("function") == (4, 1)  # the row is read in the meantime
    assert stored("function", columns=32) == (1, 1)  # two would gain little


@pytest.mark.parametrize("what", ["long function", "division"])
def test_a_store_that_waits_for_arithmetic_does_not_wait_for_loads(what: str) -> None:
    assert stored(what) == (1, 1)
    assert stored(what, abreast=Use.WHEREVER_LEGAL) != (1, 1)


def test_parts_of_registers_go_one_by_one() -> None:
    @tile.kernel
    def copied(X: ConstView2[tile.bf16], Y: View2[tile.bf16]):
        m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
        for _ in parallel(shape(1)):
            Y.at(coord(0, 0), shape(m, n)).store(X[coord(0, 0), shape(m, n)])

    kernel = copied.capture(*[tensor_shape(7, 256, dtype=tile.bf16)] * 2)

    def copies(width: int) -> int:
        chosen = XirOptions(lanes=element(), retile=False, lane_width=width)
        return nest(plan(kernel, GENERIC_AVX512, chosen, threads=1), "store").copies

    assert [copies(width) for width in (16, 32)] == [1, 4]


def test_short_rows_are_at_least_two_groups() -> None:
    assert [stored(rows=3, columns=columns)[0] for columns in (16, 32, 64, 127, 128)] == [1, 1, 2, 3, 4]


def test_what_few_sums_are_needed_for_is_computed_one_by_one() -> None:
    """A vector of them would wait for the stores of single ones."""

    @tile.kernel
    def scales(X: ConstView2[f32], s: ConstView1[f32], Y: View2[f32], *, loaded: bool = False):
        m, n = axis("m", X.shape[0]), axis("n", 256)
        for _ in parallel(shape(1)):
            x = X[coord(0, 0), shape(m, n)]
            total = s[coord(0), shape(m)] if loaded else tile.reduce(x * x, n, tile.add)
            Y.at(coord(0, 0), shape(m, n)).store(x * tile.rsqrt(total))

    def width(rows: int, lanes: int = 0, *, loaded: bool = False) -> int:
        kernel = scales.capture(tensor_shape(rows, 256), tensor_shape(rows), tensor_shape(rows, 256), loaded=loaded)
        options = XirOptions(lanes=element(), lane_width=lanes, recompute=Use.NEVER, retile=False)
        return nest(plan(kernel, GENERIC_AVX512, options, threads=1), "rsqrt").width

    assert (width(4), width(5), width(4, loaded=True), width(4, lanes=8)) == (1, 16, 16, 8)


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
    assert stored(abreast=Use.NEVER) == (1, 1)
    shapes = tensor_shape(8, 256), tensor_shape(256), tensor_shape(8, 256)
    programs = plan(scaled.capture(*shapes), GENERIC_AVX512, XirOptions(lanes=PROGRAM), threads=1)
    assert {(each.copies, each.rows) for each in programs.decisions.nests.values()} == {(1, 1)}


def test_the_report_says_what_goes_side_by_side() -> None:
    (line,) = (line for line in planned().render().splitlines() if ": store over" in line)
    assert ", 4 vectors at once, 2 rows at once (1.5 instead of 2 vectors loaded for one)" in line


@pytest.mark.parametrize("wrong", [True, "never", 0])
def test_the_choice_is_one_of_two(wrong: object) -> None:
    with pytest.raises(PlanError):
        XirOptions(abreast=wrong)  # type: ignore[arg-type]

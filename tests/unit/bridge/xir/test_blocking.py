"""Of all ways to compute a product the cheapest legal one is taken, and a plan tells what it was weighed against."""

from dataclasses import replace
from itertools import product as every

import pytest

from tests.unit.bridge.xir.planning import WIDE
from tests.unit.bridge.xir.test_contraction import made
from tilewright.bridge.xir.block_prices import Blocks, Lines, Product, price
from tilewright.bridge.xir.blocking import Bounds, Family, Search, cheapest, tiles_of, ways_of, why_not_shared
from tilewright.bridge.xir.options import Packing, Use, XirOptions
from tilewright.bridge.xir.plan import plan
from tilewright.core.errors import PlanError
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512, Machine, Timings

OPEN = XirOptions()
FREE = Bounds(may_split=True)
NOTHING = Timings(0.0, 0.0, 0.0, (0.0, 0.0, 0.0, 0.0), 0.0, latency=0.0, broadcast=0.0, apart=0.0)
MACHINES = (GENERIC_AVX512, GENERIC_AVX2)


def shape(m: int, n: int, k: int, *, lanes: int = 16, b_across: bool = False) -> Product:
    b = Lines(4 * (k if b_across else n), across=b_across)
    return Product(m, n, k, lanes, 4, Lines(4 * k), b, Lines(4 * n))


def searched(found: Product, options: XirOptions = OPEN, bounds: Bounds = FREE) -> Search:
    return cheapest(found, WIDE, options, bounds)


# ---- the least price


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@pytest.mark.parametrize(("m", "n", "k"), [(1, 4096, 4096), (64, 64, 64), (100, 17, 1000), (500, 700, 900)])
def test_no_way_costs_less(machine: Machine, m: int, n: int, k: int) -> None:
    found = shape(m, n, k, lanes=machine.lanes(32))
    search = cheapest(found, machine, OPEN, FREE)
    ways = list(ways_of(found, machine, OPEN))
    assert search.chosen.terms.total == min(price(found, way, machine).total for way in ways)
    assert search.count == len(ways) == len(set(ways)) <= 100


def test_of_equal_ways_the_first_is_taken() -> None:
    free = replace(GENERIC_AVX512, timings=NOTHING)
    for m, n, k in ((64, 64, 64), (500, 700, 900)):
        found = shape(m, n, k)
        assert cheapest(found, free, OPEN, FREE).chosen.blocks == next(ways_of(found, free, OPEN))


@pytest.mark.parametrize(
    ("found", "family"),
    [
        (shape(64, 64, 64), Family.IN_PLACE),
        (shape(4, 4096, 4096), Family.FEW_LINES),
        (shape(128, 128, 128, b_across=True), Family.ONE_BY_ONE),
        (shape(1000, 1000, 1000), Family.AT_ONCE),
    ],
)
def test_what_is_far_or_lies_across_goes_through_panels(found: Product, family: Family) -> None:
    assert searched(found).chosen.family is family


def test_the_best_of_each_other_family_is_kept_with_its_price() -> None:
    search = searched(shareable(), bounds=replace(FREE, shared_bytes=1 << 30))
    families = [search.chosen.family, *(way.family for way in search.others)]
    assert sorted(family.name for family in families) == sorted(set(Family.__members__) - {"ALONG_K"})
    prices = [way.terms.total for way in (search.chosen, *search.others)]
    assert prices == sorted(prices)


# ---- the space


@pytest.mark.parametrize("rows", [0, 1, 2, 5, 8, 100])
@pytest.mark.parametrize("columns", [0, 1, 16, 17, 100])
def test_register_tiles_leave_registers_for_operands(rows: int, columns: int) -> None:
    for machine, lanes in ((GENERIC_AVX512, 16), (GENERIC_AVX2, 8)):
        tiles = tiles_of(shape(rows, columns, 10, lanes=lanes), machine, OPEN)
        assert tiles
        for height, vectors in tiles:
            assert 1 <= height <= max(rows, 1)
            assert (vectors - 1) * lanes < max(columns, 1), "no vector is all waste"
            assert height * vectors + vectors + 1 <= machine.vector_registers, "sums, a row of B and a broadcast"


def test_what_the_caller_fixed_prunes_the_space() -> None:
    found = shape(500, 700, 900)
    for packing, k, rows, tile in every((None, *Packing), (0, 7, 900), (0, 5), (None, (3, 2))):
        fixed = XirOptions(packing=packing, k_block=k, row_block=rows, register_tile=tile)
        ways = list(ways_of(found, GENERIC_AVX512, fixed))
        assert ways
        assert all(packing is None or way.packed == packing.value for way in ways)
        assert all(not k or way.k == k % 900 for way in ways)
        assert all(not rows or way.row_block == rows for way in ways)
        assert all(tile is None or (way.rows, way.vectors) == tile for way in ways)


def test_the_budget_counts_ways() -> None:
    kernel = made(40, 40, 40)
    with pytest.raises(PlanError, match="TW428"):
        plan(kernel, GENERIC_AVX512, XirOptions(max_candidates=14), threads=1)
    fixed = XirOptions(max_candidates=14, register_tile=(8, 2), packing=Packing.ONE)
    plan(kernel, GENERIC_AVX512, fixed, threads=1)


# ---- what cannot be


def test_sums_that_may_not_wait_need_one_block_of_k() -> None:
    search = searched(shape(4, 4096, 4096), bounds=Bounds(may_split=False))
    assert search.chosen.blocks.k == 0
    assert "what follows the product reads where its sums would wait" in search.rejected[0][0]


def test_sums_over_several_axes_stay_in_registers() -> None:
    search = searched(shape(100, 100, 1000), bounds=Bounds(may_split=True, in_registers=True))
    assert (search.chosen.blocks.k, search.chosen.blocks.packed) == (0, 0)
    assert {way.family for way in search.others} == set()
    assert "since both operands are near" in search.rejected[0][0]


def test_what_is_computed_goes_through_panels() -> None:
    found = shape(64, 64, 64)
    assert searched(found).chosen.blocks.packed == 0
    search = searched(replace(found, b_panels=True))
    assert search.chosen.blocks.packed
    assert ("B as it lies: it is computed while its panels are packed", 5) in search.rejected


def test_rows_of_a_computed_operand_are_packed_by_the_vectors_it_was_priced_for() -> None:
    search = searched(replace(shape(60, 64, 64), a_panels=True), bounds=Bounds(may_split=True, a_lanes=8))
    for way in (search.chosen, *search.others):
        assert way.blocks.rows == 8
    asked = XirOptions(register_tile=(6, 2))
    assert searched(replace(shape(60, 64, 64), a_panels=True), asked, Bounds(may_split=True, a_lanes=8)).chosen


def test_panels_fit_the_scratch_where_there_is_a_choice() -> None:
    small = XirOptions(max_scratch_bytes=100_000)
    search = searched(shape(1000, 1000, 1000), small)
    assert search.chosen.blocks.packed == 0
    assert any("max_scratch_bytes = 100000" in reason for reason, _ in search.rejected)
    assert searched(replace(shape(1000, 1000, 1000), b_panels=True), small).chosen.blocks.packed


def test_what_is_fixed_and_cannot_be_is_an_error() -> None:
    with pytest.raises(ValueError, match="sums would wait"):
        searched(shape(100, 100, 100), XirOptions(k_block=10), Bounds(may_split=False))


# ---- what is told


def test_a_plan_tells_what_its_product_was_weighed_against() -> None:
    text = plan(made(512, 4096, 1000), GENERIC_AVX512, threads=1).render().splitlines()
    (first,) = (place for place, line in enumerate(text) if "contraction with" in line)
    told = text[first + 1 : first + 7]
    assert " ns = multiply-adds 20971520 + tiles " in told[0]
    assert "; the cheapest of " in told[0]
    assert all(line.startswith("  not ") and " more for " in line for line in told[1:5])
    assert told[5].strip() == "5 rejected: panels of more than max_scratch_bytes = 16777216"


def test_a_way_that_lost_says_where() -> None:
    search = searched(shape(1024, 1024, 1024))
    lost = {way.family: way.lost_to(search.chosen) for way in search.others}
    assert lost[Family.IN_PLACE].endswith(" more for B")
    assert lost[Family.FEW_LINES].endswith(" more for C")
    assert lost[Family.BOTH].endswith(" more for copies")


# ---- panels that programs share


def shareable(m: int = 1000, n: int = 1000, k: int = 1000) -> Product:
    return replace(shape(m, n, k), runs=16, workers=1, a_parts=16, b_parts=1)


def sharings(options: XirOptions, shared_bytes: int = 1 << 30) -> set[tuple[int, int]]:
    return {(way.packed, way.shared) for way in ways_of(shareable(), WIDE, options, shared_bytes)}


def test_what_lies_in_panels_may_be_shared() -> None:
    assert sharings(OPEN) == {(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)}
    assert sharings(XirOptions(sharing=Use.NEVER)) == {(0, 0), (1, 0), (2, 0)}
    assert sharings(XirOptions(sharing=Use.WHEREVER_LEGAL)) == {
        (0, 0),
        (1, 1),
        (2, 3),
        (2, 1),
    }  # blocks cut panels of A
    assert sharings(XirOptions(packing=Packing.IN_PLACE)) == {(0, 0)}


def test_what_is_asked_for_is_not_escaped_by_other_tiles() -> None:
    asked = XirOptions(sharing=Use.WHEREVER_LEGAL, packing=Packing.BOTH, row_block=16)
    found = cheapest(shareable(), WIDE, asked, Bounds(True, shared_bytes=1 << 30))
    assert found.chosen.blocks.shared == 3
    assert 16 % found.chosen.blocks.rows == 0  # tiles of 6 rows are cut, and would be cheaper


def test_shared_panels_fit_what_is_left() -> None:
    assert sharings(OPEN, shared_bytes=5 << 20) == {(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)}
    assert sharings(OPEN, shared_bytes=0) == {(0, 0), (1, 0), (2, 0)}
    product, blocks = shareable(), Blocks(8, 2, 0, 0, 1)
    assert (
        why_not_shared(product, blocks, 0, is_rows=False)
        == "they take 4096000 bytes, and 0 are left of max_shared_bytes"
    )
    assert why_not_shared(product, blocks, 1 << 30, is_rows=False) is None
    assert why_not_shared(product, replace(blocks, rows=12, row_block=100), 1 << 30, is_rows=True) is not None


def test_many_programs_share_what_each_would_pack() -> None:
    found = cheapest(
        shareable(100, 1000, 1000), WIDE, XirOptions(packing=Packing.ONE), Bounds(True, shared_bytes=1 << 30)
    )
    assert found.chosen.family is Family.SHARED
    assert "(B)" in str(found.chosen)
    assert {way.family for way in found.others} <= {Family.ONE_BY_ONE, Family.AT_ONCE}
    few = replace(shareable(1000, 100, 16), runs=1, workers=16)
    kept = cheapest(few, WIDE, XirOptions(packing=Packing.ONE), Bounds(True, shared_bytes=1 << 30))
    assert kept.chosen.family is not Family.SHARED  # there is nothing to wait for
    assert any(way.family is Family.SHARED for way in kept.others)

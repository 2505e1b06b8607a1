"""What a product takes with lanes along k, term by term, and that it is weighed with all other ways."""

import re
from dataclasses import replace

import pytest

from tests.unit.bridge.xir.test_dots import planned
from tilewright.bridge.xir.block_prices import Blocks, Lines, Product, Terms
from tilewright.bridge.xir.blocking import Family, cheapest_dots, price_of
from tilewright.bridge.xir.dot_prices import DOT_TILES
from tilewright.core.machine import GENERIC_AVX512, Machine, Timings

FIGURES = Timings(1.0, 5.0, 10.0, (0.25, 2.0, 4.0, 32.0), 3.0, latency=4.0, broadcast=0.5, apart=8.0)
ROUND = replace(GENERIC_AVX512, timings=FIGURES)
TILE = Blocks(8, 1, 0, 0, 0, along=True)


def product(m: int, n: int, k: int, *, turned: bool = False) -> Product:
    return Product(m, n, k, 16, 4, Lines(4 * k), Lines(4 * k, across=turned), Lines(4 * n))


def terms(found: Product, blocks: Blocks = TILE, machine: Machine = ROUND) -> Terms:
    return price_of(found, blocks, machine)


def test_every_vector_of_k_is_a_multiply_add_for_each_sum() -> None:
    assert terms(product(64, 1, 320)).arithmetic == 64 * 20
    assert terms(product(64, 1, 321)).arithmetic == 64 * 21  # a partial one counts as a whole


def test_loads_and_waiting_sums_count_where_they_take_longer() -> None:
    slow = replace(ROUND, timings=replace(FIGURES, levels=(2.0, 2.0, 4.0, 32.0)))
    assert terms(product(8, 1, 16), machine=slow).arithmetic == (8 + 1) * 2
    assert terms(product(1, 1, 16), Blocks(1, 1, 0, 0, 0, along=True)).arithmetic == 4  # a chain of one step


def test_each_sum_is_folded() -> None:
    assert terms(product(64, 3, 320), Blocks(5, 3, 0, 0, 0, along=True)).tiles == 64 * 3 * 10


def test_what_does_not_lie_along_k_is_turned() -> None:
    assert terms(product(64, 3, 320)).copies == 0
    assert terms(product(64, 3, 320, turned=True)).copies == pytest.approx(3 * 320 * 0.4)


def test_rows_come_once_from_where_they_lie() -> None:
    near, far = (terms(product(m, 1, 4096)) for m in (8, 4096))
    assert near.a == 8 * 256 * 2.0  # 128 KiB
    assert far.a == 4096 * 256 * (32 - 0.8 * 1.0)  # from memory, while multiply-adds go on


def test_nothing_takes_nothing() -> None:
    assert terms(product(0, 1, 16)).total == 0


def test_the_cheapest_tile_is_taken() -> None:
    for columns in (1, 2, 3, 17):
        found = product(1000, columns, 1000)
        best = cheapest_dots(found, ROUND)
        assert best.family is Family.ALONG_K
        for rows, beside in DOT_TILES:
            cut = Blocks(rows, min(beside, columns), 0, 0, 0, along=True)
            assert best.terms.total <= terms(found, cut).total


def test_the_report_has_both_sides() -> None:
    along = planned(1000, 1, 1000)[1].render()
    assert re.search(r"the cheapest of \d+ ways: lanes along k, 8 x 1", along)
    assert re.search(r"not panels of B.*: \d+ ns, \d+ more for ", along)
    across = planned(100, 200, 64, "transposed")[1].render()
    assert re.search(r"not lanes along k, \d x \d: \d+ ns, \d+ more for ", across)
    assert "1 rejected: lanes along k: sums keep their order" in planned(1000, 1, 1000, "in order")[1].render()


def test_lanes_along_k_are_a_term_of_the_plan() -> None:
    item, made = planned(1000, 1, 1000)
    assert item.search is not None
    assert made.chosen.terms.products == pytest.approx(item.search.chosen.terms.total)
    turned, kept = planned(1000, 3, 1000)
    assert turned.search is not None
    taken = turned.search.chosen.terms
    assert taken.copies > 0  # the loop that fills the buffer counts by itself
    assert kept.chosen.terms.products == pytest.approx(taken.total - taken.copies)

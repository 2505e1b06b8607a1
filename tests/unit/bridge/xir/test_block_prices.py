"""What a product takes in blocks: each term by itself, and what must hold of any sum of them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.bridge.xir.block_prices import Blocks, Lines, Product, Terms, price
from tilewright.core.machine import GENERIC_AVX512, Level, Machine, Timings

FIGURES = Timings(1.0, 5.0, 10.0, (1.0, 2.0, 4.0, 32.0), 3.0, latency=1.0, broadcast=0.5, apart=8.0)
ROUND = replace(GENERIC_AVX512, timings=FIGURES)
TILE = Blocks(8, 2, 0, 0, 0)
PANELS = replace(TILE, packed=1)


def square(n: int, *, b: Lines | None = None) -> Product:
    """n x n x n in rows side by side."""
    return product(n, n, n, b=b)


def product(
    m: int, n: int, k: int, *, a: Lines | None = None, b: Lines | None = None, c: Lines | None = None
) -> Product:
    return Product(m, n, k, 16, 4, a or Lines(4 * k), b or Lines(4 * n), c or Lines(4 * n))


def terms(shape: Product, blocks: Blocks = TILE, machine: Machine = ROUND) -> Terms:
    return price(shape, blocks, machine)


def slower(**figures: float) -> Machine:
    return replace(ROUND, timings=replace(FIGURES, **figures))


# ---- multiply-adds


def test_every_vector_of_sums_is_a_multiply_add_for_each_k() -> None:
    assert terms(product(64, 64, 10)).arithmetic == 64 * 4 * 10


def test_a_partial_vector_counts_as_a_full_one_and_a_narrow_last_one_for_half() -> None:
    assert terms(product(8, 60, 10), Blocks(8, 4, 0, 0, 0)).arithmetic == 8 * 4 * 10
    quick, narrow = slower(broadcast=0.1), product(8, 17, 10)
    assert terms(narrow, Blocks(8, 1, 0, 0, 0), quick).arithmetic == 8 * 1.5 * 10
    assert terms(narrow, Blocks(8, 1, 0, 0, 1), quick).arithmetic == 8 * 2 * 10  # vectors of a panel are full


def test_few_sums_wait_for_each_other() -> None:
    chained = slower(latency=12.0)
    assert terms(product(8, 16, 10), Blocks(8, 1, 0, 0, 0), chained).arithmetic == 12 * 10
    assert terms(product(8, 32, 10), TILE, chained).arithmetic == 16 * 10


def test_loads_count_where_they_take_longer_than_multiply_adds() -> None:
    assert terms(product(1, 32, 10), Blocks(1, 2, 0, 0, 0), slower(broadcast=3.0)).arithmetic == (2 + 3) * 10


def test_what_is_converted_takes_operations_for_each_k() -> None:
    narrow = product(8, 32, 10, a=Lines(20, converted=True), b=Lines(64, converted=True))
    assert terms(narrow).arithmetic == (16 + 8 + 2) * 10


# ---- what is done again


def test_code_is_fetched_once_in_a_launch() -> None:
    once, often = product(64, 64, 64), replace(product(64, 64, 64), runs=100)
    assert terms(often).code == terms(once).code / 100 > 0
    assert replace(terms(often), code=terms(once).code) == terms(once)  # of one size


def test_further_sizes_of_tiles_take_something_every_time() -> None:
    once, often = (terms(replace(product(60, 64, 64), runs=runs)) for runs in (1, 1000))
    assert often.tiles - once.tiles == pytest.approx(once.code / 16, rel=0.01)  # two sizes, of which one is further


def test_sums_that_stay_in_registers_over_several_axes_are_carried_once() -> None:
    once, nine = (terms(replace(product(64, 64, 64), folds=folds)) for folds in (1, 9))
    assert (nine.arithmetic, nine.a) == (9 * once.arithmetic, 9 * once.a)
    assert (nine.c, nine.tiles) == (once.c, once.tiles)


# ---- what is brought


def test_sums_are_brought_and_carried_back_for_each_block_of_k() -> None:
    once, twice = (terms(product(512, 512, 1024), replace(PANELS, k=k)) for k in (0, 512))
    assert twice.c == 2 * once.c > 0


def test_rows_that_share_a_set_of_the_first_cache_throw_each_other_out() -> None:
    high = Blocks(12, 2, 0, 0, 1)
    in_pages, beside = (terms(product(480, 480, 1024, a=Lines(step)), high).a for step in (4096, 4096 + 64))
    assert in_pages > 2 * beside
    low = (terms(product(480, 480, 1024, a=Lines(step)), PANELS).a for step in (4096, 4096 + 64))
    assert len(set(low)) == 1  # eight rows fit eight ways


def test_a_few_lines_at_a_time_come_ahead_and_many_do_not() -> None:
    few, many = (terms(product(4, 4096, 4096), Blocks(4, 2, k, 0, 0)) for k in (8, 512))
    assert few.b < many.b
    assert few.c > many.c


def test_panels_take_copies_and_then_little_else() -> None:
    shape = square(2048)
    in_place, packed = terms(shape), terms(shape, PANELS)
    assert in_place.copies == 0 < packed.copies
    assert packed.b < in_place.b


def test_what_lies_across_the_lanes_is_gathered_again_and_again_or_turned_once() -> None:
    shape = square(256, b=Lines(1024, across=True))
    assert terms(shape).total > 2 * terms(shape, PANELS).total


def test_a_panel_that_is_copied_beside_tiles_does_not_wait_for_memory() -> None:
    beside, before = (terms(product(m, 4096, 4096), PANELS).copies for m in (64, 63))
    assert beside < before


def test_nothing_takes_no_time() -> None:
    for m, n, k in ((0, 4, 4), (4, 0, 4), (4, 4, 0)):
        assert terms(product(m, n, k)).total == 0
    assert terms(replace(product(4, 4, 4), runs=0)).total == 0


# ---- laws of the sum

SIZES = st.sampled_from([1, 7, 16, 48, 100, 192, 512, 1000, 1024, 4096])
WAYS = st.builds(
    Blocks,
    rows=st.sampled_from([1, 6, 8, 14]),
    vectors=st.sampled_from([1, 2, 4]),
    k=st.sampled_from([0, 8, 500]),
    row_block=st.sampled_from([0, 192]),
    packed=st.sampled_from([0, 1, 2]),
)


@given(SIZES, SIZES, SIZES, WAYS)
def test_twice_as_much_never_takes_less(m: int, n: int, k: int, blocks: Blocks) -> None:
    once = terms(product(m, n, k), blocks)
    assert 0 < once.total < float("inf")
    assert min(once.parts().values()) >= 0
    for more in ((2 * m, n, k), (m, 2 * n, k), (m, n, 2 * k)):
        same_lines = product(*more, a=Lines(4 * k), b=Lines(4 * n), c=Lines(4 * n))
        assert terms(same_lines, blocks).total >= once.total


@given(SIZES, SIZES, SIZES, WAYS, st.sampled_from(["arithmetic", "latency", "broadcast", "apart", "gathered_lane"]))
def test_a_slower_machine_never_takes_less(m: int, n: int, k: int, blocks: Blocks, figure: str) -> None:
    worse = slower(**{figure: 2 * getattr(FIGURES, figure)})
    assert terms(product(m, n, k), blocks, worse).total >= terms(product(m, n, k), blocks).total


@pytest.mark.parametrize("level", [Level.L2, Level.L3, Level.MEMORY])
def test_a_farther_cache_never_takes_less(level: Level) -> None:
    levels = tuple(2 * each if place >= level else each for place, each in enumerate(FIGURES.levels))
    worse = replace(ROUND, timings=replace(FIGURES, levels=levels))
    for n in (64, 512, 4096):
        assert terms(square(n), TILE, worse).total >= terms(square(n)).total


def test_terms_add_up_and_are_told() -> None:
    found = terms(square(512), PANELS)
    assert found.total == pytest.approx(sum(found.parts().values()))
    assert str(found).startswith(f"{found.total:.0f} ns = multiply-adds {found.arithmetic:.0f} + tiles ")


def test_steps_of_up_to_two_pages_through_an_a_beyond_the_second_cache_take_longest() -> None:
    """Each line is another place; of an A that is near, and of one whose rows lie along k, the step costs nothing."""

    def of_a(step: int, depth: int, *, across: bool = True) -> float:
        return terms(product(512, 32, depth, a=Lines(step, across=across))).a

    far, near = ROUND.l2_bytes // 512, ROUND.l2_bytes // 4096  # so that A has two times, or a fourth of, the cache
    assert of_a(8192, far) > of_a(12288, far)
    assert of_a(8192, near) == of_a(12288, near)
    assert of_a(8192, far, across=False) == of_a(12288, far, across=False)


def test_lines_of_b_in_place_that_fill_the_second_cache_are_waited_for_again_and_again() -> None:
    """Up to its size most of the way goes by beneath arithmetic."""

    def of_b(depth: int) -> float:
        return terms(product(800, 32, depth, b=Lines(4096))).b / depth

    held = ROUND.l2_bytes // (2 * ROUND.cache_line)  # rows of two lines
    assert of_b(held + 1) > 10 * of_b(held)


# ---- what programs share

PARTED = replace(product(64, 256, 64), runs=8, workers=4, b_parts=1, a_parts=8)
SHARED = replace(PANELS, shared=1)


def test_a_worker_copies_its_part_of_what_is_shared() -> None:
    own, shared = (terms(PARTED, blocks) for blocks in (replace(PANELS, row_block=8), SHARED))
    assert shared.copies == pytest.approx(own.copies * (8 / 4) / (8 * 8), rel=0.3)  # 8 panels of 4 workers, 8 programs
    assert terms(replace(PARTED, workers=1), SHARED).copies == pytest.approx(4 * shared.copies)


def test_what_is_shared_is_waited_for_once_a_launch() -> None:
    alone = terms(replace(PARTED, workers=1), SHARED)
    assert alone.waiting == (FIGURES.relaunch + 8 * FIGURES.task) / 8
    assert alone.once == alone.code + alone.waiting
    several = terms(PARTED, SHARED)
    assert several.waiting > (FIGURES.relaunch + 2 * FIGURES.task) / 8  # and half of a panel
    assert terms(PARTED, PANELS).waiting == 0


def test_panels_of_others_are_brought_to_each_program() -> None:
    near, far = (terms(replace(PARTED, workers=workers), SHARED).b for workers in (1, 4))
    assert far - near == pytest.approx(64 * 256 / 16 * (4.0 + 8.0 / 2))  # from L3, and half of being apart


def test_both_operands_are_packed_in_one_launch() -> None:
    both = terms(replace(PARTED, workers=1), replace(SHARED, packed=2, shared=3))
    assert both.waiting == (FIGURES.relaunch + (8 + 8 * 8) * FIGURES.task) / 8


def test_shared_panels_are_waited_for_in_each_round_of_rows() -> None:
    found = replace(product(64, 4096, 512), runs=1, workers=4, b_parts=1)  # 8 MiB
    once, twice = (terms(found, replace(SHARED, row_block=rows)).b for rows in (64, 32))
    assert twice - once == pytest.approx(512 * 4096 / 16 * (0.15 * 4.0 - 0.03 * 2.0))  # L3, and one pass less from L2

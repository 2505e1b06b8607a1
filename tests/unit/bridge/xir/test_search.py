"""The search: exact over its declared space, with every constraint honoured or refused, and its cost by hand."""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import permutations
from math import inf
from typing import Any

import pytest

from tests.unit.bridge.xir.planning import label_of, planned
from tilewright import tile
from tilewright.bridge.xir.cost import CostTerms, Work, program_work, score
from tilewright.bridge.xir.options import PROGRAM, CostModel, Element, XirOptions, element
from tilewright.bridge.xir.plan import ELEMENT_BLOCKS, PROGRAM_BLOCKS, plan
from tilewright.bridge.xir.prices import specification_prices
from tilewright.core.errors import PlanError, UnsupportedError
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of
from tilewright.ir.ops.regions import ParallelOp
from tilewright.tile import ConstView2, View2, axis, cast, coord, f32, i32, parallel, shape, tensor_shape

MODEL = CostModel()
PRICES = specification_prices(MODEL)


@tile.kernel
def copied(X: ConstView2[f32], Y: View2[f32]):
    a, b = axis("a", 1), axis("b", 4)
    for nest in parallel(shape(axis("i", X.shape[0]), axis("j", X.shape[1] // 4))):
        i, j = nest.coords()
        Y.at(coord(i, j * 4), shape(a, b)).store(X[coord(i, j * 4), shape(a, b)] * 2.0)


@tile.kernel
def doubled(X: ConstView2[f32], Y: View2[f32]):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(axis("one", 1))):
        Y.at(coord(0, 0), shape(m, n)).store(X[coord(0, 0), shape(m, n)] * 2.0)


def wide(rows: int, columns: int) -> Kernel:
    return doubled.capture(tensor_shape(rows, columns), tensor_shape(rows, columns))


KERNEL = copied.capture(tensor_shape(40, 48), tensor_shape(40, 48))


# ---- options


def made_with(option: str, value: object) -> XirOptions:
    values: dict[str, Any] = {option: value}
    return XirOptions(**values)


@pytest.mark.parametrize(
    ("option", "bad", "good"),
    [
        ("block_size", (-1, (1 << 20) + 1), (0, 1, 1 << 20)),
        ("max_candidates", (0, -1), (1, 1 << 30)),
        ("fold_partials", (0, 17), (1, 16)),
        ("max_scratch_bytes", (-1,), (0, 1 << 40)),
        ("max_shared_bytes", (-1,), (0, 1 << 40)),
        ("max_operations", (0,), (1,)),
        ("lane_width", (-1, -2, 3, 12, 65, 128), (0, 1, 2, 64)),
    ],
)
def test_options_out_of_range_are_refused(option: str, bad: tuple[int, ...], good: tuple[int, ...]) -> None:
    for value in bad:
        with pytest.raises(PlanError, match=f"the plan option {option} is {value}"):
            made_with(option, value)
    for value in good:
        assert getattr(made_with(option, value), option) == value


@pytest.mark.parametrize("cost", [-1.0, inf, float("nan")])
@pytest.mark.parametrize("name", ["arithmetic", "broadcast_load", "contiguous", "gathered_lane", "block_dispatch"])
def test_costs_are_finite_and_not_negative(name: str, cost: float) -> None:
    with pytest.raises(PlanError, match=f"the plan option cost.{name} is {cost}"):
        XirOptions(cost=replace(MODEL, **{name: cost}))


# ---- the space


def test_the_space_is_lanes_by_orders_by_blocks() -> None:
    made = planned(KERNEL)
    weighed = [(item.lanes, item.order, item.block) for item in (*made.candidates, *made.rejected)]
    expected = [(Element(), (0, 1), block) for block in ELEMENT_BLOCKS]
    expected += [(PROGRAM, order, block) for order in permutations(range(2)) for block in PROGRAM_BLOCKS]
    assert weighed == expected


def test_the_budget_is_exact_and_the_search_never_cut_short() -> None:
    size = len(ELEMENT_BLOCKS) + 2 * len(PROGRAM_BLOCKS)
    assert len(planned(KERNEL, XirOptions(max_candidates=size)).candidates) == size
    with pytest.raises(
        PlanError, match=f"the plan space holds {size} candidates, more than max_candidates = {size - 1}"
    ):
        planned(KERNEL, XirOptions(max_candidates=size - 1))


def test_a_root_of_many_axes_is_counted_without_listing_its_orders() -> None:
    @tile.kernel
    def wide(Y: View2[f32]):
        for nest in parallel(shape(*[1] * 20)):
            Y[nest.coords()[0], nest.coords()[1]].store(1.0)

    kernel = wide.capture(tensor_shape(1, 1))
    with pytest.raises(PlanError, match="the plan space holds 14597412049059840007 candidates"):
        planned(kernel)
    assert planned(kernel, XirOptions(lanes=element())).chosen.order == tuple(range(20))


def test_the_answer_is_the_minimum_and_ties_go_to_the_first() -> None:
    for threads in (1, 3, 64):
        made = plan(KERNEL, GENERIC_AVX512, threads=threads)
        least = min(item.terms.total for item in made.candidates)
        first = next(item for item in made.candidates if item.terms.total == least)
        assert made.chosen is first
    tied = planned(KERNEL, XirOptions(cost=CostModel(0.0, 0.0, 0.0, 0.0, 0.0)))
    assert tied.chosen is tied.candidates[0]


def test_the_terms_of_every_program_candidate_follow_the_formula() -> None:
    made = planned(KERNEL, XirOptions(lanes=PROGRAM, cost=MODEL))
    (root,) = (op for op in KERNEL.op.body.block.ops if isinstance(op, ParallelOp))
    for item in made.candidates:
        work = program_work(root, item.order[-1], PRICES, made.width)
        assert item.terms == score(work, PRICES, programs=480, block=item.block, packet=made.width, workers=4)


# ---- constraints


@pytest.mark.parametrize("lanes", [PROGRAM, element()])
@pytest.mark.parametrize("order", [("i", "j"), ("j", "i")])
def test_fixed_constraints_hold_exactly(lanes: Element, order: tuple[str, str]) -> None:
    made = planned(KERNEL, XirOptions(lanes=lanes, root_axis_order=order, block_size=64))
    (only,) = made.candidates
    assert (only.lanes, only.block) == (lanes, 64)
    assert tuple(made.axes[axis] for axis in only.order) == order
    assert (made.tasks, made.programs) == (8, 480)


def test_threads_per_group_is_the_block() -> None:
    made = plan(KERNEL, GENERIC_AVX2, threads=4, threads_per_group=24)
    assert made.chosen.block == 24
    assert made.tasks == 20
    agreed = plan(KERNEL, GENERIC_AVX2, XirOptions(block_size=24), threads=4, threads_per_group=24)
    assert agreed.chosen.block == 24


@pytest.mark.parametrize(
    ("options", "group", "conflict"),
    [
        (XirOptions(block_size=32), 64, "block_size = 32 and threads_per_group = 64"),
        (XirOptions(root_axis_order=("i",)), 0, "is no permutation of the root axes"),
        (XirOptions(root_axis_order=("i", "i")), 0, "is no permutation of the root axes"),
        (XirOptions(root_axis_order=("i", "k")), 0, "is no permutation of the root axes"),
    ],
)
def test_constraints_that_contradict(options: XirOptions, group: int, conflict: str) -> None:
    with pytest.raises(PlanError, match=conflict) as caught:
        plan(KERNEL, GENERIC_AVX2, options, threads=1, threads_per_group=group)
    assert caught.value.diagnostic.code.id == "TW427"


def test_a_block_of_broken_packets_is_rejected_with_its_reason() -> None:
    with pytest.raises(PlanError) as caught:
        planned(KERNEL, XirOptions(lanes=PROGRAM, block_size=12))
    assert set(caught.value.rejections) == {"a block of 12 programs does not hold whole packets of 8 lanes"}
    assert planned(KERNEL, XirOptions(block_size=12)).chosen.lanes == Element()


def test_scratch_over_its_budget_is_rejected_with_the_size() -> None:
    @tile.kernel
    def kept(X: ConstView2[f32], Y: View2[f32]):
        r, c = axis("r", 4), axis("c", 24)
        for _ in parallel(shape(1)):
            x = X[coord(0, 0), shape(r, c)]
            Y.at(coord(0, 0), shape(r, c)).store(tile.scan(x, c, tile.add))

    kernel = kept.capture(tensor_shape(4, 24), tensor_shape(4, 24))
    needed = 4 * 24 * 4
    assert planned(kernel, XirOptions(lanes=element(), max_scratch_bytes=needed)).decisions.scratch_bytes == needed
    with pytest.raises(PlanError) as caught:
        planned(kernel, XirOptions(lanes=element(), max_scratch_bytes=needed - 1))
    assert set(caught.value.rejections) == {
        f"its buffers take {needed} bytes of scratch, more than max_scratch_bytes = {needed - 1}"
    }


def test_a_cost_that_is_no_number_rejects() -> None:
    with pytest.raises(PlanError) as caught:
        planned(KERNEL, XirOptions(cost=CostModel(arithmetic=1e308, contiguous=1e308)))
    assert set(caught.value.rejections) == {"its cost is not a finite number"}


@tile.kernel
def by_columns(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 8), axis("c", 8)
    for _ in parallel(shape(1)):
        Y.at(coord(0, 0), shape(r, c)).store(X[coord(0, 0), shape(r, c)] + 1.0)


@pytest.mark.parametrize(("name", "lane"), [("", "c"), ("c", "c"), ("r", "r")])
def test_a_named_axis_carries_the_lanes(name: str, lane: str) -> None:
    kernel = by_columns.capture(tensor_shape(8, 8), tensor_shape(8, 8))
    made = planned(kernel, XirOptions(lanes=element(name)))
    assert [label_of(kernel, nest.lane) for nest in made.decisions.nests.values()] == [lane]


def test_an_axis_that_does_not_exist_carries_no_lanes() -> None:
    with pytest.raises(PlanError, match="no axis is called z"):
        planned(KERNEL, XirOptions(lanes=element("z")))


# ---- the formula, by hand


def test_score_by_hand() -> None:
    # 100 programs in blocks of 32, packets of 8, 3 workers: 4 blocks, 13 packets, 2 waves of 4 packets a block
    terms = score(Work(10.0, 4.0), PRICES, programs=100, block=32, packet=8, workers=3)
    assert terms.arithmetic == pytest.approx(10 * 13 / 3)
    assert terms.memory == pytest.approx(4 * 13 / 3)
    assert terms.dispatch == 256
    assert terms.imbalance == pytest.approx((8 - 13 / 3) * 14)
    assert terms.total == pytest.approx(10 * 13 / 3 + 4 * 13 / 3 + 256 + (8 - 13 / 3) * 14)


def test_the_last_of_uneven_blocks_may_be_the_longest() -> None:
    sizes = {"programs": 128, "packet": 1, "workers": 2}
    even, uneven = (score(Work(1.0, 1.0), PRICES, block=64, **sizes, uneven=each) for each in (False, True))
    assert uneven.imbalance - even.imbalance == 64 * 2
    assert score(Work(1.0, 1.0), PRICES, block=8, **sizes, uneven=True).imbalance == 8 * 2
    alone = score(Work(1.0, 1.0), PRICES, block=64, programs=128, packet=1, workers=1, uneven=True)
    assert alone.imbalance == 0


def test_more_workers_than_blocks_and_no_programs_at_all() -> None:
    terms = score(Work(1.0, 1.0), PRICES, programs=8, block=32, packet=8, workers=64)
    assert terms == CostTerms(1.0, 1.0, 128.0, 0.0)
    assert score(Work(1.0, 1.0), PRICES, programs=0, block=32, packet=8, workers=64) == CostTerms(0.0, 0.0, 0.0, 0.0)


def work_of(kernel: Kernel, innermost: int, width: int = 8) -> Work:
    (root,) = (op for op in kernel.op.body.block.ops if isinstance(op, ParallelOp))
    return program_work(root, innermost, PRICES, width)


def test_work_by_the_slope_along_the_innermost_root_axis() -> None:
    # 4 elements, one product each (and the two index products); j moves by 4 elements: gathered, i by 48: gathered
    assert work_of(KERNEL, 0) == Work(6.0, 4 * 16.0 + 4 * 16.0)
    # 12 programs along j do not fill packets of 8: memory counts twice
    assert work_of(KERNEL, 1) == Work(6.0, 2 * (4 * 16.0 + 4 * 16.0))


def test_contiguous_broadcast_and_unknown_accesses() -> None:
    @tile.kernel
    def mixed(X: ConstView2[f32], I: ConstView2[i32], Y: View2[f32]):
        for nest in parallel(shape(16)):
            i = nest.index()
            x = X[0, i].load() + X[3, 0].load()
            for step in nest.serial(shape(5)):
                place = cast(tile.i64, I[i, step.index()].load())
                Y[0, i].store(x + X[0, place].load())

    kernel = mixed.capture(tensor_shape(4, 16), tensor_shape(16, 5), tensor_shape(1, 16))
    # X[0, i] contiguous 2, X[3, 0] broadcast 1; five times: I[i, s] slope 5 gathered 16, Y[0, i] 2, X[0, ?] 16
    # one addition, and five times a cast and an addition
    assert work_of(kernel, 0) == Work(1 + 5 * 2.0, 2 + 1 + 5 * (16 + 2 + 16.0))


def test_a_product_counts_two_for_each_step() -> None:
    @tile.kernel
    def product(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32]):
        m, n, k = axis("m", 3), axis("n", 4), axis("k", 5)
        for nest in parallel(shape(8)):
            a, b = A[coord(nest.index() * 3, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
            C.at(coord(nest.index() * 3, 0), shape(m, n)).store(tile.mma(a, b, tile.zeros(f32, shape(m, n))))

    kernel = product.capture(tensor_shape(24, 5), tensor_shape(5, 4), tensor_shape(24, 4))
    assert work_of(kernel, 0).arithmetic == 3 * 4 * 5 * 2 + 2
    assert work_of(kernel, 0).memory == 3 * 5 * 16 + 5 * 4 * 1 + 3 * 4 * 16


# ---- determinism


def test_the_same_input_gives_the_same_plan_in_every_process() -> None:
    program = (
        "from tests.unit.bridge.xir.test_search import KERNEL, planned\n"
        "made = planned(KERNEL)\n"
        "print(made.render(), made.decisions, made.candidates)\n"
    )
    texts = {
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=settings).stdout
        for settings in ({**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2"))
    }
    made = planned(KERNEL)
    assert texts == {f"{made.render()} {made.decisions} {made.candidates}\n"}


# ---- admission


def test_every_reason_for_a_refusal_is_told_at_once() -> None:
    @tile.kernel
    def refused(Y: View2[f32]):
        for nest in parallel(shape(2), scope="group"):
            for inner in nest.parallel(shape(axis("h", 2)), scope="group"):
                Y[nest.index(), inner.index()].store(1.0)

    kernel = refused.capture(tensor_shape(2, 2, strides=(0, 1)))
    with pytest.raises(UnsupportedError) as caught:
        planned(kernel)
    assert [item.code.id for item in caught.value.diagnostics] == ["TW421", "TW422", "TW422"]
    first = span_of(kernel.op).line
    assert [item.span.line - first for item in caught.value.diagnostics] == [0, 2, 3]


def test_work_beside_the_root_is_refused_where_it_stands() -> None:
    @tile.kernel
    def twice(Y: View2[f32]):
        for nest in parallel(shape(2)):
            Y[nest.index(), 0].store(1.0)
        for nest in parallel(shape(2)):
            Y[nest.index(), 1].store(1.0)

    kernel = twice.capture(tensor_shape(2, 2))
    with pytest.raises(UnsupportedError, match="the kernel has 2 with 0 other root operations") as caught:
        planned(kernel)
    assert caught.value.diagnostic.span.line - span_of(kernel.op).line == 4


# ---- the report


def test_the_report_says_how_much_dearer_others_are_and_for_what() -> None:
    made = planned(KERNEL)
    lines = made.render().splitlines()
    (chosen,) = (line for line in lines if line.endswith(": chosen"))
    assert f"{made.chosen.lanes}, order" in chosen
    others = {item.lanes for item in made.candidates} - {made.chosen.lanes}
    for lanes in others:
        best = min((item.terms for item in made.candidates if item.lanes == lanes), key=lambda terms: terms.total)
        ratio = best.total / made.chosen.terms.total
        why = f"memory: {best.memory:.0f} instead of {made.chosen.terms.memory:.0f}"
        assert any(f"{best}: {ratio:.3g} times as much, most of it for {why}" in line for line in lines)


def test_the_report_says_what_lanes_along_other_axes_would_take() -> None:
    line = next(line for line in planned(wide(16, 32)).render().splitlines() if ": store over" in line)
    assert line.endswith(
        "8 lanes along n, through m without a gap, 4 vectors at once (128 vector operations; 1024 along m)"
    )

"""What products take in the cost of a plan: their own price, for what each program has of them."""

from dataclasses import replace

import pytest

from tests.unit.bridge.xir.planning import WIDE, contracts_of
from tilewright import tile
from tilewright.analysis.structure import structure_of
from tilewright.bridge.xir.block_prices import price
from tilewright.bridge.xir.options import CostModel, XirOptions, element
from tilewright.bridge.xir.plan import Plan, plan
from tilewright.bridge.xir.product_work import product_work
from tilewright.bridge.xir.records import LimitPlan
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.tiles import MmaOp
from tilewright.tile import ConstView3, View3, axis, cdiv, coord, f32, mma, parallel, shape, tensor_shape, zeros

OPEN = XirOptions(lanes=element())


@tile.kernel
def products(A: ConstView3[f32], B: ConstView3[f32], C: View3[f32], *, steps: int = 0):
    """Blocks of 32 rows of C[h] = A[h] B[h], all h in one program; so many times over."""
    h, m, n, k = axis("h", A.shape[0]), axis("m", 32), axis("n", C.shape[2]), axis("k", A.shape[2])
    for nest in parallel(shape(axis("g", cdiv(C.shape[1], 32)))):
        row = nest.index() * 32
        a, b = A[coord(0, row, 0), shape(h, m, k)], B[coord(0, 0, 0), shape(h, k, n)]
        acc = zeros(f32, shape(h, m, n))
        if steps:
            for _ in nest.serial(shape(steps)):
                acc = mma(a, b, acc)
        else:
            acc = mma(a, b, acc)
        C.at(coord(0, row, 0), shape(h, m, n)).store(acc)


def of(rows: int, *, heads: int = 1, steps: int = 0) -> Kernel:
    shapes = (heads, rows, 64), (heads, 64, 48), (heads, rows, 48)
    return products.capture(*(tensor_shape(*each) for each in shapes), steps=steps)


def made(kernel: Kernel, options: XirOptions = OPEN, *, threads: int = 1) -> Plan:
    return plan(kernel, WIDE, options, threads=threads)


def test_the_price_of_a_product_is_a_term_of_the_plan() -> None:
    (item,), found = contracts_of(of(128), made(of(128))), made(of(128))
    assert item.search is not None
    terms = found.chosen.terms
    assert terms.products == pytest.approx(4 * item.search.chosen.terms.total)
    assert f"= products {terms.products:.0f} + arithmetic {terms.arithmetic:.0f} + " in found.render()
    named = terms.arithmetic + terms.memory + terms.transfer + terms.dispatch + terms.imbalance
    assert terms.total == terms.products + named
    assert terms.arithmetic < 10  # the index alone


@pytest.mark.parametrize(("heads", "steps", "runs"), [(1, 0, 4), (3, 0, 12), (1, 5, 20), (2, 5, 40)])
def test_loops_around_a_product_count(heads: int, steps: int, runs: int) -> None:
    kernel = of(128, heads=heads, steps=steps)
    found = made(kernel)
    (item,) = contracts_of(kernel, found)
    assert item.product is not None
    assert item.search is not None
    assert item.product.runs == runs
    assert found.chosen.terms.products == pytest.approx(runs * item.search.chosen.terms.total)
    assert f"computed {runs} times by each worker" in found.render()


def test_workers_share_programs_and_fetch_code_each() -> None:
    alone, two = (made(of(128), threads=threads).chosen.terms for threads in (1, 2))
    (item,) = contracts_of(of(128), made(of(128)))
    assert item.search is not None
    code = 4 * item.search.chosen.terms.code
    assert two.products - code == pytest.approx((alone.products - code) / 2)


def test_a_program_pays_for_the_rows_that_it_has() -> None:
    found = made(of(100))  # 32, 32, 32 and 4
    (item,) = contracts_of(of(100), found)
    assert item.search is not None
    assert item.product is not None
    whole, few = item.search.chosen.terms, price(replace(item.product, rows=4), item.search.chosen.blocks, WIDE)
    expected = 3 * (whole.total - whole.code) + few.total - few.code + 4 * whole.code
    assert found.chosen.terms.products == pytest.approx(expected)
    shared = made(of(100), threads=4).chosen.terms
    assert shared.products + shared.imbalance >= whole.total - whole.code  # the others wait for whole blocks


@pytest.mark.parametrize(("threads", "rounds"), [(1, 5), (2, 3), (4, 2), (5, 1), (16, 1)])
def test_tasks_go_in_rounds(threads: int, rounds: int) -> None:
    kernel = of(160)  # 5 programs
    found = made(kernel, XirOptions(lanes=element(), block_size=1), threads=threads)
    (item,) = contracts_of(kernel, found)
    assert item.search is not None
    assert item.product is not None
    task, terms = item.search.chosen.terms, found.chosen.terms
    others = (terms.arithmetic + terms.memory + terms.transfer) * min(threads, 5) / 5
    expected = rounds * (task.total - task.once + others) + item.product.runs * task.once
    assert terms.total - terms.dispatch == pytest.approx(expected)


def test_partial_blocks_of_loops_around_count_for_their_part() -> None:
    kernel = of(32, heads=4)
    (op,) = (op for op in structure_of(kernel.op).position if isinstance(op, MmaOp))
    (item,) = contracts_of(kernel, made(kernel))
    (outer,) = item.outer
    all_of_them = product_work(op, item, {}, WIDE, 1)
    some = product_work(op, item, {outer: LimitPlan(None, 1, 4, 3)}, WIDE, 1)
    assert some.average == pytest.approx(all_of_them.average * 3 / 4)
    assert some.whole == all_of_them.whole


def test_the_specification_knows_multiply_adds_only() -> None:
    terms = made(of(128), XirOptions(lanes=element(), cost=CostModel())).chosen.terms
    assert terms.products == 0
    assert terms.arithmetic >= 4 * 32 * 64 * 48 / 16

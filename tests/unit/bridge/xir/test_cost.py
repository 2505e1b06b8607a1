"""Costs by the figures of a machine: every term by hand, where data lie, and the basis that a plan names."""

from dataclasses import replace

import pytest

from tilewright import tile
from tilewright.bridge.xir.cost import CostTerms, Work, from_afar, score
from tilewright.bridge.xir.footprint import Footprint, footprint_of
from tilewright.bridge.xir.options import PROGRAM, CostModel, XirOptions, element
from tilewright.bridge.xir.plan import Plan, plan
from tilewright.bridge.xir.prices import Basis, machine_prices
from tilewright.core.machine import GENERIC_AVX2, Level, Timings
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.regions import ParallelOp
from tilewright.tile import ConstView1, ConstView2, View1, View2, axis, coord, f32, i64, parallel, shape, tensor_shape

# Vectors of 8; a multiply-add takes 1, a division 5, a function 10, a vector from a cache 2, 4, 8, from memory 32.
ROUND = replace(GENERIC_AVX2, timings=Timings(1.0, 5.0, 10.0, (2.0, 4.0, 8.0, 32.0), 3.0, task=100.0, wake=1000.0))


@tile.kernel
def activated(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 2), axis("c", X.shape[1])
    for nest in parallel(shape(axis("g", X.shape[0] // 2))):
        here = coord(nest.index() * 2, 0)
        Y.at(here, shape(r, c)).store(tile.exp(X[here, shape(r, c)] / 3.0) + 1.0)


def made(kernel: Kernel, options: XirOptions | None = None, *, threads: int = 1) -> Plan:
    return plan(kernel, ROUND, options or XirOptions(lanes=element()), threads=threads)


def of(m: int, n: int) -> Kernel:
    return activated.capture(tensor_shape(m, n), tensor_shape(m, n))


def root_of(kernel: Kernel) -> ParallelOp:
    (root,) = (op for op in kernel.op.body.block.ops if isinstance(op, ParallelOp))
    return root


# ---- the terms


def test_every_term_by_hand() -> None:
    # 4 programs of 2 x 64 elements, 16 vectors each: exp 10, division 5, sum 1, a load and a store of 2
    chosen = made(of(8, 64)).chosen
    assert chosen.block == 4
    arithmetic, memory = 4 * 16 * (10 + 5 + 1.0), 4 * 16 * (2 + 2.0)
    scalars = 4 * 1.0  # one index product a program
    assert chosen.terms == CostTerms(arithmetic + scalars, memory, 100.0, 0.0, basis=Basis.MACHINE)


def test_data_of_the_launch_come_from_farther_than_those_of_a_program() -> None:
    # 512 programs touch 2 x 2 rows of 256 elements, 4 KiB each and 2 MiB together: L3. 128 lines of 32 bytes each.
    terms = made(of(1024, 256)).chosen.terms
    assert (terms.near, terms.far) == (Level.L1, Level.L3)
    assert terms.transfer == 512 * 128 * (8 - 2.0)
    assert f"transfer {terms.transfer:.0f} from L3" in str(terms)


def test_programs_that_fill_a_cache_read_from_the_next() -> None:
    terms = made(of(4, 8192)).chosen.terms  # 128 KiB a program
    assert (terms.near, terms.far, terms.transfer) == (Level.L2, Level.L2, 0.0)
    assert terms.memory == 2 * 2048 * (4 + 4.0)


def test_the_last_wave_waits_for_transfers_too() -> None:
    work, prices = Work(10.0, 4.0, 6.0, Level.L1, Level.L3), machine_prices(ROUND, Level.L1)
    terms = score(work, prices, programs=3, block=1, packet=1, workers=2)
    assert terms == CostTerms(15.0, 6.0, 200.0, 0.5 * 20, 9.0, Level.L1, Level.L3, Basis.MACHINE)
    assert terms.total == 15 + 6 + 200 + 10 + 9
    assert terms.nanoseconds == terms.total


def test_whole_products_make_workers_wait_as_far_as_others_have_less() -> None:
    # 4 programs of 30 on average, one of 36 at most; code is fetched once by each worker
    work, prices = Work(0.0, 0.0, products=30.0, excess=6.0, once=50.0), machine_prices(ROUND, Level.L1)
    two = score(work, prices, programs=4, block=2, packet=1, workers=2)
    assert (two.products, two.imbalance) == (2 * 30 + 50, 2 * 6)
    alone = score(work, prices, programs=4, block=4, packet=1, workers=1)
    assert (alone.products, alone.imbalance) == (4 * 30 + 50, 0)
    three = score(work, prices, programs=4, block=1, packet=1, workers=3)  # two rounds
    assert three.imbalance == pytest.approx((2 - 4 / 3) * 30 + 12)


def test_a_packet_touches_no_more_than_the_launch() -> None:
    work = from_afar(Work(1.0, 1.0), ROUND, Footprint(4096.0, 1 << 20), packet=8, near=Level.L1)
    assert work == Work(1.0, 1.0, 8 * 4096 / 32 * (8 - 2.0), Level.L1, Level.L3)
    small = from_afar(Work(1.0, 1.0), ROUND, Footprint(4096.0, 4096.0), packet=8, near=Level.L2)
    assert small == Work(1.0, 1.0, 0.0, Level.L2, Level.L2)


# ---- prices of accesses


@pytest.mark.parametrize(
    ("level", "stride", "price"),
    [
        (Level.L1, 0, 1.0),
        (Level.MEMORY, 0, 1.0),  # read once, and kept
        (Level.L1, 1, 2.0),
        (Level.L3, 1, 8.0),
        (Level.L1, 5, 8 * 3.0),
        (Level.L1, None, 8 * 3.0),
        (Level.L3, None, 8 * (3.0 + 8 - 2)),  # each lane on a line of its own
    ],
)
def test_an_access_by_its_stride_and_where_it_goes(level: Level, stride: int | None, price: float) -> None:
    assert machine_prices(ROUND, level).access(stride, 8) == price


def test_program_lanes_pay_for_the_tiles_that_they_index() -> None:
    @tile.kernel
    def folded(X: ConstView2[f32], Y: View1[f32]):
        c = axis("c", 8)
        for nest in parallel(shape(axis("g", 64))):
            x = X[coord(nest.index(), 0), shape(axis("r", 1), c)]
            Y.at(coord(nest.index()), shape(axis("r", 1))).store(tile.reduce(x, c, tile.add))

    kernel = folded.capture(tensor_shape(64, 8, strides=(1, 64)), tensor_shape(64))
    terms = made(kernel, XirOptions(lanes=PROGRAM)).chosen.terms
    assert terms.memory == 8 * (8 * 2 + 9 * 2 + 2.0)  # 8 packets: 8 loads, readings of the tile and of its sum, a store
    relative = made(kernel, XirOptions(lanes=PROGRAM, cost=CostModel())).chosen.terms
    assert relative.memory == 8 * (8 * 2 + 2.0)  # the specification keeps tiles in registers


# ---- footprints


@tile.kernel
def touching(X: ConstView2[f32], I: ConstView1[i64], Y: View2[f32], *, case: str):
    one = shape(axis("r", 1), axis("c", 16))
    for nest in parallel(shape(axis("g", 4))):
        g = nest.index()
        if case == "twice":
            Y.at(coord(g, 0), one).store(X[coord(g, 0), one] + X[coord(g, 0), one])
        if case == "shifted":
            Y.at(coord(g, 0), one).store(X[coord(g, 0), one] + X[coord(g, 2), one])
        if case in ("loop", "still"):
            for step in nest.serial(shape(axis("s", 3))):
                Y.at(coord(g, 0), one).store(X[coord(step.index() if case == "loop" else g, 0), one])
        if case == "everywhere":
            Y.at(coord(g, 0), one).store(X[coord(I[g].load(), 0), one])


@pytest.mark.parametrize(
    ("case", "program", "launch"),
    [
        ("twice", 16 + 16, 64 + 64),
        ("shifted", 18 + 16, 4 * 18 + 64),
        ("loop", 3 * 16 + 16, 4 * 3 * 16 + 64),
        ("still", 16 + 16, 64 + 64),
        ("everywhere", 16 + 2 + 16, 64 + 8 + 64),
    ],
)
def test_footprints_count_each_element_once(case: str, program: int, launch: int) -> None:
    kernel = touching.capture(tensor_shape(64, 64), tensor_shape(4, dtype=i64), tensor_shape(4, 16), case=case)
    assert footprint_of(root_of(kernel)) == Footprint(4.0 * program, 4.0 * launch)


def test_a_footprint_is_no_larger_than_its_view() -> None:
    kernel = touching.capture(tensor_shape(2, 18), tensor_shape(4, dtype=i64), tensor_shape(4, 16), case="loop")
    assert footprint_of(root_of(kernel)).launch == 4.0 * (2 * 18 + 64)


# ---- the basis


def test_the_machine_is_the_basis_and_is_told() -> None:
    text = made(of(8, 64)).render()
    assert "cost (nanoseconds, by the figures of the machine): " in text
    assert f"figures: {ROUND.timings}" in text


def test_the_specification_stays_a_basis() -> None:
    chosen = made(of(8, 64), XirOptions(lanes=element(), cost=CostModel()))
    # 3 operations a vector, one index product; a load and a store of 2 each
    assert chosen.chosen.terms == CostTerms(4 * (16 * 3 + 1.0), 4 * 16 * 4.0, 128.0, 0.0)
    assert "cost (relative, by the specification's terms): " in chosen.render()


def test_other_figures_make_other_plans_and_equal_ones_the_same() -> None:
    kernel = of(64, 64)
    slow = replace(ROUND, timings=replace(ROUND.timings, task=0.0))
    plans = [plan(kernel, machine, XirOptions(lanes=element()), threads=2) for machine in (ROUND, ROUND, slow)]
    assert plans[0].render() == plans[1].render()
    assert [made.chosen.block for made in plans] == [16, 16, 1]


def test_sleepers_are_woken_where_the_first_one_saves_more_than_waking_it_takes() -> None:
    made_for = {wake: replace(ROUND, timings=replace(ROUND.timings, wake=wake)) for wake in (1.0, 1e9)}
    plans = {wake: plan(of(64, 64), machine, threads=2) for wake, machine in made_for.items()}
    assert {wake: made.wakes for wake, made in plans.items()} == {1.0: True, 1e9: False}
    exact = plans[1.0].alone.total - plans[1.0].in_two.total
    assert exact == pytest.approx(plans[1.0].alone.total / 2)
    for wake, woken in ((exact * 0.99, True), (exact * 1.01, False)):
        machine = replace(ROUND, timings=replace(ROUND.timings, wake=wake))
        assert plan(of(64, 64), machine, threads=2).wakes is woken

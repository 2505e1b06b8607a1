"""What a plan may choose and what it must keep: orders of the root, budgets, costs, the same plan every time."""

from collections import Counter
from itertools import permutations
from math import prod
from typing import Any

import numpy as np
import pytest

from examples.gallery.gemm import gemm
from tilewright import interp, tile
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.options import PROGRAM, CostModel, XirOptions
from tilewright.bridge.xir.plan import plan
from tilewright.core.abi import Usage
from tilewright.core.errors import PlanError, UnsupportedError
from tilewright.core.machine import GENERIC_AVX512
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    View4,
    axis,
    coord,
    f32,
    i64,
    parallel,
    shape,
)
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

TENSOR = tile.tensor_shape


@tile.kernel
def numbered(Y: View4[f32]):
    a, b, c, d = (axis(name, extent) for name, extent in zip("abcd", Y.shape, strict=True))
    for nest in parallel(shape(a, b, c, d)):
        i, j, k, l = nest.coords()
        Y[i, j, k, l].store(tile.cast(f32, ((i * 10 + j) * 10 + k) * 10 + l))


@tile.kernel
def copied(X: ConstView2[f32], Y: View2[f32]):
    a, b = axis("a", X.shape[0]), axis("b", X.shape[1])
    for nest in parallel(shape(a, b)):
        i, j = nest.coords()
        Y[i, j].store(X[i, j].load())


@tile.kernel
def turned(X: ConstView1[f32], Y: View1[f32], *, times: int):
    e = axis("e", X.shape[0])
    last = X.shape[0] - 1
    for _ in parallel(shape(axis("g", 1))):
        x = X[coord(0), shape(e)]
        for _ in range(times):
            x = tile.reindex(x, shape(e), lambda p: coord(last - p.index(e)))
        Y.at(coord(0), shape(e)).store(x)


@tile.kernel
def doubled(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 1), axis("c", X.shape[1])
    for nest in parallel(shape(axis("g", X.shape[0]))):
        here = coord(nest.index(), 0)
        Y.at(here, shape(r, c)).store(X[here, shape(r, c)] * 2.0 + 1.0)


@tile.kernel
def looked_up(X: ConstView2[f32], P: ConstView1[i64], Y: View1[f32]):
    r, c = axis("r", 1), axis("c", X.shape[1])
    for nest in parallel(shape(X.shape[0])):
        x = X[coord(nest.index(), 0), shape(r, c)] * 2.0
        Y[nest.index()].store(x.at(coord(0, P[nest.index()].load())))


@tile.kernel
def grouped(Y: View1[f32]):
    for nest in parallel(shape(axis("g", Y.shape[0])), scope="group"):
        Y[nest.index()].store(tile.scalar(f32, 1.0))


def ran(kernel: Kernel, options: XirOptions, *arrays: Any) -> None:
    lowered = lower(kernel, plan(kernel, GENERIC_AVX512, options, threads=2))
    run_pipeline(lowered.module, CPU_PIPELINE)
    run_xir(lowered.module, [arrays[place].reshape(-1) for place in lowered.argument_order])


DOMAINS = [(12, 1, 1, 1), (4, 6, 1, 1), (4, 1, 6, 1), (4, 6, 3, 1), (2, 1, 3, 1), (1, 1, 1, 1), (2, 0, 3, 1)]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_every_order_of_the_root_visits_every_program_once(domain: tuple[int, ...]) -> None:
    kernel = numbered.capture(TENSOR(*domain))
    expected = np.full(domain, -1, "f4")
    interp.run(kernel, [expected])
    long = [name for name, extent in zip("abcd", domain, strict=True) if extent > 1]
    for number, order in enumerate(permutations(long)):
        rest = tuple(name for name in "abcd" if name not in order)
        lanes, block = ((None, 0), (PROGRAM, 32), (PROGRAM, 16))[number % 3]
        found = np.full(domain, -1, "f4")
        ran(kernel, XirOptions(root_axis_order=(*rest, *order), lanes=lanes, block_size=block), found)
        assert (found == expected).all()


@pytest.mark.parametrize(
    "options",
    [
        {"root_axis_order": ("a",)},
        {"root_axis_order": ("a", "a")},
        {"root_axis_order": ("a", "x")},
        {"root_axis_order": ("a", "b", "c")},
        {"max_candidates": 1},
        {"max_operations": 8},
        {"lane_width": 3},
        {"block_size": -1},
        {"block_size": 1 << 40},
        {"fold_partials": 0},
        {"cost": CostModel(arithmetic=-1.0)},
    ],
    ids=str,
)
def test_what_cannot_be_met_is_refused(options: dict[str, Any]) -> None:
    kernel = copied.capture(TENSOR(24, 32), TENSOR(24, 32))
    with pytest.raises((PlanError, UnsupportedError)) as error:
        lower(kernel, plan(kernel, GENERIC_AVX512, XirOptions(**options), threads=2))
    assert error.value.diagnostic.help


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -1.0])
def test_a_cost_is_a_number(cost: float) -> None:
    with pytest.raises(PlanError):
        XirOptions(cost=CostModel(gathered_lane=cost))


def test_the_axis_that_lies_together_in_memory_is_innermost() -> None:
    straight = copied.capture(TENSOR(32, 24), TENSOR(32, 24))
    columns = copied.capture(TENSOR(32, 24, strides=(1, 32)), TENSOR(32, 24, strides=(1, 32)))
    for kernel, last in ((straight, "b"), (columns, "a")):
        chosen = plan(kernel, GENERIC_AVX512, XirOptions(lanes=PROGRAM), threads=2)
        text = chosen.render()
        assert f", {last})" in text.splitlines()[1], text


def test_the_chosen_candidate_has_the_least_cost() -> None:
    kernel = copied.capture(TENSOR(32, 24), TENSOR(32, 24))
    found = plan(kernel, GENERIC_AVX512, XirOptions(), threads=8)
    assert found.chosen.terms.total == min(each.terms.total for each in found.candidates)


def test_the_same_kernel_has_the_same_plan_and_code_and_stays_as_it_is() -> None:
    kernel = gemm.capture(TENSOR(17, 13), TENSOR(13, 19), TENSOR(17, 19), bm=2, bn=3, bk=4)
    before = kernel.text()
    texts: set[tuple[str, str]] = set()
    for _ in range(2):
        decided = plan(kernel, GENERIC_AVX512, XirOptions(), threads=2)
        texts.add((decided.render(), str(lower(kernel, decided).module)))
    assert len(texts) == 1
    assert kernel.text() == before


def test_the_arguments_of_a_product_are_told() -> None:
    kernel = gemm.capture(TENSOR(17, 13), TENSOR(13, 19), TENSOR(17, 19), bm=2, bn=3, bk=4)
    lowered = lower(kernel, plan(kernel, GENERIC_AVX512, XirOptions(lanes=PROGRAM), threads=2))
    assert lowered.programs == 9 * 7
    assert [each.minimum_size_bytes for each in lowered.arguments] == [17 * 13 * 4, 13 * 19 * 4, 17 * 19 * 4]
    assert [each.usage for each in lowered.arguments] == [Usage.READ, Usage.READ, Usage.WRITE]


@pytest.mark.parametrize("times", [1, 63, 64, 65, 70])
def test_a_chain_of_reversals_of_any_length(times: int) -> None:
    kernel = turned.capture(TENSOR(65), TENSOR(65), times=times)
    x, y = np.arange(65, dtype="f4"), np.zeros(65, "f4")
    ran(kernel, XirOptions(), x, y)
    assert (y == (x[::-1] if times % 2 else x)).all()


@pytest.mark.parametrize("widths", [(256, 4096, 16_384, 65_536), (129, 1537)], ids=["whole", "with a tail"])
def test_the_code_of_a_tile_does_not_grow_with_it(widths: tuple[int, ...]) -> None:
    kernels = [doubled.capture(TENSOR(4, width), TENSOR(4, width)) for width in widths]
    sizes = {sum(operations(kernel).values()) for kernel in kernels}
    assert len(sizes) == 1
    assert max(sizes) < 256


def operations(kernel: Kernel) -> Counter[str]:
    """How many of each the kernel becomes."""
    module = lower(kernel, plan(kernel, GENERIC_AVX512, XirOptions(), threads=2)).module
    return Counter(op.name for op in module.walk())


def test_an_element_taken_at_run_time_is_one_load_and_no_chain_of_selects() -> None:
    narrow, wide = (operations(looked_up.capture(TENSOR(4, width), TENSOR(4), TENSOR(4))) for width in (16, 256))
    assert narrow == wide
    assert narrow["arith.select"] == 0
    assert narrow["xir.load"] == 2  # the place, and the element there


def test_a_budget_of_operations_is_kept_or_the_product_refused() -> None:
    kernel = gemm.capture(TENSOR(8, 8), TENSOR(8, 8), TENSOR(8, 8), bm=4, bn=4, bk=8)
    with pytest.raises(PlanError, match=r"TW430.*max_operations = 8"):
        lower(kernel, plan(kernel, GENERIC_AVX512, XirOptions(max_operations=8), threads=2))


def test_a_group_is_not_a_scope_of_this_route() -> None:
    kernel = grouped.capture(TENSOR(3))
    with pytest.raises(UnsupportedError, match="group"):
        plan(kernel, GENERIC_AVX512, XirOptions(), threads=2)


def test_tasks_cover_the_programs() -> None:
    for programs in (1, 7, 8, 9, 31, 32, 33, 65, 127, 257, 4097):
        kernel = doubled.capture(TENSOR(programs, 3), TENSOR(programs, 3))
        for threads in (1, 3, 8):
            found = plan(kernel, GENERIC_AVX512, XirOptions(), threads=threads)
            assert found.programs == prod((programs,))
            assert (found.tasks - 1) * found.chosen.block < programs <= found.tasks * found.chosen.block


def test_only_launches_of_enough_work_wake_workers() -> None:
    small, large = (copied.capture(TENSOR(n, 64), TENSOR(n, 64)) for n in (16, 16384))
    plans = [plan(kernel, GENERIC_AVX512, threads=4) for kernel in (small, large)]
    assert [made.wakes for made in plans] == [False, True]
    few, many = (made.alone.total - made.alone.dispatch for made in plans)
    assert many > 1024 * few  # what lies farther takes longer
    assert "workers that sleep are left alone" in plans[0].render()
    assert "workers that sleep are woken" in plans[1].render()
    woken = f"{plans[1].alone.total:.0f} ns on one thread, {plans[1].in_two.total:.0f} + 10000 for waking on two"
    assert woken in plans[1].render()
    alone = plan(large, GENERIC_AVX512, threads=1)
    assert alone.alone == alone.chosen.terms
    assert "launch: on the calling thread" in alone.render()

"""Iterations that do nothing are skipped, and not for each reason the pass knows."""

import pytest

from examples.gallery.attention import attention
from tests.unit.interp.hand import Hand, View, space
from tests.unit.passes.tiling import applied, notes_of, same_meaning
from tilewright import tile
from tilewright.bridge.xir.options import PROGRAM, XirOptions
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.retile import retile
from tilewright.core.dtypes import i32
from tilewright.core.errors import PlanError
from tilewright.core.machine import GENERIC_AVX512
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.convert import SelectOp
from tilewright.ir.ops.regions import SerialOp, WhenOp
from tilewright.passes.dissolve_loops import DissolveLoops
from tilewright.passes.drop_dead_carries import DropDeadCarries
from tilewright.passes.erase_dead_code import EraseDeadCode
from tilewright.passes.guard_iterations import GuardIterations
from tilewright.tile import ConstView2, View2, axis, coord, f32, iota, mma, parallel, scalar, shape, tensor_shape, zeros

ALWAYS = GuardIterations(least=0)


@tile.kernel
def product(A: ConstView2[f32], B: ConstView2[f32], C: View2[f32], *, case: str = ""):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 2)
    for nest in parallel(shape(axis("g", 3))):
        acc, other = zeros(f32, shape(m, n)), zeros(f32, shape(m, n))
        done = scalar(f32, 0.0)
        for step in nest.serial(shape(axis("s", 4))):
            at, here = step.index() * 2, nest.index() * 4
            test = at <= here
            if case == "from a tile":
                test = A[coord(here, 0), shape(m, k)].at(coord(0, 0)) > 0.0
            if case == "from a carry":
                test = done < 1.0
            if case == "by point":
                test = iota(m) + here >= at
            if test:
                acc = mma(A[coord(here, at), shape(m, k)], B[coord(at, 0), shape(k, n)], acc)
                if case != "by point":
                    done = done + 0.5
                if case == "stored inside":
                    C.at(coord(here, 0), shape(m, n)).store(acc)
            elif case == "another arm":
                acc = acc + 1.0
            if case == "carried outside":
                other = other + 1.0
            if case == "stored outside":
                C.at(coord(here, 0), shape(m, n)).store(acc)
        C.at(coord(nest.index() * 4, 0), shape(m, n)).store(acc + other + done)


def made(case: str = "") -> Kernel:
    return product.capture(tensor_shape(12, 8), tensor_shape(8, 4), tensor_shape(12, 4), case=case)


@pytest.mark.parametrize("case", ["", "stored inside", "from a carry"])
def test_a_loop_whose_body_is_an_arm_skips(case: str) -> None:
    kernel = made(case)
    after, notes = applied(kernel, ALWAYS)
    assert "serial skips the iterations where the condition of line" in notes
    loop = next(op for op in after.op.walk() if isinstance(op, SerialOp))
    assert loop.when is not None
    assert not [op for op in loop.walk() if isinstance(op, SelectOp)]
    assert all(op.mask is None for op in loop.walk() if isinstance(op, LoadOp | StoreOp))
    assert same_meaning(kernel, after)


_KEPT = {
    "carried outside": "changes where the condition is false",
    "another arm": "changes where the condition is false",
    "stored outside": "writes where the condition is false",
    "from a tile": "the condition depends on more than indices and scalars",
}


@pytest.mark.parametrize("case", _KEPT)
def test_a_loop_is_kept_and_says_why(case: str) -> None:
    after, notes = applied(made(case), ALWAYS)
    assert "serial runs all its iterations: " in notes
    assert _KEPT[case] in notes
    assert not [op for op in after.op.walk() if isinstance(op, WhenOp)]


def test_a_condition_by_point_skips_nothing() -> None:
    after, notes = applied(made("by point"), ALWAYS)
    assert notes == ""
    assert not [op for op in after.op.walk() if isinstance(op, WhenOp)]


def test_a_memory_that_is_stored_to_is_not_left_half_way() -> None:
    h, m = Hand(x=View(i32, (1,))), space(m=4)
    with h.parallel(space(p=1)) as p:
        memory, state = h.memory(f32, m)
        begun = h.memory_store(memory, state, h.const(0, over=m))
        with h.serial(space(k=3), h.const(0, i32), begun) as loop:
            test = h.do("lt", loop.indices[0], h.index(2))
            stored = h.memory_store(memory, loop.carries[1], h.const(1, over=m))
            loop.yields(h.do("select", test, h.const(1, i32), loop.carries[0]), stored)
        h.set(h.x, p.indices, loop.results[0])
    assert "it carries the state of a memory" in notes_of(h.kernel(), ALWAYS)


def test_a_fold_in_a_map_has_no_iterations_to_skip() -> None:
    h, m = Hand(x=View(i32, (4,))), space(m=4)
    with h.parallel(space(p=1)) as p:
        with h.map(i32, m) as made:
            with h.reduce(space(k=3), h.const(0, i32)) as loop:
                test = h.do("lt", loop.indices[0], made.indices[0])
                grown = h.do("add", loop.carries[0], h.const(1, i32))
                loop.yields(h.do("select", test, grown, loop.carries[0]))
            made.yields(loop.results[0])
        h.store(h.x, p.indices, made.results[0])
    after, notes = applied(h.kernel(), ALWAYS)
    assert notes == ""
    assert not [op for op in after.op.walk() if isinstance(op, WhenOp)]


def test_small_iterations_are_not_worth_a_branch() -> None:
    assert "an iteration costs less than a branch" in notes_of(made(), GuardIterations())


def test_what_skips_is_found_once() -> None:
    kernel, _ = applied(made(), ALWAYS)
    assert applied(kernel, ALWAYS)[0].hash == kernel.hash


def test_later_passes_keep_what_is_skipped() -> None:
    kernel, _ = applied(made(), ALWAYS)
    after, notes = applied(kernel, DissolveLoops(), EraseDeadCode(), DropDeadCarries())
    assert "kept: it skips iterations" in notes
    assert len([op for op in after.op.walk() if isinstance(op, WhenOp)]) == 1
    assert same_meaning(kernel, after)


def test_packets_of_programs_cannot_skip() -> None:
    kernel, _ = applied(made(), ALWAYS)
    with pytest.raises(PlanError) as refused:
        plan(kernel, GENERIC_AVX512, XirOptions(lanes=PROGRAM), threads=1)
    assert "would skip different iterations" in str(refused.value)


def test_programs_that_skip_are_shared_out_in_small_tasks() -> None:
    rows = tensor_shape(4, 256, 16)
    kernels = (attention.capture(rows, rows, rows, rows, causal=causal) for causal in (False, True))
    even, uneven = (plan(retile(kernel, 2, GENERIC_AVX512)[0], GENERIC_AVX512, threads=2).chosen for kernel in kernels)
    assert uneven.block < even.block


def test_a_store_may_differ_by_what_its_iteration_waits_for() -> None:
    """The address is the same for all programs, and only one of them comes to it."""
    h = Hand(x=View(i32, (1,)))
    with h.parallel(space(p=4)) as p, h.serial(space(k=2)) as loop:
        h.put(WhenOp(h.do("eq", h.do("add", p.indices[0], loop.indices[0]), h.index(0))))
        h.set(h.x, [h.index(0)], h.const(1, i32))
    h.kernel()

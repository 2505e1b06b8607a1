"""`hoist`: invariant values leave their loops, others stay."""

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from tests.unit.xir.programs import Program
from tilewright.xir.passes.hoist import HoistInvariants


@pytest.fixture
def p() -> Program:
    return Program((f32, 64), (f32, 64), tasks=4)


def left_inside(p: Program) -> list[str]:
    """What the innermost loops still compute."""
    module = p.through(HoistInvariants())
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    return [op.name for op in loops[-1].body.block.ops if op.name not in ("xir.store", "scf.yield")]


def use(p: Program, value: SSAValue, index: SSAValue) -> None:
    p.b.store(p.b.load(p.buffers[0], value), p.buffers[1], index)


def test_an_invariant_leaves_all_loops_at_once(p: Program):
    with p.b.for_(0, 4), p.b.for_(0, 4) as inner:
        use(p, p.b.mul(p.b.add(p.task, 1), 2), inner.index)
    module = p.through(HoistInvariants())
    assert [op.name for op in p.kernel.body.block.ops if op.name.startswith("arith.") and op.operands] == [
        "arith.addi",
        "arith.muli",
    ]
    assert sum(op.name == "arith.muli" for op in module.walk()) == 1


def test_what_depends_on_the_outer_loop_stays_in_it(p: Program):
    with p.b.for_(0, 4) as outer, p.b.for_(0, 4) as inner:
        use(p, p.b.add(outer.index, 1), inner.index)
    assert left_inside(p) == ["xir.load"]


def test_carries_are_not_invariant(p: Program):
    with p.b.for_(0, 4, 1, [p.b.i64(0)]) as loop:
        total = p.b.add(loop.carries[0], 1)
        use(p, total, loop.index)
        loop.yield_([total])
    assert left_inside(p) == ["arith.addi", "xir.load"]


def test_a_division_stays_because_it_may_trap(p: Program):
    with p.b.for_(0, p.task) as loop:
        use(p, p.b.divui(p.b.i64(8), p.task), loop.index)
    assert left_inside(p) == ["arith.divui", "xir.load"]


def test_a_load_leaves_a_loop_that_runs_and_writes_elsewhere(p: Program):
    scratch = p.b.alloc(f32, 4)
    with p.b.for_(0, 4) as loop:
        p.b.store(p.b.load(p.buffers[0], 0), scratch, loop.index)
    assert left_inside(p) == []


def test_a_load_stays_where_its_memory_is_written(p: Program):
    with p.b.for_(0, 4) as loop:
        p.b.store(p.b.load(p.buffers[0], 0), p.buffers[1], loop.index)
    assert left_inside(p) == ["xir.load"]


def test_a_load_stays_in_a_loop_that_may_not_run(p: Program):
    scratch = p.b.alloc(f32, 4)
    with p.b.for_(0, p.task) as loop:
        p.b.store(p.b.load(p.buffers[0], 0), scratch, loop.index)
    assert left_inside(p) == ["xir.load"]


def test_branches_keep_what_they_guard(p: Program):
    with p.b.for_(0, 4) as loop, p.b.if_(p.b.cmp("slt", loop.index, 2)):
        use(p, p.b.add(p.task, 1), loop.index)
    assert left_inside(p) == ["arith.cmpi", "scf.if"]

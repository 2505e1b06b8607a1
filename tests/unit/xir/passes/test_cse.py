"""`cse`: equal values are shared where that is sound."""

import pytest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue

from tests.unit.xir.programs import Program
from tilewright.xir.passes.cse import EliminateCommonSubexpressions


def merged(p: Program) -> list[str]:
    return names(p.through(EliminateCommonSubexpressions()))


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.name not in ("arith.constant", "scf.yield", "xir.return")][2:]


def keep(p: Program, *values: SSAValue) -> None:
    for place, value in enumerate(values):
        p.b.store(value, p.buffers[1], place)


@pytest.fixture
def p() -> Program:
    return Program((f32, 8), (f32, 8), tasks=4)


def test_equal_operations_are_one(p: Program):
    x = p.b.load(p.buffers[0], 0)
    keep(p, p.b.fadd(x, x), p.b.fadd(x, x))
    assert merged(p).count("arith.addf") == 1


def test_operands_of_a_sum_may_be_swapped_but_not_of_a_difference(p: Program):
    x, y = p.b.load(p.buffers[0], 0), p.b.load(p.buffers[0], 1)
    keep(p, p.b.fadd(x, y), p.b.fadd(y, x), p.b.fsub(x, y), p.b.fsub(y, x))
    left = merged(p)
    assert [left.count(name) for name in ("arith.addf", "arith.subf")] == [1, 2]


def test_what_differs_in_a_property_stays(p: Program):
    x = p.b.load(p.buffers[0], 0)
    keep(p, *(p.b.select(p.b.fcmp(predicate, x, p.b.const(f32, 0.0)), x, p.b.fneg(x)) for predicate in ("olt", "ole")))
    assert merged(p).count("arith.cmpf") == 2


def test_zeros_of_both_signs_differ(p: Program):
    keep(p, p.b.const(f32, 0.0), p.b.const(f32, -0.0))
    assert sum(op.name == "arith.constant" for op in p.through(EliminateCommonSubexpressions()).walk()) == 4


def test_an_outer_value_serves_inside_and_an_inner_one_not_outside(p: Program):
    x = p.b.load(p.buffers[0], 0)
    keep(p, p.b.fmul(x, x))
    with p.b.for_(0, 4) as loop:
        p.b.store(p.b.fmul(x, x), p.buffers[1], loop.index)
        p.b.store(p.b.fneg(x), p.buffers[1], loop.index)
    keep(p, p.b.fneg(x))
    left = merged(p)
    assert [left.count(name) for name in ("arith.mulf", "arith.negf")] == [1, 2]


def test_a_load_is_repeated_over_a_write_only(p: Program):
    first = p.b.load(p.buffers[0], 0)
    again = p.b.load(p.buffers[0], 0)
    p.b.store(p.b.fadd(first, again), p.buffers[1], 0)
    keep(p, p.b.load(p.buffers[0], 0))
    assert merged(p).count("xir.load") == 2


def test_a_write_to_scratch_spares_loads_of_arguments(p: Program):
    scratch = p.b.alloc(f32, 4)
    first = p.b.load(p.buffers[0], 0)
    p.b.store(first, scratch, 0)
    keep(p, p.b.fadd(first, p.b.load(p.buffers[0], 0)))
    assert merged(p).count("xir.load") == 1


def test_a_write_later_in_a_loop_counts_for_its_next_trip(p: Program):
    first = p.b.load(p.buffers[0], 0)
    with p.b.for_(0, 4) as loop:
        p.b.store(p.b.fadd(first, p.b.load(p.buffers[0], 0)), p.buffers[0], 0)
        p.b.store(first, p.buffers[1], loop.index)
    assert merged(p).count("xir.load") == 2


def test_what_nothing_uses_goes(p: Program):
    p.b.fadd(p.b.load(p.buffers[0], 0), p.b.const(f32, 1.0))
    p.b.fold_lanes("addf", p.b.load(p.buffers[0], 0, 4))
    assert merged(p) == []

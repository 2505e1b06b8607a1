"""`reassociate-addresses`: what leaves a loop comes first, constants come last."""

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue

from tests.unit.xir.programs import Program
from tilewright.xir.constants import known_int
from tilewright.xir.passes.addressing import ReassociateAddresses
from tilewright.xir.passes.cse import EliminateCommonSubexpressions
from tilewright.xir.passes.hoist import HoistInvariants

ALL = (ReassociateAddresses(), HoistInvariants(), EliminateCommonSubexpressions())


@pytest.fixture
def p() -> Program:
    return Program((f32, 64), (f32, 64), tasks=4)


def touch(p: Program, index: SSAValue) -> None:
    p.b.store(p.b.const(f32, 1.0), p.buffers[0], index)


def inside(module: ModuleOp) -> list[str]:
    loop = [op for op in module.walk() if isinstance(op, scf.ForOp)][-1]
    return [op.name.removeprefix("arith.") for op in loop.body.block.ops if op.name.startswith("arith.")]


def test_invariant_terms_leave_the_loop(p: Program):
    with p.b.for_(0, 4) as loop:
        touch(p, p.b.add(p.b.add(loop.index, p.task), p.b.mul(p.task, 7)))
    assert inside(p.through(*ALL)) == ["addi"]


def test_constants_are_added_once_and_last(p: Program):
    with p.b.for_(0, 4) as loop:
        for offset in (1, 2, 3):
            touch(p, p.b.add(p.b.add(p.b.add(loop.index, 5), offset), p.task))
    module = p.through(*ALL)
    assert inside(module) == ["addi"] * 4  # one base and three offsets
    added = [known_int(op.operands[1]) for op in module.walk() if op.name == "arith.addi"]
    assert added == [None, 6, 7, 8]


def test_a_product_of_a_shifted_index_is_distributed(p: Program):
    with p.b.for_(0, 4) as loop:
        touch(p, p.b.add(p.b.mul(p.b.add(loop.index, 3), 8), p.task))
        touch(p, p.b.add(p.b.mul(p.b.add(loop.index, 4), 8), p.task))
    assert inside(p.through(*ALL)) == ["muli", "addi", "addi", "addi"]


def test_a_product_of_two_unknowns_is_left_alone(p: Program):
    with p.b.for_(0, 4) as loop:
        touch(p, p.b.mul(p.b.add(p.task, loop.index), 8))
    assert ReassociateAddresses().apply(p.end()) == 0


def test_a_chain_in_order_is_left_alone(p: Program):
    with p.b.for_(0, 4) as loop:
        touch(p, p.b.add(p.b.add(p.task, loop.index), 4))
    assert ReassociateAddresses().apply(p.end()) == 0


def test_sums_of_vectors_are_left_alone(p: Program):
    with p.b.for_(0, 4) as loop:
        lanes = p.b.add(p.b.add(p.b.broadcast(loop.index, 4), p.b.lanes(4)), p.b.broadcast(p.task, 4))
        p.b.store(p.b.gather(p.buffers[0], lanes), p.buffers[1], 0)
    assert ReassociateAddresses().apply(p.end()) == 0

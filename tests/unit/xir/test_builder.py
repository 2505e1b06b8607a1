"""The builder: constants once a function, folded integer arithmetic, structured bodies."""

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, VectorType, f32

from tilewright.core.errors import InternalError
from tilewright.xir.builder import XirBuilder
from tilewright.xir.constants import known_int
from tilewright.xir.ops import KernelOp
from tilewright.xir.types import I1, I64, BufferType


@pytest.fixture
def kernel() -> KernelOp:
    return KernelOp("k", [BufferType.of(f32, 8)], 3)


@pytest.fixture
def b(kernel: KernelOp) -> XirBuilder:
    return XirBuilder(kernel.body.block)


def test_constants_are_made_once_and_stand_at_the_top(kernel: KernelOp, b: XirBuilder):
    task = kernel.body.block.args[1]
    b.add(task, 5)
    with b.for_(0, 8):
        assert b.i64(5) is b.i64(5)
        b.add(b.block.args[0], 7)
    names = [op.name for op in kernel.body.block.ops]
    assert names == ["arith.constant"] * 5 + ["arith.addi", "scf.for"]


def test_zeros_of_both_signs_are_two_constants(b: XirBuilder):
    assert b.const(f32, 0.0) is not b.const(f32, -0.0)
    assert b.const(f32, float("nan")) is b.const(f32, float("nan"))


def test_trivial_integer_arithmetic_makes_no_operation(kernel: KernelOp, b: XirBuilder):
    x = kernel.body.block.args[1]
    assert b.add(x, 0) is x
    assert b.mul(1, x) is x
    assert b.sub(x, 0) is x
    assert b.divui(x, 1) is x
    assert known_int(b.mul(x, 0)) == 0
    assert known_int(b.sub(x, x)) == 0
    assert known_int(b.add(2, 3)) == 5
    assert known_int(b.divsi(-7, 2)) == -3
    assert known_int(b.remsi(-7, 2)) == -1
    assert known_int(b.cmp("slt", 2, 3)) == -1
    assert all(isinstance(op, arith.ConstantOp) for op in kernel.body.block.ops)


def test_folding_wraps(b: XirBuilder):
    assert known_int(b.add((1 << 63) - 1, 1)) == -(1 << 63)


def test_a_full_mask_is_no_mask(kernel: KernelOp, b: XirBuilder):
    load = b.load(kernel.body.block.args[0], 0, 4, mask=b.first_lanes(4, 4))
    assert len(load.owner.operands) == 2  # type: ignore[union-attr]


def test_one_lane_is_a_scalar(kernel: KernelOp, b: XirBuilder):
    x = b.load(kernel.body.block.args[0], 0)
    assert x.type == f32
    assert b.broadcast(x, 1) is x
    assert b.fold_lanes("addf", x) is x
    assert b.lanes(1).type == I64
    assert b.first_lanes(b.block.args[1], 1).type == I1


def test_broadcast_of_a_constant_is_a_constant(b: XirBuilder):
    assert isinstance(b.broadcast(b.const(f32, 2.0), 4).owner, arith.ConstantOp)
    assert b.broadcast(b.const(f32, 2.0), 4) is b.const(VectorType(f32, [4]), 2.0)


def test_comparison_of_vectors_is_a_mask(b: XirBuilder):
    x = b.const(VectorType(f32, [4]), 1.0)
    assert b.fcmp("olt", x, x).type == VectorType(I1, [4])


def test_everything_carries_the_location(b: XirBuilder):
    place = FileLineColLoc(StringAttr("k.py"), IntAttr(3), IntAttr(1))
    with b.location(place), b.for_(0, 3) as loop:
        x = b.add(loop.index, 9)
    assert {op.location for op in (loop.op, x.owner, *b.block.ops)} == {place}  # type: ignore[union-attr]


def test_loop_results_follow_the_yielded_values(b: XirBuilder):
    with b.for_(0, 4, 1, [b.i64(0)]) as loop:
        loop.yield_([b.add(loop.carries[0], loop.index)])
    assert [value.type for value in loop.results] == [I64]


def test_a_forgotten_yield_is_refused(b: XirBuilder):
    with pytest.raises(InternalError, match="yields 0 values, expected 1"), b.for_(0, 4, 1, [b.i64(0)]):
        pass


def test_both_arms_yield(kernel: KernelOp, b: XirBuilder):
    x = kernel.body.block.args[1]
    with b.if_(b.cmp("slt", x, 3), [I64]) as branch:
        branch.yield_([x])
    with branch.orelse() as other:
        other.yield_([b.i64(0)])
    assert branch.results[0].type == I64

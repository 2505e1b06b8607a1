"""Each rule of the verifier has a module that breaks it and nothing else."""

from collections.abc import Callable

import pytest
from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, VectorType, f16, f32, i32, i64
from xdsl.ir import Block, Region

from tests.unit.xir.test_text import write_everything
from tilewright.core.errors import InternalError
from tilewright.xir import ops
from tilewright.xir.builder import XirBuilder
from tilewright.xir.pack_op import PackOp
from tilewright.xir.types import I1, I64, BufferType
from tilewright.xir.verify import verify, verify_or_raise

V4 = VectorType(f32, [4])
BREAKS: dict[str, Callable[[XirBuilder], object]] = {}


def breaks(function: Callable[[XirBuilder], object]) -> Callable[[XirBuilder], object]:
    BREAKS[function.__name__.strip("_").replace("_", "-")] = function
    return function


def rules_broken(build: Callable[[XirBuilder], object]) -> list[str]:
    kernel = ops.KernelOp("k", [BufferType.of(f32, 8), BufferType.of(f16, 8)], 1)
    b = XirBuilder(kernel.body.block)
    build(b)
    b.return_()
    return [d.message.split()[3].strip(":") for d in verify(ModuleOp([kernel]))]


@breaks
def same_type(b: XirBuilder):
    b.insert(arith.AddfOp.create(operands=[b.const(f32, 1.0), b.const(V4, 1.0)], result_types=[f32]))


@breaks
def float_operands(b: XirBuilder):
    b.fadd(b.i64(1), b.i64(2))


@breaks
def integer_operands(b: XirBuilder):
    b.insert(arith.AddiOp.create(operands=[b.const(f32, 1.0)] * 2, result_types=[f32]))


@breaks
def compare_operands(b: XirBuilder):
    b.cmp("slt", b.const(f32, 1.0), b.const(f32, 2.0))


@breaks
def compare_result(b: XirBuilder):
    x = b.const(V4, 1.0)
    b.insert(arith.CmpfOp.create(operands=[x, x], result_types=[I1], properties={"predicate": IntegerAttr(1, 64)}))


@breaks
def select_condition(b: XirBuilder):
    b.select(b.first_lanes(b.block.args[2], 8), b.const(V4, 1.0), b.const(V4, 2.0))


@breaks
def cast_types(b: XirBuilder):
    b.extsi(b.block.args[2], i32)


@breaks
def cast_lanes(b: XirBuilder):
    b.insert(arith.ExtFOp.create(operands=[b.load(b.block.args[1], 0, 4)], result_types=[f32]))


@breaks
def _broadcast(b: XirBuilder):
    b.insert(vector.BroadcastOp.create(operands=[b.block.args[2]], result_types=[V4]))


@breaks
def scale_types(b: XirBuilder):
    b.insert(ops.ScaleOp(b.const(f32, 1.0), b.i64(1)))


@breaks
def lane_number(b: XirBuilder):
    b.extract(b.const(V4, 1.0), 4)


@breaks
def lane_type(b: XirBuilder):
    properties = {"static_position": DenseArrayBase.from_list(i64, [0])}
    b.insert(vector.ExtractOp.create(operands=[b.const(V4, 1.0)], result_types=[i32], properties=properties))


@breaks
def shuffle_types(b: XirBuilder):
    b.shuffle(b.const(V4, 1.0), b.lanes(4), [0, 1])


@breaks
def index_type(b: XirBuilder):
    b.load(b.block.args[0], b.const(i32, 0))


@breaks
def element_type(b: XirBuilder):
    b.store(b.const(f32, 1.0), b.block.args[1], 0)


@breaks
def mask_type(b: XirBuilder):
    b.load(b.block.args[0], 0, 4, mask=b.first_lanes(b.block.args[2], 8))


@breaks
def _passthru(b: XirBuilder):
    mask = b.first_lanes(b.block.args[2], 4)
    b.load(b.block.args[0], 0, 4, mask=mask, passthru=b.const(f32, 1.0))


@breaks
def line_size(b: XirBuilder):
    b.line_offset(b.block.args[0], 0, 48)


@breaks
def fold_kind(b: XirBuilder):
    b.fold_lanes("addi", b.const(V4, 1.0))


@breaks
def fold_types(b: XirBuilder):
    b.insert(ops.FoldLanesOp("addi", b.const(V4, 1.0), i32))


@breaks
def constant_type(b: XirBuilder):
    b.insert(arith.ConstantOp.create(result_types=[i32], properties={"value": IntegerAttr(1, 64)}))


@breaks
def atomic_scalar(b: XirBuilder):
    b.atomic("addf", b.block.args[0], 0, b.const(V4, 1.0))


@breaks
def alloc_space(b: XirBuilder):
    b.alloc(f32, 4, "global")


@breaks
def alloc_place(b: XirBuilder):
    with b.for_(0, 4):
        b.alloc(f32, 4)


def contract(b: XirBuilder, c: int = 0, first: int = 0, tile: tuple[int, int, int] = (1, 1, 4)):
    args, index = b.block.args, b.i64(first)
    operands = [args[0], index, args[0], index, args[c], index]
    b.contract(operands, (2, 2, 2), (2, 1, 2, 1, 2, 1), tile, from_zero=True)


@breaks
def contract_elements(b: XirBuilder):
    contract(b, c=1)


@breaks
def contract_bounds(b: XirBuilder):
    b.contract([b.block.args[0], b.i64(0)] * 3, (2, 2, 2), (7, 1, 2, 1, 2, 1), (1, 1, 4), from_zero=True)


@breaks
def contract_shape(b: XirBuilder):
    contract(b, tile=(0, 1, 4))


@breaks
def contract_folds(b: XirBuilder):
    operands = [b.block.args[0], b.i64(0)] * 3
    strides = (2, 1, 2, 1, 2, 1)
    b.contract(operands, (1, 1, 2), strides, (1, 1, 4), from_zero=True, blocking=(1, 0, 0), folds=[(2, 1, 1)])


@breaks
def contract_operand(b: XirBuilder):
    operands = [None, None, *[b.block.args[0], b.i64(0)] * 2]
    b.contract(operands, (2, 2, 2), (2, 1, 2, 1, 2, 1), (1, 1, 4), from_zero=True)


@breaks
def pack_shape(b: XirBuilder):
    at = (b.block.args[0], b.i64(0))
    b.insert(PackOp(at, b.i64(0), at, (2, 5, 4, 4), (1, 1)))


@breaks
def pack_elements(b: XirBuilder):
    b.insert(PackOp((b.block.args[1], b.i64(0)), b.i64(0), (b.block.args[0], b.i64(0)), (1, 1, 1, 1), (1, 1)))


@breaks
def contract_overlap(b: XirBuilder):
    b.contract([b.block.args[0], b.i64(0)] * 3, (2, 2, 2), (2, 1, 2, 1, 0, 1), (1, 1, 4), from_zero=True)


@breaks
def storage_type(b: XirBuilder):
    x = b.load(b.block.args[1], 0)
    b.fadd(x, x)


@breaks
def fold_lanes(b: XirBuilder):
    b.fold_lanes("addf", b.load(b.block.args[0], 0, 3))


@breaks
def loop_step(b: XirBuilder):
    with b.for_(0, 4, 0):
        pass


@breaks
def carry_types(b: XirBuilder):
    zero, body = b.i64(0), Region(Block([scf.YieldOp()], arg_types=[I64, f32]))
    b.insert(scf.ForOp.create(operands=[zero, zero, b.i64(1)], regions=[body]))


@breaks
def branch_condition(b: XirBuilder):
    with b.if_(b.block.args[2]):
        pass


@breaks
def branch_arms(b: XirBuilder):
    with b.if_(b.cmp("slt", b.block.args[2], 4), [I64]) as branch:
        branch.yield_([b.i64(1)])


@breaks
def yield_types(b: XirBuilder):
    with b.for_(0, 4, 1, [b.i64(0)]) as loop:
        loop.yield_([b.const(f32, 0.0)])


@breaks
def _dominance(b: XirBuilder):
    late = b.load(b.block.args[0], 0)
    with b.before(late.owner):  # type: ignore[arg-type]
        b.fneg(late)


@breaks
def region_escape(b: XirBuilder):
    with b.for_(0, 4) as loop:
        pass
    b.add(loop.index, 1)


@breaks
def _callee(b: XirBuilder):
    b.call("nobody", [])


@breaks
def _terminator(b: XirBuilder):
    b.return_()


@breaks
def _nesting(b: XirBuilder):
    inner = ops.FuncOp("f", [])
    XirBuilder(inner.body.block).return_()
    b.insert(inner)


@breaks
def unknown_operation(b: XirBuilder):
    b.insert(scf.WhileOp.create(regions=[Region(), Region()]))


@pytest.mark.parametrize("rule", BREAKS)
def test_a_broken_rule_is_named_and_no_other(rule: str):
    assert set(rules_broken(BREAKS[rule])) == {rule}


@pytest.mark.parametrize("lanes", [1, 4])
def test_what_the_builder_writes_is_accepted(lanes: int):
    assert verify(write_everything(lanes)) == ()


def test_call_types_are_compared():
    module = write_everything(4)
    call = next(op for op in module.walk() if isinstance(op, ops.CallOp))
    call.operands = call.operands[::-1]
    assert "call-types" in verify(module)[0].message


def test_all_faults_are_reported_together():
    def build(b: XirBuilder):
        b.call("nobody", [])
        b.fadd(b.i64(1), b.i64(2))

    assert rules_broken(build) == ["callee", "float-operands"]


def test_symbols_are_unique_and_functions_end():
    module = ModuleOp([ops.FuncOp("f", []), ops.FuncOp("f", [])])
    with pytest.raises(InternalError) as caught:
        verify_or_raise(module)
    messages = [d.message for d in caught.value.diagnostics]
    assert [m.split()[3] for m in messages] == ["terminator:", "symbol:", "terminator:"]

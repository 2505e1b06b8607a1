"""Every form the builder writes prints and parses back to the same text."""

import pytest
from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import IntegerType, ModuleOp, VectorType, bf16, f32, f64, i8, i32
from xdsl.ir import SSAValue

from tilewright.core.errors import InternalError
from tilewright.xir.builder import XirBuilder
from tilewright.xir.ops import FuncOp, KernelOp
from tilewright.xir.text import parse_module, print_module
from tilewright.xir.types import I1, I64, BufferType


def write_everything(lanes: int) -> ModuleOp:
    kernel = KernelOp("k", [BufferType.of(f32, 64), BufferType.of(bf16, 64), BufferType.of(i8, 64)], 2)
    f32s, bf16s, i8s, task = kernel.body.block.args
    b = XirBuilder(kernel.body.block)
    scratch = b.alloc(f32, 16)
    x = b.load(f32s, task, lanes)
    mask = b.first_lanes(task, lanes)
    h = b.extf(b.load(bf16s, 0, lanes, mask=mask), f32)
    n = b.extui(b.load(i8s, 3, lanes, mask=mask, passthru=b.load(i8s, 0, lanes)), i32)
    write_values(b, x, h, n, lanes)
    with b.for_(0, 8, 2, [x]) as loop:
        loop.yield_([b.fma(loop.carries[0], x, h)])
    with b.if_(b.cmp("ult", task, 1), [x.type]) as branch:
        branch.yield_([loop.results[0]])
    with branch.orelse() as other:
        other.yield_([x])
    with b.if_(b.cmp("eq", task, 1)):
        b.store(branch.results[0], scratch, 0, mask=mask, streaming=True)
    b.line_offset(f32s, task, 64)
    b.prefetch(f32s, task)
    b.atomic("addf", f32s, 5, b.fold_lanes("addf", x))
    b.contract([f32s, task, f32s, task, scratch, task], (2, 2, 4), (4, 1, 2, 1, 2, 1), (2, 1, 8), from_zero=True)
    b.call("f", [scratch, task])
    b.barrier()
    b.return_()
    func = FuncOp("f", [BufferType.of(f32, 16, "scratch"), I64])
    XirBuilder(func.body.block).return_()
    return ModuleOp([func, kernel])


def write_values(b: XirBuilder, x: SSAValue, h: SSAValue, n: SSAValue, lanes: int) -> None:
    buffer = b.block.args[0]
    b.select(b.fcmp("ueq", x, h), x, h)
    b.select(b.cmp("slt", n, b.const(n.type, 5)), n, n)
    b.select(b.cmp("slt", b.block.args[3], 5), b.math(math.ExpOp, x), x)
    b.fptosi(b.sitofp(b.extsi(n, I64), f64), i32)
    b.fptoui(b.uitofp(b.trunci(n, i8), f32), i8)
    b.bitcast(b.truncf(x, bf16), IntegerType(16))
    b.math(math.CopySignOp, b.fneg(x), b.fmax(x, h))
    wide = b.const(VectorType(f32, [4]), float("nan"))
    b.shuffle(wide, wide, [0, 7, 3])
    b.insert_lane(b.extract(wide, 2), wide, 1)
    b.const_lanes(I1, [1, 0, 0, 1])
    where = b.add(b.lanes(lanes), b.broadcast(b.block.args[3], lanes))
    if lanes > 1:
        b.scatter(b.gather(buffer, where, mask=b.first_lanes(b.block.args[3], lanes)), buffer, where)


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("locations", [False, True])
def test_text_round_trips(lanes: int, locations: bool):
    text = print_module(write_everything(lanes), locations=locations)
    assert print_module(parse_module(text), locations=locations) == text


def test_parsed_operations_have_their_own_class():
    module = parse_module(print_module(write_everything(4)))
    kinds = {type(op) for op in module.walk()}
    assert {arith.CmpfOp, arith.CmpiOp, arith.SelectOp, arith.ExtFOp, scf.ForOp, KernelOp} <= kinds


def test_a_mistake_names_its_line():
    with pytest.raises(InternalError, match=r"TW941.*does not parse"):
        parse_module("builtin.module {\n  xir.nothing\n}")

"""Copies of a body that are written abreast: the values of copies one after the other, step by step."""

import numpy as np
import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Region

from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import KernelOp
from tilewright.xir.passes.bodies import Body, body_of
from tilewright.xir.types import BufferType


def squared_and_doubled() -> Body:
    """x -> x * x + x * x."""
    block = Block(arg_types=[f32])
    b = XirBuilder(block)
    square = b.fmul(block.args[0], block.args[0])
    b.insert(scf.YieldOp(b.fadd(square, square)))
    body = body_of(Region(block))
    if body is None:
        pytest.fail("a region with a block has a body")
    return body


def test_every_step_is_written_for_all_copies_before_the_next() -> None:
    kernel = KernelOp("k", [BufferType.of(f32, 3)], 1)
    b = XirBuilder(kernel.body.block)
    memory, *_ = kernel.body.block.args
    given = [[b.load(memory, b.i64(number))] for number in range(3)]
    for number, value in enumerate(squared_and_doubled().write_abreast(b, given, {})):
        b.store(value, memory, b.i64(number))
    b.return_()
    steps = [type(op) for op in b.block.ops if isinstance(op, arith.MulfOp | arith.AddfOp)]
    assert steps == [arith.MulfOp] * 3 + [arith.AddfOp] * 3
    values = np.array([1.0, -3.0, 0.5], np.float32)
    run(ModuleOp([kernel]), [values])
    assert values.tolist() == [2.0, 18.0, 0.5]


def test_no_copy_is_nothing() -> None:
    kernel = KernelOp("k", [], 1)
    b = XirBuilder(kernel.body.block)
    assert squared_and_doubled().write_abreast(b, [], {}) == []
    assert b.block.first_op is None

"""Causes of XIR. All but one are our own bugs, so its parts are asked themselves."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from xdsl.dialects import math
from xdsl.dialects.builtin import (
    ArrayAttr,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    f16,
    f32,
    i32,
)
from xdsl.ir import Attribute

from tests.errors.harness import check_golden
from tilewright.core.errors import TilewrightError
from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import KernelOp
from tilewright.xir.passes.expand_math import ExpandMath
from tilewright.xir.passes.runner import run_pipeline
from tilewright.xir.text import parse_module
from tilewright.xir.types import BufferType
from tilewright.xir.verify import verify_or_raise


def _point(column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr("kernel.py"), IntAttr(7), IntAttr(column))


PLACE = FusedLoc(ArrayAttr[Attribute]([_point(5), _point(12)]), NoneAttr())


def module(write: Callable[[XirBuilder], object], element: Attribute = f32) -> ModuleOp:
    kernel = KernelOp("k", [BufferType.of(element, 4)], 1)
    kernel.location = PLACE
    b = XirBuilder(kernel.body.block, PLACE)
    write(b)
    b.return_()
    return ModuleOp([kernel])


def unended(b: XirBuilder) -> None:
    with b.for_(0, 4, 1, [b.i64(0)]):
        pass


def logarithm(b: XirBuilder) -> None:
    b.store(b.math(math.LogOp, b.load(b.block.args[0], 0)), b.block.args[0], 0)


def sine(b: XirBuilder) -> None:
    b.store(b.math(math.SinOp, b.load(b.block.args[0], 0, 4)), b.block.args[0], 0)


@dataclass(frozen=True)
class Breaking:
    name: str = "break-everything"

    def apply(self, module: ModuleOp) -> int:
        b = XirBuilder(module.body.block.first_op.regions[0].block)  # type: ignore[union-attr]
        with b.before(b.block.last_op):  # type: ignore[arg-type]
            b.fadd(b.const(f32, 1.0), b.i64(0))
        return 1


CAUSES: dict[str, Callable[[], object]] = {
    "TW460": lambda: ExpandMath().apply(module(sine, f16)),
    "TW940": lambda: module(unended),
    "TW941": lambda: parse_module("builtin.module {\n  xir.nothing\n}"),
    "TW942": lambda: verify_or_raise(module(lambda b: b.load(b.block.args[0], b.const(i32, 0)))),
    "TW943": lambda: run_pipeline(module(lambda b: b.i64(1)), [Breaking()]),
    "TW944": lambda: run(module(lambda b: b.load(b.block.args[0], 2, 4)), [np.zeros(4, np.float32)]),
    "TW945": lambda: run(module(logarithm), [np.zeros(4, np.float32)]),
}


@pytest.mark.parametrize("code", CAUSES)
def test_golden(code: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        CAUSES[code]()
    check_golden(code, str(caught.value))

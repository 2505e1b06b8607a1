"""Causes of the LLVM library. They are our own bugs or a damaged installation, so the library itself is asked."""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from xdsl.dialects.builtin import f32, i64

from tests.errors.harness import check_case, check_golden
from tests.unit.backends.llvm.emit.program import Program
from tilewright.backends.llvm.emit.schedule import MOST_OPERATIONS
from tilewright.backends.llvm.jit import compile_object, load
from tilewright.backends.llvm.target import Target
from tilewright.backends.llvm.text import Module
from tilewright.backends.llvm.types import I32, I64
from tilewright.backends.llvm.values import constant
from tilewright.core.errors import PlanError, TilewrightError, ToolchainError, UnsupportedError

SEVEN = "define i32 @seven() { ret i32 7 }"
CAUSES: dict[str, Callable[[], object]] = {
    "TW510": lambda: compile_object("define void @f() { ret i32 0 }", name="softmax"),
    "TW511": lambda: load(b"not an object", ["seven"], name="softmax"),
    "TW512": lambda: compile_object(SEVEN, Target("nowhere-unknown-none", "generic")),
    "TW910": lambda: Module().function("f", []).add(constant(I32, 1), constant(I64, 1)),
}


@pytest.mark.parametrize("code", CAUSES)
def test_golden(code: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        CAUSES[code]()
    error = caught.value
    if isinstance(error, ToolchainError) and error.artifact:
        Path(error.artifact).unlink()
    check_golden(code, re.sub(r"tilewright-softmax-\w+", "tilewright-softmax-xxxx", str(error)))


def test_golden_of_a_missing_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.delitem(sys.modules, "tilewright.backends.llvm._llvmlite", raising=False)
    with pytest.raises(ToolchainError) as caught:
        import_module("tilewright.backends.llvm._llvmlite")
    check_golden("TW513", str(caught.value))


def test_golden_of_a_function_that_is_too_large() -> None:
    p = Program((f32, 1))
    value = p.b.load(p.buffers[0], 0)
    for _ in range(MOST_OPERATIONS):
        value = p.b.fneg(value)
    p.b.store(value, p.buffers[0], 0)
    with pytest.raises(PlanError) as caught:
        p.scheduled()
    check_golden("TW440", re.sub(r"from \d+", "from 2xxx", str(caught.value)))


def test_golden_of_an_operation_without_a_rule() -> None:
    p = Program((i64, 1))
    p.b.store(p.b.lane_id(), p.buffers[0], 0)
    with pytest.raises(UnsupportedError) as caught:
        p.text()
    check_golden("TW441", str(caught.value))


def test_golden_of_a_debug_request(tmp_path: Path) -> None:
    check_case(
        "TW442",
        """from tilewright import create_device, tile

@tile.kernel
def double(X: tile.View1[tile.f32]):
    e = tile.axis("e", 8)
    for nest in tile.parallel(tile.shape(tile.cdiv(X.shape[0], 8))):
        at = tile.coord(nest.index() * 8)
        X.at(at, tile.shape(e)).store(X[at, tile.shape(e)] * 2.0)

tile.compile(create_device("null"), double.capture(tile.tensor_shape(8)), debug=True)
""",
        tmp_path,
    )


def test_golden_of_a_value_carried_between_launches(tmp_path: Path) -> None:
    check_case(
        "TW443",
        """from tilewright import create_device, tile

@tile.kernel
def counted(X: tile.View1[tile.i32]):
    total = tile.scalar(tile.i32, 0)
    for loop in tile.serial(tile.shape(3)):
        total = total + 1
        for nest in loop.parallel(tile.shape(X.shape[0])):
            X[nest.index()].store(total)

tile.compile(create_device("simd"), counted.capture(tile.tensor_shape(8)))
""",
        tmp_path,
    )

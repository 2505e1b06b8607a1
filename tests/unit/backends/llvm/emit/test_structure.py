"""Loops, branches, functions, scratch, contraction; names; and what the text and the assembly of them must show."""

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from tests.unit.backends.llvm.emit.program import Program, agree
from tilewright.backends.llvm.emit.module import kernel_symbol
from tilewright.backends.llvm.emit.schedule import schedule
from tilewright.backends.llvm.jit import assembly
from tilewright.backends.llvm.target import NEOVERSE_N1, X86_64_V3, X86_64_V4, Target
from tilewright.core.errors import PlanError
from tilewright.xir.builder import XirBuilder
from tilewright.xir.ops import FuncOp
from tilewright.xir.types import I64, vector_of


@pytest.mark.parametrize(("low", "high", "step"), [(0, 4, 1), (0, 5, 2), (-3, 3, 4), (3, 3, 1), (5, 2, 3)])
def test_carries_are_simultaneous_for_any_trip_count(low: int, high: int, step: int) -> None:
    p = Program((i32, 3), (I64, 3))
    b = p.b
    start, stop, stride = (b.load(p.buffers[1], k) for k in range(3))
    with b.for_(start, stop, stride, [b.const(i32, 1), b.const(i32, 2), b.const(i32, 0)]) as loop:
        first, second, last = loop.carries
        loop.yield_([second, b.add(first, second), b.add(last, b.trunci(loop.index, i32))])
    for place, value in enumerate(loop.results):
        b.store(value, p.buffers[0], place)
    agree(p, [np.zeros(3, np.int32), np.array([low, high, step])])


def test_branches_with_and_without_results() -> None:
    p = Program((i32, 8), tasks=3)
    b = p.b
    with b.if_(b.cmp("eq", p.task, 1), [i32, i32]) as branch:
        with b.for_(0, 2, 1, [b.const(i32, 5)]) as loop:
            loop.yield_([b.add(loop.carries[0], loop.carries[0])])
        branch.yield_([loop.results[0], b.const(i32, 1)])
    with branch.orelse() as other:
        other.yield_([b.const(i32, 7), b.trunci(p.task, i32)])
    b.store(branch.results[0], p.buffers[0], p.task)
    with b.if_(b.cmp("sgt", p.task, 0)):
        b.store(branch.results[1], p.buffers[0], b.add(p.task, 4))
    (out,) = agree(p, [np.zeros(8, np.int32)])
    assert out.tolist() == [7, 20, 7, 0, 0, 1, 2, 0]


def function(p: Program, name: str, arguments: list[Attribute]) -> tuple[FuncOp, XirBuilder]:
    made = FuncOp(name, arguments)
    p.module.body.block.insert_op_before(made, p.kernel)
    return made, XirBuilder(made.body.block)


@pytest.mark.parametrize("results", [0, 1, 3])
def test_functions_return_as_many_values_as_they_like(results: int) -> None:
    p = Program((f32, 16))
    wide = vector_of(f32, 4)
    made, f = function(p, "exp", [p.buffers[0].type, I64])  # a name of the C library
    buffer, index = made.body.block.args
    value = f.load(buffer, index, 4)
    f.store(f.fneg(value), buffer, index)
    f.return_([value, f.fadd(value, value), f.fmul(value, value)][:results])
    returned = p.b.call("exp", [p.buffers[0], p.b.i64(0)], [wide] * results)
    for place, each in enumerate(returned):
        p.b.store(each, p.buffers[0], 4 * place + 4)
    agree(p, [np.arange(16, dtype=np.float32)])


def test_scratch_belongs_to_the_worker_and_is_aligned() -> None:
    p = Program((f32, 16), tasks=2)
    first, second = p.b.alloc(f32, 3), p.b.alloc(f32, 16)
    p.b.store(p.b.load(p.buffers[0], 0, 16), second, 0)
    p.b.store(p.b.const(f32, 2.0), first, 2)
    p.b.store(p.b.fadd(p.b.load(second, 0, 16), p.b.broadcast(p.b.load(first, 2), 16)), p.buffers[0], 0)
    agree(p, [np.arange(16, dtype=np.float32)])
    assert [slot.offset for slot in p.scheduled().scratch.values()] == [0, 64]
    assert p.scheduled().scratch_bytes == 128


def contraction(m: int, n: int, k: int, lanes: int) -> Program:
    p = Program((f32, m * k), (f32, k * n), (f32, m * n))
    zero = p.b.i64(0)
    a, b, c = p.buffers
    p.b.contract([a, zero, b, zero, c, zero], (m, n, k), (k, 1, n, 1, n, 1), (4, 2, lanes), from_zero=False)
    return p


@pytest.mark.parametrize(("m", "n", "k"), [(8, 32, 16), (9, 37, 5), (1, 1, 1), (5, 16, 0)])
def test_contraction_is_the_exact_chain(m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(m)
    arrays = [rng.standard_normal(size).astype(np.float32) for size in (m * k, k * n, m * n)]
    agree(contraction(m, n, k, 16), arrays)


@pytest.mark.parametrize(
    ("target", "lanes", "instruction"),
    [(X86_64_V4, 16, "vfmadd"), (X86_64_V3, 8, "vfmadd"), (NEOVERSE_N1, 4, "fmla")],
    ids=["avx512", "avx2", "neon"],
)
def test_the_inner_loop_of_a_contraction_is_fused_vectors_without_spills(
    target: Target, lanes: int, instruction: str
) -> None:
    text = contraction(32, 16 * lanes, 64, lanes).text()
    code = assembly(text, target)
    inner = max(_innermost_loops(code), key=lambda lines: sum(instruction in line for line in lines))
    assert sum(instruction in line for line in inner) == 8
    assert not any("(%rsp)" in line or "[sp" in line for line in inner)


def _innermost_loops(code: str) -> list[list[str]]:
    """Bodies between a label and a backward branch to it, without inner labels."""
    loops: list[list[str]] = []
    label, body = "", list[str]()
    for raw in code.splitlines():
        line = raw.strip()
        if line.endswith(":") or (": " in line.split("#")[0].split("//")[0] and not raw.startswith("\t")):
            label, body = line.split(":")[0], []
        elif label and line.endswith(label) and (line.startswith(("j", "b."))):
            loops.append(body)
        else:
            body.append(line)
    return loops


def test_nothing_is_contracted_and_no_library_is_called() -> None:
    text = contraction(8, 32, 16, 16).text()
    assert "contract " not in text
    assert "fast" not in text
    called = {line.split("@")[1].split("(")[0] for line in text.splitlines() if line.startswith("declare")}
    assert {name for name in called if not name.startswith("llvm.")} == {"tilewright_pool_run"}


@pytest.mark.parametrize(("name", "symbol"), [("memcpy", "kernel.memcpy"), ("größe<1>", "kernel.gr__e_1_")])
def test_kernel_symbols_are_ascii_and_never_those_of_a_library(name: str, symbol: str) -> None:
    assert kernel_symbol(name) == symbol


def test_the_schedule_prints_and_counts() -> None:
    p = Program((f32, 40), (f32, 40))
    b, lanes = p.b, p.b.const_lanes(I64, range(16))
    mask = b.first_lanes(p.task, 16)
    b.alloc(f32, 5)
    b.store(b.load(p.buffers[0], 0, 16, mask=mask), p.buffers[1], 0, streaming=True)
    b.store(b.gather(p.buffers[0], b.mul(lanes, b.const(lanes.type, 2))), p.buffers[1], 16)
    b.store(b.load(p.buffers[0], 3), p.buffers[1], 39)
    shown = p.scheduled().render()
    assert "load    scalar      f32        global argument 0" in shown
    assert "64 bytes of scratch a worker" in shown
    assert "load    consecutive f32 x 16   global argument 0, mask prefix" in shown
    assert "gather  strided     f32 x 16   global argument 0" in shown
    assert "store   consecutive f32 x 16   global argument 1, streaming" in shown
    assert "times)" not in shown  # no two of these accesses are equal
    assert p.scheduled().counters["load.masked"] == 1
    assert schedule(p.module).render() == shown


def _negations(count: int) -> Program:
    p = Program((f32, 1))
    value = p.b.load(p.buffers[0], 0)
    for _ in range(count):
        value = p.b.fneg(value)
    p.b.store(value, p.buffers[0], 0)
    return p


def test_a_function_of_too_many_operations_is_refused() -> None:
    """The limit itself is permitted, one more is not."""
    with pytest.raises(PlanError, match="TW440") as error:
        _negations(2001).scheduled()
    found, limit = (int(each) for each in re.findall(r"\d+", error.value.diagnostic.message)[-2:])
    _negations(2001 - (found - limit)).scheduled()
    with pytest.raises(PlanError, match="TW440"):
        _negations(2002 - (found - limit)).scheduled()

"""Launches of machine code over the pool: bindings, order of arguments, scratch, threads, overlap, lifetimes."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i64

from tests.unit.backends.llvm.emit.program import Program
from tilewright.backends.llvm.kernel import CompiledKernel, overlapping
from tilewright.backends.simd.pool_state import GENTLY
from tilewright.backends.simd.scratch import Arena
from tilewright.backends.simd.shader import SIMDShader
from tilewright.core import dtypes
from tilewright.core.abi import KernelArgument, KernelMetadata, Usage
from tilewright.core.dtypes import DType
from tilewright.runtime.hostmemory import HostMemory
from tilewright.runtime.inline import CodeCall
from tilewright.runtime.interface import Binding


class Explanation:
    def render(self) -> str:
        return "why"


def argument(name: str, element: type[DType], count: int) -> KernelArgument:
    size = count * element.itemsize
    return KernelArgument(name, element, (count,), (1,), size, Usage.READ_WRITE, const=False)


def compiled(p: Program, arguments: tuple[KernelArgument, ...], **changes: Any) -> CompiledKernel:
    scheduled = p.scheduled()
    tasks = p.kernel.tasks.data
    metadata = KernelMetadata("k", (tasks, 1, 1), arguments, disjoint_writes=False, source=p.text(), realization={})
    order = tuple(range(len(arguments)))
    made = CompiledKernel(metadata, Explanation(), tasks, 8, order, scheduled.scratch_bytes, frozenset())
    return replace(made, **changes)


def no_second_version() -> SIMDShader:
    raise AssertionError("the first version was enough")


def shader(p: Program, arguments: tuple[KernelArgument, ...], **changes: Any) -> SIMDShader:
    return SIMDShader(compiled(p, arguments, **changes), no_second_version)


def counting(tasks: int) -> Program:
    """counts[task] += 1"""
    p = Program((i64, max(1, tasks)), tasks=tasks)
    p.b.store(p.b.add(p.b.load(p.buffers[0], p.task), 1), p.buffers[0], p.task)
    return p


@pytest.mark.parametrize("tasks", [0, 1, 2, 7, 500])
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_every_task_runs_once_a_launch(tasks: int, threads: int) -> None:
    counts = np.zeros(max(1, tasks), np.int64)
    made = shader(counting(tasks), (argument("counts", dtypes.i64, tasks),), threads=threads)
    for _ in range(20):
        made.launch_addresses([counts.ctypes.data])
    assert (counts[:tasks] == 20).all()
    assert not counts[tasks:].any()
    made.close()


def test_bindings_have_offsets_and_unused_arguments_have_no_slot() -> None:
    p = Program((f32, 4), (f32, 4))
    p.b.store(p.b.load(p.buffers[0], 0, 4), p.buffers[1], 0)
    arguments = tuple(argument(name, dtypes.f32, 4) for name in ("target", "unused", "source"))
    made = shader(p, arguments, argument_order=(2, 0))
    memory = HostMemory("simd")
    buffers = [memory.create_buffer(64) for _ in range(3)]
    for number, buffer in enumerate(buffers):
        buffer.data[:] = number
    made.launch([Binding(buffer, 4 * number, 16) for number, buffer in enumerate(buffers)])
    assert buffers[0].data.tolist() == [2] * 16 + [0] * 48
    assert set(buffers[1].data.tolist()) == {1}


def with_scratch(tasks: int, words: int) -> Program:
    """Writes the task's number all over its scratch, then sums it up: another worker's writes would show."""
    p = Program((i64, tasks), tasks=tasks)
    b = p.b
    scratch = b.alloc(i64, words)
    with b.for_(0, words, 1) as fill:
        b.store(p.task, scratch, fill.index)
    with b.for_(0, words, 1, [b.i64(0)]) as total:
        total.yield_([b.add(total.carries[0], b.load(scratch, total.index))])
    b.store(total.results[0], p.buffers[0], p.task)
    return p


def test_scratch_is_private_to_a_worker_and_to_a_calling_thread() -> None:
    tasks, words = 64, 500
    made = shader(with_scratch(tasks, words), (argument("sums", dtypes.i64, tasks),))
    sums = [np.zeros(tasks, np.int64) for _ in range(4)]

    def launch(mine: int) -> None:
        for _ in range(50):
            made.launch_addresses([sums[mine].ctypes.data])

    callers = [threading.Thread(target=launch, args=(mine,)) for mine in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all((each == np.arange(tasks) * words).all() for each in sums)


def test_an_arena_grows_and_is_reused() -> None:
    arena = Arena()
    first = arena.reserve(100)
    assert first % 64 == 0
    assert arena.reserve(50) == first
    assert arena.reserve(1 << 20) % 64 == 0
    elsewhere: list[int] = []
    other = threading.Thread(target=lambda: elsewhere.append(arena.reserve(1 << 20)))
    other.start()
    other.join()
    assert elsewhere[0] != arena.reserve(1 << 20)


def test_overlapping_arguments_take_the_second_version_and_keep_it() -> None:
    arguments = (argument("a", dtypes.i64, 1), argument("b", dtypes.i64, 1))
    p = Program((i64, 1), (i64, 1))
    p.b.store(p.b.const(i64, 100), p.buffers[0], 0)
    careful = compiled(counting(1), arguments, argument_order=(0,))
    made: list[SIMDShader] = []

    def second() -> SIMDShader:
        made.append(SIMDShader(careful, no_second_version))
        return made[-1]

    first = SIMDShader(compiled(p, arguments, disjoint=frozenset({(0, 1)})), second)
    memory = np.zeros(2, np.int64)
    first.launch_addresses([memory.ctypes.data, memory.ctypes.data + 8])
    assert (memory.tolist(), len(made)) == ([100, 0], 0)
    for _ in range(3):
        first.launch_addresses([memory.ctypes.data, memory.ctypes.data])
    assert (memory.tolist(), len(made)) == ([103, 0], 1)
    first.close()


@pytest.mark.parametrize(
    ("a", "b", "meet"),
    [((0, 8), (8, 8), False), ((0, 9), (8, 8), True), ((8, 8), (0, 9), True), ((4, 0), (0, 8), False)],
)
def test_ranges_overlap_where_they_share_a_byte(a: tuple[int, int], b: tuple[int, int], meet: bool) -> None:
    assert overlapping(frozenset({(0, 1)}), [a, b]) is meet
    assert not overlapping(frozenset(), [a, a])


def test_it_shows_metadata_report_source_and_assembly() -> None:
    made = shader(counting(3), (argument("counts", dtypes.i64, 3),))
    assert made.metadata.dispatch_size == (3, 1, 1)
    assert made.report.render() == "why"
    assert "kernel.k" in made.metadata.source
    assert "kernel.k" in made.assembly()


def test_a_prepared_launch_is_a_launch_from_any_thread() -> None:
    tasks = 16
    counts = np.zeros(tasks, np.int64)
    made = shader(counting(tasks), (argument("counts", dtypes.i64, tasks),))
    launch = made.prepare([counts.ctypes.data])
    lock = threading.Lock()

    def work() -> None:
        for _ in range(25):
            with lock:
                launch()

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert (counts == 100).all()
    made.close()


@pytest.mark.parametrize(("wakes", "words", "short"), [(False, 0, True), (True, 0, False), (False, 500, False)])
def test_a_prepared_launch_is_a_call_of_code_if_it_is_short_and_nothing_else(
    wakes: bool, words: int, short: bool
) -> None:
    arguments = (argument("sums", dtypes.i64, 4),)
    program = with_scratch(4, words) if words else counting(4)
    made = SIMDShader(compiled(program, arguments, wakes=wakes), lambda: shader(program, arguments))
    sums = np.zeros(4, np.int64)
    launch = made.prepare([sums.ctypes.data])
    launch()
    assert sums.tolist() == [each * words for each in range(4)] if words else [1] * 4
    assert isinstance(launch, CodeCall) == short
    made.close()


def test_a_prepared_launch_with_scratch_takes_that_of_its_thread() -> None:
    tasks, words = 64, 500
    made = shader(with_scratch(tasks, words), (argument("sums", dtypes.i64, tasks),))
    sums = np.zeros(tasks, np.int64)
    launch = made.prepare([sums.ctypes.data])
    callers = [threading.Thread(target=lambda: [launch() for _ in range(50)]) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert (sums == np.arange(tasks) * words).all()


def test_a_prepared_launch_on_overlapping_arguments_takes_the_careful_version() -> None:
    def copying() -> Program:
        p = Program((f32, 4), (f32, 4))
        p.b.store(p.b.load(p.buffers[0], 0, 4), p.buffers[1], 0)
        return p

    arguments = tuple(argument(name, dtypes.f32, 4) for name in ("a", "b"))
    careful = shader(copying(), arguments)
    made = SIMDShader(compiled(copying(), arguments, disjoint=frozenset({(0, 1)})), lambda: careful)
    taken: list[object] = []
    careful.launch_addresses = taken.append  # pyright: ignore[reportAttributeAccessIssue]
    memory = np.zeros(8, np.float32)
    apart, together = memory.ctypes.data + 16, memory.ctypes.data + 4
    made.prepare([memory.ctypes.data, apart])()
    assert taken == []
    made.prepare([memory.ctypes.data, together])()
    assert taken == [(memory.ctypes.data, together)]
    made.close()


def test_small_launches_are_gentle() -> None:
    arguments = (argument("counts", dtypes.i64, 16),)
    small, large = (shader(counting(16), arguments, threads=1, wakes=wakes) for wakes in (False, True))
    assert (small.direct_code().threads, large.direct_code().threads) == (1 | GENTLY, 1)
    counts = np.zeros(16, np.int64)
    for each in (small, large):
        each.launch_addresses([counts.ctypes.data])
    assert (counts == 2).all()

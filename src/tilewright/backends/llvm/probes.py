"""Measures what single steps of this machine take: a few loops in machine code, each the least of several rounds."""

import ctypes
import mmap
import time
from collections.abc import Callable
from dataclasses import replace
from math import prod

from tilewright.backends.llvm.emit.module import POOL_RUN, emit_module, kernel_symbol
from tilewright.backends.llvm.emit.schedule import schedule
from tilewright.backends.llvm.jit import compile_and_load
from tilewright.backends.llvm.probe_code import (
    CHAINS,
    EXPONENTIAL,
    GATHERS,
    PAGE,
    PROBES,
    READS,
    exponential_text,
    probe_module,
)
from tilewright.core.machine import Level, Machine, Timings, preferred
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline
from tilewright.xir.text import parse_module
from tilewright.xir.verify import verify_or_raise

__all__ = ["measured", "sizes_of"]

_ROUNDS = 7
_ROUNDS_OF_READS = 4
_STEPS = 20_000  # of a loop in registers: some tens of microseconds
_BYTES_READ = 4 << 20  # of a loop over a cache
_LARGEST = 64 << 20  # bytes that are worth allocating to see what memory takes
_ASIDE = 320  # bytes, so that what is stored does not look like what is loaded next
_AVX512_BITS = 512


def measured(machine: Machine) -> Timings:
    """The figures of this machine, in steps of `preferred`. What cannot be measured stays as `machine` has it.

    Takes about a tenth of a second. Raises ToolchainError for code that does not compile, OSError without memory.
    """
    typical, lanes = machine.timings, machine.lanes(32)
    code = compile_and_load(probe_module(lanes).text(), list(PROBES), name="probes")
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
    run = {name: kind(code.address(name)) for name in PROBES}
    vector_bytes = machine.vector_bits // 8
    sizes = sizes_of(machine)
    with mmap.mmap(-1, max(sizes.values())) as block:
        base = ctypes.addressof(ctypes.c_char.from_buffer(block))
        _fill(base, max(sizes.values()), vector_bytes)
        loops = CHAINS * _STEPS
        arithmetic = _least(lambda: run["multiply_add"](_STEPS, base, 0)) / loops
        latency = _least(lambda: run["chain"](_STEPS, base, 0)) / _STEPS
        division = _least(lambda: run["divide"](_STEPS // 8, base, 0)) / (loops // 8)
        gathered = _least(lambda: run["gather"](_STEPS // 8, base, 0)) / (_STEPS // 8 * GATHERS * lanes)
        broadcast = _least(lambda: run["broadcast"](_STEPS, base, 0)) / (_STEPS * READS)
        expensive = _exponential(base, lanes, scales=machine.vector_bits == _AVX512_BITS)
        found = dict.fromkeys(Level, 0.0)
        for level, size in sizes.items():
            vectors = size // vector_bytes // READS * READS
            rounds = max(1, _BYTES_READ // size)
            least = _least(lambda v=vectors, r=rounds: run["read"](r, base, v), _ROUNDS_OF_READS)
            found[level] = least / (vectors * rounds)
        pages = sizes[Level.L2] // PAGE // READS * READS
        vectors, rounds = pages * PAGE // vector_bytes, max(1, _BYTES_READ // sizes[Level.L2])
        apart = _least(lambda: run["apart"](rounds, base, vectors), _ROUNDS_OF_READS) / (max(vectors, 1) * rounds)
    code.close()
    levels = _rising([found[level] or typical.levels[level] for level in Level])
    return replace(
        typical,
        arithmetic=preferred(arithmetic),
        division=preferred(division),
        expensive=preferred(expensive),
        levels=levels,
        gathered_lane=preferred(gathered),
        latency=preferred(latency),
        broadcast=preferred(broadcast),
        apart=preferred(apart - found[Level.L2]) or typical.apart,
    )


def sizes_of(machine: Machine) -> dict[Level, int]:
    """Bytes that lie in each cache, and in none of them."""
    l1, l2, l3 = machine.l1_bytes, machine.l2_bytes, machine.l3_bytes
    sizes = {Level.L1: l1 // 2, Level.L2: l2 // 2}
    if l3 >= 4 * l2:
        sizes[Level.L3] = min(l3 // 4, 4 * l2)
    if 2 * max(l2, l3) <= _LARGEST:
        sizes[Level.MEMORY] = 2 * max(l2, l3)
    return sizes


def _rising(levels: list[float]) -> tuple[float, float, float, float]:
    """No level is nearer than the one before."""
    first, second, third, last = (preferred(max(levels[: place + 1])) for place in range(len(levels)))
    return first, second, third, last


def _fill(base: int, size: int, vector_bytes: int) -> None:
    """Real pages, that begin with ones."""
    ctypes.memset(base, 0, size)
    ones = (ctypes.c_float * (vector_bytes // 4)).from_address(base)
    ones[:] = [1.0] * len(ones)


def _exponential(base: int, lanes: int, *, scales: bool) -> float:
    """Nanoseconds of a vector, loaded and stored in the first cache."""
    module = parse_module(exponential_text(lanes, *EXPONENTIAL))
    verify_or_raise(module)
    run_pipeline(module, CPU_PIPELINE)
    text = emit_module(module, schedule(module), scales=scales)
    name = kernel_symbol("exponential")
    code = compile_and_load(text, [name], imports={POOL_RUN: base}, name="probes")  # the pool is never called
    task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code.address(name))
    context = (ctypes.c_int64 * 5)(base, base + EXPONENTIAL[0] * 4 * lanes + _ASIDE, 0, 0, 1)
    spent = _least(lambda: task(ctypes.addressof(context), 0, 0))
    code.close()
    return spent / prod(EXPONENTIAL)


def _least(work: Callable[[], object], rounds: int = _ROUNDS) -> float:
    """Nanoseconds of the fastest of some rounds: what disturbs a round only makes it longer."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        work()
        best = min(best, time.perf_counter_ns() - start)
    return best

"""Loops in machine code: the peak of fused multiply-adds, launches of nothing on the worker pool, calls of OpenBLAS."""

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from examples.gallery.entry import Array
from tilewright.backends.llvm.jit import Library, compile_and_load
from tilewright.backends.llvm.machine import host_machine
from tilewright.backends.simd.pool import POOL_RUN_SYMBOL, worker_pool
from tilewright.backends.simd.tirx_functions import openblas_sgemm

__all__ = ["PEAK_FLOPS", "launches", "openblas_products", "peak_loop"]

ACCUMULATORS = 24
ITERATIONS = 20_000  # about half a millisecond
PATIENCE = 1 << 20  # looks at the other task before giving up
ROW_MAJOR, PLAIN = 101, 111  # CBLAS's words
SHORT_PRODUCTS = 5_000_000  # operations of one call of a function that multiplies
PEAK_FLOPS = 2 * ACCUMULATORS * ITERATIONS  # of one lane


def peak_module(lanes: int) -> str:
    """`void peak(i64 iterations, ptr out)`: each iteration is 24 independent multiply-adds of full registers."""
    vector, each = f"<{lanes} x float>", range(ACCUMULATORS)
    start = f"splat (float {0.0:e})"
    carried = [f"  %a{i} = phi {vector} [ {start}, %entry ], [ %b{i}, %loop ]" for i in each]
    steps = [f"  %b{i} = call {vector} @llvm.fma({vector} %x, {vector} %y, {vector} %a{i})" for i in each]
    sums = [f"  %s{i + 1} = fadd {vector} {'%b0' if i == 0 else f'%s{i}'}, %b{i + 1}" for i in each[:-1]]
    return "\n".join(
        [
            f"declare {vector} @llvm.fma({vector}, {vector}, {vector})",
            "define void @peak(i64 %count, ptr %out) {",
            "entry:",
            f"  %x = load {vector}, ptr %out, align 4",
            f"  %after = getelementptr {vector}, ptr %out, i64 1",
            f"  %y = load {vector}, ptr %after, align 4",
            "  br label %loop",
            "loop:",
            "  %n = phi i64 [ 0, %entry ], [ %next, %loop ]",
            *carried,
            *steps,
            "  %next = add i64 %n, 1",
            "  %more = icmp ult i64 %next, %count",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *sums,
            f"  store {vector} %s{ACCUMULATORS - 1}, ptr %out, align 4",
            "  ret void",
            "}",
        ]
    )


def launches_module(task: str) -> str:
    """`void launches(i64 count, i64 tasks, ptr word)`: so many launches of `@nothing` or of `@meet`. Two tasks that
    meet run at the same time: each counts itself and waits, not forever, until the count is even.
    """
    return f"""
declare void @{POOL_RUN_SYMBOL}(ptr, ptr, i64, i64)
define internal void @nothing(ptr %word, i64 %task, i64 %worker) {{
  ret void
}}
define internal void @meet(ptr %word, i64 %task, i64 %worker) {{
entry:
  %before = atomicrmw add ptr %word, i64 1 seq_cst
  %own = add i64 %before, 1
  %odd = and i64 %own, 1
  %target = add i64 %own, %odd
  br label %wait
wait:
  %n = phi i64 [ 0, %entry ], [ %next, %wait ]
  %now = load atomic i64, ptr %word acquire, align 8
  %next = add i64 %n, 1
  %alone = icmp ult i64 %now, %target
  %patient = icmp ult i64 %next, {PATIENCE}
  %again = and i1 %alone, %patient
  br i1 %again, label %wait, label %done
done:
  ret void
}}
define void @launches(i64 %count, i64 %tasks, ptr %word) {{
entry:
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @{POOL_RUN_SYMBOL}(ptr @{task}, ptr %word, i64 %tasks, i64 %tasks)
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def lanes() -> int:
    """f32 elements of a native vector."""
    return host_machine().lanes(32)


@cache
def _peak() -> Library:
    return compile_and_load(peak_module(lanes()), ["peak"], name="peak")


@cache
def _launches(task: str) -> Library:
    imports = {POOL_RUN_SYMBOL: worker_pool().entry}
    return compile_and_load(launches_module(task), ["launches"], imports=imports, name="launches")


def peak_loop(threads: int) -> tuple[Callable[[], object], float]:
    """A call that multiplies and adds on each of `threads` cores, and the operations of one call."""
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(_peak().address("peak"))
    blocks = [(ctypes.c_float * (2 * lanes()))() for _ in range(threads)]
    flops = float(PEAK_FLOPS * lanes() * threads)
    if threads == 1:
        return lambda: run(ITERATIONS, blocks[0]), flops
    pool = ThreadPoolExecutor(threads)
    rounds = 10  # a thread of Python takes tens of microseconds to start
    return lambda: list(pool.map(run, [rounds * ITERATIONS] * threads, blocks)), flops * rounds


def launches(task: str, tasks: int) -> Callable[[int], None]:
    """A call that launches `tasks` tasks so many times, through the pool and without Python in between."""
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(_launches(task).address("launches"))
    word = (ctypes.c_int64 * 1)()
    return lambda count: run(count, tasks, word)


def products_module(m: int, n: int, k: int) -> str:
    """`void products(i64 count, ptr a, ptr b, ptr c)`: C = A B by CBLAS, so many times."""
    sizes = ", ".join(f"i32 {each}" for each in (ROW_MAJOR, PLAIN, PLAIN, m, n, k))
    return f"""
declare void @sgemm(i32, i32, i32, i32, i32, i32, float, ptr, i32, ptr, i32, float, ptr, i32)
define void @products(i64 %count, ptr %a, ptr %b, ptr %c) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @sgemm({sizes}, float 1.0, ptr %a, i32 {k}, ptr %b, i32 {n}, float 0.0, ptr %c, i32 {n})
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def openblas_products(a: Array, b: Array, c: Array) -> tuple[Callable[[], object], int]:
    """A call that multiplies by OpenBLAS as often as fills about 50 microseconds, and how often that is.

    Raises ImportError without the extra that brings OpenBLAS.
    """
    sgemm = openblas_sgemm()
    if sgemm is None:
        raise ImportError("the extra cblas is not installed")
    (m, k), n = a.shape, b.shape[1]
    code = compile_and_load(products_module(m, n, k), ["products"], imports={"sgemm": sgemm}, name="products")
    code.keep()
    count = max(1, SHORT_PRODUCTS // (2 * m * n * k))
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 3)(code.address("products"))
    places = [each.ctypes.data for each in (a, b, c)]
    return lambda: call(count, *places), count

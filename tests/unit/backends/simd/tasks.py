"""Tasks in machine code for the tests of the pool. A context is an array of 64-bit words."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tilewright.backends.llvm.jit import Library, compile_and_load
from tilewright.backends.llvm.text import Function, Module, Parameter
from tilewright.backends.llvm.types import I32, I64, PTR
from tilewright.backends.llvm.values import Value, constant

WORKERS = 64  # words 0..63 of a worker-checking context count tasks inside each worker number, word 64 the violations


def _word(f: Function, index: Value | int) -> Value:
    position = constant(I64, index) if isinstance(index, int) else index
    return f.offset(f.argument("context"), position, I64)


def _task(module: Module, name: str, body: Callable[[Function], None]) -> None:
    f = module.function(name, [Parameter("context", PTR), Parameter("index", I64), Parameter("worker", I64)])
    body(f)
    f.ret()


def _count(f: Function) -> None:
    f.atomicrmw("add", _word(f, f.argument("index")), constant(I64, 1), "monotonic")


def _occupy(f: Function) -> None:
    """Two tasks inside one worker number at once are a violation; so is a number that is too large."""
    one = constant(I64, 1)
    slot = _word(f, f.argument("worker"))
    before = f.atomicrmw("add", slot, one, "seq_cst")
    with f.when(f.icmp("ne", before, constant(I64, 0))):
        f.atomicrmw("add", _word(f, WORKERS), one, "monotonic")
    with f.loop(constant(I64, 0), constant(I64, 300), one):
        f.fence("seq_cst")
    f.atomicrmw("sub", slot, one, "seq_cst")
    f.atomicrmw("umax", _word(f, WORKERS + 1), f.argument("worker"), "monotonic")
    f.atomicrmw("add", _word(f, WORKERS + 2), one, "monotonic")


def _nest(f: Function) -> None:
    """Launches `count` over words 8.. from inside a task: context[0] is the pool's entry, [1] the task, [2] 8 tasks."""
    entry = f.inttoptr(f.load(I64, _word(f, 0)), PTR)
    task = f.inttoptr(f.load(I64, _word(f, 1)), PTR)
    count = f.load(I64, _word(f, 2))
    f.call_void(entry, [task, _word(f, 8), count, constant(I64, 4)])


def _yield(f: Function) -> None:
    f.call_external(I32, "sched_yield", [])
    _count(f)


def _meet(f: Function) -> None:
    """Waits until both tasks of a launch have begun: word 0 counts them, word 1 those that gave up waiting."""
    f.atomicrmw("add", _word(f, 0), constant(I64, 1), "seq_cst")
    before, wait, check, leave, late, done = (
        f.current,
        *(f.block(name) for name in ("wait", "check", "leave", "late", "met")),
    )
    f.branch(wait)
    f.place(wait)
    spent = f.phi(I64)
    f.branch_if(f.icmp("sge", f.load_atomic(I64, _word(f, 0), "acquire"), constant(I64, 2)), done, check)
    f.place(check)
    f.call_external(I32, "sched_yield", [])
    more = f.add(spent, constant(I64, 1))
    f.branch_if(f.icmp("slt", more, constant(I64, 3_000_000)), leave, late)
    f.place(leave)
    f.branch(wait)
    spent.add(constant(I64, 0), before)
    spent.add(more, leave)
    f.place(late)
    f.atomicrmw("add", _word(f, 1), constant(I64, 1), "monotonic")
    f.branch(done)
    f.place(done)


@cache
def library() -> Library:
    module = Module()
    _task(module, "count", _count)
    _task(module, "occupy", _occupy)
    _task(module, "nest", _nest)
    _task(module, "meet", _meet)
    _task(module, "yielding", _yield)
    return compile_and_load(module.text(), module.function_names(), name="tasks")


def task(name: str) -> int:
    return library().address(name)


def words(count: int) -> NDArray[np.int64]:
    return np.zeros(count, np.int64)


def address(array: NDArray[np.int64]) -> int:
    return array.ctypes.data

"""Our worker pool under the code that TVM makes: one function, which TVM's code calls where it would call TVM's pool.

    int launch(int (*lambda)(int task, environment*, void* data), void* data, int tasks)

`tasks` 0 leaves their number to the pool. A task that fails returns a number other than 0, and so does the launch.
"""

from functools import cache

from tilewright.backends.llvm.jit import compile_and_load
from tilewright.backends.llvm.text import INTERNAL, Function, Module, Parameter
from tilewright.backends.llvm.types import I32, I64, PTR, VOID
from tilewright.backends.llvm.values import NULL, Value, constant
from tilewright.backends.simd.pool import POOL_RUN_SYMBOL, worker_pool
from tilewright.bridge.tirx.door import Door
from tilewright.core.locks import ChildLock

__all__ = ["launch_on_our_pool", "pool_launcher"]

_LAUNCH, _TASK = "tirx_launch", "tirx_task"
_WORD = 8
# The context of a launch, in words: what to call, with what, whether a task failed, and what TVM calls environment,
# which is a pointer that only tasks with barriers use and the number of tasks.
_LAMBDA, _DATA, _FAILED, _BARRIER, _TASKS = range(5)
_LOCK = ChildLock()


def launch_on_our_pool(door: Door) -> None:
    """Code that TVM loads from now on runs its parallel loops on the workers that all kernels share."""
    with _LOCK:
        door.use_launcher(pool_launcher())


@cache
def pool_launcher() -> int:
    """The address of the function."""
    pool = worker_pool()
    text = _module(pool.threads).text()
    library = compile_and_load(text, [_LAUNCH], imports={POOL_RUN_SYMBOL: pool.entry}, name="tirx launcher")
    library.keep()  # TVM may call it until the process ends
    return library.address(_LAUNCH)


def _module(threads: int) -> Module:
    module = Module()
    _task(module)
    f = module.function(_LAUNCH, [Parameter("lambda", PTR), Parameter("data", PTR), Parameter("tasks", I32)], I32)
    context = f.alloca(I64, _TASKS + 1, _WORD)
    wanted = f.sext(f.argument("tasks"), I64)
    tasks = f.select(f.icmp("sgt", wanted, constant(I64, 0)), wanted, constant(I64, threads))
    f.store(f.argument("lambda"), _word(f, context, _LAMBDA))
    f.store(f.argument("data"), _word(f, context, _DATA))
    f.store(constant(I64, 0), _word(f, context, _FAILED))
    f.store(NULL, _word(f, context, _BARRIER))
    f.store(f.trunc(tasks, I32), _word(f, context, _TASKS))
    task = Value(PTR, f"@{_TASK}")
    f.call_external(VOID, POOL_RUN_SYMBOL, [task, context, tasks, constant(I64, threads)])
    f.ret(f.trunc(f.load(I64, _word(f, context, _FAILED)), I32))
    return module


def _task(module: Module) -> None:
    parameters = [Parameter("context", PTR), Parameter("index", I64), Parameter("worker", I64)]
    f = module.function(_TASK, parameters, linkage=INTERNAL)
    context = f.argument("context")
    environment, data = _word(f, context, _BARRIER), f.load(PTR, _word(f, context, _DATA))
    index = f.trunc(f.argument("index"), I32)
    code = f.call(I32, f.load(PTR, _word(f, context, _LAMBDA)), [index, environment, data])
    f.atomicrmw("or", _word(f, context, _FAILED), f.sext(code, I64), "monotonic")
    f.ret()


def _word(f: Function, context: Value, place: int) -> Value:
    return f.byte_offset(context, place * _WORD)

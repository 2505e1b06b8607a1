"""The worker pool as LLVM IR. It needs pthreads and sched_yield from the process, and no compiler on the machine.

A launch is a record (function, context, number of tasks, number of threads) and a generation. Two words carry the
generation in their upper half, so that one compare-and-exchange says both "I take the next one" and "the launch I know
is still the current one"; a worker that wakes late fails that test and does nothing:

    GATE    generation | next worker number      TICKET  generation | next task

The record is written while the gate is closed and read before the exchange on the gate, whose success proves that it
was whole. A launch is over when all tasks are done, not when all workers have answered: a worker whose core is taken
by someone else costs nothing.
"""

from tilewright.backends.llvm.flags import NONE
from tilewright.backends.llvm.target import Target
from tilewright.backends.llvm.text import INTERNAL, Function, Module, Parameter
from tilewright.backends.llvm.types import I8, I32, I64, PTR, VOID
from tilewright.backends.llvm.values import NULL, Value, constant
from tilewright.backends.simd.pool_state import (
    ALONE,
    BUSY,
    CLOSED,
    CONDITION,
    CONTEXT,
    COUNT,
    DONE,
    GATE,
    GENERATION,
    GENTLY,
    HANDLES,
    INDEX_MASK,
    LAST_CPU,
    LIMIT,
    MADE,
    MAX_WORKERS,
    MUTEX,
    SLEEPERS,
    SPIN,
    STATE_BYTES,
    STATE_SYMBOL,
    STATE_TYPE,
    STEER,
    TASK,
    TICKET,
)

EXPORTS = ("pool_run", "pool_reset", "pool_relax", "pool_state")

_STACK_BYTES = 8 << 20  # macOS gives threads 512 KiB, musl 128; tasks keep packed panels on their stack
PATIENCE = 32  # gentle launches without workers before they are woken
_PAUSES_BEFORE_YIELD = 20_000
_CPU_SET_BYTES = 128
_TASK_PARAMETERS = [
    Parameter("task", PTR),
    Parameter("context", PTR),
    Parameter("count", I64),
]


def pool_module(target: Target) -> Module:
    """The pool for one target; its state is a global of the module."""
    module = Module()
    module.variable(STATE_SYMBOL, STATE_TYPE, align=128)
    _relax(module, target)
    _drain(module)
    _sleep(module)
    _worker(module)
    _make_workers(module)
    _wake(module, steers="linux" in target.triple)
    if "linux" in target.triple:
        _steer(module)
    _miss(module)
    _inline(module)
    _wait(module)
    _launch(module)
    _run(module)
    _reset(module)
    _state(module)
    return module


def _i64(value: int) -> Value:
    return constant(I64, value)


def _pause(f: Function, target: Target) -> None:
    if target.architecture == "x86_64":
        f.effect_intrinsic("llvm.x86.sse2.pause")
    elif target.architecture == "aarch64":
        f.emit('call void asm sideeffect "isb", ""()')


def _relax(module: Module, target: Target) -> None:
    """Spends a number of pauses; with 1 it is the body of every spin loop, with many it measures what one costs."""
    f = module.function("pool_relax", [Parameter("count", I64)])
    with f.up_to(f.argument("count")):
        _pause(f, target)
    f.ret()


def _relax_once(f: Function) -> None:
    f.call_void("pool_relax", [_i64(1)])


def _drain(module: Module) -> None:
    """Runs tasks of generation `generation` until none is left, then adds their number to DONE."""
    parameters = [*_TASK_PARAMETERS, Parameter("generation", I64), Parameter("worker", I64)]
    f = module.function("drain", parameters, linkage=INTERNAL)
    task, context, count, generation, worker = f.arguments
    entry, claim, compare, execute = f.current, f.block("claim"), f.block("compare"), f.block("execute")
    leave, report, out = f.block("leave"), f.block("report"), f.block("out")
    f.branch(claim)
    f.place(claim)
    finished = f.phi(I64)
    ticket = TICKET.load(f, "acquire")
    index = f.and_(ticket, _i64(INDEX_MASK))
    current = f.icmp("eq", f.lshr(ticket, _i64(32)), generation)
    f.branch_if(f.and_(current, f.icmp("ult", index, count)), compare, leave)
    f.place(compare)
    _, mine = f.cmpxchg(TICKET.address(f), ticket, f.add(ticket, _i64(1)), "acq_rel", "monotonic")
    f.branch_if(mine, execute, claim)
    f.place(execute)
    f.call_void(task, [context, index, worker])
    after = f.add(finished, _i64(1))
    f.branch(claim)
    for value, block in ((_i64(0), entry), (finished, compare), (after, execute)):
        finished.add(value, block)
    f.place(leave)
    f.branch_if(f.icmp("ne", finished, _i64(0)), report, out)
    f.place(report)
    f.atomicrmw("add", DONE.address(f), finished, "release")
    f.branch(out)
    f.place(out)
    f.ret()


def _sleep(module: Module) -> None:
    """Waits on the condition until the gate shows another generation than `seen`.

    SLEEPERS rises before the gate is read, and a launcher opens the gate before it reads SLEEPERS (both sequentially
    consistent): one of the two sees the other, so no wake-up is lost.
    """
    f = module.function("sleep", [Parameter("seen", I64)], linkage=INTERNAL)
    f.call_external(I32, "pthread_mutex_lock", [MUTEX.address(f)])
    f.atomicrmw("add", SLEEPERS.address(f), _i64(1), "seq_cst")
    check, wait, leave = f.block("check"), f.block("wait"), f.block("leave")
    f.branch(check)
    f.place(check)
    generation = f.lshr(GATE.load(f, "seq_cst"), _i64(32))
    f.branch_if(f.icmp("eq", generation, f.argument("seen")), wait, leave)
    f.place(wait)
    f.call_external(I32, "pthread_cond_wait", [CONDITION.address(f), MUTEX.address(f)])
    f.branch(check)
    f.place(leave)
    f.atomicrmw("sub", SLEEPERS.address(f), _i64(1), "seq_cst")
    f.call_external(I32, "pthread_mutex_unlock", [MUTEX.address(f)])
    f.ret()


def _worker(module: Module) -> None:
    """A worker's life: poll the gate, take a number, work, poll again; sleep after SPIN pauses without work."""
    f = module.function("worker", [Parameter("unused", PTR)], PTR, linkage=INTERNAL)
    entry, poll, idle, spin, rest = f.current, f.block("poll"), f.block("idle"), f.block("spin"), f.block("rest")
    arrive, join, work, skip = f.block("arrive"), f.block("join"), f.block("work"), f.block("skip")
    f.branch(poll)
    f.place(poll)
    seen, pauses = f.phi(I64), f.phi(I64)
    gate = GATE.load(f, "acquire")
    generation, number = f.lshr(gate, _i64(32)), f.and_(gate, _i64(INDEX_MASK))
    fresh, is_open = f.icmp("ne", generation, seen), f.icmp("ne", number, _i64(CLOSED))
    f.branch_if(f.and_(fresh, is_open), arrive, idle)
    f.place(idle)
    more = f.add(pauses, _i64(1))
    f.branch_if(f.icmp("ult", more, SPIN.load(f, "monotonic")), spin, rest)
    f.place(spin)
    _relax_once(f)
    f.branch(poll)
    f.place(rest)
    f.call_void("sleep", [seen])
    f.branch(poll)
    f.place(arrive)
    task, context = TASK.load(f, "monotonic"), CONTEXT.load(f, "monotonic")
    count, limit = COUNT.load(f, "monotonic"), LIMIT.load(f, "monotonic")
    f.branch_if(f.icmp("ult", number, limit), join, skip)
    f.place(join)
    _, joined = f.cmpxchg(GATE.address(f), gate, f.add(gate, _i64(1)), "acq_rel", "monotonic")
    f.branch_if(joined, work, poll)
    f.place(work)
    f.call_void("drain", [task, context, count, generation, number])
    f.branch(poll)
    f.place(skip)  # enough threads without this one: its pauses go on counting, so that it sleeps in the end
    f.branch(poll)
    arrivals = (
        (entry, _i64(0), _i64(0)),
        (spin, seen, more),
        (rest, seen, _i64(0)),
        (join, seen, pauses),
        (work, generation, _i64(0)),
        (skip, generation, pauses),
    )
    for block, last, spent in arrivals:
        seen.add(last, block)
        pauses.add(spent, block)


def _make_workers(module: Module) -> None:
    """Creates workers until `wanted` exist or the system refuses; fewer are enough, the launching thread works too."""
    f = module.function("make_workers", [Parameter("wanted", I64)], linkage=INTERNAL, attributes=("noinline", "cold"))
    attributes, handle = f.alloca(I64, 16), f.alloca(I64, 1)
    f.call_external(I32, "pthread_attr_init", [attributes])
    f.call_external(I32, "pthread_attr_setstacksize", [attributes, _i64(_STACK_BYTES)])
    check, create, keep, out = f.block("check"), f.block("create"), f.block("keep"), f.block("out")
    f.branch(check)
    f.place(check)
    made = MADE.load(f)
    f.branch_if(f.icmp("slt", made, f.argument("wanted")), create, out)
    f.place(create)
    failed = f.call_external(I32, "pthread_create", [handle, attributes, Value(PTR, "@worker"), NULL])
    f.branch_if(f.icmp("eq", failed, constant(I32, 0)), keep, out)
    f.place(keep)
    identity = f.load(I64, handle)
    f.call_external(I32, "pthread_detach", [identity])
    f.store(identity, f.offset(HANDLES.address(f), made, I64))
    MADE.store(f, f.add(made, _i64(1)))
    LAST_CPU.store(f, _i64(0))  # the new worker is not steered yet
    f.branch(check)
    f.place(out)
    f.call_external(I32, "pthread_attr_destroy", [attributes])
    f.ret()


def _wake(module: Module, *, steers: bool) -> None:
    """Wakes as many sleepers as the launch can use beyond the workers that are awake."""
    parameters = [Parameter("needed", I64), Parameter("sleeping", I64)]
    f = module.function("wake", parameters, linkage=INTERNAL, attributes=("noinline",))
    if steers:
        with f.when(f.icmp("ne", STEER.load(f), _i64(0))):
            f.call_void("steer")
    sleeping = f.argument("sleeping")
    awake = f.sub(MADE.load(f), sleeping)
    short = f.integer_binary("smin", f.sub(f.argument("needed"), awake), sleeping)
    with f.when(f.icmp("sgt", short, _i64(0))):
        f.call_external(I32, "pthread_mutex_lock", [MUTEX.address(f)])
        with f.up_to(short):
            f.call_external(I32, "pthread_cond_signal", [CONDITION.address(f)])
        f.call_external(I32, "pthread_mutex_unlock", [MUTEX.address(f)])
    f.ret()


def _miss(module: Module) -> None:
    """A gentle launch misses workers. After many of them, which together lost more than waking takes, it wakes them,
    and while launches follow each other they stay awake.
    """
    f = module.function("miss", [Parameter("needed", I64), Parameter("sleeping", I64)], linkage=INTERNAL)
    needed, sleeping = f.arguments
    missed = f.add(ALONE.load(f), _i64(1))
    ALONE.store(f, missed)
    spins = f.icmp("ne", SPIN.load(f, "monotonic"), _i64(0))
    with f.when(f.and_(spins, f.icmp("sge", missed, _i64(PATIENCE)))):
        ALONE.store(f, _i64(0))
        f.call_void("make_workers", [needed])
        f.call_void("wake", [needed, sleeping])
    f.ret()


def _steer(module: Module) -> None:
    """Lets workers run anywhere the launching thread may, but not on its own core.

    Linux wakes a thread on the core of the one that wakes it, and the two then share that core for milliseconds.
    """
    f = module.function("steer", [], linkage=INTERNAL)
    cpu = f.sext(f.call_external(I32, "sched_getcpu", []), I64)
    mark = f.add(cpu, _i64(1))
    usable = f.and_(f.icmp("sge", cpu, _i64(0)), f.icmp("slt", cpu, _i64(8 * _CPU_SET_BYTES)))
    with f.when(f.and_(usable, f.icmp("ne", mark, LAST_CPU.load(f)))):
        LAST_CPU.store(f, mark)
        mask = f.alloca(I64, _CPU_SET_BYTES // 8)
        f.fill_bytes(mask, constant(I8, 0), _i64(_CPU_SET_BYTES))
        failed = f.call_external(I32, "sched_getaffinity", [constant(I32, 0), _i64(_CPU_SET_BYTES), mask])
        with f.when(f.icmp("sge", failed, constant(I32, 0))):
            word = f.offset(mask, f.lshr(cpu, _i64(6)), I64)
            bit = f.shl(_i64(1), f.and_(cpu, _i64(63)))
            f.store(f.and_(f.load(I64, word), f.xor(bit, _i64(-1))), word)
            with f.up_to(MADE.load(f)) as each:  # an empty mask (one core) is refused and changes nothing
                handle = f.load(I64, f.offset(HANDLES.address(f), each.index, I64))
                f.call_external(I32, "pthread_setaffinity_np", [handle, _i64(_CPU_SET_BYTES), mask])
    f.ret()


def _inline(module: Module) -> None:
    """All tasks on the calling thread, in order, as worker 0."""
    f = module.function("run_inline", _TASK_PARAMETERS, linkage=INTERNAL)
    task, context, count = f.arguments
    with f.up_to(count) as each:
        f.call_void(task, [context, each.index, _i64(0)])
    f.ret()


def _wait(module: Module) -> None:
    """Until all tasks are done. After a while the core is offered to others, perhaps to the worker waited for."""
    f = module.function("wait", [Parameter("count", I64)], linkage=INTERNAL)
    entry, check, spin = f.current, f.block("check"), f.block("spin")
    give, again, out = f.block("give"), f.block("again"), f.block("out")
    f.branch(check)
    f.place(check)
    pauses = f.phi(I64)
    f.branch_if(f.icmp("sge", DONE.load(f, "acquire"), f.argument("count")), out, spin)
    f.place(spin)
    _relax_once(f)
    more = f.add(pauses, _i64(1))
    f.branch_if(f.icmp("ugt", more, _i64(_PAUSES_BEFORE_YIELD)), give, again)
    f.place(give)
    f.call_external(I32, "sched_yield", [])
    f.branch(again)
    f.place(again)
    f.branch(check)
    pauses.add(_i64(0), entry)
    pauses.add(more, again)
    f.place(out)
    f.ret()


def _launch(module: Module) -> None:
    """One launch, by the thread that holds BUSY: close the gate, write the record, open it, wake, work, wait."""
    parameters = [*_TASK_PARAMETERS, Parameter("threads", I64), Parameter("gently", I64)]
    f = module.function("launch", parameters, linkage=INTERNAL)
    task, context, count, threads, _ = f.arguments
    needed = f.sub(threads, _i64(1))
    wakes, gentle = (f.icmp(which, f.argument("gently"), _i64(0)) for which in ("eq", "ne"))
    with f.when(f.and_(wakes, f.icmp("slt", MADE.load(f), needed))):
        f.call_void("make_workers", [needed])
    generation = f.and_(f.add(GENERATION.load(f), _i64(1)), _i64(INDEX_MASK))
    GENERATION.store(f, generation)
    prefix = f.shl(generation, _i64(32))
    f.atomicrmw("xchg", GATE.address(f), f.or_(prefix, _i64(CLOSED), NONE), "seq_cst")
    TASK.store(f, task, "monotonic")
    CONTEXT.store(f, context, "monotonic")
    COUNT.store(f, count, "monotonic")
    LIMIT.store(f, threads, "monotonic")
    DONE.store(f, _i64(0), "monotonic")
    TICKET.store(f, prefix, "release")
    f.atomicrmw("xchg", GATE.address(f), f.or_(prefix, _i64(1)), "seq_cst")
    sleeping = SLEEPERS.load(f, "seq_cst")
    asleep = f.icmp("ne", sleeping, _i64(0))
    with f.when(f.and_(wakes, asleep)):
        f.call_void("wake", [needed, sleeping])
    missed = f.or_(asleep, f.icmp("slt", MADE.load(f), needed))
    with f.when(f.and_(gentle, missed)):
        f.call_void("miss", [needed, sleeping])
    f.call_void("drain", [task, context, count, generation, _i64(0)])
    f.call_void("wait", [count])
    f.ret()


def _run(module: Module) -> None:
    """The entry: a launch where it pays and the pool is free, else inline. `threads` may carry GENTLY."""
    f = module.function("pool_run", [*_TASK_PARAMETERS, Parameter("threads", I64)])
    task, context, count, word = f.arguments
    asked, gently = f.and_(word, _i64(INDEX_MASK)), f.and_(word, _i64(GENTLY))
    threads = f.integer_binary("smin", f.integer_binary("smin", asked, count), _i64(MAX_WORKERS))
    parallel = f.and_(f.icmp("sgt", threads, _i64(1)), f.icmp("slt", count, _i64(INDEX_MASK)))
    acquire, launch, inline = f.block("acquire"), f.block("launch"), f.block("inline")
    f.branch_if(parallel, acquire, inline)
    f.place(acquire)
    _, free = f.cmpxchg(BUSY.address(f), _i64(0), _i64(1), "acquire", "monotonic")
    f.branch_if(free, launch, inline)
    f.place(launch)
    f.call_void("launch", [task, context, count, threads, gently])
    BUSY.store(f, _i64(0), "release")
    f.ret()
    f.place(inline)
    f.call_void("run_inline", [task, context, count])
    f.ret()


def _reset(module: Module) -> None:
    """A pool without workers: at start, and in a forked child, where the parent's workers do not exist."""
    f = module.function("pool_reset", [Parameter("spin", I64), Parameter("steer", I64)], VOID)
    f.fill_bytes(Value(PTR, f"@{STATE_SYMBOL}"), constant(I8, 0), _i64(STATE_BYTES))
    f.call_external(I32, "pthread_mutex_init", [MUTEX.address(f), NULL])
    f.call_external(I32, "pthread_cond_init", [CONDITION.address(f), NULL])
    SPIN.store(f, f.argument("spin"), "monotonic")
    STEER.store(f, f.argument("steer"))
    GATE.store(f, _i64(CLOSED), "release")
    f.ret()


def _state(module: Module) -> None:
    """Where the words are, for tests and diagnosis."""
    f = module.function("pool_state", [], PTR)
    f.ret(Value(PTR, f"@{STATE_SYMBOL}"))

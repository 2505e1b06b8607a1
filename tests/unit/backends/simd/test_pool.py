import ctypes
import threading
import time
from collections.abc import Callable

import pytest

from tests.unit.backends.simd.tasks import WORKERS, address, task, words
from tilewright.backends.llvm.jit import compile_and_load
from tilewright.backends.llvm.machine import usable_cores
from tilewright.backends.llvm.target import host
from tilewright.backends.simd.pool import WorkerPool, worker_pool
from tilewright.backends.simd.pool_code import PATIENCE, pool_module
from tilewright.backends.simd.pool_state import GENTLY
from tilewright.core.config import config


@pytest.fixture(scope="module")
def pool() -> WorkerPool:
    return WorkerPool(8)


def until(condition: Callable[[], bool]) -> bool:
    """Whether the condition came true within ten seconds."""
    limit = time.monotonic() + 10
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.001)
    return True


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 64, 1000])
def test_every_task_runs_exactly_once(pool: WorkerPool, threads: int, count: int) -> None:
    seen = words(count + 1)
    for launch in range(1, 51):
        pool.run(task("count"), address(seen), count, threads)
        assert (seen[:count] == launch).all()
    assert seen[count] == 0


def test_workers_that_come_late_do_nothing_to_the_next_launch(pool: WorkerPool) -> None:
    """Launches take turns on two contexts: a straggler of one would count in the other's turn."""
    first, second = words(3), words(3)
    for _ in range(3000):
        pool.run(task("yielding"), address(first), 3, 8)
        pool.run(task("count"), address(second), 3, 8)
    assert first.tolist() == second.tolist() == [3000] * 3


def test_tasks_that_give_up_their_core_run_once(pool: WorkerPool) -> None:
    seen = words(200)
    for _ in range(20):
        pool.run(task("yielding"), address(seen), 200, 8)
    assert (seen == 20).all()


@pytest.mark.parametrize("threads", [1, 2, 5, 8])
def test_worker_numbers_are_below_the_thread_count_and_never_shared(pool: WorkerPool, threads: int) -> None:
    seen, others = words(WORKERS + 3), words(40)
    for _ in range(200):
        pool.run(task("count"), address(others), 40, 8)  # so that more workers are awake than may take part
        pool.run(task("occupy"), address(seen), 40, threads)
    violations, greatest, total = seen[WORKERS:]
    assert violations == 0
    assert greatest < threads
    assert total == 200 * 40
    assert not seen[:WORKERS].any()


def test_worker_numbers_are_below_the_task_count(pool: WorkerPool) -> None:
    seen = words(WORKERS + 3)
    for _ in range(200):
        pool.run(task("occupy"), address(seen), 2, 8)
    assert seen[WORKERS + 1] < 2


def test_workers_sleep_when_idle_and_wake_for_the_next_launch(pool: WorkerPool) -> None:
    seen = words(4)
    for launch in range(1, 6):
        pool.run(task("count"), address(seen), 4, 4)
        assert (seen == launch).all()
        assert until(lambda: pool.state().sleepers == pool.state().workers > 0)


def test_a_sleeping_worker_takes_part_in_the_next_launch(pool: WorkerPool) -> None:
    for _ in range(3):
        assert until(lambda: pool.state().sleepers == pool.state().workers)
        met = words(2)
        pool.run(task("meet"), address(met), 2, 2)
        assert met.tolist() == [2, 0]


def test_a_worker_of_an_older_launch_takes_no_task_of_the_current_one() -> None:
    """`drain` is what a straggler runs; here it is called with an old generation while a task could be taken."""
    text = pool_module(host()).text().replace("define internal void @drain", "define void @drain")
    library = compile_and_load(text, ["drain", "pool_run", "pool_reset"])
    library.keep()
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    ctypes.CFUNCTYPE(None, word, word)(library.address("pool_reset"))(0, 0)
    run = ctypes.CFUNCTYPE(None, pointer, pointer, word, word)(library.address("pool_run"))
    drain = ctypes.CFUNCTYPE(None, pointer, pointer, word, word, word)(library.address("drain"))
    seen = words(8)
    for generation in range(1, 4):
        run(task("count"), address(seen), 2, 2)
        drain(task("count"), address(seen), 8, generation - 1, 1)
        assert seen.tolist() == [generation] * 2 + [0] * 6


def test_a_nested_launch_runs_inline(pool: WorkerPool) -> None:
    context = words(16)
    context[:3] = pool.entry, task("count"), 8
    pool.run(task("nest"), address(context), 6, 4)
    assert context[8:16].tolist() == [6] * 8


def test_launches_of_several_python_threads_do_not_mix(pool: WorkerPool) -> None:
    seen = [words(100) for _ in range(4)]

    def launch(mine: int) -> None:
        for _ in range(300):
            pool.run(task("count"), address(seen[mine]), 100, 4)

    callers = [threading.Thread(target=launch, args=(mine,)) for mine in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all((each == 300).all() for each in seen)
    assert not pool.state().busy


def test_workers_are_created_only_as_far_as_launches_need_them() -> None:
    fresh = WorkerPool(4)
    seen = words(64)
    assert fresh.state().workers == 0
    fresh.run(task("count"), address(seen), 64, 1)
    assert fresh.state().workers == 0
    fresh.run(task("count"), address(seen), 2, 4)
    assert fresh.state().workers == 1
    fresh.run(task("count"), address(seen), 64, 99)
    assert fresh.state().workers == 3
    assert (seen[2:] == 2).all()


def test_a_gentle_launch_wakes_and_makes_nobody() -> None:
    fresh, seen = WorkerPool(4), words(64)
    fresh.run(task("count"), address(seen), 64, 4 | GENTLY)
    assert fresh.state().workers == 0
    fresh.run(task("count"), address(seen), 64, 4)
    assert until(lambda: fresh.state().sleepers == fresh.state().workers == 3)
    assert (seen == 2).all()
    busy = words(WORKERS + 3)
    for _ in range(20):
        fresh.run(task("occupy"), address(busy), 200, 4 | GENTLY)
    assert busy[WORKERS + 1 :].tolist() == [0, 4000]  # the highest worker number, the tasks
    assert fresh.state().sleepers == 3
    met = words(2)
    fresh.run(task("meet"), address(met), 2, 2)
    assert met.tolist() == [2, 0]


def test_gentle_launches_in_a_row_make_workers_and_wake_them() -> None:
    """As many as the cores, so that they spin; then launches that follow each other find them awake."""
    threads = usable_cores()
    fresh, seen = WorkerPool(threads), words(64)

    def launch(times: int) -> None:
        for _ in range(times):
            fresh.run(task("count"), address(seen), 64, threads | GENTLY)

    def asleep() -> bool:
        return fresh.state().sleepers == threads - 1

    launch(PATIENCE - 1)
    assert fresh.state().workers == 0
    launch(1)
    assert fresh.state().workers == threads - 1
    assert until(asleep)
    launch(PATIENCE - 1)
    assert asleep()
    if threads > 1:  # its two tasks wait for each other
        met = words(2)
        fresh.run(task("meet"), address(met), 2, threads | GENTLY)
        assert met.tolist() == [2, 0]
    assert (seen == 2 * PATIENCE - 1).all()


def test_workers_that_never_spin_are_not_woken_for_little() -> None:
    fresh, seen = WorkerPool(usable_cores() + 1), words(64)
    for _ in range(2 * PATIENCE):
        fresh.run(task("count"), address(seen), 64, 4 | GENTLY)
    assert fresh.state().workers == 0


def test_the_shared_pool_is_one_and_follows_the_setting() -> None:
    assert worker_pool() is worker_pool()
    assert worker_pool().threads == config().num_threads

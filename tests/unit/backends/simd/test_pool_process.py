"""Forks and exits happen in processes of their own: pytest's threads must not be part of the experiment."""

import subprocess
import sys
from pathlib import Path

import pytest

PREPARE = """
import os, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads: that is the test
from tests.unit.backends.simd.tasks import address, task, words
from tilewright.backends.simd.pool import WorkerPool
pool, count = WorkerPool(4), task("count")

def works(pool):
    seen = words(50)
    for _ in range(20):
        pool.run(count, address(seen), 50, 4)
    return (seen == 20).all()
"""

CHILD_AFTER_USE = """
assert works(pool) and pool.state().workers == 3
child = os.fork()
if not child:
    fresh = pool.state().workers == 0
    os._exit(0 if fresh and works(pool) and pool.state().workers == 3 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert works(pool) and pool.state().workers == 3
"""

CHILD_DURING_LAUNCHES = """
stop = threading.Event()
def keep_launching():
    while not stop.is_set():
        assert works(pool)
caller = threading.Thread(target=keep_launching)
caller.start()
for _ in range(10):
    child = os.fork()
    if not child:
        os._exit(0 if works(pool) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
caller.join()
"""

COMPILE_IN_CHILD = """
from tilewright.backends.llvm.jit import compile_and_load
stop = threading.Event()
def keep_compiling():
    while not stop.is_set():
        compile_and_load("define void @f() { ret void }", ["f"]).close()
caller = threading.Thread(target=keep_compiling)
caller.start()
for _ in range(10):
    child = os.fork()
    if not child:
        compile_and_load("define void @g() { ret void }", ["g"])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
caller.join()
"""


EXIT_AFTER_USE = """
assert works(pool)
"""

EXIT_DURING_LAUNCHES = """
import time
def keep_launching():
    while True:
        works(pool)
threading.Thread(target=keep_launching, daemon=True).start()
time.sleep(0.02)
"""


def check(script: str) -> None:
    root = Path(__file__).parents[4]
    ran = subprocess.run(
        [sys.executable, "-c", PREPARE + script], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("script", [CHILD_AFTER_USE, CHILD_DURING_LAUNCHES, COMPILE_IN_CHILD])
def test_a_forked_child_has_a_working_pool(script: str) -> None:
    check(script)


@pytest.mark.parametrize("script", [EXIT_AFTER_USE, EXIT_DURING_LAUNCHES])
def test_a_process_ends_cleanly_whatever_its_workers_do(script: str) -> None:
    check(script)

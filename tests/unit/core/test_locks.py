"""A forked child is not kept out by threads that it does not have."""

import subprocess
import sys
import threading

from tilewright.core.locks import ChildLock

FORK = """
import os, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads: that is the test
from tilewright.core.locks import LATE_IMPORTS, ChildLock

def held_by_another(lock):
    taken = threading.Event()
    def hold():
        with lock:
            taken.set()
            time.sleep(0.3)
    threading.Thread(target=hold, daemon=True).start()
    taken.wait()
    return lock

def in_child(act):
    child = os.fork()
    if not child:
        act()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def enter(lock):
    with lock:
        pass

lock = held_by_another(ChildLock())
in_child(lambda: enter(lock))
own = ChildLock()
with own:
    in_child(lambda: (enter(own), own.__exit__()))
held_by_another(LATE_IMPORTS)
in_child(lambda: enter(LATE_IMPORTS))
"""


def test_a_child_finds_locks_free_and_keeps_its_own() -> None:
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=60)


def test_it_excludes_other_threads_and_not_its_own() -> None:
    lock, order = ChildLock(), list[str]()

    def other() -> None:
        with lock:
            order.append("other")

    thread = threading.Thread(target=other)
    with lock, lock:
        thread.start()
        order.append("this")
    thread.join()
    assert order == ["this", "other"]

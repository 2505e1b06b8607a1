"""A kernel that was called before answers every call as one that was not: same results, same errors, same memory."""

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tilewright import tile
from tilewright.core.errors import TilewrightError
from tilewright.tile import ConstView1, View1, axis, cdiv, coord, f32, parallel, shape

SCALE = 2.0


@tile.kernel
def scaled_sum(x: ConstView1[f32], y: View1[f32], bias: ConstView1[f32] | None = None, *, block: int = 16):
    g, i = axis("g", cdiv(y.shape[0], block)), axis("i", block)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * block)
        value = x[here, shape(i)] * SCALE
        y.at(here, shape(i)).store(value if bias is None else value + bias[here, shape(i)])


def ramp(n: int = 40) -> Any:
    return np.arange(n, dtype=np.float32)


def result(n: int = 40) -> Any:
    return np.full(n, 7, np.float32)


def warm() -> tile.TileKernel:
    """Called in every way of these tests, more than once."""
    kernel = scaled_sum.with_options()
    for _ in range(3):
        for n in (40, 7):
            kernel(ramp(n), result(n))
            kernel(ramp(n), result(n), None)
            kernel(ramp(n), result(n), ramp(n))
            kernel(ramp(n), result(n), block=8)
    return kernel


WARM = warm()

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "as before": lambda f, y: f(ramp(), y),
    "another size": lambda f, y: f(ramp(13), y[:13]),
    "an explicit None": lambda f, y: f(ramp(), y, None),
    "an optional array": lambda f, y: f(ramp(), y, ramp()),
    "a configuration": lambda f, y: f(ramp(), y, block=8),
    "a configuration of another type": lambda f, y: f(ramp(), y, block=True),
    "by name": lambda f, y: f(x=ramp(), y=y),
    "in place": lambda f, y: f(y, y),
    "overlapping": lambda f, y: f(y[::2], y[1::2]),  # no program touches what another one writes
    "every other element": lambda f, y: f(ramp(80)[::2], y),
    "a repeated operand": lambda f, y: f(as_strided(ramp(1), (40,), (0,)), y),
    "nothing": lambda f, y: f(ramp(0), y[:0]),
    "a subclass": lambda f, y: f(ramp().view(np.memmap), y),
    "a read-only operand": lambda f, y: f(_frozen(ramp()), y),
    "a read-only result": lambda f, y: f(ramp(), _frozen(y)),
    "too few": lambda f, y: f(ramp()),
    "too many": lambda f, y: f(ramp(), y, y, y),
    "an unknown name": lambda f, y: f(ramp(), y, blok=8),
    "a list": lambda f, y: f(ramp().tolist(), y),
    "a number": lambda f, y: f(1.0, y),
    "None": lambda f, y: f(None, y),
    "a masked array": lambda f, y: f(np.ma.masked_array(ramp(), ramp() > 4), y),
    "objects": lambda f, y: f(ramp().astype(object), y),
    "foreign byte order": lambda f, y: f(ramp().astype(">f4"), y),
    "another element type": lambda f, y: f(ramp().astype(np.float64), y),
    "integers of the same size": lambda f, y: f(ramp().astype(np.int32), y),
    "another rank": lambda f, y: f(ramp().reshape(2, 20), y),
    "backwards": lambda f, y: f(ramp()[::-1], y),
    "misaligned": lambda f, y: f(np.zeros(161, np.uint8)[1:].view(np.float32), y),
    "operand and result apart in size": lambda f, y: f(ramp(3), y),
}


def _frozen(array: Any) -> Any:
    view = array[:]
    view.flags.writeable = False
    return view


def outcome(kernel: tile.TileKernel, call: Callable[[Any, Any], Any]) -> tuple[object, list[float]]:
    """The error in all its parts, and what is in memory then."""
    y = result()
    try:
        call(kernel, y)
    except TilewrightError as error:
        found = error.diagnostic
        where = found.span.file, found.span.line, found.span.column
        return (type(error), found.code, found.message, found.notes, where), y.tolist()
    return None, y.tolist()


@pytest.mark.parametrize("what", CALLS)
def test_a_seen_kernel_answers_as_a_new_one(what: str) -> None:
    new = outcome(scaled_sum.with_options(), CALLS[what])
    for _ in range(3):
        assert outcome(WARM, CALLS[what]) == new


def test_what_is_read_from_outside_is_looked_at_in_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    for scale in (3.0, 2.0, 2.0 + 1e-3, 2.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        for _ in range(3):
            assert outcome(WARM, CALLS["as before"])[1] == (ramp() * np.float32(scale)).tolist()


def test_an_equal_value_in_another_object_costs_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = scaled_sum.with_options()
    for _ in range(2):
        monkeypatch.setitem(globals(), "SCALE", float("2.5"))
        assert outcome(kernel, CALLS["as before"])[1] == (ramp() * np.float32(2.5)).tolist()
        entry = kernel._direct  # pyright: ignore[reportPrivateUsage]
        assert entry(ramp(), result()) is True


def nine(_: object) -> int:
    return 9


def test_a_name_of_python_may_be_hidden_later(monkeypatch: pytest.MonkeyPatch) -> None:
    @tile.kernel
    def shifted(x: ConstView1[f32], y: View1[f32]):
        i = axis("i", x.shape[0])
        for nest in parallel(shape(i)):
            y[nest.index()].store(x[nest.index()].load() + float(len("abc")))

    y = result()
    for hidden, expected in [(False, 3), (True, 9), (False, 3)]:
        if hidden:
            monkeypatch.setitem(globals(), "len", nine)
        else:
            monkeypatch.delitem(globals(), "len", raising=False)
        for _ in range(3):
            shifted(ramp(), y)
            assert y.tolist() == (ramp() + expected).tolist()


def test_a_closure_may_change() -> None:
    factor = 2.0

    @tile.kernel
    def scaled(x: ConstView1[f32], y: View1[f32]):
        i = axis("i", x.shape[0])
        for nest in parallel(shape(i)):
            y[nest.index()].store(x[nest.index()].load() * factor)

    y = result()
    for factor in (2.0, 3.0, 2.0):
        for _ in range(3):
            scaled(ramp(), y)
            assert y.tolist() == (ramp() * factor).tolist()


def test_kernels_come_and_go_while_others_run() -> None:
    """Code is freed with the last table that knows it, never under a call."""
    failures: list[object] = []

    def work() -> None:
        for _ in range(5):
            kernel = scaled_sum.with_options()
            found = [outcome(kernel, CALLS["as before"]) for _ in range(20)]
            failures.extend(each for each in found if each != (None, (2 * ramp()).tolist()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


FORK = """
import os, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads: that is the test
import numpy as np
from tests.unit.backends.simd.test_direct import twice_reversed
x, y = np.arange(300, dtype="f4")[::-1].copy(), np.zeros(300, "f4")
stop = threading.Event()

def works(kernel):
    own = np.zeros_like(y)
    kernel(x, own)
    return (own == 2 * np.arange(300)).all()

def keep_calling():
    while not stop.is_set():
        assert works(twice_reversed)

def keep_compiling():
    while not stop.is_set():
        assert works(twice_reversed.with_options(fast_math=True))

callers = [threading.Thread(target=each) for each in (keep_calling, keep_calling, keep_compiling)]
for caller in callers:
    caller.start()
for _ in range(10):
    child = os.fork()
    if not child:
        os._exit(0 if works(twice_reversed) and works(twice_reversed.with_options()) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
for caller in callers:
    caller.join()
"""


def test_a_child_of_a_fork_calls_while_its_parent_called_and_compiled() -> None:
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=100)

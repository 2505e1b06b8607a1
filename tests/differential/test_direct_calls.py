"""Direct calls in machine code: threads, overlapping arguments, values from outside."""

import threading
from typing import Any

import numpy as np
import pytest

from examples.gallery.elementwise import add
from examples.gallery.rows import softmax
from tilewright import tile
from tilewright.tile import ConstView1, View1, axis, cdiv, coord, f32, parallel, shape

FACTOR = 2.0


@tile.kernel
def reversed_sum(x: ConstView1[f32], y: ConstView1[f32], z: View1[f32], *, block: int = 16):
    """Every program reads two blocks before it writes one."""
    g, i = axis("g", cdiv(z.shape[0], block)), axis("i", block)
    for nest in parallel(shape(g)):
        here = coord(nest.index() * block)
        a, b = x[here, shape(i)], y[here, shape(i)]
        z.at(here, shape(i)).store(a - b)
        z.at(here, shape(i)).store(a + b)


@tile.kernel
def scaled(x: ConstView1[f32], y: View1[f32]):
    i = axis("i", x.shape[0])
    for nest in parallel(shape(i)):
        y[nest.index()].store(x[nest.index()].load() * FACTOR)


def values(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def test_many_threads_call_one_kernel_at_once() -> None:
    """The first calls compile once; every thread gets its own answer."""
    inputs = [values(50, 77, seed=seed) for seed in range(8)]
    results = [np.zeros_like(x) for x in inputs]
    gate = threading.Barrier(len(inputs))
    kernel = softmax.with_options()

    def work(x: Any, y: Any) -> None:
        gate.wait()
        for _ in range(20):
            kernel(x, y)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(inputs, results, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x, y in zip(inputs, results, strict=True):
        alone = np.zeros_like(x)
        kernel(x, alone)
        assert np.array_equal(y, alone)


@pytest.mark.parametrize("which", ["x", "y", "both", "neither"])
def test_loads_are_snapshots_where_the_result_is_an_operand(which: str) -> None:
    x, y = values(100), values(100, seed=1)
    expected = (x if which != "both" else y) + y
    z = {"x": x, "y": y, "both": y, "neither": np.zeros(100, np.float32)}[which]
    reversed_sum(y if which == "both" else x, y, z)
    assert np.array_equal(z, expected)


def test_a_result_may_replace_an_operand() -> None:
    a, b = values(33, 65), values(33, 65, seed=1)
    expected = a + b
    add(a, b, a)
    assert np.array_equal(a, expected)


@pytest.mark.parametrize("place", [np.s_[:, ::2], np.s_[1:, 2:67], np.s_[3:40:2, 5:70:3]], ids=str)
def test_arrays_may_lie_in_memory_in_any_order(place: tuple[slice, slice]) -> None:
    """Operands and results with gaps, and columns first; the gaps keep what they hold."""
    memory = values(60, 140)
    a, b, kept = memory[place], np.asfortranarray(memory[place]), memory.copy()
    result = np.full_like(memory, 7)
    add(a, b, result[place])
    assert np.array_equal(result[place], a + b)
    assert np.array_equal(memory, kept)
    result[place] = 7
    assert (result == 7).all()


def test_a_changed_global_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.zeros(5, np.float32)
    for factor in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        scaled(np.ones(5, np.float32), y)
        assert y.tolist() == [factor] * 5


def test_the_answer_does_not_depend_on_who_calls() -> None:
    """A call, and the same call from a thread that is new to the pool and its scratch."""
    x = values(200, 300)
    here, there = np.zeros_like(x), np.zeros_like(x)
    softmax(x, here)
    thread = threading.Thread(target=softmax, args=(x, there))
    thread.start()
    thread.join()
    assert np.array_equal(here, there)

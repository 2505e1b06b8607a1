"""Every kernel of the gallery against float64: on the interpreter, and in machine code at 1, 2 and 8 threads.

Arguments lie in views at odd offsets between guards, results begin as NaN, and every shader runs twice on changed
arrays.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from examples.gallery import ENTRIES
from examples.gallery.entry import Array, Entry
from tilewright.backends.llvm.kernel import CompiledKernel, compile_kernel
from tilewright.backends.simd import shader as shaders
from tilewright.backends.simd.pool import WorkerPool
from tilewright.core.abi import CompileOptions
from tilewright.interp.run import run as interpret
from tilewright.tools.running_error import Running

GUARD, PADDING = -731.25, 17
THREADS = (1, 2, 8)


@cache
def pool(threads: int) -> WorkerPool:
    return WorkerPool(threads)


def refused(*_: object) -> shaders.SIMDShader:
    raise AssertionError("arguments that do not overlap need no careful version")


class Guarded:
    """A copy of an array inside a larger one."""

    def __init__(self, array: Array) -> None:
        self.band = np.full(array.size + 2 * PADDING, GUARD if array.dtype.kind == "f" else 1, array.dtype)
        self.edge = self.band[0]
        self.array = self.band[PADDING : PADDING + array.size].reshape(array.shape)
        self.array[...] = array

    def assert_guards(self) -> None:
        assert (self.band[:PADDING] == self.edge).all()
        assert (self.band[PADDING + self.array.size :] == self.edge).all()


def assert_within(results: Sequence[Array], answers: Sequence[Running]) -> None:
    for got, answer in zip(results, answers, strict=True):
        assert np.isfinite(got).all()
        excess = abs(got.astype("f8") - answer.value) - answer.error
        assert (excess <= 0).all(), float(excess.max())


@pytest.mark.parametrize("order", [None, "reverse", 7])
@pytest.mark.parametrize("name", ENTRIES)
def test_the_interpreter_is_within_the_bounds_in_any_order(name: str, order: Any) -> None:
    entry = ENTRIES[name]
    inputs, results = entry.arrays()
    answers = entry.exact(inputs, results)
    interpret(entry.capture(), [*inputs, *results], order=order)
    assert_within(results, answers)


@pytest.mark.parametrize("name", ENTRIES)
def test_machine_code_is_within_the_bounds_on_any_number_of_threads(name: str) -> None:
    compiled = compile_kernel(ENTRIES[name].capture(), CompileOptions(), threads=max(THREADS))
    first, *others = [launched(ENTRIES[name], compiled, threads) for threads in THREADS]
    for results in others:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(first, results, strict=True))


def launched(entry: Entry, compiled: CompiledKernel, threads: int) -> list[Array]:
    """The results of two launches of one shader, each checked."""
    with patch.object(shaders, "worker_pool", lambda: pool(threads)):
        shader = shaders.SIMDShader(compiled, refused)
    found: list[Array] = []
    for seed in (0, 1):
        inputs, results = entry.arrays(seed)
        answers = entry.exact(inputs, results)
        reads, writes = [Guarded(each) for each in inputs], [Guarded(each) for each in results]
        shader.launch_addresses([each.array.ctypes.data for each in (*reads, *writes)])
        assert_within([each.array for each in writes], answers)
        for kept, each in zip(inputs, reads, strict=True):
            assert kept.tobytes() == each.array.tobytes()
        for each in (*reads, *writes):
            each.assert_guards()
        found += [each.array for each in writes]
    shader.close()
    return found

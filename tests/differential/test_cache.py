"""Caches never give the answer of another kernel: public bug reports of kernel caches, as laws."""

import importlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright import tile
from tilewright.backends.llvm.cache import CodeCache
from tilewright.backends.llvm.store import cache_key
from tilewright.core.abi import CompileOptions, Lowering
from tilewright.tile import ConstView1, View1, axis, coord, f32, parallel, shape

PROGRAM = """
import sys
import numpy as np
from tilewright import tile
from tilewright.tile import ConstView1, View1, axis, coord, f32, parallel, shape
import {helper} as helper

@tile.kernel
def stepped(x: ConstView1[f32], y: View1[f32]):
    g, i = axis("g", 1), axis("i", x.shape[0])
    for nest in parallel(shape(g)):
        y.at(coord(nest.index()), shape(i)).store(helper.step(x[coord(nest.index()), shape(i)]))

def answer():
    y = np.zeros(5, "f4")
    stepped(np.arange(5, dtype="f4"), y)
    return y.tolist()

if __name__ == "__main__":
    print(answer())
"""


def values(n: int = 5) -> Any:
    return np.arange(n, dtype=np.float32)


def write_helper(folder: Path, name: str, added: int) -> None:
    (folder / f"{name}.py").write_text(f"def step(x):\n    return x + {float(added)}{' ' * added}\n")


def in_new_process(folder: Path, cache: Path) -> list[float]:
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return [float(each) for each in done.stdout.strip("[]\n").split(",")]


def test_an_edited_helper_of_another_module_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that reads it again, and in a new one that finds the cache of the old."""
    name = "helper_of_cache_test"
    (tmp_path / "program.py").write_text(PROGRAM.format(helper=name))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    write_helper(tmp_path, name, 1)
    program: Any = importlib.import_module("program")
    assert program.answer() == [1, 2, 3, 4, 5]
    assert in_new_process(tmp_path, tmp_path / "cache") == [1, 2, 3, 4, 5]
    write_helper(tmp_path, name, 2)
    importlib.reload(program.helper)
    assert program.answer() == [2, 3, 4, 5, 6]
    assert in_new_process(tmp_path, tmp_path / "cache") == [2, 3, 4, 5, 6]
    assert len(CodeCache(tmp_path / "cache").files()) == 2
    del sys.modules["program"], sys.modules[name]


SCALE = 2.0


@tile.kernel
def scaled(x: ConstView1[f32], y: View1[f32]):
    g, i = axis("g", 1), axis("i", x.shape[0])
    for nest in parallel(shape(g)):
        y.at(coord(nest.index()), shape(i)).store(x[coord(nest.index()), shape(i)] * SCALE)


def test_a_changed_global_is_never_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for scale in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        y = np.zeros(5, np.float32)
        scaled(values(), y)
        assert np.array_equal(y, values() * np.float32(scale))


@tile.kernel
def biased(x: ConstView1[f32], bias: ConstView1[f32] | None, y: View1[f32]):
    g, i = axis("g", 1), axis("i", x.shape[0])
    for nest in parallel(shape(g)):
        value = x[coord(nest.index()), shape(i)]
        y.at(coord(nest.index()), shape(i)).store(value if bias is None else value + bias[coord(0), shape(i)])


def test_an_optional_argument_comes_and_goes() -> None:
    ones = np.ones(5, np.float32)
    for bias in (None, ones, None, ones, ones, None):
        y = np.zeros(5, np.float32)
        biased(values(), bias, y)
        assert np.array_equal(y, values() if bias is None else values() + 1)


@tile.kernel
def summed_quotients(x: ConstView1[f32], y: View1[f32]):
    g, i = axis("g", 1), axis("i", x.shape[0])
    for nest in parallel(shape(g)):
        each = x[coord(nest.index()), shape(i)]
        total = tile.sum(each, i)
        y.at(coord(nest.index()), shape(i)).store(tile.exp(each) / total)


def test_fast_math_never_answers_for_strict_math() -> None:
    """One process, one cache: strict, fast, strict."""
    x = np.random.default_rng(0).random(1000, np.float32) + 1
    answers: list[Any] = []
    for fast in (False, True, False, True):
        kernel = summed_quotients.with_options(fast_math=fast)
        y = np.zeros_like(x)
        kernel(x, y)
        answers.append(y)
    assert np.array_equal(answers[0], answers[2])
    assert np.array_equal(answers[1], answers[3])
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-4)


def test_fast_math_is_stored_apart() -> None:
    captured = summed_quotients.capture(tile.tensor_shape(1000), tile.tensor_shape(1000))
    options = [CompileOptions(Lowering.NATIVE, fast_math=fast) for fast in (False, True)]
    assert len({cache_key(captured, each, may_alias=False) for each in options}) == 2


def run_together(folder: Path, cache: Path, count: int) -> list[subprocess.Popen[str]]:
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(cache)}
    start = [sys.executable, "program.py"]
    pipe = subprocess.PIPE
    return [subprocess.Popen(start, cwd=folder, env=environment, stdout=pipe, text=True) for _ in range(count)]


@pytest.mark.slow
def test_eight_processes_start_on_one_empty_cache(tmp_path: Path) -> None:
    """C63, and the test after this one."""
    (tmp_path / "program.py").write_text(PROGRAM.format(helper="some_helper"))
    write_helper(tmp_path, "some_helper", 1)
    running = run_together(tmp_path, tmp_path / "cache", 8)
    assert [process.communicate()[0] for process in running] == ["[1.0, 2.0, 3.0, 4.0, 5.0]\n"] * 8
    assert [process.returncode for process in running] == [0] * 8
    ((path, size, _),) = CodeCache(tmp_path / "cache").files()
    assert [left for left in path.parent.iterdir() if left != path and left.suffix != ".timings"] == []
    assert CodeCache(tmp_path / "cache").load(path.stem) is not None
    assert size < 100_000


KILLED = """
import os, sys, threading
from tilewright.backends.llvm.cache import CodeCache
from tilewright.backends.llvm.store import cache_key
from tilewright.core.abi import CompileOptions, Lowering
from tests.unit.backends.llvm.test_cache import kernel
from pathlib import Path
cache = CodeCache(Path(sys.argv[1]))
print("started", flush=True)
for turn in range(10**6):
    cache.store(f"{turn % 3:064}", kernel(os.urandom(1 << 20)))
"""


def test_a_writer_that_is_killed_leaves_no_bad_entry(tmp_path: Path) -> None:
    cache = CodeCache(tmp_path)
    for delay in (0.005, 0.01, 0.02):
        writer = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        writer.stdout.readline()
        threading.Event().wait(delay)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        before = cache.files()
        assert [path.name for path, _, _ in before if cache.load(path.stem) is None] == []


def test_kernels_of_one_name_are_told_apart() -> None:
    def first() -> tile.TileKernel:
        @tile.kernel
        def same(x: ConstView1[f32], y: View1[f32]):
            g, i = axis("g", 1), axis("i", x.shape[0])
            for nest in parallel(shape(g)):
                y.at(coord(nest.index()), shape(i)).store(x[coord(nest.index()), shape(i)] + 1.0)

        return same

    def second() -> tile.TileKernel:
        @tile.kernel
        def same(x: ConstView1[f32], y: View1[f32]):
            g, i = axis("g", 1), axis("i", x.shape[0])
            for nest in parallel(shape(g)):
                y.at(coord(nest.index()), shape(i)).store(x[coord(nest.index()), shape(i)] * 5.0)

        return same

    for kernel, expected in ((first(), values() + 1), (second(), values() * 5), (first(), values() + 1)):
        y = np.zeros(5, np.float32)
        kernel(values(), y)
        assert np.array_equal(y, expected)


def test_closures_over_different_tables_are_told_apart() -> None:
    def over(table: list[int]) -> tile.TileKernel:
        @tile.kernel
        def looked_up(x: ConstView1[f32], y: View1[f32]):
            g, i = axis("g", 1), axis("i", x.shape[0])
            for nest in parallel(shape(g)):
                y.at(coord(nest.index()), shape(i)).store(x[coord(nest.index()), shape(i)] + float(table[0]))

        return looked_up

    for table in ([100], [200], [100]):
        kernel, y = over(table), np.zeros(5, np.float32)
        for change in (0, 0, 50):
            table[0] += change
            kernel(values(), y)
            assert np.array_equal(y, values() + table[0])

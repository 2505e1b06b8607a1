"""What is measured in a process of its own: `python -m benchmarks.fresh cache|memory <kernel>` prints one number."""

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import PIPE, run
from time import perf_counter
from types import MappingProxyType

import tilewright as tw
from benchmarks.rows.attentions import attention_entry
from benchmarks.rows.folds import softmax_entry
from benchmarks.rows.products import product
from examples.gallery.elementwise import add_vectors
from examples.gallery.entry import Entry
from tilewright import tile
from tilewright.runtime.device import Device

__all__ = ["COMPILED", "ready_device", "seconds_from_disk", "peak_megabytes"]

ROOT = Path(__file__).resolve().parents[1]
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")

COMPILED: Mapping[str, Entry] = MappingProxyType(
    {
        "row kernel": softmax_entry(1024, 1024),
        "gemm": product(1024, 1024, 1024),
        "attention": attention_entry(1024, (64, 64), causal=True),
    }
)
"""What is compiled to see how long it takes."""


def ready_device() -> Device:
    """A device after its first compilation: llvmlite is imported, and the pool is up."""
    device = tw.create_device("simd")
    tile.compile(device, add_vectors.capture(*[tile.tensor_shape(17)] * 3), cache=False)
    return device


def seconds_from_disk(name: str) -> float:
    """A compilation in a new process that finds its code in the folder of another one."""
    with tempfile.TemporaryDirectory(prefix="tilewright-benchmark-") as folder:
        _child("cache", name, folder)
        return _child("cache", name, folder)


def peak_megabytes(name: str) -> float:
    """The most memory that importing LLVM, capturing and compiling take above an imported tilewright. Linux only."""
    return _child("memory", name, "")


def _child(what: str, name: str, folder: str) -> float:
    cache = [f"TILEWRIGHT_CACHE_DIR={folder}"] if folder else []
    command = ["env", *cache, sys.executable, "-m", "benchmarks.fresh", what, name]
    return float(run(command, check=True, stdout=PIPE, text=True, cwd=ROOT).stdout)


def _compile_seconds(name: str) -> float:
    device, kernel = ready_device(), COMPILED[name].capture()
    start = perf_counter()
    shader = tile.compile(device, kernel)
    spent = perf_counter() - start
    shader.metadata  # noqa: B018  the shader lives until here
    return spent


def _megabytes(name: str) -> float:
    CLEAR.write_text("5")  # the peak begins again at what is resident now
    before = _kilobytes("VmRSS")
    tile.compile(tw.create_device("simd"), COMPILED[name].capture(), cache=False)
    return (_kilobytes("VmHWM") - before) / 1024


def _kilobytes(field: str) -> int:
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


ASKED: Mapping[str, Callable[[str], float]] = MappingProxyType({"cache": _compile_seconds, "memory": _megabytes})

if __name__ == "__main__":
    print(ASKED[sys.argv[1]](sys.argv[2]))

"""What compiling costs: warm, from the disk cache in a new process, capture apart, and memory."""

import sys
from collections.abc import Callable
from functools import partial
from subprocess import PIPE, run

from benchmarks.fresh import COMPILED, peak_megabytes, ready_device, seconds_from_disk
from benchmarks.rows.row import Bar, Cost, Row
from benchmarks.statistics import sample
from tilewright import tile

__all__ = ["ROWS"]

MOST_PROCESSES = 5  # each starts Python
LIMITS = {"row kernel": 80.0, "gemm": 300.0, "attention": 400.0}


def _compile(name: str, rounds: int) -> list[float]:
    device, kernel = ready_device(), COMPILED[name].capture()
    return [sample(lambda: tile.compile(device, kernel, cache=False), 1) * 1e3 for _ in range(rounds)]


def _capture(name: str, rounds: int) -> list[float]:
    entry = COMPILED[name]
    shapes = entry.shapes()
    return [sample(lambda: entry.kernel.capture(*shapes, **entry.config), 1) * 1e3 for _ in range(rounds)]


def _from_disk(name: str, rounds: int) -> list[float]:
    return [seconds_from_disk(name) * 1e3 for _ in range(min(rounds, MOST_PROCESSES))]


def _memory(name: str, rounds: int) -> list[float]:
    return [peak_megabytes(name) for _ in range(min(rounds, MOST_PROCESSES))]


def _import(rounds: int) -> list[float]:
    """Seconds to import tilewright in a new process, by the interpreter's own count."""
    return [_import_seconds() for _ in range(min(rounds, MOST_PROCESSES))]


def _import_seconds() -> float:
    command = [sys.executable, "-X", "importtime", "-c", "import tilewright"]
    lines = run(command, check=True, stderr=PIPE, text=True).stderr.splitlines()
    last = [line for line in lines if line.rstrip().endswith("| tilewright")][-1]
    return int(last.split("|")[1]) / 1e6


def _cost(what: str, name: str, measure: Callable[[str, int], list[float]], limit: float, unit: str = "ms") -> Cost:
    return Cost(
        name=f"{what}: {name}", group="compiling", unit=unit, measure=partial(measure, name), bars=(Bar(limit),),
        quick=True,
    )  # fmt: skip


ROWS: tuple[Row, ...] = (
    *(_cost("compile, warm", name, _compile, limit) for name, limit in LIMITS.items()),
    *(_cost("compile, from disk in a new process", name, _from_disk, 15.0) for name in LIMITS),
    *(_cost("capture", name, _capture, 15.0) for name in LIMITS),
    *(_cost("memory of a compilation", name, _memory, 200.0, "MB") for name in LIMITS),
    Cost(name="import tilewright", group="compiling", unit="s", measure=_import, bars=(Bar(0.5),), quick=True),
)

"""A process that measures: reads requests as lines of JSON, answers each with one. `benchmarks.session` starts it.

Everything that limits threads is in its environment and its affinity before a library is imported.
"""

import ctypes
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks import contestants
from benchmarks.code import code_of, counted, outside_of
from benchmarks.contestants import Arguments, Ready
from benchmarks.peers import open_peer
from benchmarks.rows import BY_NAME, Alike, Cost, Race, Row, Trial
from benchmarks.rows.row import AGAIN, OPENBLAS, OURS, PEAK
from benchmarks.statistics import calls_for, orders, sample, turns_of
from tilewright.core.errors import TilewrightError
from tilewright.runtime.device import create_device

__all__ = ["Table"]

LEAST_ROUNDS = 3
SWEPT_BYTES = 48 << 20  # more than the caches that matter

Reply = dict[str, Any]


def _own_cores() -> Sequence[int]:
    """Where this thread may run; empty where the system does not say."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ()


@dataclass(slots=True)
class Table:
    """The contestants of the row at hand."""

    threads: int
    row: Row | None = None
    ready: dict[str, Ready] = field(default_factory=dict[str, Ready])
    calls: dict[str, int] = field(default_factory=dict[str, int])
    sweep: Callable[[], object] = field(default=lambda: None)
    cores: Sequence[int] = field(default_factory=_own_cores)

    def open(self, row: str, names: Sequence[str], seconds: float, answers: str = "") -> Reply:
        """Makes these contestants ready, and says who cannot take part and why.

        seconds: of one sample. answers: a file that our process writes for those of the peers; none in one process.
        """
        self.ready.clear()
        _stay_on(self.cores)
        self.row, absent = BY_NAME[row], dict[str, str]()
        given = _arguments(self.row, names, answers)
        for name in names:
            try:
                twin = self.ready.get(name.removesuffix(AGAIN))
                self.ready[name] = self._made(self.row, name, given) if twin is None else twin
            except Exception as error:  # whatever a foreign library raises is the reason
                if isinstance(error, TilewrightError) or name == OURS:
                    raise
                absent[name] = reason(error)
        del given
        give_memory_back()
        cold = isinstance(self.row, Race | Trial) and self.row.cold
        self.sweep = _sweeper() if cold else lambda: None
        if isinstance(self.row, Alike) and self.row.threads:
            _stay_on(self.cores[-1:])  # all its processes: one core may be far slower than another for minutes
        self.calls = {name: 1 if cold else calls_for(each.run, seconds) for name, each in self.ready.items()}
        errors = {name: each.error for name, each in self.ready.items()}
        return {"absent": absent, "errors": errors, "flops": {n: each.flops for n, each in self.ready.items()}}

    def _made(self, row: Row, name: str, given: Arguments | None) -> Ready:
        if isinstance(row, Alike):
            return contestants.variant(row, name)[0]
        if name == PEAK:
            return contestants.peak(self.threads)
        if not isinstance(row, Race | Trial) or given is None:
            raise TypeError(f"{row.name} has no contestants")
        if isinstance(row, Trial) and name in row.ours:
            return contestants.through_tvm(row.entry, row.ours[name], given)
        if name == OPENBLAS:
            return contestants.openblas(given)
        return contestants.ours(row.entry, given) if name == OURS else contestants.peer(row, name, given, self.threads)

    def turns(self, names: Sequence[str], rounds: int, seconds: float) -> Reply:
        """Samples of each, in turns; after `seconds` nothing begins but the rest of a cycle of orders."""
        found: dict[str, list[float]] = {name: [] for name in names}
        deadline, cycle = perf_counter() + seconds, len(turns_of(names))
        for turn, order in enumerate(orders(names, rounds)):
            if turn >= LEAST_ROUNDS and turn % cycle == 0 and perf_counter() > deadline:
                break
            for name in order:
                self.sweep()
                found[name].append(sample(self.ready[name].run, self.calls[name]) / self.ready[name].jobs)
        return {"samples": found}

    def cost(self, row: str, rounds: int) -> Reply:
        """Samples of a cost."""
        found = BY_NAME[row]
        if not isinstance(found, Cost):
            raise TypeError(f"{row} is no cost")
        return {"samples": {OURS: found.measure(rounds)}}

    def code(self, row: str) -> Reply:
        """Counts of our machine code."""
        found = BY_NAME[row]
        if isinstance(found, Trial):
            return self._frozen(found)
        if not isinstance(found, Race):
            raise TypeError(f"{row} has no single kernel")
        return {"code": asdict(code_of(create_device("simd"), found.entry))}

    def _frozen(self, row: Trial) -> Reply:
        """Of the artifact that was measured."""
        artifact = self.ready[row.contestants[0]].artifact
        if artifact is None:
            raise TypeError(f"{row.name} has no artifact")
        return {"code": asdict(counted(artifact.assembly())), "outside": outside_of(artifact.source)}

    def about(self, names: Sequence[str]) -> Reply:
        """What the libraries say of themselves, or why they are absent."""
        return {"about": {name: _about(name) for name in names}}


def _stay_on(cores: Sequence[int]) -> None:
    """From now on this thread runs there, and what it starts; the pool's workers keep what they had."""
    if cores:
        os.sched_setaffinity(0, cores)


def _about(name: str) -> dict[str, str]:
    try:
        return {"about": open_peer(name).about()}
    except Exception as error:  # noqa: BLE001  see above
        return {"absent": reason(error)}


def reason(error: Exception) -> str:
    """One line."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    first = next(iter(text.strip().splitlines()), "")[:160]
    return first if isinstance(error, ImportError | KeyError | ArithmeticError) else f"{type(error).__name__}: {first}"


def _arguments(row: Row, names: Sequence[str], answers: str) -> Arguments | None:
    if not isinstance(row, Race | Trial) or set(names) == {PEAK}:
        return None
    if answers and OURS not in names:
        return contestants.recall(row.entry, Path(answers))
    given = contestants.arguments(row.entry)
    if answers:
        contestants.remember(given, Path(answers))
    return given


def give_memory_back() -> None:
    """What the answers took goes to the system: the allocator is told to keep everything, in every process."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _sweeper() -> Callable[[], object]:
    memory = np.zeros(SWEPT_BYTES // 8)
    return memory.sum


REQUESTS: Mapping[str, Callable[..., Reply]] = MappingProxyType(
    {each.__name__: each for each in (Table.open, Table.turns, Table.cost, Table.code, Table.about)}
)


def answered(table: Table, request: Mapping[str, Any]) -> Reply:
    """One request; what goes wrong is an answer too."""
    try:
        return REQUESTS[request["do"]](table, **request["with"])
    except Exception as error:  # noqa: BLE001  the driver writes it into the row
        return {"failed": reason(error)}


def main(threads: int) -> None:
    """Serves until the input ends. What libraries print goes to the error output."""
    _stay_on(_own_cores()[-threads:])
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    table = Table(threads)
    for line in sys.stdin:
        print(json.dumps(answered(table, json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))

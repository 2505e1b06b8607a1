"""Worker processes: their environment, their requests, and that nobody spins while another one is measured."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any, Self

__all__ = ["Session", "Worker", "WorkerError", "settings"]

ROOT = Path(__file__).resolve().parents[1]
QUIET_SECONDS, PATIENCE_SECONDS = 0.05, 3.0
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "TILEWRIGHT_NUM_THREADS",
)  # fmt: skip
# Arrays that a library makes anew come from memory that it has touched before: no page faults inside of a sample.
ALLOCATION: Mapping[str, str] = MappingProxyType(
    {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(8 << 30), "MALLOC_TOP_PAD_": str(64 << 20)}
)
FORGOTTEN = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # they choose another BLAS kernel than a user gets


class WorkerError(Exception):
    """A worker refused, failed or died. The text says why."""


def settings(threads: int) -> dict[str, str]:
    """The environment of a worker, beside what it inherits."""
    xla = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
    return {**dict.fromkeys(THREAD_VARIABLES, str(threads)), "XLA_FLAGS": xla, **ALLOCATION}


class Worker:
    """One process."""

    def __init__(self, threads: int, *, verbose: bool = False) -> None:
        unset = [part for name in FORGOTTEN for part in ("-u", name)]
        variables = [f"{name}={value}" for name, value in settings(threads).items()]
        command = ["env", *unset, *variables, sys.executable, "-m", "benchmarks.worker", str(threads)]
        errors = None if verbose else DEVNULL
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=errors, text=True, cwd=ROOT)

    def ask(self, request: str, **parameters: object) -> dict[str, Any]:
        """Raises WorkerError for a failure, and for a process that died of it."""
        inward, outward = self._process.stdin, self._process.stdout
        if inward is None or outward is None:
            raise WorkerError("it has no pipes")
        try:
            print(json.dumps({"do": request, "with": parameters}), file=inward, flush=True)
            line = outward.readline()
        except OSError:
            line = ""
        if not line:
            raise WorkerError(f"its process ended with {self._process.wait()}")
        reply: dict[str, Any] = json.loads(line)
        if "failed" in reply:
            raise WorkerError(reply["failed"])
        return reply

    @property
    def pid(self) -> int:
        """`env` becomes the process that works, so the number is its own."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def cpu_ticks(self) -> int:
        """Processor time of all its threads. Linux only; 0 elsewhere."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0
        return int(fields[11]) + int(fields[12])

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@dataclass(slots=True)
class Session:
    """The workers of a run, started when they are first needed. A key names who works there, at how many threads."""

    verbose: bool = False
    _folder: TemporaryDirectory[str] = field(
        default_factory=lambda: TemporaryDirectory(prefix="tilewright-benchmarks-")
    )
    _workers: dict[tuple[str, int], Worker] = field(default_factory=dict[tuple[str, int], Worker])

    def worker(self, who: str, threads: int) -> Worker:
        """The process of these contestants; a new one where it died."""
        known = self._workers.get((who, threads))
        if known is not None and not known.alive:
            known.close()
        if known is None or not known.alive:
            known = self._workers[who, threads] = Worker(threads, verbose=self.verbose)
        return known

    @property
    def answers(self) -> str:
        """The file through which our process tells those of the peers what is right."""
        return str(Path(self._folder.name) / "answers.npz")

    def settle(self) -> bool:
        """Waits until no worker uses a processor: pools spin for a while after their work. False: one never stopped."""
        deadline = monotonic() + PATIENCE_SECONDS
        before = self._ticks()
        while monotonic() < deadline:
            sleep(QUIET_SECONDS)
            now = self._ticks()
            if now == before:
                return True
            before = now
        return False

    def _ticks(self) -> int:
        return sum(worker.cpu_ticks() for worker in self._workers.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()
        self._folder.cleanup()


def load() -> float:
    """Processes that want a core, over the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0

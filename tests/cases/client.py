"""The other end of the worker: a crash or a hang of a case is an outcome, and the next case gets a fresh process."""

import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Self

from tests.cases.outcome import Outcome
from tests.cases.table import Case

__all__ = ["RouteProcess"]

_ROOT = Path(__file__).resolve().parents[2]
_START_S = 120.0


class RouteProcess:
    """Runs cases on one route (of the CPU: in one plan family), each within its time. A context manager."""

    def __init__(self, route: str, family: str = "") -> None:
        self.route, self._family = route, family
        self._process: subprocess.Popen[str] | None = None
        self._cache = TemporaryDirectory(prefix="tilewright-cases-")  # what is tried is compiled here and now

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process, if there is one."""
        self._stop()
        self._cache.cleanup()

    def outcome(self, case: Case) -> Outcome:
        """What happens when the case runs."""
        process = self._process or self._start()
        questions, answers = _pipes(process)
        questions.write(case.name + "\n")
        questions.flush()
        line = _line(answers, case.timeout_s)
        if line is None:
            self._stop()
            return Outcome("HANG", detail=f"no end after {case.timeout_s:.0f} s", seconds=case.timeout_s)
        if not line:
            status = process.wait()
            self._stop()
            return Outcome("CRASH", detail=f"the process ended with status {status}")
        return Outcome(**json.loads(line))

    def _start(self) -> subprocess.Popen[str]:
        threads = self.route.removeprefix("cpu")
        settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT / "src"), str(_ROOT)])}
        settings["TILEWRIGHT_CACHE_DIR"] = self._cache.name
        if threads.isdecimal():
            settings["TILEWRIGHT_NUM_THREADS"] = threads
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.cases.worker", self.route, self._family],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=settings, cwd=_ROOT,
        )  # fmt: skip
        self._process = process
        if not _line(_pipes(process)[1], _START_S):
            self._stop()
            raise RuntimeError(f"the worker of {self.route} did not start")
        return process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in _pipes(process):
                pipe.close()
            process.wait()


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the worker has no pipes")
    return process.stdin, process.stdout


def _line(pipe: IO[str], timeout_s: float) -> str | None:
    """The next line, empty at the end of the stream, or None when there is none in time."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(pipe, selectors.EVENT_READ)
        return pipe.readline() if waiting.select(timeout_s) else None

"""What is written down of a run, and read again: frozen records, and JSON that is nothing but them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.code import Code
from benchmarks.statistics import Spread

__all__ = ["Figure", "Measured", "Run", "merged", "read", "write"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its bar. `at_least`: the bar is a least value; otherwise it must not be exceeded."""

    what: str
    value: Spread
    bar: float
    unit: str = ""
    starred: bool = False
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.value.median >= self.bar if self.at_least else self.value.median <= self.bar


@dataclass(frozen=True, slots=True)
class Measured:
    """A row on a number of threads.

    seconds: of one call, by contestant. ratios: our time over a peer's. error: the largest of our answer in parts of
    its bound. absent: who did not take part, and why. failed: why there are no figures. load: of the machine before.
    rounds: of a trial, the sample of each round by contestant. outside: functions outside of a kernel that its machine
    code calls.
    """

    row: str
    group: str
    threads: int
    seconds: Mapping[str, Spread] = field(default_factory=dict[str, Spread])
    ratios: Mapping[str, Spread] = field(default_factory=dict[str, Spread])
    figures: tuple[Figure, ...] = ()
    flops: int = 0
    error: float = 0.0
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    code: Code | None = None
    failed: str = ""
    load: float = 0.0
    commit: str = ""
    rounds: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    outside: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        return not self.failed and self.error <= 1 and all(figure.met for figure in self.figures)

    @property
    def starred(self) -> bool:
        """Whether all that it misses lies beyond the prototypes."""
        return not self.failed and self.error <= 1 and all(figure.met or figure.starred for figure in self.figures)


@dataclass(frozen=True, slots=True)
class Run:
    """Rows measured on one machine."""

    environment: Mapping[str, str]
    rows: tuple[Measured, ...]


def merged(old: Run | None, new: Run) -> Run:
    """The new rows, and those of the old run that were not measured again, in the order of the old ones."""
    if old is None:
        return new
    fresh = {(row.row, row.threads): row for row in new.rows}
    kept = [fresh.pop((row.row, row.threads), row) for row in old.rows]
    return replace(new, rows=(*kept, *fresh.values()))


def write(run: Run, path: Path) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(path)


def read(path: Path) -> Run:
    """Raises KeyError and TypeError for a file of another shape."""
    given: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Run(given["environment"], tuple(map(_measured, given["rows"])))


def _measured(given: dict[str, Any]) -> Measured:
    code: dict[str, Any] | None = given["code"]
    parts: dict[str, Any] = {
        "seconds": _spreads(given["seconds"]),
        "ratios": _spreads(given["ratios"]),
        "figures": tuple(map(_figure, given["figures"])),
        "code": None if code is None else Code(**code),
        "rounds": {name: tuple(each) for name, each in given.get("rounds", {}).items()},
        "outside": tuple(given.get("outside", ())),
    }
    return Measured(**{**given, **parts})


def _figure(given: dict[str, Any]) -> Figure:
    value: Any = Spread(**given["value"])
    return Figure(**{**given, "value": value})


def _spreads(given: dict[str, dict[str, Any]]) -> dict[str, Spread]:
    return {name: Spread(**each) for name, each in given.items()}

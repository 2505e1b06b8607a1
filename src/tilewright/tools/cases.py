"""Public bug reports as small kernels with known answers, on every route: `make cases`.

Prints the matrix case x route in the words RIGHT, REFUSED(code), waiting, WRONG, CRASH, HANG and BAD-REFUSAL. The exit
status says whether one of the last four, or an answer that its case does not permit, is there. The cases are tests of
the checkout: `tests/cases`.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.box import HORIZONTALS
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[3]
_BAD = ("WRONG", "CRASH", "HANG", "BAD-REFUSAL")
_AT_ONCE = 2  # processes; each route has its own


@dataclass(frozen=True, slots=True)
class _Cell:
    """One case on one route."""

    text: str
    passed: bool
    detail: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _Suite:
    """What the checkout offers: its table of cases, and how to run one."""

    table: Any
    client: Any
    outcome: Any

    def cell(self, case: Any, route: str, process: Any) -> _Cell:
        found = process.outcome(case)
        kind = "interpreter" if route == "interpreter" else "cpu"
        code, _ = self.table.WAITING.get((case.name, kind), ("", ""))
        waits = found.word == "REFUSED" and bool(code) and code == found.code
        passed: bool = self.outcome.passes(case, found, code)
        return _Cell(f"waiting({code})" if waits else str(found), passed, found.detail, found.seconds)

    def column(self, route: str, cases: Sequence[Any]) -> dict[str, _Cell]:
        with self.client.RouteProcess(route) as process:
            return {case.name: self.cell(case, route, process) for case in cases}


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the cases whose names start with one of the arguments, all by default; `--large` adds those of gigabytes."""
    console = Console(highlight=False)
    if not (_ROOT / "tests" / "cases").is_dir():
        console.print(
            f"The cases are tests of a checkout, and there is no {_ROOT / 'tests' / 'cases'}.", soft_wrap=True
        )
        return 2
    suite, start = _suite(), perf_counter()
    cases = _chosen(suite.table.load_cases().values(), arguments)
    routes: Sequence[str] = suite.table.ROUTES
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(suite.column, routes, [cases] * len(routes))
        columns = dict(zip(routes, found, strict=True))
    console.print(_table(cases, columns))
    _failures(console, columns)
    _notes(console, suite.table, cases, columns)
    cells = [cell for column in columns.values() for cell in column.values()]
    failed = sum(not cell.passed for cell in cells)
    console.print(f"{len(cases)} cases x {len(columns)} routes in {perf_counter() - start:.0f} s: {_counts(cells)}")
    console.print(
        *([f"{failed} outcomes are not permitted"] if failed else ["every outcome is permitted"]), style="bold"
    )
    return 1 if failed else 0


def _suite() -> _Suite:
    if str(_ROOT) not in sys.path:
        sys.path.insert(0, str(_ROOT))
    return _Suite(*(import_module(f"tests.cases.{name}") for name in ("table", "client", "outcome")))


def _chosen(cases: Iterable[Any], arguments: Sequence[str]) -> list[Any]:
    names = tuple(each for each in arguments if not each.startswith("--"))
    return [
        case
        for case in cases
        if (not names or case.name.startswith(names)) and (not case.large or "--large" in arguments)
    ]


def _table(cases: Sequence[Any], columns: Mapping[str, Mapping[str, _Cell]]) -> Table:
    table = Table(box=HORIZONTALS, padding=(0, 1, 0, 0))
    for name in ("case", "", "what"):
        table.add_column(name, no_wrap=True)
    for route in columns:
        table.add_column(route, no_wrap=True, min_width=len("REFUSED(TW000)"))
    for case in cases:
        cells = [column[case.name] for column in columns.values()]
        table.add_row(case.name, case.tag.value, Text(case.title, overflow="ellipsis"), *map(_shown, cells))
    return table


def _shown(cell: _Cell) -> Text:
    style = "red bold" if not cell.passed else "yellow" if cell.text.startswith("waiting") else "green"
    return Text(cell.text, style=style)


def _failures(console: Console, columns: Mapping[str, Mapping[str, _Cell]]) -> None:
    for route, column in columns.items():
        for name, cell in column.items():
            if not cell.passed:
                console.print(Text(f"{name} on {route}: {cell.text}\n{cell.detail}\n"), style="red")


def _notes(console: Console, table: Any, cases: Sequence[Any], columns: Mapping[str, Mapping[str, _Cell]]) -> None:
    """What is waiting and for what; what no longer needs to; what is elsewhere."""
    shown = {case.name for case in cases}
    for (name, kind), (code, what) in table.WAITING.items():
        if name in shown:
            cells = [
                column[name] for route, column in columns.items() if (route == "interpreter") == (kind == "interpreter")
            ]
            waits = any(cell.text.startswith("waiting") for cell in cells)
            console.print(
                f"{name} on {kind} " + (f"waits for {what} ({code})" if waits else f"no longer waits for {what}")
            )
    large = [case.name for case in table.CASES.values() if case.large and case.name not in shown]
    places: dict[str, list[str]] = {"`make test-all`, which has the memory for it": large}
    for name, what in table.ELSEWHERE.items():
        places.setdefault(what, []).append(name)
    for name, file in table.OWN_TESTS.items():
        console.print(f"{name} has tests of its own: {file}", style="dim", soft_wrap=True)
    for what, names in places.items():
        if names:
            console.print(f"waiting for {what}: {', '.join(names)}", style="dim", soft_wrap=True)


def _counts(cells: Sequence[_Cell]) -> str:
    words = [cell.text.split("(")[0] for cell in cells]
    return ", ".join(_count(words, ("RIGHT", "REFUSED", "waiting", *_BAD)))


def _count(words: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield f"{words.count(name)} {name}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

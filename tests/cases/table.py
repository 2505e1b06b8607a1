"""The table of cases: what each is called, which outcomes pass, and what is not there yet."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from types import MappingProxyType
from typing import Final

from tests.cases.bench import Route

__all__ = ["CASES", "ELSEWHERE", "OWN_TESTS", "ROUTES", "WAITING", "Case", "Tag", "case", "load_cases"]

ROUTES: Final = ("interpreter", "cpu1", "cpu2", "cpu8", "tirx")


class Tag(Enum):
    """Which outcomes of a case pass."""

    MUST = "must"  # the right answer, on every route
    EITHER = "either"  # the right answer, or a refusal with code, line and help
    REFUSE = "refuse"  # only a refusal


@dataclass(frozen=True, slots=True)
class Case:
    """One report. `says` are words that a refusal must contain; `large` cases map gigabytes."""

    name: str
    tag: Tag
    title: str
    run: Callable[[Route], None]
    says: tuple[str, ...] = ()
    large: bool = False
    timeout_s: float = 180.0


_SECTIONS = ("arrays", "edges", "folds", "front", "indices", "numbers", "updates")
CASES: dict[str, Case] = {}
"""Filled by the modules of the sections, through `case`."""


def case(
    name: str, tag: Tag, title: str, *, says: tuple[str, ...] = (), large: bool = False, timeout_s: float = 180.0
) -> Callable[[Callable[[Route], None]], Callable[[Route], None]]:
    """Enters a function into the table."""

    def enter(run: Callable[[Route], None]) -> Callable[[Route], None]:
        if name in CASES:
            raise ValueError(f"the case {name} is there twice")
        CASES[name] = Case(name, tag, title, run, says, large, timeout_s)
        return run

    return enter


def load_cases() -> dict[str, Case]:
    """The whole table, in the order of the sections."""
    for section in _SECTIONS:
        import_module(f"tests.cases.section_{section}")
    return dict(sorted(CASES.items()))


WAITING: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType({})
"""(case, "interpreter" or "cpu") -> (code of the refusal, what is not there yet). It passes as RIGHT, too."""

ELSEWHERE = MappingProxyType(
    {
        "C65": "the tuner",
        "C66": "the tuner",
        "C67": "the tuner",
        "C82": "benchmarks",
        "C83": "benchmarks",
        "C84": "benchmarks",
        "C85": "benchmarks",
        "C86": "benchmarks",
        "C87": "benchmarks",
    }
)
"""Cases of parts that do not exist yet, or that are measured instead of tested."""

OWN_TESTS = MappingProxyType({"C63": "tests/differential/test_cache.py"})
"""Cases that are no single kernel, and the file of tests that holds each."""

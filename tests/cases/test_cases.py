"""The cases as tests: interpreter and eight threads always; one and two threads, and the interpreter with every tile
size of the largest cases, in `make test-all`.
"""

import inspect
import re
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cases.bench import LateError, MismatchError, Route
from tests.cases.client import RouteProcess
from tests.cases.outcome import Outcome, outcome_of, passes
from tests.cases.table import ELSEWHERE, OWN_TESTS, ROUTES, WAITING, Case, Tag, load_cases

ROOT = Path(__file__).resolve().parents[2]
CASES = load_cases()
ALWAYS = ("interpreter", "cpu8")
LONG = {("C02", "interpreter"), ("C26", "interpreter")}  # "C02 small" and "C21" hold the same laws in less time
WHOLE = "interpreter-whole"


def _is_shortened(case: Case) -> bool:
    """Whether the case leaves something out on a brief route."""
    return re.search(r"route\.brief|blocks\(\w+, route\)", inspect.getsource(case.run)) is not None


def _chosen() -> list[object]:
    chosen: list[object] = []
    for route in ROUTES:
        for case in CASES.values():
            slow = case.large or route not in ALWAYS or (case.name, route) in LONG
            marks = [pytest.mark.slow] if slow else []
            chosen.append(pytest.param(case, route, id=f"{case.name}-{route}".replace(" ", "-"), marks=marks))
    shortened = [replace(case, timeout_s=900.0) for case in CASES.values() if _is_shortened(case)]
    chosen += [pytest.param(case, WHOLE, id=f"{case.name}-whole", marks=pytest.mark.slow) for case in shortened]
    return chosen


@pytest.fixture(scope="module")
def processes() -> Generator[dict[str, RouteProcess]]:
    made = {route: RouteProcess(route) for route in (*ROUTES, WHOLE)}
    yield made
    for process in made.values():
        process.close()


@pytest.mark.parametrize(("case", "route"), _chosen())
def test_case(case: Case, route: str, processes: dict[str, RouteProcess]) -> None:
    found = processes[route].outcome(case)
    code, _ = WAITING.get((case.name, "interpreter" if route.startswith("interpreter") else "cpu"), ("", ""))
    assert passes(case, found, code), f"{found}\n{found.detail}"


def test_every_report_is_a_case_or_elsewhere() -> None:
    """The log has 87 numbers; each is a test here, or is listed with where it belongs."""
    named = {name.split(" ")[0] for name in CASES} | set(ELSEWHERE) | set(OWN_TESTS)
    assert sorted(named) == [f"C{number:02}" for number in range(1, 88)]
    assert all(name in (ROOT / file).read_text() for name, file in OWN_TESTS.items())
    assert not set(ELSEWHERE) & {name.split(" ")[0] for name in CASES}


def test_the_large_cases_are_run_whole() -> None:
    assert {case.name for case in CASES.values() if _is_shortened(case)} == {"C02", "C15", "C16", "C26", "C35", "C50"}


def test_what_waits_is_a_case() -> None:
    assert {name for name, _ in WAITING} <= set(CASES)


def _raising(error: Exception) -> Case:
    def run(_: Route) -> None:
        raise error

    return Case("X", Tag.MUST, "one that raises", run)


class _Nowhere:
    name = "cpu"
    brief = False
    handle = None


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (MismatchError("element 3"), "WRONG"),
        (AssertionError("a fact"), "WRONG"),
        (LateError("written"), "BAD-REFUSAL"),
        (KeyError("x"), "BAD-REFUSAL"),
    ],
)
def test_what_is_raised_has_its_word(error: Exception, word: str) -> None:
    assert outcome_of(_raising(error), _Nowhere()).word == word  # pyright: ignore[reportArgumentType]


def test_only_the_permitted_words_pass() -> None:
    must = _raising(ValueError())
    assert passes(must, Outcome("RIGHT"))
    assert not passes(must, Outcome("REFUSED", "TW421"))
    assert passes(must, Outcome("REFUSED", "TW421"), "TW421")
    assert not passes(must, Outcome("HANG"))
    refuse = Case("Y", Tag.REFUSE, "", must.run)
    assert passes(refuse, Outcome("REFUSED", "TW350"))
    assert not passes(refuse, Outcome("RIGHT"))

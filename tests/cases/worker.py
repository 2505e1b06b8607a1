"""A process that runs cases on one route: names in, outcomes out, one JSON line each.

`python -m tests.cases.worker ROUTE [FAMILY]`, where `interpreter-whole` leaves no tile size out
"""

import json
import os
import sys
from dataclasses import asdict
from time import perf_counter

from tests.cases.bench import Interpreter, Machine, ThroughTvm
from tests.cases.outcome import outcome_of
from tests.cases.table import load_cases
from tests.differential.families import FAMILIES


def main() -> None:
    """Serves until its input ends. What the cases print goes to the error stream."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    route = _route(sys.argv[1], *sys.argv[2:])
    cases = load_cases()
    answers.write(json.dumps(list(cases)) + "\n")
    for line in sys.stdin:
        start = perf_counter()
        found = asdict(outcome_of(cases[line.strip()], route))
        found["seconds"] = perf_counter() - start
        answers.write(json.dumps(found) + "\n")


def _route(name: str, family: str = "") -> Interpreter | Machine | ThroughTvm:
    if name.startswith("interpreter"):
        return Interpreter(brief=name == "interpreter")
    if name == "tirx":
        return ThroughTvm()
    return Machine(FAMILIES[family].options if family else None)


if __name__ == "__main__":
    main()

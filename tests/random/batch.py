"""Many random kernels in one process.

`python -m tests.random.batch FIRST COUNT [FAMILY]` prints failures and a histogram as JSON.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.differential.families import FAMILIES
from tests.random.choices import Choices
from tests.random.generator import program
from tests.random.running import disagreement
from tests.random.scope import Program
from tilewright.tile import XirOptions

__all__ = ["carries_twice", "histogram", "outcome", "refusal_of", "run", "run_apart"]

_ROOT = Path(__file__).resolve().parents[2]


def outcome(made: Program, seed: int, launches: int = 2, xir: XirOptions | None = None) -> str:
    """Where the routes differ. What is no refusal of ours is a failure, too."""
    try:
        return disagreement(made, seed, launches=launches, xir=xir)
    except Exception as error:  # noqa: BLE001  whatever comes out of a kernel that is right
        return f"{type(error).__name__}: {error}"


def carries_twice(made: Program) -> bool:
    """Whether there are two regions or more, the root counted, and a carry."""
    return made.traits["regions"] >= 1 and made.traits["carries"] > 0


def refusal_of(found: str) -> str:
    """The code and text of a refusal to compile, where an outcome is one; else empty."""
    match = re.match(r"cpu: error\[(TW4\d\d)\](: .*)", found)
    return "" if match is None else match[1] + match[2]


def run(seeds: Iterable[int], launches: int = 2, xir: XirOptions | None = None) -> tuple[dict[int, str], Counter[str]]:
    """The failures by seed, and how often each trait is there."""
    failures: dict[int, str] = {}
    traits: Counter[str] = Counter()
    for seed in seeds:
        made = program(Choices(seed))
        found = outcome(made, seed, launches, xir)
        if found:
            failures[seed] = found
        traits["kernels"] += 1
        traits["two regions and a carry"] += carries_twice(made)
        traits.update(name for name in made.traits if name != "regions")
    return failures, traits


def run_apart(first: int, count: int, family: str = "") -> dict[str, dict[str, str]]:
    """The same in a process of its own: a crash is the failure of its batch."""
    command = [sys.executable, "-m", "tests.random.batch", str(first), str(count), family]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT / "src"), str(_ROOT)])}
    done = subprocess.run(command, cwd=_ROOT, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        failure = f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
        return {"failures": {str(first): failure}, "traits": {}}
    return json.loads(done.stdout)


def histogram(traits: Mapping[str, int]) -> str:
    """Lines of `kernels that have it`, by kind of trait."""
    count = max(1, traits.get("kernels", 0))
    rows = [(name, number) for name, number in sorted(traits.items()) if name != "kernels"]
    return "\n".join(f"{name:<26} {number:>6}  {100 * number / count:5.1f} %" for name, number in rows)


def main() -> None:
    first, count = int(sys.argv[1]), int(sys.argv[2])
    xir = FAMILIES[sys.argv[3]].options if sys.argv[3:] and sys.argv[3] else None
    failures, traits = run(range(first, first + count), launches=1, xir=xir)  # compilation is most of the time
    sys.stdout.write(json.dumps({"failures": failures, "traits": traits}))


if __name__ == "__main__":
    main()

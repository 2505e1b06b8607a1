"""Many random kernels in one process.

`python -m tests.random.batch FIRST COUNT` prints failures and a histogram as JSON.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping

from tests.random.choices import Choices
from tests.random.generator import program
from tests.random.running import disagreement
from tests.random.scope import Program

__all__ = ["carries_twice", "histogram", "outcome", "run"]


def outcome(made: Program, seed: int, launches: int = 2) -> str:
    """Where the routes differ. What is no refusal of ours is a failure, too."""
    try:
        return disagreement(made, seed, launches=launches)
    except Exception as error:  # noqa: BLE001  whatever comes out of a kernel that is right
        return f"{type(error).__name__}: {error}"


def carries_twice(made: Program) -> bool:
    """Whether there are two regions or more, the root counted, and a carry."""
    return made.traits["regions"] >= 1 and made.traits["carries"] > 0


def run(seeds: Iterable[int], launches: int = 2) -> tuple[dict[int, str], Counter[str]]:
    """The failures by seed, and how often each trait is there."""
    failures: dict[int, str] = {}
    traits: Counter[str] = Counter()
    for seed in seeds:
        made = program(Choices(seed))
        found = outcome(made, seed, launches)
        if found:
            failures[seed] = found
        traits["kernels"] += 1
        traits["two regions and a carry"] += carries_twice(made)
        traits.update(name for name in made.traits if name != "regions")
    return failures, traits


def histogram(traits: Mapping[str, int]) -> str:
    """Lines of `kernels that have it`, by kind of trait."""
    count = max(1, traits.get("kernels", 0))
    rows = [(name, number) for name, number in sorted(traits.items()) if name != "kernels"]
    return "\n".join(f"{name:<26} {number:>6}  {100 * number / count:5.1f} %" for name, number in rows)


def main() -> None:
    first, count = int(sys.argv[1]), int(sys.argv[2])
    failures, traits = run(range(first, first + count), launches=1)  # compilation is most of the time
    sys.stdout.write(json.dumps({"failures": failures, "traits": traits}))


if __name__ == "__main__":
    main()

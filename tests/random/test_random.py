"""Random kernels in the public language: the CPU gives the interpreter's bits, twice with different inputs."""

import os
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import pytest

from tests.random.batch import carries_twice, histogram, outcome, run, run_apart
from tests.random.choices import Choices, shrink
from tests.random.generator import program
from tests.random.scope import Program

FAST = 300  # kernels of two launches each; a kernel takes about 0.25 s of one core, most of it compilation
STEP = 15
ALL = 20_000
BATCH = 250  # of one process, with one launch a kernel
FIRST = 1_000_000  # the large run starts elsewhere, so that it is no repetition of the small one


@pytest.mark.parametrize("first", range(0, FAST, STEP))
def test_cpu_and_interpreter_agree(first: int) -> None:
    failures, _ = run(range(first, first + STEP))
    assert failures == {}, shown(failures)


def shown(failures: dict[int, str]) -> str:
    """The first failure, made as small as it gets."""
    seed, found = next(iter(failures.items()))
    made = program(Choices(seed))
    small = program(Choices(given=shrink(made.drawn, lambda drawn: _same(program(Choices(given=drawn)), seed, found))))
    return f"seed {seed}: {found}\n\nin short:\n{small.source}\n{outcome(small, seed)}\n{small.arguments}"


def _same(made: Program, seed: int, found: str) -> bool:
    """Whether this one fails in the same way: with the same code or exception, or also with a wrong element."""
    again = outcome(made, seed)
    return bool(again) and _kind(again) == _kind(found)


def _kind(found: str) -> str:
    return found.split(" ", maxsplit=2)[0] + "".join(re.findall(r"TW\d+", found)[:1])


def test_the_kernels_are_worth_running() -> None:
    """Deep enough, and of every kind: a third has a carry in two regions or more, and nothing is never there."""
    made = [program(Choices(seed)) for seed in range(600)]
    assert sum(map(carries_twice, made)) >= 0.3 * len(made)
    traits = Counter(name for each in made for name in each.traits)
    wanted = {
        "region serial", "region pipeline", "region reduce", "region parallel", "ragged", "negative origin", "fill",
        "masked load", "map", "scan", "mma", "cast", "update", "in place", "if", "scalar", "skipped iterations",
        "policy unordered_tree",
        "policy ordered_tree", "policy fold_left", "policy fold_right", "own reducer in a fold",
        "own reducer in a scan", "number", "memory", "memory overwritten", "several launches", "loop of launches",
        "reads an earlier launch",
    }  # fmt: skip
    assert {name for name in wanted if traits[name] < 12} == set()
    assert all(traits[f"dtype {name}"] > 12 for name in ("f16", "bf16", "f64", "i8", "u8", "u32", "i64", "boolean"))


def test_the_same_choices_give_the_same_kernel() -> None:
    made = program(Choices(7))
    assert program(Choices(given=made.drawn)) == made
    assert program(Choices(given=())).source.count("store") >= 1


def test_shrinking_keeps_what_fails() -> None:
    made = next(each for seed in range(100) if "scan(" in (each := program(Choices(seed))).source)
    small = shrink(made.drawn, lambda drawn: "scan(" in program(Choices(given=drawn)).source, budget=300)
    short = program(Choices(given=small)).source
    assert "scan(" in short
    assert len(short) < len(made.source)


@pytest.mark.slow
def test_twenty_thousand_agree(capsys: pytest.CaptureFixture[str]) -> None:
    failures: dict[int, str] = {}
    traits: Counter[str] = Counter()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for batch in pool.map(run_apart, range(FIRST, FIRST + ALL, BATCH), repeat(BATCH)):
            failures |= {int(seed): found for seed, found in batch["failures"].items()}
            traits.update(batch["traits"])
    with capsys.disabled():
        sys.stdout.write(f"\n{traits['kernels']} random kernels\n{histogram(traits)}\n")
    assert traits["two regions and a carry"] >= 0.3 * traits["kernels"]
    assert failures == {}, shown(failures)

"""Random kernels through TVM: whatever its passes are asked for, the interpreter's bits."""

from itertools import cycle

import pytest

from tests.random.choices import Choices
from tests.random.generator import program
from tests.random.running import disagreement
from tilewright.tile import TirxOptions, TirxPlanner

FAST, STEP = 60, 15  # a kernel takes about 0.2 s of one core
ALL, BATCH = 3000, 100

WIDE = TirxPlanner(max_cpu_stack_bytes=65536, max_cpu_vector_lanes=128)
OPTIONS = (
    TirxOptions(noalias=True, auto_vectorize=True, forward_readonly_tile_loads=True, planner=WIDE),
    TirxOptions(noalias=True, auto_vectorize=True, planner=WIDE),
    TirxOptions(auto_vectorize=True),
)


def failures(seeds: range) -> dict[int, str]:
    """By seed, with the options in turn."""
    turns = zip(seeds, cycle(OPTIONS), strict=False)
    found = {seed: disagreement(program(Choices(seed)), seed, launches=1, tirx=options) for seed, options in turns}
    return {seed: text for seed, text in found.items() if text}


@pytest.mark.parametrize("first", range(0, FAST, STEP))
def test_bits_of_the_interpreter(first: int) -> None:
    assert failures(range(first, first + STEP)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1000 + ALL, BATCH))
def test_three_thousand(first: int) -> None:
    assert failures(range(first, first + BATCH)) == {}

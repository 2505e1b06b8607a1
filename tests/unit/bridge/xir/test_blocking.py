"""Each way to compute a product is taken where nothing speaks against it, and what does is told in words."""

from dataclasses import replace

import pytest

from tests.unit.bridge.xir.test_contraction import made
from tilewright.bridge.xir.blocking import Blocks, Matrices, way_of
from tilewright.bridge.xir.plan import plan
from tilewright.core.machine import GENERIC_AVX512

NEAR = Matrices(
    rows=100, columns=100, depth=100, itemsize=4, second_cache=1 << 20, apart=False, no_panels=None, across=False
)
WIDE = replace(NEAR, columns=4096, depth=1024)  # B is 16 MiB


@pytest.mark.parametrize(
    ("matrices", "blocks", "name"),
    [
        (NEAR, Blocks(0, 0, 0), "B as it lies: it is 39 KiB and stays near"),
        (replace(NEAR, apart=True), Blocks(0, 0, 1), "B in panels since it lies across the lanes"),
        (replace(WIDE, rows=1), Blocks(8, 0, 0), "B once from memory"),
        (replace(WIDE, rows=20), Blocks(16, 0, 0), "B once from memory"),
        (replace(WIDE, rows=21), Blocks(512, 0, 1), "B in panels, each made once"),
        (replace(WIDE, rows=64, no_panels="it is converted"), Blocks(16, 0, 0), "B once from memory"),
        (replace(WIDE, rows=65), Blocks(512, 0, 1), "B in panels: it is 16.0 MiB, more than the second cache"),
        (replace(WIDE, rows=513), Blocks(512, 192, 1), "B in panels: it is 16.0 MiB, more than the second cache"),
        (replace(WIDE, rows=513, across=True), Blocks(512, 192, 2), "both operands in panels"),
        (replace(WIDE, rows=513, across=True, no_panels="it is converted"), Blocks(512, 0, 0), "B as it lies"),
    ],
)
def test_the_way_of_a_product(matrices: Matrices, blocks: Blocks, name: str) -> None:
    found, (why, *_) = way_of(matrices)
    assert found == blocks
    assert why.startswith(name)


@pytest.mark.parametrize(
    ("matrices", "reason"),
    [
        (NEAR, "not B once from memory, by a few lines at a time: 100 rows read every element of B"),
        (NEAR, "not both operands in panels: A (39 KiB) stays near"),
        (NEAR, "not B in panels: B (39 KiB) fits the second cache (1.0 MiB)"),
        (replace(NEAR, rows=8), "not B in panels: 8 rows read B too seldom"),
        (replace(NEAR, rows=8), "not B once from memory, by a few lines at a time: B (39 KiB) stays near"),
        (replace(NEAR, apart=True), "not B as it lies: columns of B lie apart"),
        (replace(WIDE, rows=64),
         "not B once from memory, by a few lines at a time: 64 rows are enough to pay for panels"),
        (replace(WIDE, rows=513), "not both operands in panels: k runs along the lines of A"),
        (replace(WIDE, rows=65, no_panels="it is converted"), "not B in panels: it is converted"),
    ],
)  # fmt: skip
def test_what_speaks_against_the_others(matrices: Matrices, reason: str) -> None:
    _, (_, *against) = way_of(matrices)
    assert reason in against


def test_a_plan_tells_them() -> None:
    text = plan(made(512, 4096, 1000), GENERIC_AVX512, threads=1).render()
    (line,) = (line for line in text.splitlines() if "contraction with" in line)
    assert ", 500 of k at a time, between which sums wait where they end, panels of B; " in line
    assert "; B in panels: it is 15.6 MiB, more than the second cache (1.0 MiB)" in line
    assert "; not both operands in panels: k runs along the lines of A" in line

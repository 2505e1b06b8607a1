"""Reducers of the user's own that do not fit or do not hold."""

from pathlib import Path

import pytest

from tests.errors.harness import check_case

HEADER = """\
from tilewright import tile
from tilewright.tile import *

minus = reducer(state=f32, identity=0, merge=lambda a, b: a - b, commutative=False, name="minus")
halves = reducer(state=(f32, f32), identity=(0, 0), merge=lambda a, b: a[0] + b[0], name="halves")


@tile.kernel
def k(A: ConstView1[f32]):
    n = axis("n", 8)
    for nest in parallel(shape(1)):
"""
CASES = {
    "TW225": HEADER + "        reduce(A[coord(0), shape(n)], n, halves)\n\n\nk.capture(tensor_shape(8))\n",
    "TW226": HEADER + "        reduce(A[coord(0), shape(n)], n, minus)\n\n\nk.capture(tensor_shape(8))\n",
    "TW227": HEADER + "        pass\n\n\ncheck_reducer(minus)\n",
}


@pytest.mark.parametrize("code", CASES)
def test_an_error_of_a_reducer(code: str, tmp_path: Path) -> None:
    check_case(code, CASES[code], tmp_path)

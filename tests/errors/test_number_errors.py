"""Arguments that are numbers, in direct calls."""

from pathlib import Path

import pytest

from tests.errors.harness import check_case

HEADER = """\
import numpy as np

from tilewright import tile
from tilewright.tile import Scalar, View1, f32, parallel, shape


@tile.kernel
def fill(value: Scalar[f32], C: View1[f32]):
    for i in parallel(shape(4)):
        C[i.index()].store(value)


"""
CASES = {
    "TW637": HEADER + 'fill("1", np.zeros(4, np.float32))\n',
    "TW638": HEADER + "fill((1 << 24) + 1, np.zeros(4, np.float32))\n",
}


@pytest.mark.parametrize("code", CASES)
def test_an_argument_that_is_no_number_of_its_type(code: str, tmp_path: Path) -> None:
    check_case(code, CASES[code], tmp_path)

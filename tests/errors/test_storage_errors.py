"""What the CPU route says about arguments and manual memory that it cannot take."""

from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tests.differential.memory_kernels import thinned
from tests.errors.harness import check_case
from tilewright import tile

CASES = {
    "TW421": """\
@tile.kernel
def copy(x: ConstView2[f32], y: View2[f32]):
    r, c = axis("r", x.shape[0]), axis("c", x.shape[1])
    for nest in parallel(shape(1)):
        y.at(coord(0, 0), shape(r, c)).store(x[coord(0, 0), shape(r, c)])


one_row = np.zeros(4, "f4")
copy(np.ones((3, 4), "f4"), as_strided(one_row, (3, 4), (0, 4)))
""",
    "TW424": """\
@tile.kernel
def staged(x: ConstView1[f32], y: View1[f32]):
    n = axis("n", x.shape[0])
    for nest in parallel(shape(1)):
        scratch = memory(f32, shape(n), "shared")
        scratch.store(x[coord(0), shape(n)])
        y.at(coord(0), shape(n)).store(scratch.load())


staged(np.ones(8, "f4"), np.zeros(8, "f4"))
""",
    "TW432": """\
@tile.kernel
def cleared(y: View1[f32]):
    n = axis("n", y.shape[0])
    for nest in parallel(shape(1)):
        scratch = memory(f32, thinned(shape(n)))
        scratch.store(zeros(f32, shape(n)))
        y.at(coord(0), shape(n)).store(scratch.load())


cleared(np.ones((1 << 20) + 1, "f4"))
""",
}
NAMES = (
    "ConstView1", "ConstView2", "View1", "View2", "axis", "coord", "f32", "memory", "parallel", "shape", "zeros",
)  # fmt: skip


@pytest.mark.parametrize("code", CASES)
def test_the_text_of(code: str, tmp_path: Path) -> None:
    names = {name: getattr(tile, name) for name in NAMES}
    check_case(code, CASES[code], tmp_path, np=np, tile=tile, as_strided=as_strided, thinned=thinned, **names)

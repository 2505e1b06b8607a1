"""The text of every error of compiling and of direct calls."""

from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.errors.harness import check_case
from tilewright import tile

SETUP = """\
@tile.kernel
def scale(x: ConstView1[f32], y: View1[f32], *, by: float = 2.0):
    i = axis("i", x.shape[0])
    for nest in parallel(shape(i)):
        y[nest.index()].store(x[nest.index()].load() * by)


x, y = np.ones(8, "f4"), np.zeros(8, "f4")
device = tw.create_device("simd")
kernel = scale.capture(tile.tensor_shape(8), tile.tensor_shape(8))
"""

CASES = {
    "TW402": "tile.compile(device, kernel, compile_only=True)",
    "TW404": "tile.compile(device, kernel, tirx=tile.TirxOptions())",
    "TW405": "tile.compile(device, kernel, opt_level=3)",
    "TW406": "scale.with_options(fast_math='yes')",
    "TW407": "tile.compile(device, scale)",
    "TW650": "scale(x, y, factor=3.0)",
    "TW651": "scale([1.0, 2.0], y)",
    "TW652": "scale(OnGPU(), y)",
    "TW653": "scale(x[::-1], y)",
    "TW654": "scale(np.zeros(33, 'u1')[1:].view('f4'), y)",
    "TW655": "print(scale.explain())",
}


class OnGPU:
    """A tensor of another device, as far as DLPack tells."""

    def __dlpack__(self, **_: object) -> object:
        raise AssertionError("the device is asked first")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


@pytest.mark.parametrize("code", CASES)
def test_the_text_of(code: str, tmp_path: Path) -> None:
    names = {name: getattr(tile, name) for name in ("ConstView1", "View1", "axis", "f32", "parallel", "shape")}
    check_case(code, SETUP + CASES[code] + "\n", tmp_path, np=np, tw=tw, tile=tile, OnGPU=OnGPU, **names)

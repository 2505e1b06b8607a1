"""The text of every error of planning and lowering for the CPU: what depends on the machine, for one in particular."""

from pathlib import Path

import pytest

import tilewright as tw
from tests.errors.harness import check_case
from tilewright import tile
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.core.machine import GENERIC_AVX2

KEEPS_A_TILE = """\
@tile.kernel
def scale(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", X.shape[1])
    for nest in parallel(shape(axis("i", cdiv(X.shape[0], 4)))):
        x = X[coord(nest.index() * 4, 0), shape(r, c)]
        Y.at(coord(nest.index() * 4, 0), shape(r, c)).store(x - tile.reduce(x, c, maximum))


device = tw.create_device("simd")
kernel = scale.capture(tensor_shape(64, 8), tensor_shape(64, 8))
"""

CASES = {
    "TW420": """\
@tile.kernel
def twice(X: View1[f32]):
    e = axis("e", 8)
    for _ in parallel(shape(1)):
        X.at(coord(0), shape(e)).store(1.0)
    for _ in parallel(shape(1)):
        X.at(coord(8), shape(e)).store(2.0)


plan(twice.capture(tensor_shape(16)), GENERIC_AVX2, threads=1)
""",
    "TW422": """\
@tile.kernel
def grouped(X: View1[f32]):
    e = axis("e", 8)
    for nest in parallel(shape(2), scope="group"):
        X.at(coord(nest.index() * 8), shape(e)).store(1.0)


tile.compile(tw.create_device("simd"), grouped.capture(tensor_shape(16)))
""",
    "TW423": """\
@tile.kernel
def by_point(A: ConstView2[f32], B: ConstView2[f32], Y: View1[f32]):
    m, n, k = axis("m", 4), axis("n", 4), axis("k", 4)
    for _ in parallel(shape(1)):
        a, b = A[coord(0, 0), shape(m, k)], B[coord(0, 0), shape(k, n)]
        Y.at(coord(0), shape(m)).store(
            tile.map(f32, shape(m), lambda p: mma(a, b, zeros(f32, shape(m, n))).at(coord(p.index(m), 0)))
        )


tile.compile(tw.create_device("simd"), by_point.capture(tensor_shape(4, 4), tensor_shape(4, 4), tensor_shape(4)))
""",
    "TW426": "options = tile.XirOptions(fold_partials=17)\n",
    "TW427": KEEPS_A_TILE + 'tile.compile(device, kernel, xir=tile.XirOptions(root_axis_order=("i", "j")))\n',
    "TW428": KEEPS_A_TILE + "tile.compile(device, kernel, xir=tile.XirOptions(max_candidates=8))\n",
    "TW429": KEEPS_A_TILE + "plan(kernel, GENERIC_AVX2, tile.XirOptions(max_scratch_bytes=0), threads=1)\n",
    "TW430": KEEPS_A_TILE
    + "lower(kernel, plan(kernel, GENERIC_AVX2, tile.XirOptions(max_operations=16), threads=1))\n",
    "TW947": KEEPS_A_TILE
    + "other = scale.capture(tensor_shape(32, 8), tensor_shape(32, 8))\n"
    + "lower(other, plan(kernel, GENERIC_AVX2, threads=1))\n",
}


@pytest.mark.parametrize("code", CASES)
def test_the_text_of(code: str, tmp_path: Path) -> None:
    names: dict[str, object] = {name: getattr(tile, name) for name in tile.__all__}
    names |= {"tw": tw, "tile": tile, "plan": plan, "lower": lower, "GENERIC_AVX2": GENERIC_AVX2}
    check_case(code, CASES[code], tmp_path, **names)

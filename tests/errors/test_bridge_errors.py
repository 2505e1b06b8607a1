"""The text of every error of planning and lowering for the CPU."""

from pathlib import Path

import pytest

from tests.errors.harness import check_case
from tilewright.bridge.xir.lower.elementwise import RULES
from tilewright.ir.ops.elementwise import DivOp

KERNEL = """\
import tilewright as tw
from tilewright import tile
from tilewright.tile import *


@tile.kernel
def softmax(X: ConstView2[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", 64)
    g, h = axis("g", 8), axis("h", 2)
    for nest in parallel(shape(g, h)):
        at = coord((nest.index(g) * 2 + nest.index(h)) * 4, 0)
        e = exp(X[at, shape(r, c)])
        Y.at(at, shape(r, c)).store(e / reduce(e, c, add))


device = tw.create_device("simd")
kernel = softmax.capture(tensor_shape(64, 64), tensor_shape(64, 64))
"""

SCOPED = KERNEL.replace("parallel(shape(g, h))", 'parallel(shape(g, h), scope="cluster")')

CASES = {
    "TW422": SCOPED + "tile.compile(device, kernel)\n",
    "TW426": "from tilewright import tile\n\ntile.XirOptions(fold_partials=0)\n",
    "TW427": KERNEL + 'tile.compile(device, kernel, xir=XirOptions(root_axis_order=("g", "row")))\n',
    "TW428": KERNEL + "tile.compile(device, kernel, xir=XirOptions(max_candidates=10))\n",
    "TW429": KERNEL + "tile.compile(device, kernel, xir=XirOptions(max_scratch_bytes=64))\n",
    "TW430": KERNEL + "tile.compile(device, kernel, xir=XirOptions(max_operations=20))\n",
}


@pytest.mark.parametrize("code", CASES)
def test_the_text_of(code: str, tmp_path: Path) -> None:
    check_case(code, CASES[code], tmp_path)


LOWERING = (
    KERNEL
    + """\
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.core.machine import GENERIC_AVX2

decided = plan(kernel, GENERIC_AVX2, threads=1)
"""
)


def test_an_operation_without_a_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RULES, DivOp)
    check_case("TW423", LOWERING + "lower(kernel, decided)\n", tmp_path)


def test_a_plan_of_another_kernel(tmp_path: Path) -> None:
    other = "other = softmax.capture(tensor_shape(60, 64), tensor_shape(64, 64))\nlower(other, decided)\n"
    check_case("TW947", LOWERING + other, tmp_path)


ROOTLESS = """\
from tilewright.bridge.xir.plan import plan
from tilewright.core.machine import GENERIC_AVX2
from tilewright.ir.kernel import Kernel
from tilewright.ir.text import parse_module

plan(Kernel(parse_module('''
builtin.module {
  tile.kernel "k" ["C"] attributes {labels = {}} {
  ^bb0(%0: !tile.view<[0:4, 1:4] of f16, [4, 1], mutable>):
    tile.yield
  }
}
'''), "k"), GENERIC_AVX2, threads=1)
"""


def test_a_kernel_without_a_root(tmp_path: Path) -> None:
    check_case("TW420", ROOTLESS, tmp_path)

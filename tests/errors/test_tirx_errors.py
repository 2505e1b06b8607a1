"""Causes of the lowering TIRX: what is missing or in the way, options, and what TVM rejects."""

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.errors.harness import check_case
from tests.errors.test_compile_errors import SETUP
from tilewright import tile
from tilewright.backends.simd import tirx
from tilewright.bridge.tirx import door, nodes

COMPILE = "tile.compile(device, kernel, lowering=tile.Lowering.TIRX)"
EXP = """\
@tile.kernel
def exponential(x: ConstView1[f32], y: View1[f32]):
    i = axis("i", x.shape[0])
    for nest in parallel(shape(i)):
        y[nest.index()].store(tile.exp(x[nest.index()].load()))


kernel = exponential.capture(tile.tensor_shape(8), tile.tensor_shape(8))
"""
PRODUCT = """\
@tile.kernel
def product(a: ConstView2[f32], b: ConstView2[f32], c: View2[f32]):
    m, n, k = axis("m", 8), axis("n", 8), axis("k", 8)
    for _ in parallel(shape(1)):
        left, right = a[coord(0, 0), shape(m, k)], b[coord(0, 0), shape(k, n)]
        c.at(coord(0, 0), shape(m, n)).store(mma(left, right, zeros(f32, shape(m, n))))


kernel = product.capture(*[tile.tensor_shape(8, 8)] * 3)
"""
CBLAS = "options = tile.TirxOptions(noalias=True, cpu_matrix_backend=tile.CpuMatrixBackend.CBLAS)\n"
ACCELERATE = "options = tile.TirxOptions(cpu_math_backend=tile.CpuMathBackend.ACCELERATE)\n"
COMPILE_WITH = "tile.compile(device, kernel, lowering=tile.Lowering.TIRX, tirx=options)"

Change = Callable[[pytest.MonkeyPatch], None]


def without_extra(patch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    patch.setattr(door, "version", missing)


def another_version(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(door, "version", {**dict(door.PINNED), "apache-tvm-ffi": "0.1.15.post1"}.__getitem__)


def with_rival(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(sys.modules, "tvm_tirx", ModuleType("tvm_tirx"))


def without_functions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(door, "_process", object)


def with_a_fault(patch: pytest.MonkeyPatch) -> None:
    def broken(own: Any, buffer: object, value: object, _indices: object) -> object:
        return own.door.tirx.BufferStore(buffer, value, [own.var("nowhere", "int64")])

    patch.setattr(nodes.Nodes, "store", broken)


def without_cblas(patch: pytest.MonkeyPatch) -> None:
    """Neither the extra nor anybody else brings it."""

    def absent(*_: object) -> bool:
        return False

    patch.setattr(tirx, "register_functions", absent)
    patch.setattr(door.Door, "has_function", absent)


def nothing(_patch: pytest.MonkeyPatch) -> None:
    """Nothing has to be in the way."""


NAMES = ("ConstView1", "ConstView2", "View1", "View2", "axis", "coord", "f32", "mma", "parallel", "shape", "zeros")
CASES: dict[str, tuple[Change, str]] = {
    "TW403": (without_extra, COMPILE),
    "TW470": (another_version, COMPILE),
    "TW471": (with_rival, COMPILE),
    "TW472": (without_functions, EXP + COMPILE),
    "TW473": (nothing, "tile.TirxOptions(metal_mpp=True)"),
    "TW474": (without_cblas, PRODUCT + CBLAS + COMPILE_WITH),
    "TW475": (nothing, EXP + CBLAS + COMPILE_WITH),
    "TW476": (nothing, EXP + ACCELERATE + COMPILE_WITH),
    "TW520": (with_a_fault, COMPILE),
}


@pytest.mark.parametrize("code", CASES)
def test_the_text_of(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {name: getattr(tile, name) for name in NAMES}
    change, source = CASES[code]
    change(monkeypatch)
    check_case(code, SETUP + source + "\n", tmp_path, np=np, tw=tw, tile=tile, **names)

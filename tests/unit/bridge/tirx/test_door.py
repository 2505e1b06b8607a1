"""The door to TVM: what it refuses, what it leaves alone, and what it warns of."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from types import ModuleType

import pytest

from tilewright.bridge.tirx import door as doors
from tilewright.core.errors import CapabilityError


def refusal() -> str:
    with pytest.raises(CapabilityError) as caught:
        doors.require_installed()
    return caught.value.diagnostic.code.id


def test_a_missing_package_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doors, "version", missing)
    with pytest.raises(CapabilityError, match=r"pip install 'tilewright\[tirx\]'") as caught:
        doors.require_installed()
    assert caught.value.diagnostic.code.id == "TW403"


@pytest.mark.parametrize("package", [name for name, _ in doors.PINNED])
def test_another_version_of_either_package_is_refused(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    found = {**dict(doors.PINNED), package: "0.28.0"}
    monkeypatch.setattr(doors, "version", found.__getitem__)
    assert refusal() == "TW470"


def test_the_rival_package_is_refused_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tvm_tirx", ModuleType("tvm_tirx"))
    assert refusal() == "TW471"


def test_the_pins_are_those_of_the_extra() -> None:
    from importlib.metadata import version

    assert [(name, version(name)) for name, _ in doors.PINNED] == list(doors.PINNED)


def test_opening_twice_gives_the_same_door_and_keeps_the_exception_hook() -> None:
    hook = sys.excepthook
    assert doors.open_door() is doors.open_door()
    assert sys.excepthook is hook


def test_another_llvm_is_warned_of() -> None:
    door = doors.open_door()
    with pytest.warns(doors.LLVMMismatchWarning, match="LLVM 3"):
        doors.warn_of_llvm(door, 3)
    doors.warn_of_llvm(door, door.llvm_major)  # warnings are errors here


def test_a_symbol_that_the_process_lacks_is_named() -> None:
    doors.require_symbols(frozenset({"expf", "tanh"}), needed_by="k")
    with pytest.raises(CapabilityError, match="no_such_function") as caught:
        doors.require_symbols(frozenset({"expf", "no_such_function"}), needed_by="k")
    assert caught.value.diagnostic.code.id == "TW472"


PROGRAM = """
import os, sys
{order}
from tilewright.bridge.tirx.door import open_door
hook = sys.excepthook
open_door()
import llvmlite.binding, numpy as np
from tilewright import tile
from tilewright.tile import ConstView1, View1, axis, f32, parallel, shape, tensor_shape
from pathlib import Path
from examples.gallery.elementwise import add
x = np.arange(64, dtype="f4").reshape(8, 8)
for lowering in (tile.Lowering.TIRX, tile.Lowering.NATIVE, tile.Lowering.TIRX):
    y = np.zeros_like(x)
    add.with_options(lowering=lowering)(x, x, y)
    assert (y == x + x).all()
assert sys.excepthook is hook
print(os.environ["TVM_BIND_THREADS"], os.environ["TVM_NUM_THREADS"])
"""


@pytest.mark.parametrize("order", ["import llvmlite.binding", "import tvm.tirx"])
def test_both_compilers_live_in_one_process_in_either_order(order: str) -> None:
    environment = {"PATH": "", "PYTHONPATH": ":".join(filter(None, sys.path)), "TVM_NUM_THREADS": "3"}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(order=order)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert ran.stdout.split() == ["0", "3"], ran.stderr

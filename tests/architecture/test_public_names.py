"""What a user can import is what we list, and importing it is cheap."""

import ast
import importlib
import subprocess
import sys
from types import ModuleType

import pytest

from tests.architecture.house import PACKAGE, tree

FACES = ("tilewright", "tilewright.tile")
LATE = {"llvmlite", "tvm", "tvm_ffi"}
IMPORT_SECONDS = 0.5


def face(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize("name", FACES)
def test_the_list_of_names_is_sorted_and_true(name: str) -> None:
    names = list(face(name).__all__)
    assert names == sorted(set(names))
    assert [missing for missing in names if not hasattr(face(name), missing)] == []


@pytest.mark.parametrize("name", FACES)
def test_nothing_else_is_public(name: str) -> None:
    """Subpackages are bound by the import system, so they are not counted."""
    inner = {path.stem for path in PACKAGE.iterdir()}
    public = {key for key in vars(face(name)) if not key.startswith("_")} - (inner if name == "tilewright" else set())
    assert public - set(face(name).__all__) == set()


@pytest.mark.parametrize("name", FACES)
def test_a_face_has_no_code_of_its_own(name: str) -> None:
    """The one choice is between the names as type checkers see them and as they are imported late."""
    source = tree(PACKAGE / ("__init__.py" if name == "tilewright" else "tile.py"))
    choices = [node for node in source.body if isinstance(node, ast.If)]
    assert [ast.unparse(choice.test) for choice in choices] in ([], ["_typing.TYPE_CHECKING"])
    nodes = [*source.body, *(inner for choice in choices for inner in [*choice.body, *choice.orelse])]
    assert {type(node).__name__ for node in nodes} <= {"Expr", "Import", "ImportFrom", "Assign", "If"}


def test_names_that_come_late_come_once() -> None:
    checks = "vars(t)[name] is getattr(t, name)"
    run("-c", f"import tilewright as t; assert all(getattr(t, name) and {checks} for name in t.__all__)")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = face("tilewright").nothing


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True)


def test_import_loads_no_compiler_library() -> None:
    loaded = run("-c", "import sys, tilewright, tilewright.tile; print(*sys.modules)").stdout.split()
    assert {name.split(".")[0] for name in loaded} & LATE == set()


def test_the_package_alone_loads_nothing_of_others() -> None:
    loaded = run("-c", "import sys, tilewright; print(*sys.modules)").stdout.split()
    assert {name.split(".")[0] for name in loaded} & {"numpy", "ml_dtypes", "xdsl", *LATE} == set()


def test_the_language_loads_no_planner() -> None:
    loaded = run("-c", "import sys, tilewright.tile; print(*sys.modules)").stdout.split()
    assert {"tilewright.bridge.xir.plan", "tilewright.xir.ops", "tilewright.interp"} & {*loaded} == set()


def test_import_is_quick() -> None:
    """The best of five: the machine may be busy, the import may not be slow."""
    assert min(_import_seconds() for _ in range(5)) < IMPORT_SECONDS


def _import_seconds() -> float:
    rows = [line.split("|") for line in run("-X", "importtime", "-c", "import tilewright").stderr.splitlines()]
    cumulative = {row[2].strip(): row[1].strip() for row in rows if len(row) == 3}
    return int(cumulative["tilewright"]) / 1e6

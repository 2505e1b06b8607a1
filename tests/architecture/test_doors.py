"""Some things have one place. ruff bans them everywhere and lets whole files off; here each file keeps to its own."""

import ast
import re
import tomllib
from typing import Any

import pytest

from tests.architecture.house import PACKAGE, ROOT, python_files, shown, tree

# What may be named where, below src/tilewright. An empty tuple is: nowhere.
PLACES: dict[str, tuple[str, ...]] = {
    "os.environ": ("core/config.py",),
    "os.getenv": (),
    "os.putenv": (),
    "llvmlite": ("backends/llvm/",),
    "llvmlite.ir": (),
    "tvm": ("bridge/tirx/door.py",),
    "tvm_ffi": ("bridge/tirx/door.py",),
    "xdsl.pattern_rewriter": ("ir/rewrite.py", "xir/rewrite.py"),
    "xdsl.rewriter": ("ir/rewrite.py", "xir/rewrite.py"),
}


def names_in(source: ast.Module) -> set[str]:
    """Every dotted name that a module imports or reads, each with all its prefixes; relative imports are ours."""
    found: set[str] = set()
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
    return {".".join(name.split(".")[: end + 1]) for name in found for end in range(name.count(".") + 1)}


def misplaced(place: str, source: ast.Module) -> set[str]:
    """The banned names that a file at `place`, relative to the package, has no right to."""
    return {name for name in names_in(source) & set(PLACES) if not place.startswith(PLACES[name] or ("<nowhere>",))}


NONE: set[str] = set()


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]


def test_every_file_keeps_to_its_own_doors() -> None:
    found = {shown(path): misplaced(path.relative_to(PACKAGE).as_posix(), tree(path)) for path in python_files("src")}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("place", "line", "banned"),
    [
        ("lang/capture.py", "import os; os.environ['X']", {"os.environ"}),
        ("lang/capture.py", "from os import getenv", {"os.getenv"}),
        ("runtime/device.py", "import llvmlite.binding as llvm", {"llvmlite"}),
        ("backends/llvm/jit.py", "from llvmlite import ir", {"llvmlite.ir"}),
        ("backends/llvm/jit.py", "import os; os.environ.get('X')", {"os.environ"}),
        ("bridge/xir/plan.py", "from tvm import tirx", {"tvm"}),
        ("bridge/tirx/nodes.py", "import tvm", {"tvm"}),
        ("bridge/tirx/door.py", "import tvm", NONE),
        ("passes/fold.py", "from xdsl.pattern_rewriter import PatternRewriter", {"xdsl.pattern_rewriter"}),
        ("core/config.py", "import os; os.environ['X']", NONE),
        ("backends/llvm/jit.py", "import llvmlite.binding as llvm", NONE),
        ("ir/rewrite.py", "from xdsl.pattern_rewriter import PatternRewriter", NONE),
    ],
)
def test_a_planted_name_is_found(place: str, line: str, banned: set[str]) -> None:
    assert misplaced(place, ast.parse(line)) == banned


def test_ruff_bans_the_same_names() -> None:
    assert set(settings()["flake8-tidy-imports"]["banned-api"]) == set(PLACES)


def test_ruff_lets_off_these_places_only() -> None:
    places = {place + ("**" if place.endswith("/") else "") for allowed in PLACES.values() for place in allowed}
    let_off = {path for path, rules in settings()["per-file-ignores"].items() if "TID251" in rules}
    assert let_off == {"tests/**"} | {f"src/tilewright/{place}" for place in places}


def test_every_ruff_exception_has_its_reason_beside_it() -> None:
    lines = [line for line in (ROOT / "pyproject.toml").read_text().splitlines() if line.startswith(('"', '  "'))]
    files = set(settings()["per-file-ignores"]) - {"tests/**"}  # which is a table whose rows have their reasons
    ignored = {*settings()["ignore"], *settings()["per-file-ignores"]["tests/**"], *files}
    assert {rule for rule in ignored if not any(f'"{rule}"' in line and "#" in line for line in lines)} == set()


def test_no_file_switches_a_rule_off_for_all_of_itself() -> None:
    off = re.compile(r"^# *(ruff: *noqa|pyright: *(basic|standard|report))", re.MULTILINE)
    assert [shown(path) for path in python_files() if off.search(path.read_text())] == []

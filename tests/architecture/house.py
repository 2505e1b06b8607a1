"""Where things are, and how the tests of the house read source files."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tilewright"
FOLDERS = ("src", "tests", "examples", "benchmarks", ".ci", "docs")


def python_files(*folders: str) -> list[Path]:
    """Every Python file under the given folders of the checkout, `FOLDERS` by default."""
    return sorted(path for folder in folders or FOLDERS for path in (ROOT / folder).rglob("*.py"))


def shown(path: Path) -> str:
    """A path as messages print it."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the `def` to the end, decorators not counted."""
    return (node.end_lineno or node.lineno) - node.lineno + 1

"""Every row of the table of numbers names tests, and each of them is there."""

import ast
import re

from tests.architecture.house import ROOT, tree

PAGE = (ROOT / "docs" / "reference" / "numerics.md").read_text(encoding="utf-8")
ROWS = [row for row in PAGE.splitlines() if row.startswith("|") and not row.startswith(("|---", "| what |"))]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_row_is_held_by_tests() -> None:
    assert len(ROWS) > 25
    assert [row for row in ROWS if not NAMED.search(row.rsplit("|", 2)[1])] == []


def test_every_test_that_is_named_is_there() -> None:
    missing = [f"{path}::{name}" for path, name in NAMED.findall(PAGE) if name not in functions_of(path)]
    assert missing == []


def functions_of(path: str) -> set[str]:
    file = ROOT / path
    return {node.name for node in tree(file).body if isinstance(node, ast.FunctionDef)} if file.is_file() else set()

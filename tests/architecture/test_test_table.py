"""The table of laws names tests that exist, and nothing but tests."""

import re

from tests.architecture.house import ROOT, functions

TABLE = ROOT / "docs" / "explain" / "the-tests.md"


def named() -> list[tuple[str, str]]:
    return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TABLE.read_text())


def test_every_test_of_the_table_exists() -> None:
    missing = [
        f"{file}::{test}"
        for file, test in named()
        if not (ROOT / file).exists() or test not in {node.name for node in functions(ROOT / file)}
    ]
    assert missing == []


def test_every_row_names_a_test() -> None:
    rows = [line for line in TABLE.read_text().splitlines() if line.startswith("|") and not set(line) <= set("|- ")]
    laws = [row for row in rows if row != "| law | test |"]
    assert len(laws) > 80
    assert [row for row in laws if "`tests/" not in row] == []

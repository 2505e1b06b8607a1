"""The pages about TileIR name every operation and every rule as they are."""

import inspect
from pathlib import Path

import pytest

from tilewright.ir.dialect import TILE_OPS
from tilewright.ir.verify import RULES, Rule

DOCS = Path(__file__).parents[3] / "docs"
VERIFIER = (DOCS / "explain" / "the-verifier.md").read_text(encoding="utf-8")
TILEIR = (DOCS / "reference" / "tileir.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_every_rule_has_its_row(rule: Rule):
    assert f"| {rule.id} | {rule.code.id} | {rule.what} |" in VERIFIER


@pytest.mark.parametrize("op", TILE_OPS, ids=[op.name for op in TILE_OPS])
def test_every_operation_has_its_row(op: type):
    meaning = " ".join((inspect.getdoc(op) or "").split()).replace("|x|", "\\|x\\|")
    rows = [line for line in TILEIR.splitlines() if line.startswith(f"| `{getattr(op, 'name', '')}` |")]
    assert len(rows) == 1
    assert rows[0].endswith(f"| {meaning} |")


def test_the_pages_name_nothing_that_is_gone():
    assert VERIFIER.count("\n| V-") == len(RULES)
    assert TILEIR.count("\n| `tile.") == len(TILE_OPS)

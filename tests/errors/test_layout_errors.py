"""Golden texts of layouts: set-valued ones, hardware axes, and functions of coordinates."""

from pathlib import Path

import pytest

from tests.errors.harness import check_case

RELATION = """
from tests.unit.ir.making import space
from tilewright.ir.layout import Iter, ShardLayout, relation_of_shards
from tilewright.ir.types import DimAttr

shards = ShardLayout((Iter(8, 4, "lane"), Iter(4, 1, "lane")))
relation_of_shards(shards, space((0, 8), (1, {columns})), space((2, 32)), [(DimAttr.of(2), "{axis}")])
"""


@pytest.mark.parametrize(("code", "columns", "axis"), [("TW282", 5, "lane"), ("TW283", 4, "warp")])
def test_shards(code: str, columns: int, axis: str, tmp_path: Path) -> None:
    check_case(code, RELATION.format(columns=columns, axis=axis), tmp_path)

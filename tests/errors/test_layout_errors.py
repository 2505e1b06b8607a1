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


def test_a_function_that_is_no_layout(tmp_path: Path) -> None:
    source = """
from tilewright import tile
from tilewright.tile import View1, axis, f32, layout, memory, parallel, shape, tensor_shape


@tile.kernel
def scratch(Y: View1[f32]):
    m, k = axis("m", 4), axis("k", 8)
    for _ in parallel(shape(1)):
        memory(f32, layout(shape(m, k), lambda i, j: i * 8.0 + j))


scratch.capture(tensor_shape(4))
"""
    check_case("TW285", source, tmp_path)

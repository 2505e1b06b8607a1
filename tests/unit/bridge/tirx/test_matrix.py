"""Every operation of TileIR is exported or refused by code; the table that says so is printed in the documentation."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest
from xdsl.ir import Operation

from tests.architecture.house import ROOT
from tests.unit.bridge.tirx.test_export import product
from tilewright.bridge.tirx import lower
from tilewright.bridge.tirx.admission import admit
from tilewright.bridge.tirx.export import context, table
from tilewright.bridge.tirx.export.elementwise import RULES as ELEMENTWISE
from tilewright.core.errors import UnsupportedError
from tilewright.interp.meaning import MEANINGS
from tilewright.ir.dialect import ELEMENTWISE_OPS, TILE_OPS
from tilewright.ir.ops.convert import BitcastOp, CastOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.tile import tensor_shape

PAGE = ROOT / "docs" / "reference" / "routes.md"

# What an exported operation is refused for, by code; everything else about it is exported.
REFUSED_FOR: Mapping[str, str] = MappingProxyType(
    {
        "tile.parallel": "a scope other than `worker` ([TW422](errors/TW422.md))",
        "tile.memory_alloc": "a resource other than `private` ([TW424](errors/TW424.md)), a layout without proof "
        "([TW432](errors/TW432.md))",
        "tile.update": "an explicit worker scope around it ([TW422](errors/TW422.md)); its root runs in order",
    }
)


def place(op: type[Operation]) -> str:
    if op in table.STRUCTURE:
        return "by what it stands in"
    return "exported" if op in table.RULES else "refused ([TW423](errors/TW423.md))"


def matrix() -> str:
    rows = [
        f"| `{op.name}` | {'yes' if op in MEANINGS else 'by what it stands in'} | {place(op)} "
        f"| {REFUSED_FOR.get(op.name, '')} |"
        for op in TILE_OPS
    ]
    return "\n".join(["| operation | interpreter | TIRx | refused for |", "|---|---|---|---|", *rows])


def test_the_page_shows_the_table() -> None:
    assert matrix() in PAGE.read_text(), matrix()


@pytest.mark.parametrize("op", TILE_OPS, ids=lambda op: op.name)
def test_the_route_knows_what_becomes_of_it(op: type[Operation]) -> None:
    """Whatever has a meaning has a rule too; what has neither is part of something that has."""
    assert (op in table.RULES) == (op in MEANINGS and op not in table.STRUCTURE)


def test_every_elementwise_operation_has_a_scalar_rule() -> None:
    assert set(ELEMENTWISE_OPS) - set(ELEMENTWISE) == {CastOp, BitcastOp}


def test_an_operation_without_a_rule_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = product.capture(tensor_shape(3, 8), tensor_shape(8, 5), tensor_shape(3, 5))
    rules = {op: rule for op, rule in table.RULES.items() if op is not MmaOp}
    monkeypatch.setattr("tilewright.bridge.tirx.admission.RULES", rules)
    for refuse in (admit, lower):
        with pytest.raises(UnsupportedError, match=r"tirx route has no rule for tile\.mma") as caught:
            refuse(kernel)
        assert caught.value.diagnostic.code.id == "TW423"
        assert caught.value.diagnostic.span.line


def test_the_exporter_itself_has_no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = product.capture(tensor_shape(3, 8), tensor_shape(8, 5), tensor_shape(3, 5))
    rules = {op: rule for op, rule in table.RULES.items() if op is not MmaOp}
    monkeypatch.setattr("tilewright.bridge.tirx.export.kernel.RULES", rules)
    with pytest.raises(UnsupportedError, match=context.ROUTE):
        lower(kernel)

"""What an elementwise operation consists of. docs/first-change.md follows this list; a missing part fails by name."""

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from xdsl.irdl import irdl_op_definition

from tests.architecture.house import ROOT
from tests.differential.elementwise import DTYPES, SPELLINGS, captured, takes
from tilewright.bridge.xir.lower.elementwise import RULES
from tilewright.interp.meaning import MEANINGS
from tilewright.ir.dialect import ELEMENTWISE_OPS
from tilewright.ir.ops.convert import BitcastOp, CastOp, SelectOp
from tilewright.ir.ops.elementwise import BinaryOp, ElementwiseOp, UnaryOp
from tilewright.numerics.elementwise import OPERANDS, OPS

Op = type[ElementwiseOp]

# Operations that a route does not take, with the reason. Everything else needs a rule.
XIR_GAPS: Mapping[str, str] = MappingProxyType({})
CONVERSIONS = (CastOp, BitcastOp)  # two types at once: numerics/cast.py, bridge/xir/lower/convert.py, test_casts.py


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def opcode(op: Op) -> str:
    return op.name.removeprefix("tile.")


def is_named(op: Op, path: str) -> bool:
    """Whether a file has the opcode as a word."""
    return re.search(rf"\b{opcode(op)}\b", text(path)) is not None


def has_meaning(op: Op) -> bool:
    if op in CONVERSIONS:
        return is_named(op, "src/tilewright/numerics/cast.py")
    return opcode(op) in OPS and opcode(op) in OPERANDS


def has_numerics_test(op: Op) -> bool:
    folder = "tests/unit/numerics"
    return is_named(op, f"{folder}/test_cast.py" if op in CONVERSIONS else f"{folder}/test_elementwise.py")


def has_rule(op: Op) -> bool:
    return op in RULES or op in CONVERSIONS or bool(XIR_GAPS.get(opcode(op)))


def is_written_in_the_language(op: Op) -> bool:
    """Capturing its spelling gives the operation."""
    if opcode(op) not in SPELLINGS or op not in ELEMENTWISE_OPS:
        return False
    dtype = DTYPES[0] if op in CONVERSIONS else next(dtype for dtype in DTYPES if takes(opcode(op), dtype))
    return any(isinstance(found, op) for found in captured(opcode(op), dtype).module.walk())


def has_strategy(op: Op) -> bool:
    """Random modules draw from all operations of the two bases, and name the others."""
    return issubclass(op, UnaryOp | BinaryOp) or op.__name__ in text("tests/property/strategies_ir.py")


def has_row(op: Op) -> bool:
    meaning = " ".join((inspect.getdoc(op) or "").split()).replace("|", "\\|")
    rows = [row for row in text("docs/reference/tileir.md").splitlines() if row.startswith(f"| `{op.name}` |")]
    return len(rows) == 1 and bool(meaning) and rows[0].endswith(f"| {meaning} |")


PARTS: Mapping[str, Callable[[Op], bool]] = MappingProxyType(
    {
        "a meaning in src/tilewright/numerics/elementwise.py": has_meaning,
        "its laws in tests/unit/numerics/test_elementwise.py": has_numerics_test,
        "a place in the dialect: src/tilewright/ir/ops/elementwise.py": lambda op: op in ELEMENTWISE_OPS,
        "a meaning in the interpreter: src/tilewright/interp/meaning.py": lambda op: op in MEANINGS,
        "a function or operator of the language, in tests/differential/elementwise.py": is_written_in_the_language,
        "a rule in src/tilewright/bridge/xir/lower/elementwise.py, or a gap written down here": has_rule,
        "a line in tests/golden/ir/elementwise.tile (make golden-accept)": lambda op: (
            f"= {op.name} " in text("tests/golden/ir/elementwise.tile")
        ),
        "a strategy in tests/property/strategies_ir.py": has_strategy,
        "a row in docs/reference/tileir.md with its docstring": has_row,
    }
)


def missing_parts(op: Op) -> list[str]:
    return [part for part, has in PARTS.items() if not has(op)]


@pytest.mark.parametrize("op", ELEMENTWISE_OPS, ids=lambda op: op.name)
def test_the_operation_is_complete(op: Op) -> None:
    assert missing_parts(op) == []


def test_an_operation_without_anything_lacks_every_part() -> None:
    @irdl_op_definition
    class FrobOp(ElementwiseOp):
        name = "tile.frob"

    found: Any = FrobOp
    assert missing_parts(found) == list(PARTS)


def test_a_gap_is_an_operation_with_a_reason() -> None:
    names = {opcode(op) for op in ELEMENTWISE_OPS if op not in RULES}
    assert set(XIR_GAPS) <= names
    assert all(len(reason.split()) > 3 for reason in XIR_GAPS.values())


def test_choosing_has_two_arms() -> None:
    """`select` is on no base, so each list that goes by bases has to name it."""
    assert not issubclass(SelectOp, UnaryOp | BinaryOp)
    assert missing_parts(SelectOp) == []


def test_the_page_names_every_file_of_the_list() -> None:
    page = text("docs/first-change.md")
    files = {word.strip(",:()") for part in PARTS for word in part.split() if "/" in word}
    assert {name for name in files if name not in page} == set()
    assert [name for name in files if not Path(ROOT / name).is_file()] == []

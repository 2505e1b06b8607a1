import re
from types import ModuleType

import pytest

from tilewright.core.codes import ALL, FAMILIES, collect
from tilewright.core.diagnostics import Code


def module(**constants: Code) -> ModuleType:
    made = ModuleType("made")
    vars(made).update(constants)
    return made


@pytest.mark.parametrize(
    "clash",
    [{1: module(A=Code(101, "", "", ""), B=Code(101, "x", "", ""))}, {1: module(A=Code(201, "", "", ""))}],
)
def test_a_number_is_declared_once_in_its_family(clash: dict[int, ModuleType]) -> None:
    with pytest.raises(ValueError, match="is taken"):
        collect(clash)


def test_every_constant_is_found_by_its_printed_form() -> None:
    declared = {c.id: c for m in FAMILIES.values() for c in vars(m).values() if isinstance(c, Code)}
    assert dict(ALL) == declared
    assert all(re.fullmatch(r"TW[1-69]\d\d", code) for code in ALL)


@pytest.mark.parametrize("code", ALL.values(), ids=ALL)
def test_every_cause_says_what_why_and_what_to_do(code: Code) -> None:
    for text in (code.message, code.why, code.help):
        assert text.strip() == text != ""
        assert not text.endswith(".")

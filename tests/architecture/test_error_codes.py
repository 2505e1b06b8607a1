"""A code, its rendered golden and its page come together or not at all."""

import pytest

from tests.architecture.house import ROOT
from tilewright.core.codes import ALL
from tilewright.core.diagnostics import Code
from tilewright.tools.error_pages import pages

GOLDENS = ROOT / "tests" / "errors" / "golden"
PAGES = ROOT / "docs" / "reference" / "errors"


def test_every_code_has_its_golden_and_its_page() -> None:
    assert set(ALL) == {path.stem for path in GOLDENS.glob("*.txt")}
    assert set(ALL) == {path.stem for path in PAGES.glob("*.md")} - {"index"}


def test_the_pages_are_up_to_date() -> None:
    """`make docs` writes them."""
    assert dict(pages(GOLDENS)) == {path.name: path.read_text() for path in PAGES.glob("*.md")}


@pytest.mark.parametrize("code", ALL.values(), ids=lambda code: code.id)
def test_a_code_says_what_why_and_what_to_do(code: Code) -> None:
    assert all(text.strip() for text in (code.message, code.why, code.help))
    assert not code.message.endswith(".")

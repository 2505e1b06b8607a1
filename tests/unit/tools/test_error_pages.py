from pathlib import Path

import pytest

from tilewright.core.codes import ALL
from tilewright.tools.error_pages import pages, prose, write


@pytest.fixture
def goldens(tmp_path: Path) -> Path:
    for name in ALL:
        (tmp_path / f"{name}.txt").write_text(f"error[{name}]: as *rendered*\n")
    return tmp_path


def test_a_page_shows_the_rendered_example(goldens: Path) -> None:
    assert "```text\nerror[TW203]: as *rendered*\n```" in pages(goldens)["TW203.md"]


def test_signs_of_markdown_are_escaped_outside_of_code() -> None:
    assert prose("{axis} of `x[{i}]` *is*\n _odd_") == r"\{axis\} of `x[{i}]` \*is\* \_odd\_"


def test_the_index_leads_to_every_code(goldens: Path) -> None:
    assert [name for name in ALL if f"({name}.md)" not in pages(goldens)["index.md"]] == []


def test_a_code_without_example_gets_no_page(goldens: Path) -> None:
    (goldens / "TW203.txt").unlink()
    with pytest.raises(FileNotFoundError, match="TW203"):
        pages(goldens)


def test_writing_removes_the_page_of_a_code_that_is_gone(goldens: Path, tmp_path: Path) -> None:
    out = tmp_path / "pages"
    write(goldens, out)
    (out / "TW299.md").write_text("# TW299\n")
    write(goldens, out)
    assert {path.name: path.read_text() for path in out.iterdir()} == pages(goldens)

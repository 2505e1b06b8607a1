"""The page of the library is the one that its docstrings give, and no public function is missing."""

import inspect
from pathlib import Path

from tilewright import tile
from tilewright.lang import library
from tilewright.tools.library_page import page

ROOT = Path(__file__).parents[3]


def test_the_page_is_up_to_date() -> None:
    again = "python -m tilewright.tools.library_page docs/reference/library.md"
    assert (ROOT / "docs" / "reference" / "library.md").read_text(encoding="utf-8") == page(), again


def test_every_public_function_of_the_library_is_on_the_page() -> None:
    functions = [getattr(tile, name) for name in tile.__all__]
    mine = [each for each in functions if inspect.isfunction(each) and each.__module__.startswith(library.__name__)]
    assert len(mine) > 40
    assert [each.__name__ for each in mine if f"\n### {each.__name__}\n" not in page()] == []

"""What the README and the docs show is true: it runs, in the order of the page, with warnings as errors."""

import ast
import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.house import shown
from tests.architecture.snippets import Snippet, pages, program, snippets

PAGE = """\
Text.

```python
x = 1
```

    not python

```python no-run
boom()
```

- an item
  ```python
  assert x == 1
  ```
"""


@pytest.mark.parametrize("page", pages(), ids=shown)
def test_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / f"{page.stem}.py"
    file.write_text(program(page.read_text()))
    runpy.run_path(str(file), run_name="__page__")


@pytest.mark.parametrize("page", pages(), ids=shown)
def test_what_does_not_run_is_python_all_the_same(page: Path) -> None:
    for snippet in snippets(page.read_text()):
        ast.parse(snippet.text)


def test_the_pages_are_clean_under_strict_types(tmp_path: Path) -> None:
    """What a user copies from here passes the strictest check of their editor.

    One rule is off, since pyright knows no `<<` that is a statement: `stream << command`.
    """
    settings = {"typeCheckingMode": "strict", "reportUnusedExpression": False}
    for page in pages():
        name = shown(page).removesuffix(".md").replace("/", "_")
        (tmp_path / f"{name}.py").write_text(program(page.read_text()))
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--project", str(tmp_path)]
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout


def test_fences_are_cut_out_with_their_lines_and_marks() -> None:
    assert snippets(PAGE) == [
        Snippet(4, "x = 1\n", ""),
        Snippet(10, "boom()\n", "no-run"),
        Snippet(15, "assert x == 1\n", ""),
    ]


def test_the_program_keeps_the_lines_of_the_page() -> None:
    assert program(PAGE).splitlines() == ["", "", "", "x = 1", *[""] * 10, "assert x == 1"]


def test_an_unknown_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="no-rum"):
        snippets("```python no-rum\nx\n```\n")

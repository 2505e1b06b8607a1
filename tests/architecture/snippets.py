"""The Python of README.md and docs/, cut out so that it can be run as it stands.

A fence that opens with ```python is run, all fences of a page in one namespace and in order. The word `no-run` behind
it is for code that cannot run here; it is still parsed. Lines keep their numbers: an error names the line of the page.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.house import ROOT

FENCE = re.compile(
    r"^(?P<margin> *)```python(?P<marks>[^\n]*)\n(?P<body>.*?)^(?P=margin)``` *$", re.MULTILINE | re.DOTALL
)
MARKS = ("", "no-run")


@dataclass(frozen=True, slots=True)
class Snippet:
    """One fence: the line of its first statement (1-based), its text without the margin, its mark."""

    line: int
    text: str
    mark: str


def pages() -> list[Path]:
    """README.md and every page of docs/ that has Python in it."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if FENCE.search(page.read_text())]


def snippets(text: str) -> list[Snippet]:
    """Raises ValueError for a mark that nobody knows, so that a typing mistake cannot switch a page off."""
    found: list[Snippet] = []
    for match in FENCE.finditer(text):
        mark = match["marks"].strip()
        if mark not in MARKS:
            raise ValueError(f"unknown mark {mark!r}; known: {MARKS}")
        body = "".join(line.removeprefix(match["margin"]) for line in match["body"].splitlines(keepends=True))
        found.append(Snippet(text.count("\n", 0, match.start("body")) + 1, body, mark))
    return found


def program(text: str) -> str:
    """One Python file of all fences that run, each on the lines where the page has it."""
    lines: list[str] = []
    for snippet in snippets(text):
        if snippet.mark:
            continue
        lines += [""] * (snippet.line - 1 - len(lines))
        lines += snippet.text.splitlines()
    return "\n".join(lines) + "\n"

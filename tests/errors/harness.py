"""Golden texts of diagnostics: one file `golden/TWnnn.txt` for each code.

Prefer `check_case`: it runs a small program from a file of its own, so the golden shows true lines and columns and
does not change when the test file does. `check_golden` compares any rendered text.
"""

import re
from contextvars import ContextVar
from pathlib import Path

import pytest

from tilewright.core.errors import TilewrightError

GOLDEN = Path(__file__).parent / "golden"

accepting: ContextVar[bool] = ContextVar("accepting", default=False)  # set by conftest from --golden-accept

_FOLDER = re.compile(r"(?<![\w./])/(?:[\w.+-]+/)+(?=[\w.+-])|(?<![\w./])(?:[\w.+-]+/)+(?=[\w-]+\.py\b)")
_PLACE = re.compile(r"(?P<file>[\w-]+\.py):(?P<line>\d+)")
_TEST_CALLER = re.compile(r", called from (?:harness|conftest|test_\w+)\.py:\d+(?::\d+)?")


def check_golden(code: str, text: str) -> None:
    """Compares `text` with the golden of `code`, or writes it under `--golden-accept`."""
    golden = GOLDEN / f"{code}.txt"
    actual = normalise(text) + "\n"
    assert actual.startswith(f"error[{code}]"), f"expected {code}:\n{actual}"
    if accepting.get():
        golden.write_text(actual, encoding="utf-8")
        return
    assert golden.exists(), f"no golden for {code} yet (make golden-accept):\n{actual}"
    assert actual == golden.read_text(encoding="utf-8")


def check_case(code: str, source: str, folder: Path, **names: object) -> TilewrightError:
    """Runs `source` as `folder/case.py` with `names` as globals; it must fail with the golden of `code`."""
    error = provoke(source, folder, **names)
    check_golden(code, str(error))
    return error


def provoke(source: str, folder: Path, **names: object) -> TilewrightError:
    """The TilewrightError that running `source` as `folder/case.py` raises."""
    file = folder / "case.py"
    file.write_text(source, encoding="utf-8")
    program = compile(source, str(file), "exec", dont_inherit=True)
    with pytest.raises(TilewrightError) as caught:
        exec(program, {"__name__": "case", "__file__": str(file), **names})
    return caught.value


def normalise(text: str) -> str:
    """Paths become file names; frames of the tests leave the call chain.

    Line numbers of a test file count from the line that is blamed, so that editing the file changes no golden.
    """
    text = _TEST_CALLER.sub("", _FOLDER.sub("", text))
    blamed = re.search(r"--> (test_\w+\.py):(\d+)", text)
    return text if blamed is None else _rebased(text, blamed[1], int(blamed[2]) - 1)


def _rebased(text: str, file: str, by: int) -> str:
    def place(match: re.Match[str]) -> str:
        line = int(match["line"]) - by * (match["file"] == file)
        return f"{match['file']}:{line}"

    rows = _PLACE.sub(place, text).split("\n")
    margin = next(row.index("-->") for row in rows if "-->" in row)
    gutters = [row[:margin].strip() for row in rows]
    shown = [str(int(gutter) - by) if gutter.isdecimal() else "" for gutter in gutters]
    width = max(1, *map(len, shown))
    return "\n".join(
        row if gutter and not number else f"{number:>{width}}{row[margin:]}"
        for row, gutter, number in zip(rows, gutters, shown, strict=True)
    )

import ast
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tilewright.core import source
from tilewright.core.dtypes import by_name
from tilewright.core.errors import TileTypeError, during
from tilewright.core.source import UNKNOWN, Span, character_column, source_line, span_of, user_span, user_trace


def run(folder: Path, source: str, name: str = "user.py") -> dict[str, Any]:
    file = folder / name
    file.write_text(source, encoding="utf-8")
    names: dict[str, Any] = {"__name__": "user", "user_span": user_span}
    exec(compile(source, str(file), "exec", dont_inherit=True), names)
    return names


def position(span: Span) -> tuple[int, int, int, int]:
    return span.line, span.column, span.end_line, span.end_column


def test_a_span_is_the_running_expression(tmp_path: Path) -> None:
    span: Span = run(tmp_path, "x = 1\nspan = (x, user_span())\n")["span"][1]
    assert position(span) == (2, 12, 2, 23)
    assert (span.file, span.function) == (str(tmp_path / "user.py"), "<module>")


def test_an_expression_may_cover_lines(tmp_path: Path) -> None:
    span: Span = run(tmp_path, "f = user_span\nspan = f(\n  )\n")["span"]
    assert position(span) == (2, 8, 3, 4)


def test_the_callers_are_chained_outward(tmp_path: Path) -> None:
    source = """\
class K:
    def inner(self):
        return user_span()
def outer():
    return K().inner()
span = outer()
"""
    span: Span = run(tmp_path, source)["span"]
    chain = [(s.function, s.line) for s in (span, *span.callers())]
    assert chain[:3] == [("K.inner", 3), ("outer", 5), ("<module>", 6)]
    assert chain[3][0] == "run"


def test_the_chain_ends_at_the_machinery_and_at_five(tmp_path: Path) -> None:
    source = "def f(n):\n    return f(n - 1) if n else user_span()\nspan = f(50)\n"
    assert len(list(run(tmp_path, source)["span"].callers())) == 5
    assert [s.function for s in user_span().callers()] == []


def test_a_trace_says_later_what_a_span_says_now(tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "user", "take": lambda: (user_span(), user_trace())}
    exec(compile("def f():\n    return take()\nx = f()\ny = 1\n", str(tmp_path / "user.py"), "exec"), names)
    span, trace = names["x"]
    assert span.caller is not None
    assert (span.caller.function, span.caller.line) == ("f", 2)
    assert span_of(trace) == span.caller  # who takes a trace is no part of it
    assert span_of(()) == UNKNOWN


def test_code_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(source, "_SEEN", seen)
    monkeypatch.setattr(source, "_MOST_SEEN", 7)
    for number in range(20):
        names: dict[str, Any] = {"__name__": "user", "user_span": user_span}
        exec(compile(f"x{number} = user_span()", f"user{number}.py", "exec"), names)
        assert names[f"x{number}"].file == f"user{number}.py"
    assert len(seen) == 7


def test_frames_of_the_package_are_passed_over() -> None:
    with pytest.raises(TileTypeError) as caught, during("testing"):
        by_name("f33")
    assert caught.value.diagnostic.span.file == __file__


def test_a_rewritten_function_keeps_its_place(tmp_path: Path) -> None:
    """Captured kernels are compiled again from a changed tree, with the file and lines of the original."""
    source = "def k():\n    return [user_span()]\n"
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.List):
            node.elts.insert(0, ast.copy_location(ast.Constant(0), node))
    names: dict[str, Any] = {"user_span": user_span}
    exec(compile(ast.fix_missing_locations(tree), str(tmp_path / "k.py"), "exec"), names)
    assert position(names["k"]()[1]) == (2, 13, 2, 24)


def test_without_user_frames_nothing_is_known() -> None:
    spans: list[Span] = []
    thread = threading.Thread(target=_ours_only, args=(spans,))
    thread.start()
    thread.join()
    assert spans == [UNKNOWN]


def _ours_only(spans: list[Span]) -> None:
    names: dict[str, Any] = {"__name__": "threading", "user_span": user_span, "spans": spans}
    exec("spans.append(user_span())", names)


def test_without_column_tables_the_line_is_known(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text("from tilewright.core.source import user_span\nprint(user_span().place(), user_span().column)\n")
    command = [sys.executable, "-X", "no_debug_ranges", str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == [f"{file}:2", "0"]


def test_a_place_counts_characters(tmp_path: Path) -> None:
    span: Span = run(tmp_path, "x = '漢字', user_span()\n")["x"][1]
    assert span.column == 15
    assert span.place().endswith("user.py:1:11")


def test_a_place_is_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Span(str(tmp_path / "a" / "k.py"), 3, 4, 3, 5).place() == str(Path("a", "k.py")) + ":3:4"
    assert Span("/elsewhere/k.py", 3, 0, 3, 0).place() == "/elsewhere/k.py:3"
    assert UNKNOWN.place() == "<unknown>"


def test_text_of_a_missing_file_is_empty() -> None:
    assert source_line("/nowhere/k.py", 1) == ""


def test_character_columns() -> None:
    assert character_column("abc", 3) == 3
    assert character_column("éé", 3) == 2
    assert character_column("", 7) == 7

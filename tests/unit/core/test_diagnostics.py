from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.core.diagnostics import Code, Diagnostic, Label, render
from tilewright.core.source import UNKNOWN, Span

K_MISMATCH = Code(203, "mma contracts K={a} of `a` with K={b} of `b`", why="they are the same K", help="load {a}")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str) -> str:
    """A fresh file for each text: the line cache would keep the old one."""
    file = Path.cwd() / "gemm.py"
    file.write_text(text, encoding="utf-8")
    return str(file)


def excerpt(text: str, line: int, column: int, end_line: int, end_column: int) -> list[str]:
    d = K_MISMATCH.at(Span(write(text), line, column, end_line, end_column), a=1, b=2, why="", help="")
    return render(d).splitlines()[2:]


def test_the_whole_look() -> None:
    file = write("\n" * 12 + "        b = B[k, n]\n        acc = mma(a, b, acc)\n")
    span = Span(file, 14, 15, 14, 29, "gemm", Span("/x/bench.py", 40, 9, 40, 20))
    labels = [
        Label(span, "tile<64x32xf32> x tile<16x64xf32>"),
        Label(Span(file, 13, 13, 13, 20), "`b` was loaded here"),
    ]
    d = K_MISMATCH.at(span, a=32, b=16, labels=labels, notes=["first\nsecond"], help="use {braces} freely")
    assert render(replace(d, context=("lowering tile.mma", "compiling gemm"))) == (
        "error[TW203]: mma contracts K=32 of `a` with K=16 of `b`\n"
        "  --> gemm.py:14:15 in gemm, called from /x/bench.py:40:9\n"
        "14 |         acc = mma(a, b, acc)\n"
        "   |               ^^^^^^^^^^^^^^ tile<64x32xf32> x tile<16x64xf32>\n"
        "   = note: `b` was loaded here: gemm.py:13:13\n"
        "   = note: first\n"
        "           second\n"
        "   = why:  they are the same K\n"
        "   = help: use {braces} freely\n"
        "   = while: lowering tile.mma\n"
        "   = while: compiling gemm"
    )


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    text = "x = '漢e\u0301', y\n"
    column = len("x = '漢e\u0301', ".encode()) + 1
    assert excerpt(text, 1, column, 1, column + 1) == [f"1 | {text.rstrip()}", "  |            ^"]
    start = len(b"x = ") + 1
    assert excerpt(text, 1, start, 1, column - 2)[1] == "  |     ^^^^^"


def test_tabs_become_spaces() -> None:
    assert excerpt("\tif x:\ty\n", 1, 8, 1, 9) == ["1 |     if x:   y", "  |             ^"]


def test_a_span_over_lines_is_underlined_line_by_line() -> None:
    text = "acc = mma(\n    a,\n\n    b)\n"
    assert excerpt(text, 1, 7, 4, 7) == [
        "1 | acc = mma(",
        "  |       ^^^^",
        "2 |     a,",
        "  |     ^^",
        "3 |",
        "4 |     b)",
        "  |     ^^",
    ]


def test_a_long_span_is_cut_in_the_middle() -> None:
    rows = excerpt("f(\n" + "  x,\n" * 20 + "  y)\n", 1, 1, 22, 5)
    assert [row for row in rows if "^" not in row] == [" 1 | f(", " 2 |   x,", " 3 |   x,", "   | ...", "22 |   y)"]


def test_an_empty_span_still_points() -> None:
    assert excerpt("ab\n", 1, 2, 1, 2)[1] == "  |  ^"


def test_a_span_past_the_end_of_an_edited_line_still_points() -> None:
    assert excerpt("ab\n", 1, 40, 1, 45)[1] == "  |   ^"


def test_a_line_without_columns_has_no_carets() -> None:
    assert excerpt("ab\n", 1, 0, 1, 0) == ["1 | ab"]


def test_a_label_without_carets_keeps_its_line() -> None:
    span = Span(write("ab\n"), 1, 0, 1, 0)
    rows = render(K_MISMATCH.at(span, a=1, b=2, labels=[Label(span, "here")])).splitlines()
    assert rows[2:4] == ["1 | ab", "  | here"]


def test_without_the_file_there_is_no_excerpt_and_labels_become_notes() -> None:
    span = Span("/nowhere/k.py", 7, 3, 7, 5, "k")
    assert render(K_MISMATCH.at(span, a=1, b=2, labels=[Label(span, "here")])).splitlines() == [
        "error[TW203]: mma contracts K=1 of `a` with K=2 of `b`",
        " --> /nowhere/k.py:7:3 in k",
        "  = note: here: /nowhere/k.py:7:3",
        "  = why:  they are the same K",
        "  = help: load 1",
    ]


def test_without_a_span_there_is_no_place() -> None:
    assert render(K_MISMATCH.at(UNKNOWN, a=1, b=2, why="")).splitlines()[1:] == ["  = help: load 1"]


def test_colour_only_when_asked_and_then_only_colour() -> None:
    d = K_MISMATCH.at(Span(write("ab\n"), 1, 1, 1, 3), a=1, b=2, notes=["n"])
    painted = render(d, color=True)
    assert "\x1b[" not in render(d)
    assert "\x1b[1;31m^^\x1b[0m" in painted
    for style in ("\x1b[1m", "\x1b[1;31m", "\x1b[1;34m", "\x1b[0m"):
        painted = painted.replace(style, "")
    assert painted == render(d)


def test_a_template_needs_all_its_values() -> None:
    with pytest.raises(KeyError):
        K_MISMATCH.at(UNKNOWN, a=1)


def test_a_diagnostic_is_data() -> None:
    one, other = (K_MISMATCH.at(UNKNOWN, a=1, b=2) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert (one.code.id, one.code.family) == ("TW203", 2)
    assert isinstance(one, Diagnostic)

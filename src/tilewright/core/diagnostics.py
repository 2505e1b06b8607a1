"""What went wrong, as data, and the one renderer that turns it into text."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .source import Span, source_line

__all__ = ["Code", "Diagnostic", "Label", "render"]

_TAB = 4
_SHOWN_LINES = 4
_BOLD, _RED, _BLUE, _RESET = "\x1b[1m", "\x1b[1;31m", "\x1b[1;34m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Label:
    """A remark about one span: on the caret line when it is the diagnostic's own span, else a note with its place."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """One cause of failure. `message`, `why` and `help` are `str.format` templates over the values given to `at`."""

    number: int
    message: str
    why: str
    help: str

    @property
    def id(self) -> str:
        """The printed form, as in `TW203`."""
        return f"TW{self.number:03d}"

    @property
    def family(self) -> int:
        """The hundred that decides which exception may carry this code."""
        return self.number // 100

    def at(
        self,
        span: Span,
        /,
        *,
        labels: Sequence[Label] = (),
        notes: Sequence[str] = (),
        why: str | None = None,
        help: str | None = None,
        **values: object,
    ) -> "Diagnostic":
        """The diagnostic of this cause at `span`. A given `why` or `help` replaces the code's own, word for word."""
        return Diagnostic(
            code=self,
            message=self.message.format(**values),
            span=span,
            labels=tuple(labels),
            notes=tuple(notes),
            why=self.why.format(**values) if why is None else why,
            help=self.help.format(**values) if help is None else help,
        )


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what, where, why and what to do. `context` says what was being done, innermost first."""

    code: Code
    message: str
    span: Span
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    why: str = ""
    help: str = ""
    context: tuple[str, ...] = ()


def render(d: Diagnostic, *, color: bool = False) -> str:
    """The diagnostic as text: headline, place, excerpt with carets, notes, why, help and what was being done."""
    paint = _Paint(color=color)
    shown = _shown_lines(d.span)
    width = max((len(str(line)) for line, _ in shown), default=1)
    rows = [f"{paint(_RED, f'error[{d.code.id}]')}{paint(_BOLD, f': {d.message}')}"]
    if d.span.line:
        rows.append(f"{' ' * width}{paint(_BLUE, '-->')} {_whereabouts(d.span)}")
    rows.extend(_excerpt(d, shown, width, paint))
    for key, text in _remarks(d):
        rows.append(_remark(key, text, width, paint))
    return "\n".join(rows)


class _Paint:
    """Wraps text in a terminal colour, or leaves it alone."""

    def __init__(self, *, color: bool) -> None:
        self._color = color

    def __call__(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self._color and text else text


def _whereabouts(span: Span) -> str:
    where = span.place()
    if span.function:
        where += f" in {span.function}"
    return where + "".join(f", called from {caller.place()}" for caller in span.callers())


def _remarks(d: Diagnostic) -> Iterator[tuple[str, str]]:
    for label in d.labels:
        if not _is_own(label, d):
            yield "note: ", f"{label.text}: {label.span.place()}"
    for note in d.notes:
        yield "note: ", note
    if d.why:
        yield "why:  ", d.why
    if d.help:
        yield "help: ", d.help
    for line in d.context:
        yield "while: ", line


def _is_own(label: Label, d: Diagnostic) -> bool:
    """Whether the label can stand on the caret line: it is about the diagnostic's span, and that has an excerpt."""
    same = (label.span.file, _range(label.span)) == (d.span.file, _range(d.span))
    return same and bool(_shown_lines(d.span))


def _range(span: Span) -> tuple[int, int, int, int]:
    return span.line, span.column, span.end_line, span.end_column


def _remark(key: str, text: str, width: int, paint: _Paint) -> str:
    margin = " " * (width + 1)
    head, *rest = text.splitlines() or [""]
    lines = [f"{margin}{paint(_BLUE, '=')} {paint(_BOLD, key)}{head}"]
    return "\n".join(lines + [f"{margin}  {' ' * len(key)}{line}" for line in rest])


def _shown_lines(span: Span) -> list[tuple[int, str]]:
    """The lines of the excerpt; of a long span the first ones and the last. Empty when the text is not available."""
    if not span.line:
        return []
    numbers = list(range(span.line, max(span.line, span.end_line) + 1))
    if len(numbers) > _SHOWN_LINES:
        numbers = [*numbers[: _SHOWN_LINES - 1], numbers[-1]]
    shown = [(number, source_line(span.file, number)) for number in numbers]
    return shown if any(text.strip() for _, text in shown) else []


def _excerpt(d: Diagnostic, shown: list[tuple[int, str]], width: int, paint: _Paint) -> Iterator[str]:
    bar, blank = paint(_BLUE, "|"), " " * width
    own = [label.text for label in d.labels if _is_own(label, d)]
    previous = d.span.line - 1
    for number, text in shown:
        if number != previous + 1:
            yield f"{blank} {bar} ..."
        previous = number
        cells = _cells(text)
        yield f"{paint(_BLUE, f'{number:>{width}}')} {bar} {''.join(cells)}".rstrip()
        carets = _carets(d.span, number, text, cells)
        if carets.strip():
            last = " ".join(["", *own]) if number == shown[-1][0] else ""
            yield f"{blank} {bar} {paint(_RED, carets + last)}"
        elif own and number == shown[-1][0]:
            yield f"{blank} {bar} {paint(_RED, ' '.join(own))}"


def _cells(text: str) -> list[str]:
    """Every character as it is shown: tabs become spaces up to the next stop."""
    cells: list[str] = []
    column = 0
    for char in text:
        cell = " " * (_TAB - column % _TAB) if char == "\t" else char
        cells.append(cell)
        column += _width(cell)
    return cells


def _width(cell: str) -> int:
    """Terminal columns of a cell: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in cell
    )


def _carets(span: Span, number: int, text: str, cells: list[str]) -> str:
    """Carets under the part of line `number` that the span covers; never under indentation or an empty line."""
    if not span.column or not text.strip():
        return ""
    data = text.encode()
    first = span.column - 1 if number == span.line else len(data) - len(data.lstrip())
    last = span.end_column - 1 if number == span.end_line else len(data.rstrip())
    start = len(data[:first].decode(errors="replace"))
    stop = max(len(data[:last].decode(errors="replace")), start + 1)
    lead = sum(map(_width, cells[:start]))
    return " " * lead + "^" * max(1, sum(map(_width, cells[start:stop])))

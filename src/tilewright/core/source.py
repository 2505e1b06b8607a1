"""Where in the user's Python something was written: spans taken from running frames, and their source text."""

import linecache
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from sys import _getframe  # pyright: ignore[reportPrivateUsage]
from types import CodeType, FrameType
from typing import cast

__all__ = ["UNKNOWN", "Span", "Trace", "source_line", "call_trace", "span_of", "user_span", "user_trace"]

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_MAX_CALLERS = 5
# A frame of one of these packages ends the call chain: what lies outside it is the machinery that runs the program.
_MACHINERY = frozenset({"importlib", "runpy", "_pytest", "pluggy", "pytest", "xdist", "hypothesis", "threading"})


_Position = tuple[int | None, int | None, int | None, int | None]
_NOWHERE: _Position = (None, None, None, None)


@dataclass(frozen=True, slots=True)
class Span:
    """A range of Python source text.

    Lines and columns are 1-based and `end_column` is exclusive. Columns count UTF-8 bytes, as `ast` and code objects
    do; `place()` and the renderer turn them into characters. Column 0 means that only the line is known, line 0 that
    nothing is. `function` is the qualified name of the code object, `caller` the user frame that called it.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str = ""
    caller: "Span | None" = None

    def place(self) -> str:
        """`file:line:column` for people: relative to the working directory, the column in characters."""
        if not self.line:
            return self.file
        where = f"{_shown_path(self.file)}:{self.line}"
        if not self.column:
            return where
        return f"{where}:{character_column(source_line(self.file, self.line), self.column)}"

    def callers(self) -> Iterator["Span"]:
        """The calling spans, innermost first."""
        caller = self.caller
        while caller is not None:
            yield caller
            caller = caller.caller


UNKNOWN = Span("<unknown>", 0, 0, 0, 0)


def source_line(file: str, line: int) -> str:
    """The text of one line without its newline; empty when the file is not available."""
    return linecache.getline(file, line).rstrip("\r\n")


def character_column(text: str, byte_column: int) -> int:
    """The 1-based character column of a 1-based UTF-8 byte column of `text`; unchanged when the text is ASCII."""
    if text.isascii():
        return byte_column
    return len(text.encode()[: byte_column - 1].decode(errors="replace")) + 1


Trace = tuple[CodeType | int, ...]
"""Running user code, innermost first: code objects, each followed by the offset of its current instruction. A span in
raw form, for what is written down a million times and shown once; flat, because Python's garbage collection looks at
every tuple.
"""


def user_span() -> Span:
    """The expression that runs now in the innermost frame outside this package, with its calling user frames.

    Returns `UNKNOWN` when no such frame exists. Without column tables (`-X no_debug_ranges`) only the line is known.
    """
    return span_of(user_trace())


def user_trace() -> Trace:
    """What `span_of` makes the `user_span` of this moment from. The caller itself is of this package."""
    try:
        frame = _getframe(2)
    except ValueError:
        return ()
    return _walk(frame, _MAX_CALLERS)


def call_trace() -> Trace:
    """The same with two callers at most, for what is called a million times. A frame costs a tenth of a microsecond. So
    does looking for the next one, which is spared where three of the user follow each other.
    """
    try:
        frame = _getframe(2)
    except ValueError:
        return ()
    caller = frame.f_back
    outer = None if caller is None else caller.f_back
    if caller is None or outer is None:
        return _walk(frame, 2)
    first, second, third = frame.f_code, caller.f_code, outer.f_code
    try:
        all_known = _OWNERS[id(first)] is _OWNERS[id(second)] is _OWNERS[id(third)] is _USER
    except KeyError:
        all_known = False
    if all_known:
        return first, frame.f_lasti, second, caller.f_lasti, third, outer.f_lasti
    return _walk(frame, 2)


def _walk(frame: FrameType | None, callers: int) -> Trace:
    """From this frame outwards."""
    found: list[CodeType | int] = []
    while frame is not None:
        code = frame.f_code
        try:
            owner = _OWNERS[id(code)]
        except KeyError:
            owner = _owner(code, frame.f_globals.get("__name__"))
        if owner is _USER:
            found += code, frame.f_lasti
            if len(found) > 2 * callers:
                break
        elif owner is _MACHINE:
            break
        frame = frame.f_back
    return tuple(found)


def span_of(trace: Trace) -> Span:
    """The span of a trace; `UNKNOWN` when it is empty."""
    span: Span | None = None
    for code, offset in zip(trace[-2::-2], trace[::-2], strict=True):
        span = _code_span(cast("CodeType", code), cast("int", offset), span)
    return span or UNKNOWN


_USER, _OURS, _MACHINE = "user", "ours", "machinery"
# Tables of the code that was seen on the stack: whose it is by its identity, and what keeps that identity its own.
_OWNERS: dict[int, str] = {}
_SEEN: list[CodeType] = []
_MOST_SEEN = 10_000


def _owner(code: CodeType, module: str | None) -> str:
    top, file = (module or "").partition(".")[0], code.co_filename
    # Methods that `dataclass` wrote for this package have `<string>` for their file.
    ours = file.startswith(_PACKAGE) or (file == "<string>" and top == "tilewright")
    owner = _MACHINE if top in _MACHINERY else _OURS if ours else _USER
    if len(_SEEN) < _MOST_SEEN:  # a program that makes code without end pays for the look-up
        _SEEN.append(code)
        _OWNERS[id(code)] = owner
    return owner


def _code_span(code: CodeType, offset: int, caller: Span | None) -> Span:
    index = offset // 2
    line, end_line, column, end_column = _positions(_ByIdentity(code))[index] if index >= 0 else _NOWHERE
    line = line or code.co_firstlineno
    if column is None or end_column is None or end_line is None:
        return Span(code.co_filename, line, 0, line, 0, code.co_qualname, caller)
    return Span(code.co_filename, line, column + 1, end_line, end_column + 1, code.co_qualname, caller)


class _ByIdentity:
    """A code object as a key: its own equality compares its constants and bytes, which costs more than it saves."""

    __slots__ = ("code",)

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.code is other.code

    def __hash__(self) -> int:
        return id(self.code)


@lru_cache(maxsize=256)
def _positions(key: _ByIdentity) -> tuple[_Position, ...]:
    """The table is packed, so that finding one entry costs a walk over all before it: 40 µs at a long module's end."""
    return tuple(key.code.co_positions())


def _shown_path(file: str) -> str:
    here = os.path.join(os.getcwd(), "")
    return file.removeprefix(here)

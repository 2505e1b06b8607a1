"""The place in the user's source that an operation carries, for diagnostics."""

from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation

from tilewright.core.source import UNKNOWN, Span

__all__ = ["span_of"]


def span_of(op: Operation) -> Span:
    """The innermost range of `op`'s location; `UNKNOWN` when there is none."""
    return _decode(op.location)


@lru_cache(maxsize=4096)
def _decode(location: Attribute) -> Span:
    match location:
        case CallSiteLoc():
            return _decode(location.callee)
        case NameLoc():
            return _decode(location.location)
        case FusedLoc():
            points = cast("ArrayAttr[Attribute]", location.locations).data
            return _range(_decode(points[0]), _decode(points[-1])) if points else UNKNOWN
        case FileLineColLoc():
            line, column = location.line.data, location.column.data
            return Span(location.filename.data, line, column, line, column)
        case _:
            return UNKNOWN


def _range(start: Span, end: Span) -> Span:
    if start.file != end.file:
        return start
    return Span(start.file, start.line, start.column, end.end_line, end.end_column)

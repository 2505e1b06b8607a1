"""Spans as xDSL locations, and back.

A span is `callsite("function"(fused[start, end]) at caller)`; the name and the call site appear only when known.
"""

from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.core.source import UNKNOWN, Span

__all__ = ["location_of", "span_of"]

_UNKNOWN_LOC = UnknownLoc()


@lru_cache(maxsize=4096)
def location_of(span: Span) -> LocationAttr:
    """The location that carries all of `span`; `loc(unknown)` for a span without a line."""
    if not span.line:
        return _UNKNOWN_LOC
    start = _point(span.file, span.line, span.column)
    end = _point(span.file, span.end_line, span.end_column)
    here: LocationAttr = FusedLoc(ArrayAttr[Attribute]([start, end]), NoneAttr())
    if span.function:
        here = NameLoc(StringAttr(span.function), here)
    if span.caller is not None:
        here = CallSiteLoc(here, location_of(span.caller))
    return here


def span_of(thing: Operation | SSAValue | LocationAttr) -> Span:
    """The span of an operation, of a value's definition, or of a location; `UNKNOWN` when nothing is known.

    A block argument without a place of its own has that of the operation whose body it begins.
    """
    if isinstance(thing, Operation):
        return _decode(thing.location)
    if isinstance(thing, SSAValue):
        return _span_of_value(thing)
    return _decode(thing)


def _span_of_value(value: SSAValue) -> Span:
    if not isinstance(value, BlockArgument):
        return span_of(value.owner) if isinstance(value.owner, Operation) else UNKNOWN
    if not isinstance(value.location, UnknownLoc):
        return _decode(value.location)
    parent = value.block.parent_op()
    return UNKNOWN if parent is None else span_of(parent)


def _point(file: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


@lru_cache(maxsize=4096)
def _decode(location: Attribute) -> Span:
    match location:
        case CallSiteLoc():
            inner = _decode(location.callee)
            return Span(*_range(inner), inner.function, _decode(location.caller))
        case NameLoc():
            inner = _decode(location.location)
            return Span(*_range(inner), location.desc.data, inner.caller)
        case FusedLoc():
            return _decode_fused(cast("ArrayAttr[Attribute]", location.locations).data)
        case FileLineColLoc():
            line, column = location.line.data, location.column.data
            return Span(location.filename.data, line, column, line, column)
        case _:
            return UNKNOWN


def _decode_fused(parts: tuple[Attribute, ...]) -> Span:
    """Two points of one file are a range; of any other fusion the first part speaks."""
    if not parts:
        return UNKNOWN
    first = _decode(parts[0])
    match parts:
        case (FileLineColLoc() as start, FileLineColLoc() as end) if start.filename == end.filename:
            return Span(first.file, first.line, first.column, end.line.data, end.column.data)
        case _:
            return first


def _range(span: Span) -> tuple[str, int, int, int, int]:
    return span.file, span.line, span.column, span.end_line, span.end_column

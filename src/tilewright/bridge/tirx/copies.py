"""Nests that copy: each element of a flat buffer of our own from one expression of its coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.bridge.tirx.door import Door
from tilewright.bridge.tirx.nodes import Buffer, Expr, Stmt
from tilewright.ir.types import compact_strides

__all__ = ["Copy", "coordinates_of", "copy_of", "is_cell"]


@dataclass(frozen=True, slots=True)
class Copy:
    """`buffer[i, j, ...] = value`, for all `indices` below `extents`, row by row."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    extents: tuple[int, ...]
    value: Expr


def copy_of(door: Door, statement: Stmt) -> Copy | None:
    """The copy that a nest is: nothing but loops around one store, which reaches every element exactly once."""
    t, indices, extents = door.tirx, list[Expr](), list[int]()
    while isinstance(statement, t.For):
        if statement.kind != t.ForKind.SERIAL or not _is_whole(t.IntImm, statement):
            return None
        indices.append(statement.loop_var)
        extents.append(int(statement.extent.value))
        statement = statement.body
    if not indices or not isinstance(statement, t.BufferStore) or len(statement.indices) != 1:
        return None
    found = coordinates_of(door, statement.indices[0], extents)
    places = zip(found or (), indices, extents, strict=False)
    if found is None or not all(_is_at(t.IntImm, place, index, extent) for place, index, extent in places):
        return None
    return Copy(statement.buffer, tuple(indices), tuple(extents), statement.value)


def _is_whole(number: type, loop: Stmt) -> bool:
    bounds = isinstance(loop.min, number) and isinstance(loop.extent, number)
    return bounds and int(loop.min.value) == 0 and int(loop.extent.value) > 0


def _is_at(number: type, place: Expr, index: Expr, extent: int) -> bool:
    """Whether a coordinate is that of the loop; an axis of extent 1 is written as zero."""
    return bool(place.same_as(index)) or (extent == 1 and isinstance(place, number) and int(place.value) == 0)


def coordinates_of(door: Door, place: Expr, extents: Sequence[int]) -> list[Expr] | None:
    """The coordinates that a flat place was written with: a sum with one term an axis; None for another form."""
    t, found = door.tirx, list[Expr]()
    strides = compact_strides(extents)
    for axis in reversed(range(len(extents))):
        term = place
        if axis:
            if not isinstance(place, t.Add):
                return None
            place, term = place.a, place.b
        if strides[axis] != 1:
            if not (isinstance(term, t.Mul) and isinstance(term.b, t.IntImm) and int(term.b.value) == strides[axis]):
                return None
            term = term.a
        found.append(term)
    return found[::-1]


def is_cell(t: Any, buffer: Buffer) -> bool:
    """Whether a buffer has one element: such ones name values."""
    shape = list(buffer.shape)
    return len(shape) == 1 and isinstance(shape[0], t.IntImm) and int(shape[0].value) == 1

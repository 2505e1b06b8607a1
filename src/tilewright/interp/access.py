"""Loads, stores and updates of views."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.core.codes.effects import CELL_CONFLICT, ELEMENT_OUTSIDE, UNWRITTEN_READ
from tilewright.core.diagnostics import Label
from tilewright.core.errors import EffectError
from tilewright.ir.attrs import Bounds
from tilewright.ir.effects import storage_of
from tilewright.ir.location import span_of
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp
from tilewright.ir.types import SpaceAttr, space_of, view_type

from .frame import Frame, point_of
from .machine import Instance, Machine
from .races import Access, Conflict
from .storage import Argument, Index
from .values import Array, Cells, empty, integer, project

__all__ = ["bound", "load", "load_element", "store", "store_element", "touch"]

Slices = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class _Box:
    """The part of a tile that lies inside the view: where in the tile, and where in the view."""

    tile: Slices
    view: Slices
    whole: bool


def load(machine: Machine, op: LoadOp, frame: Frame) -> None:
    """A copy of the view's elements; the fill outside and where the mask is false."""
    argument, space = bound(frame, op.view), space_of(op.result)
    box = _box(frame, op.origin, space, argument)
    mask = _mask(frame, op.mask, space)
    if op.bounds.data == Bounds.ASSUME:
        _check_box(machine, op, frame, box, mask)
    out = _filled(frame, op.result, op.fill, space.extents)
    live = None if mask is None else mask[box.tile]
    touch(machine, op, argument, box.view, live, Access.READ)
    found = argument.read(box.view)
    out[box.tile] = found if live is None else np.where(live, found, out[box.tile])
    frame.define(op.result, Cells(out))


def store(machine: Machine, op: StoreOp, frame: Frame) -> None:
    """Writes the elements that lie inside and whose mask is true."""
    argument, space = bound(frame, op.view), space_of(op.value)
    box = _box(frame, op.origin, space, argument)
    mask = _mask(frame, op.mask, space)
    if op.bounds.data == Bounds.ASSUME:
        _check_box(machine, op, frame, box, mask)
    live = None if mask is None else mask[box.tile]
    touch(machine, op, argument, box.view, live, Access.WRITE)
    value = frame.cells(op.value).data[box.tile]
    argument.data[box.view] = value if live is None else np.where(live, value, argument.data[box.view])


def load_element(machine: Machine, op: LoadElementOp, frame: Frame) -> None:
    """One element where the predicate holds, else the fill; in all lanes at once."""
    argument = bound(frame, op.view)
    coords = [frame.cells(value) for value in op.index]
    predicate = Cells(np.asarray(True)) if op.predicate is None else frame.cells(op.predicate)
    fill = [] if op.fill is None else [frame.cells(op.fill)]
    varying = any(one.varying for one in (*coords, predicate, *fill))
    shape = (cast(int, frame.width),) if varying else ()
    live = np.broadcast_to(predicate.data, shape)
    index = _points(machine, op, frame, argument, coords, live)
    out = _filled(frame, op.result, op.fill, shape)
    if live.any():
        touch(machine, op, argument, index, None, Access.READ)
        out[live] = argument.read(index)
    frame.define(op.result, Cells(out, varying))


def store_element(machine: Machine, op: StoreElementOp, frame: Frame) -> None:
    """Writes one element unless the predicate is false."""
    argument = bound(frame, op.view)
    live = np.asarray(True if op.predicate is None else frame.cells(op.predicate).data).reshape(())
    index = _points(machine, op, frame, argument, [frame.cells(value) for value in op.index], live)
    if live.any():
        touch(machine, op, argument, index, None, Access.WRITE)
        argument.data[index] = frame.cells(op.value).data


def bound(frame: Frame, view: SSAValue) -> Argument:
    """The array that a view stands for."""
    return cast(Argument, frame.lookup(view))


def _box(frame: Frame, origin: Sequence[SSAValue], space: SpaceAttr, argument: Argument) -> _Box:
    tile: list[slice] = []
    view: list[slice] = []
    for value, extent, size in zip(origin, space.extents, argument.data.shape, strict=True):
        start = integer(frame.cells(value), value)
        low = min(max(-start, 0), extent)
        high = max(min(size - start, extent), low)
        tile.append(slice(low, high))
        view.append(slice(start + low, start + high) if high > low else slice(0, 0))
    whole = all(part == slice(0, extent) for part, extent in zip(tile, space.extents, strict=True))
    return _Box(tuple(tile), tuple(view), whole)


def _mask(frame: Frame, mask: SSAValue | None, space: SpaceAttr) -> Array | None:
    if mask is None:
        return None
    return np.broadcast_to(project(frame.cells(mask), space_of(mask), space), space.extents)


def _filled(frame: Frame, result: SSAValue, fill: SSAValue | None, shape: tuple[int, ...]) -> Array:
    out = empty(result, shape)
    out[...] = np.zeros((), out.dtype) if fill is None else frame.cells(fill).data
    return out


def _check_box(machine: Machine, op: LoadOp | StoreOp, frame: Frame, box: _Box, mask: Array | None) -> None:
    """Raises when an element whose mask is true lies outside the view, which `assume` rules out."""
    if box.whole:
        return
    space = space_of(op.result if isinstance(op, LoadOp) else op.value)
    outside = np.ones(space.extents, np.bool_) if mask is None else mask.copy()
    outside[box.tile] = False
    first = np.argwhere(outside)
    if not len(first):
        return
    origin = [integer(frame.cells(value), value) for value in op.origin]
    index = [start + int(i) for start, i in zip(origin, first[0], strict=True)]
    raise _outside(machine, op, frame, index, None)


def _points(
    machine: Machine, op: Operation, frame: Frame, argument: Argument, coords: list[Cells], live: Array
) -> tuple[Array, ...]:
    """The coordinates of the live lanes as one array an axis; a live one outside is an error."""
    shape = argument.data.shape
    index = [np.broadcast_to(one.data, live.shape)[live] for one in coords]
    for axis, extent in zip(index, shape, strict=True):
        bad = np.flatnonzero((axis < 0) | (axis >= extent))
        if len(bad):
            lane = int(np.flatnonzero(live)[bad[0]]) if live.ndim else None
            raise _outside(machine, op, frame, [int(one[bad[0]]) for one in index], lane)
    return tuple(axis.astype(np.int64) for axis in index)


def _outside(machine: Machine, op: Operation, frame: Frame, index: list[int], lane: int | None) -> EffectError:
    view = cast(SSAValue, storage_of(op))
    axes = view_type(view).space.axes
    axis, at = next((axis, i) for axis, i in zip(axes, index, strict=True) if not 0 <= i < axis.extent)
    access = op.name.removeprefix("tile.").replace("_", " ")
    notes = (f"the element is {index}", *machine.place(frame, lane))
    name = bound(frame, view).name
    diagnostic = ELEMENT_OUTSIDE.at(
        span_of(op), access=access, index=at, axis=machine.label(axis.dim), what=name, extent=axis.extent, notes=notes
    )
    return EffectError(diagnostic)


def touch(machine: Machine, op: Operation, argument: Argument, index: Index, live: Array | None, how: Access) -> None:
    """Records the access to the elements at `index` (where `live`) with everything that watches."""
    if how is not Access.WRITE:
        cell = argument.first_unwritten(index, live)
        if cell is not None:
            notes = [f"in program {machine.program()}"] if machine.instances else []
            raise EffectError(UNWRITTEN_READ.at(span_of(op), cell=_cell(argument, cell), notes=notes))
    for depth, instance in enumerate(machine.instances):
        if instance.tracker is not None:
            found = instance.tracker.touch(argument, index, live, how, instance.number, op)
            if found is not None:
                raise _conflict(machine, op, argument, how, depth, instance, found)
    if how is not Access.READ:
        argument.wrote(index, live)


def _conflict(
    machine: Machine, op: Operation, argument: Argument, how: Access, depth: int, instance: Instance, found: Conflict
) -> EffectError:
    """Blames a store: this one if it is one, else the one that came before."""
    outer = [pair for i in machine.instances[:depth] for pair in _pairs(i, i.number)]
    here, there = (machine.coordinates([*outer, *_pairs(instance, n)]) for n in (instance.number, found.other))
    mine, theirs = f"program {here} {how.value} it", f"program {there} {found.how.value} it"
    label = Label(span_of(found.site), theirs)
    span = span_of(op)
    if how is Access.READ:
        span, label = label.span, Label(span, mine)
    notes = _alias(machine, op, found)
    return EffectError(
        CELL_CONFLICT.at(
            span,
            labels=[label],
            notes=notes,
            first=there,
            second=here,
            cell=_cell(argument, found.index),
            what=f"{theirs} while {mine}",
        )
    )


def _pairs(instance: Instance, number: int) -> list[Any]:
    return [*zip(instance.space.dims, point_of(instance.space, number), strict=True)]


def _alias(machine: Machine, op: Operation, found: Conflict) -> list[str]:
    """A note when the two accesses reach the cell through different parameters."""
    kernel = machine.kernel
    names = dict(zip(kernel.op.body.block.args, (one.data for one in kernel.op.parameters), strict=True))
    mine, theirs = (names.get(cast(Any, storage_of(site)), "") for site in (op, found.site))
    return [f"`{mine}` and `{theirs}` overlap in memory"] if mine != theirs else []


def _cell(argument: Argument, index: tuple[int, ...]) -> str:
    return f"{argument.name}[{', '.join(map(str, index))}]"

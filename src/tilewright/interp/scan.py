"""Running folds along one dimension."""

from collections.abc import Iterable
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from tilewright.ir.attrs import Policy
from tilewright.ir.ops.tiles import ScanOp
from tilewright.ir.types import SpaceAttr, space_of, tile_type

from .frame import Frame
from .machine import Machine
from .values import Array, Cells, empty, project

__all__ = ["scan"]


def scan(machine: Machine, op: ScanOp, frame: Frame) -> None:
    """Result i: the states after (or with `exclusive` before) element i, from the near or the far end.

    All other points run side by side, one lane each.
    """
    spaces = [tile_type(tile).space for tile in op.tiles]
    along = SpaceAttr.of(axis for axis in spaces[0].axes if axis.dim == op.dim)
    rest = SpaceAttr.of(axis for axis in spaces[0].axes if axis.dim != op.dim)
    outer, count = 1 if frame.width is None else frame.width, along.volume
    whole = SpaceAttr.of((*rest.axes, *along.axes))
    tiles = [_spread(frame, tile, whole, (outer, rest.volume, count)) for tile in op.tiles]
    seeds = [_spread(frame, seed, rest, (outer, rest.volume)) for seed in op.seeds]
    outs = [empty(tile, (outer, rest.volume, count)) for tile in op.tiles]
    step = max(machine.lanes // max(outer, 1), 1)
    for start in range(0, rest.volume if outer else 0, step):
        part = slice(start, min(start + step, rest.volume))
        inner = Frame(frame, space=rest, start=start, repeat=part.stop - start)
        width = outer * (part.stop - part.start)
        rows = [tile[:, part].reshape(width, count) for tile in tiles]
        results = _run(machine, op, inner, [seed[:, part].reshape(-1) for seed in seeds], rows)
        for out, result in zip(outs, results, strict=True):
            out[:, part] = result.reshape(out[:, part].shape)
    for value, out, space in zip(op.results_, outs, spaces, strict=True):
        shaped = Cells(out.reshape(outer, *whole.extents), varying=True)
        data = project(shaped, whole, space)
        frame.define(value, Cells(data if frame.width is not None else data[0], frame.width is not None))


def _spread(frame: Frame, value: SSAValue, onto: SpaceAttr, shape: tuple[int, ...]) -> Array:
    """A tile or scalar over (outer lanes, points of `onto`), the last axis of a tile being the scanned one."""
    data = project(frame.cells(value), space_of(value), onto)
    return np.broadcast_to(data, (shape[0], *onto.extents)).reshape(shape)


def _run(machine: Machine, op: ScanOp, inner: Frame, seeds: list[Array], rows: list[Array]) -> list[Array]:
    """The scan of (lanes, n) rows."""
    count = rows[0].shape[1]
    near_to_far = range(count - 1, -1, -1) if bool(op.reverse) else range(count)
    outs = [np.empty_like(row) for row in rows]
    states = seeds
    for at, place in enumerate(near_to_far):
        if bool(op.exclusive):
            _keep(outs, place, states)
        if op.policy.data == Policy.FOLD_RIGHT:
            states = _steps(machine, op, inner, seeds, rows, near_to_far[: at + 1][::-1])
        else:
            states = _steps(machine, op, inner, states, rows, (place,))
        if not bool(op.exclusive):
            _keep(outs, place, states)
    return outs


def _keep(outs: list[Array], place: int, states: list[Array]) -> None:
    for out, state in zip(outs, states, strict=True):
        out[:, place] = state


def _steps(
    machine: Machine, op: ScanOp, inner: Frame, states: list[Array], rows: list[Array], places: Iterable[int]
) -> list[Array]:
    """The states after folding in the elements at `places`, in this order."""
    for place in places:
        values = [*states, *(row[:, place] for row in rows)]
        for argument, value in zip(op.body.block.args, values, strict=True):
            inner.define(argument, Cells(value, varying=True))
        results = machine.run(op.body.block, inner)
        states = [np.broadcast_to(cast(Cells, result).data, (inner.width or 0,)) for result in results]
    return states

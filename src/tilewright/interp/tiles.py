"""Constants, maps, extraction and contraction."""

from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from tilewright.core.codes.effects import ELEMENT_OUTSIDE
from tilewright.core.codes.internal import MALFORMED_IR
from tilewright.core.errors import EffectError, InternalError
from tilewright.ir.location import span_of
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp, MmaOp
from tilewright.ir.types import DimAttr, SpaceAttr, space_of, tile_type
from tilewright.numerics.bits import from_bits
from tilewright.numerics.cast import cast as convert
from tilewright.numerics.faults import UndefinedOperationError
from tilewright.numerics.fma import fma

from .frame import Frame
from .machine import Machine
from .values import Array, Cells, dtype_of_value, empty, project

__all__ = ["constant", "extract", "mma", "tile_map"]


def constant(machine: Machine, op: ConstantOp, frame: Frame) -> None:
    """One bit pattern everywhere."""
    frame.define(op.result, machine.fact(op, _constant))


def _constant(op: ConstantOp) -> Cells:
    scalar = from_bits(dtype_of_value(op.result), np.asarray(op.value.data))
    return Cells(np.broadcast_to(scalar, space_of(op.result).extents))


def tile_map(machine: Machine, op: MapOp, frame: Frame) -> None:
    """The body's scalar at every point: run on whole arrays of points, one lane each."""
    space, outer = op.space, 1 if frame.width is None else frame.width
    out = empty(op.result, (outer, space.volume))
    step = max(machine.lanes // max(outer, 1), 1)
    indices = tuple(op.body.block.args)
    for start in range(0, space.volume if outer else 0, step):
        numbers = range(start, min(start + step, space.volume))
        inner = Frame(frame, space=space, start=start, repeat=len(numbers))
        inner.enter_points(indices, numbers)
        (scalar,) = machine.run(op.body.block, inner)
        out[:, start : numbers.stop] = _lanes(scalar, outer)
    shape = space.extents if frame.width is None else (outer, *space.extents)
    frame.define(op.result, Cells(out.reshape(shape), varying=frame.width is not None))


def _lanes(scalar: object, outer: int) -> Array:
    """A scalar of a map's body as (outer lanes, points)."""
    cells = cast(Cells, scalar)
    return cells.data.reshape(outer, -1) if cells.varying else cells.data


def extract(machine: Machine, op: ExtractOp, frame: Frame) -> None:
    """One element; coordinates outside are an error."""
    tile, space = frame.cells(op.tile), space_of(op.tile)
    coords = [frame.cells(coord) for coord in op.coords]
    for dim, coord in zip(space.dims, coords, strict=True):
        _check_inside(machine, op, frame, dim, coord)
    varying = tile.varying or any(coord.varying for coord in coords)
    index: tuple[Array, ...] = tuple(coord.data.astype(np.int64) for coord in coords)
    if tile.varying:
        index = (np.arange(len(tile.data)), *index)
    frame.define(op.result, Cells(np.asarray(tile.data[index]), varying))


def _check_inside(machine: Machine, op: ExtractOp, frame: Frame, dim: DimAttr, coord: Cells) -> None:
    extent = space_of(op.tile).extent_of(dim) or 0
    outside = (coord.data < 0) | (coord.data >= extent)
    if not outside.any():
        return
    lane = int(np.argmax(outside)) if coord.varying else None
    index = int(coord.data[lane] if coord.varying else coord.data)
    notes = machine.place(frame, lane)
    label = machine.label(dim)
    raise EffectError(
        ELEMENT_OUTSIDE.at(
            span_of(op), access="extract", index=index, axis=label, what="the tile", extent=extent, notes=notes
        )
    )


def mma(_machine: Machine, op: MmaOp, frame: Frame) -> None:
    """A chain of fused multiply-adds from `c`, lexicographic over the contracted coordinates in a's axis order."""
    dtype, out = dtype_of_value(op.c), space_of(op.c)
    contracted = SpaceAttr.of(axis for axis in space_of(op.a).axes if axis.dim not in out.dims)
    a, b = (_steps(frame, value, out, contracted) for value in (op.a, op.b))
    c = frame.cells(op.c)
    a, b = (Cells(convert(x.data, dtype_of_value(v), dtype), x.varying) for x, v in ((a, op.a), (b, op.b)))
    varying = a.varying or b.varying or c.varying
    data = c.data
    try:
        for k in range(contracted.volume):
            data = fma(dtype, a.data[k], b.data[k], data)
    except UndefinedOperationError as fault:
        raise InternalError(MALFORMED_IR.at(span_of(op), what=str(fault))) from fault
    shape = (*((cast(int, frame.width),) if varying else ()), *out.extents)
    frame.define(op.result, Cells(np.broadcast_to(data, shape), varying))


def _steps(frame: Frame, operand: SSAValue, out: SpaceAttr, contracted: SpaceAttr) -> Cells:
    """The operand as one array a contracted point, each ready to broadcast over the result."""
    cells, own = frame.cells(operand), tile_type(operand).space
    both = SpaceAttr.of((*out.axes, *contracted.axes))
    data = project(cells, own, both)
    flat = data.reshape(*data.shape[: data.ndim - contracted.rank], prod(contracted.extents))
    return Cells(np.ascontiguousarray(np.moveaxis(flat, -1, 0)), cells.varying)

"""Unordered atomic read-modify-write, also of one cell many times in one operation."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np
from xdsl.ir import SSAValue

from tilewright.core.codes.internal import MALFORMED_IR
from tilewright.core.errors import InternalError
from tilewright.ir.attrs import UpdateKind
from tilewright.ir.location import span_of
from tilewright.ir.ops.access import UpdateOp
from tilewright.ir.types import AxisAttr, DimAttr, SpaceAttr, space_of
from tilewright.numerics.elementwise import OPS
from tilewright.numerics.faults import UndefinedOperationError

from .access import bound, touch
from .frame import Frame
from .machine import Machine
from .races import Access
from .storage import Argument
from .values import Array, project

__all__ = ["update"]

_REDUCERS: Mapping[UpdateKind, str] = MappingProxyType(
    {UpdateKind.ADD: "add", UpdateKind.MINIMUM: "min", UpdateKind.MAXIMUM: "max"}
)


def update(machine: Machine, op: UpdateOp, frame: Frame) -> None:
    """At every point of the operands' joint space, in lexicographic order: one step of the reducer on one cell.

    Points whose mask is false or whose cell lies outside the view do nothing.
    """
    argument = bound(frame, op.view)
    operands = [*op.coords, op.value, *([] if op.mask is None else [op.mask])]
    joint = _joint(space_of(operand) for operand in operands)
    spread = [_spread(frame, operand, joint) for operand in operands]
    rank = len(op.coords)
    coords, value = [one.astype(np.int64) for one in spread[:rank]], spread[rank]
    live = np.ones(joint.volume, np.bool_) if op.mask is None else spread[rank + 1].copy()
    for axis, extent in zip(coords, argument.data.shape, strict=True):
        live &= (axis >= 0) & (axis < extent)
    if not live.any():
        return
    index = tuple(axis[live] for axis in coords)
    touch(machine, op, argument, index, None, Access.UPDATE)
    try:
        _apply(argument, _REDUCERS[op.reducer.data], index, value[live])
    except UndefinedOperationError as fault:
        raise InternalError(MALFORMED_IR.at(span_of(op), what=str(fault))) from fault


def _apply(argument: Argument, opcode: str, index: tuple[Array, ...], values: Array) -> None:
    """One round for each repetition of a cell, so that no contribution is lost and each is rounded once."""
    flat = np.ravel_multi_index(index, argument.data.shape) if index else np.zeros(len(values), np.int64)
    order = np.argsort(flat, kind="stable")
    _, starts, counts = np.unique(flat[order], return_index=True, return_counts=True)
    for turn in range(int(counts.max())):
        picked = order[starts[counts > turn] + turn]
        cell = tuple(axis[picked] for axis in index)
        found = np.asarray(argument.read(cell))
        argument.data[cell] = OPS[opcode](argument.dtype, found, values[picked]).reshape(found.shape)


def _joint(spaces: Iterable[SpaceAttr]) -> SpaceAttr:
    """All dimensions of the operands in order of first use; an extent of 1 yields to a larger one."""
    axes: dict[DimAttr, AxisAttr] = {}
    for space in spaces:
        for axis in space.axes:
            known = axes.get(axis.dim)
            if known is None or known.extent == 1:
                axes[axis.dim] = axis
    return SpaceAttr.of(axes.values())


def _spread(frame: Frame, operand: SSAValue, joint: SpaceAttr) -> Array:
    """The operand at every point of the joint space, flat in lexicographic order."""
    data = project(frame.cells(operand), space_of(operand), joint)
    return np.broadcast_to(data, joint.extents).reshape(-1)

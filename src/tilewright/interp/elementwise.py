"""Elementwise operations: every scalar meaning comes from `numerics`, this module only brings operands together."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from tilewright.core.codes.effects import DIVISION_BY_ZERO
from tilewright.core.codes.internal import MALFORMED_IR
from tilewright.core.errors import EffectError, InternalError
from tilewright.ir.location import span_of
from tilewright.ir.ops.convert import BitcastOp, CastOp, SelectOp
from tilewright.ir.ops.elementwise import ElementwiseOp
from tilewright.ir.types import SpaceAttr, space_of
from tilewright.numerics.cast import bitcast
from tilewright.numerics.cast import cast as convert
from tilewright.numerics.elementwise import OPS
from tilewright.numerics.faults import DivisionByZeroError, UndefinedOperationError

from .frame import Frame
from .machine import Machine
from .values import Array, Cells, dtype_of_value, project

__all__ = ["elementwise"]

Function = Callable[..., Array]


@dataclass(frozen=True, slots=True)
class _Fact:
    function: Function
    operands: tuple[tuple[SSAValue, SpaceAttr], ...]
    space: SpaceAttr


def elementwise(machine: Machine, op: ElementwiseOp, frame: Frame) -> None:
    """At every point of the result: the scalar meaning, on the operands projected by dimension identity."""
    fact = machine.fact(op, _fact)
    cells = [frame.cells(value) for value, _ in fact.operands]
    varying = any(one.varying for one in cells)
    arrays = [project(one, own, fact.space) for one, (_, own) in zip(cells, fact.operands, strict=True)]
    shape = (*((cast(int, frame.width),) if varying else ()), *fact.space.extents)
    try:
        data = _apply(fact.function, arrays, shape, machine.lanes)
    except UndefinedOperationError as fault:
        raise InternalError(MALFORMED_IR.at(span_of(op), what=str(fault))) from fault
    except DivisionByZeroError as fault:
        where = np.argwhere(np.broadcast_to(arrays[1] == 0, shape))[0]
        lane = int(where[0]) if varying else None
        element = [*zip(fact.space.dims, (int(i) for i in where[int(varying) :]), strict=True)]
        notes = [f"at element {machine.coordinates(element)}"] if element else []
        raise EffectError(
            DIVISION_BY_ZERO.at(span_of(op), op=op.opcode, notes=(*notes, *machine.place(frame, lane)))
        ) from fault
    frame.define(op.result, Cells(np.broadcast_to(data, shape), varying))


def _apply(function: Function, arrays: list[Array], shape: tuple[int, ...], lanes: int) -> Array:
    """The function on all elements, at most `lanes` at a time."""
    size = int(np.prod(shape, dtype=np.int64))
    if not range(lanes, size, lanes):
        return function(*arrays)
    flat = [np.broadcast_to(array, shape).reshape(-1) for array in arrays]
    parts = [function(*(array[start : start + lanes] for array in flat)) for start in range(0, size, lanes)]
    return np.concatenate(parts).reshape(shape)


def _fact(op: ElementwiseOp) -> _Fact:
    operands = tuple((value, space_of(value)) for value in op.operands)
    return _Fact(_function(op), operands, space_of(op.result))


def _function(op: ElementwiseOp) -> Function:
    match op:
        case CastOp():
            source, target, saturate = dtype_of_value(op.operand), dtype_of_value(op.result), bool(op.saturating)
            return partial(convert, source=source, target=target, saturate=saturate)
        case BitcastOp():
            source, target = dtype_of_value(op.operand), dtype_of_value(op.result)
            return partial(bitcast, source=source, target=target)
        case SelectOp():
            dtype = dtype_of_value(op.on_true)
        case _:
            dtype = dtype_of_value(op.operands[0])
    return partial(OPS[op.opcode], dtype)

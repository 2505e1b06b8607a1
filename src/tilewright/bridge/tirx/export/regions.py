"""The structured regions: loops, carried values, marks of pipelines."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.bridge.tirx.export.context import Exporter, Notes, Stored
from tilewright.bridge.tirx.nodes import Buffer, Expr
from tilewright.bridge.tirx.providers.arrays import fold_notes
from tilewright.ir.attrs import Policy
from tilewright.ir.ops.regions import CarryingOp, ParallelOp, PipelineOp, ReduceOp, StageOp
from tilewright.ir.types import MemoryStateType, SpaceAttr, dtype_of, element_of, is_tile, space_of

__all__ = ["export_ordered", "export_parallel", "export_stage"]


def export_parallel(cx: Exporter, op: ParallelOp) -> None:
    """One loop over all instances, marked as logically parallel; coordinates from its index by mixed radix.

    How it is executed is decided later, on the TIRx.
    """
    scope = {} if op.scope is None else {"tile.scope": op.scope.data}
    notes: Notes = {"tile.parallel": 1, **scope}
    with cx.loop(op.space.volume, "p", notes) as number:
        cx.scalars.update(zip(op.indices, _coordinates(cx, op.space, number), strict=True))
        cx.run(op.body.block)
    cx.count("parallel regions")


def _coordinates(cx: Exporter, space: SpaceAttr, number: Expr) -> list[Expr]:
    """The last axis runs fastest."""
    found: list[Expr] = []
    for place, extent in enumerate(reversed(space.extents)):
        size = cx.n.i64(max(extent, 1))
        if place == space.rank - 1:
            found.append(number)
        else:
            found.append(cx.bind(cx.n.floormod(number, size)))
            number = cx.bind(cx.n.floordiv(number, size))
    return found[::-1]


def export_ordered(cx: Exporter, op: CarryingOp) -> None:
    """Nested loops, one an axis, around the body; what is carried lies in buffers that outlive an iteration.

    All yielded values are read before any buffer changes, and zero trips leave the initial ones.
    """
    carried = [_begun(cx, init) for init in op.inits]
    backwards = isinstance(op, ReduceOp) and op.policy.data is Policy.FOLD_RIGHT
    with cx.nest(op.space, "s", _notes(op)) as indices:
        steps = [_turned(cx, *pair) for pair in zip(indices, op.space.extents, strict=True)] if backwards else indices
        cx.scalars.update(zip(op.indices, steps, strict=True))
        _bind(cx, carried, op.carries)
        cx.run(op.body.block, lambda values: _replace(cx, carried, values))
    _bind(cx, carried, op.results_)


def _notes(op: CarryingOp) -> Notes:
    match op:
        case PipelineOp():
            return {"tile.pipeline": 1, "tile.window": op.window.data, "tile.interval": op.interval.data}
        case ReduceOp():
            return {"tile.reduction": str(op.policy.data), **fold_notes(op)}
        case _:
            return {"tile.serial": 1}


def _turned(cx: Exporter, index: Expr, extent: int) -> Expr:
    return cx.bind(cx.n.sub(cx.n.i64(extent - 1), index))


def export_stage(cx: Exporter, op: StageOp) -> None:
    """A mark in the sequence: where a stage of the pipeline begins."""
    cx.emit(cx.n.marker("tile.stage", op.label.data))


# ---- carried values


@dataclass(frozen=True, slots=True)
class _Step:
    """What a carry becomes: a scalar, a copy, or the value where it lies."""

    carry: Stored
    value: SSAValue
    copy: Stored | None
    scalar: Expr | None


def _begun(cx: Exporter, init: SSAValue) -> Stored | None:
    """A buffer with the initial value; None for the state of a memory, which only orders accesses."""
    if isinstance(init.type, MemoryStateType):
        return None
    stored = cx.allocate(dtype_of(element_of(init)), space_of(init), "c", {"tile.carry": 1})
    _fill(cx, stored, init)
    return stored


def _fill(cx: Exporter, stored: Stored, value: SSAValue) -> None:
    with cx.nest(stored.space, notes={"tile.independent": stored.space.rank}) as indices:
        point = dict(zip(stored.space.dims, indices, strict=True))
        cx.write(stored, point, cx.element(value, point))


def _bind(cx: Exporter, carried: Sequence[Stored | None], values: Sequence[SSAValue]) -> None:
    """The values are what the buffers hold now."""
    for stored, value in zip(carried, values, strict=True):
        if stored is None:
            continue
        if is_tile(value):
            cx.tiles[value] = cx.tile_of(stored)
        else:
            cx.scalars[value] = cx.once(cx.read(stored, {}))


def _replace(cx: Exporter, carried: Sequence[Stored | None], values: Sequence[SSAValue]) -> None:
    """What the next iteration carries: everything is read, then everything is written."""
    buffers: list[Buffer] = [stored.buffer for stored in carried if stored is not None]
    steps = [_read(cx, buffers, *pair) for pair in zip(carried, values, strict=True) if pair[0] is not None]
    for step in steps:
        if step is not None:
            _write(cx, step)


def _read(cx: Exporter, buffers: Sequence[Buffer], carry: Stored | None, value: SSAValue) -> _Step | None:
    """A tile that is computed on the way, or lies in a buffer that is about to change, is copied first."""
    if carry is None:
        return None
    if not is_tile(value):
        return _Step(carry, value, None, cx.once(cx.element(value, {})))
    stored = cx.tiles[value].stored
    if stored is not None and stored.buffer is carry.buffer:
        return None
    if stored is not None and not any(stored.buffer is buffer for buffer in buffers):
        return _Step(carry, value, None, None)
    copy = cx.allocate(carry.dtype, carry.space, "y", {"tile.snapshot": 1})
    _fill(cx, copy, value)
    cx.count("snapshots of carried tiles")
    return _Step(carry, value, copy, None)


def _write(cx: Exporter, step: _Step) -> None:
    if step.scalar is not None:
        cx.write(step.carry, {}, step.scalar)
        return
    source = None if step.copy is None else cx.tile_of(step.copy)
    space = step.carry.space
    with cx.nest(space, notes={"tile.independent": space.rank}) as indices:
        point = dict(zip(space.dims, indices, strict=True))
        cx.write(step.carry, point, cx.element(step.value, point) if source is None else source.at(point))

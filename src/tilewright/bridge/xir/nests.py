"""The loop nest of every operation that computes tiles into memory: stores, buffered tiles, folds, carries."""

from collections.abc import Iterator
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import affine_of
from tilewright.analysis.folds import ClosedFold, closed_fold_of
from tilewright.bridge.xir.flow import is_anchored
from tilewright.bridge.xir.layout import Layouts, access_weight, lane_price, nest_plan, width_for
from tilewright.bridge.xir.merging import with_merged_rows
from tilewright.bridge.xir.records import NestPlan
from tilewright.bridge.xir.squares import inlined
from tilewright.bridge.xir.streams import Stream, read_streams
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.ops.access import LoadOp, StoreOp, UpdateOp
from tilewright.ir.ops.memory import MemoryLoadOp, MemoryStoreOp
from tilewright.ir.types import AxisAttr, SpaceAttr, is_tile, space_of

__all__ = ["plan_nests", "scalar_nest"]

_COMBINE = 8.0
_NEAR_VECTORS = 4
_FEW = 4  # elements
_OPERATIONS = 96  # of a loop body, so that it stays quick to compile


def plan_nests(layouts: Layouts) -> dict[int, NestPlan]:
    """A nest for each position that needs one. Buffers get their layouts on the way, in program order."""
    structure = layouts.placement.structure
    found: dict[int, NestPlan] = {}
    for op, position in structure.position.items():
        if is_anchored(op):
            nest = _nest_of(layouts, op)
            if nest is not None:
                found[position] = nest
    return found


def scalar_nest(what: str, space: SpaceAttr) -> NestPlan:
    """Plain loops in written order, one element at a time."""
    return NestPlan(what, tuple(axis.dim.number for axis in space.axes), None, 1)


def _nest_of(layouts: Layouts, op: Operation) -> NestPlan | None:
    """The nest of an operation that computes tiles into memory. Buffers, of carries too, are laid out first."""
    for value in (*op.results, *(op.carries if isinstance(op, regions.CarryingOp) else ())):
        if _kept(layouts, value):
            layouts.storage_of(value)
    return None if op in layouts.placement.absorbed else _computing_nest(layouts, op)


def _computing_nest(layouts: Layouts, op: Operation) -> NestPlan | None:
    match op:
        case StoreOp():
            nest = nest_plan(layouts, "store", [op.value], space_of(op.value), op)
            return with_merged_rows(layouts.placement, op, nest)
        case MemoryStoreOp():
            return nest_plan(layouts, "memory store", [op.value], space_of(op.value))
        case UpdateOp():
            return scalar_nest("update", update_space(op))
        case tiles.ScanOp():
            return _scan_nest(layouts, op)
        case tiles.MapOp() if _kept(layouts, op.result):
            return _map_nest(layouts, op)
        case tiles.MmaOp() if _kept(layouts, op.result):
            return nest_plan(layouts, "accumulator", [op.result], space_of(op.result))
        case elementwise.ElementwiseOp() | LoadOp() | MemoryLoadOp() | tiles.ConstantOp() if _kept(layouts, op.result):
            nest = nest_plan(layouts, op.name.removeprefix("tile."), [op.result], space_of(op.result))
            return _one_by_one(layouts, op, nest)
        case _:
            return None


def _one_by_one(layouts: Layouts, op: Operation, nest: NestPlan) -> NestPlan:
    """The nest without lanes where it has few elements and reads what folds have just stored one by one: a vector of
    them would wait until they are in the cache, and a single one is handed on.
    """
    extents = {axis.dim.number: axis.extent for axis in space_of(op.results[0]).axes}
    if layouts.choice.width or layouts.choice.fixed or nest.lane is None or extents[nest.lane] > _FEW:
        return nest
    placement = layouts.placement
    read = {value for each in (op, *inlined(placement, op, set())) for value in each.operands if is_tile(value)}
    if not any(isinstance(value.owner, tiles.MapOp) and not placement.is_inline(value) for value in read):
        return nest
    return replace(nest, lane=None, width=1, weighed=())


def _kept(layouts: Layouts, value: SSAValue) -> bool:
    return is_tile(value) and not layouts.placement.is_inline(value)


def update_space(op: UpdateOp) -> SpaceAttr:
    """The joint space of an update's operands, by dimension identity; an extent of 1 gives way."""
    axes: dict[int, AxisAttr] = {}
    operands = [op.value, *op.coords, *([] if op.mask is None else [op.mask])]
    for axis in (axis for value in operands for axis in space_of(value).axes):
        known = axes.get(axis.dim.number)
        if known is None or known.extent == 1:
            axes[axis.dim.number] = axis
    return SpaceAttr.of(axes.values())


def _scan_nest(layouts: Layouts, op: tiles.ScanOp) -> NestPlan:
    """Lanes may run along any dimension but the scanned one, which is the innermost loop."""
    space = space_of(op.results_[0])
    others = SpaceAttr.of(axis for axis in space.axes if axis.dim != op.dim)
    nest = nest_plan(layouts, "scan", list(op.results_), others)
    return NestPlan("scan", (*nest.axes, op.dim.number), nest.lane, nest.width)


def _map_nest(layouts: Layouts, op: tiles.MapOp) -> NestPlan:
    layouts.storage_of(op.result)
    plain = _side_by_side(layouts, op, nest_plan(layouts, "map", [op.result], op.space))
    fold = closed_fold_of(op)
    if layouts.choice.program or not isinstance(fold, ClosedFold) or not fold.may_permute:
        return plain
    horizontal = _horizontal(layouts, fold)
    if horizontal is None:
        return plain
    along, across = _fold_price(layouts, fold, horizontal), _plain_price(layouts, fold, plain)
    lanes = ((horizontal.lane, along), (plain.lane, across))
    weighed = tuple((lane, price) for lane, price in lanes if lane is not None)
    return replace(horizontal if along <= across else plain, weighed=weighed)


def _side_by_side(layouts: Layouts, op: tiles.MapOp, nest: NestPlan) -> NestPlan:
    """The nest with as many vectors at once as registers and the size of the code allow, around one plain fold.

    Lines of the folded rows are then read whole and in order, and sums do not wait for each other. For what lies in a
    buffer a few vectors are enough for the latter.
    """
    folds = [inner for inner in op.walk() if isinstance(inner, regions.CarryingOp)]
    if nest.lane is None or nest.width == 1 or len(folds) != 1 or folds[0].parent is not op.body.block:
        return nest
    (fold,) = folds
    extent = next(axis.extent for axis in op.space.axes if axis.dim.number == nest.lane)
    computed = inlined(layouts.placement, op, set())
    code = sum(1 for _ in fold.walk()) + len(computed)
    registers = layouts.machine.vector_registers // (2 * len(fold.inits))
    far = any(isinstance(inner, LoadOp) for inner in computed)
    copies = min(extent // nest.width, registers, _OPERATIONS // code, *([] if far else [_NEAR_VECTORS]))
    return replace(nest, copies=max(copies, 1))


def _horizontal(layouts: Layouts, fold: ClosedFold) -> NestPlan | None:
    """Lanes along the folded dimension whose accesses are cheapest."""
    wide = [axis for axis in fold.reduce.space.axes if axis.extent > 1]
    if not wide:
        return None
    width = width_for(layouts.machine, layouts.choice, [fold.map.result])
    lane = min(reversed(wide), key=lambda axis: _stream_price(layouts, fold, axis, width))
    if layouts.choice.fixed and lane.dim.number not in layouts.choice.fixed:
        kept = {axis.dim.number for axis in fold.map.space.axes}
        if kept & layouts.choice.fixed:
            return None
    kept_axes = [axis.dim.number for axis in fold.map.space.axes]
    folded = [axis.dim.number for axis in fold.reduce.space.axes if axis.dim != lane.dim]
    return NestPlan("fold", (*kept_axes, *folded, lane.dim.number), lane.dim.number, width, fold=True)


def _stream_price(layouts: Layouts, fold: ClosedFold, axis: AxisAttr, width: int) -> float:
    index = fold.reduce.indices[fold.reduce.space.dims.index(axis.dim)]
    return sum(access_weight(stream, width) for stream in _extracted(layouts, fold, index))


def _extracted(layouts: Layouts, fold: ClosedFold, index: SSAValue) -> Iterator[Stream]:
    """The accesses of the fold's body as `index` moves."""
    for inner in fold.map.walk():
        if not isinstance(inner, tiles.ExtractOp):
            continue
        forms = [affine_of(coord) for coord in inner.coords]
        moving = [place for place, form in enumerate(forms) if form is None or form.coefficient(index)]
        if not moving:
            yield Stream(0)
        elif len(moving) > 1 or forms[moving[0]] is None:
            yield Stream(None)
        else:
            yield from read_streams(layouts, inner.tile, space_of(inner.tile).dims[moving[0]])


def _fold_price(layouts: Layouts, fold: ClosedFold, nest: NestPlan) -> float:
    results = max(fold.map.space.volume, 1)
    lane = next(axis for axis in fold.reduce.space.axes if axis.dim.number == nest.lane)
    vectors = fold.reduce.space.volume // max(lane.extent, 1) * -(-lane.extent // nest.width)
    return results * (vectors * (1.0 + _stream_price(layouts, fold, lane, nest.width)) + _COMBINE)


def _plain_price(layouts: Layouts, fold: ClosedFold, nest: NestPlan) -> float:
    points = fold.reduce.space.volume
    lane = next((axis for axis in fold.map.space.axes if axis.dim.number == nest.lane), None)
    if lane is None:
        return float(fold.map.space.volume * points * 2)
    vectors = fold.map.space.volume // max(lane.extent, 1) * -(-lane.extent // nest.width)
    return vectors * points + points * lane_price(layouts, [fold.map.result], lane, fold.map.space)

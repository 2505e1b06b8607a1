"""Region bodies in program order: loops with simultaneous carries, and the rule of every operation that stands in
one.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile

from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.folds import ClosedFold, closed_fold_of
from tilewright.bridge.xir.flow import following
from tilewright.bridge.xir.lower import effects
from tilewright.bridge.xir.lower.columns import fold_columns
from tilewright.bridge.xir.lower.context import Lowering
from tilewright.bridge.xir.lower.contract import lower_contraction, plain_loops
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.folds import fold_to_storage
from tilewright.bridge.xir.lower.nests import copy_nest, fill_storage, store_tiles
from tilewright.bridge.xir.lower.scan import lower_scan
from tilewright.bridge.xir.lower.storage import copy_storage
from tilewright.bridge.xir.lower.values import as_carry, from_carry, scalar_value, step_coord, yielded
from tilewright.bridge.xir.records import Storage
from tilewright.core.codes.unsupported import OP_NOT_ON_ROUTE
from tilewright.core.errors import UnsupportedError
from tilewright.ir.location import span_of
from tilewright.ir.ops import access, elementwise, memory, regions, tiles
from tilewright.ir.types import MemoryStateType, TileType, is_tile

__all__ = ["lower_block", "lower_operation"]


def lower_block(cx: Lowering, block: Block) -> None:
    """Every operation of a region body, where it stands."""
    _lower_operations(cx, block.ops)


def _lower_operations(cx: Lowering, ops: Iterable[Operation]) -> None:
    """Operations of one body, in their order."""
    for op in ops:
        with cx.located(op):
            lower_operation(cx, op)


def lower_operation(cx: Lowering, op: Operation) -> None:
    """One statement. The terminator is none: the rule of its region reads what it yields."""
    product = cx.sinks.get(cx.structure.position[op])
    if product is not None:
        lower_contraction(cx, product, cx.plan.decisions.contracts[cx.structure.position[product]])
        return
    match op:
        case regions.StageOp() | regions.YieldOp() | memory.MemoryAllocOp():
            return
        case memory.MemoryStoreOp():
            nest = cx.plan.decisions.nests[cx.structure.position[op]]
            fill_storage(cx, cx.memory_of(op.memory), op.value, nest)
        case regions.ParallelOp():
            _independent_loop(cx, op, 0)
        case regions.CarryingOp():
            _ordered_loop(cx, op)
        case access.StoreOp():
            _store(cx, op)
        case access.UpdateOp():
            effects.update(cx, op, cx.plan.decisions.nests[cx.structure.position[op]])
        case access.LoadElementOp():
            cx.env[op.result] = effects.load_element(cx, op)
        case access.StoreElementOp():
            effects.store_element(cx, op)
        case tiles.ScanOp():
            lower_scan(cx, op, cx.plan.decisions.nests[cx.structure.position[op]])
        case (
            tiles.ConstantOp()
            | elementwise.ElementwiseOp()
            | tiles.ExtractOp()
            | tiles.MapOp()
            | tiles.MmaOp()
            | access.LoadOp()
            | memory.MemoryLoadOp()
        ):
            _define(cx, op, op.result)
        case _:
            raise UnsupportedError(OP_NOT_ON_ROUTE.at(span_of(op), op=op.name, route="xir"))


def _store(cx: Lowering, op: access.StoreOp) -> None:
    """Together with the stores of its group, where it is the last one of it."""
    position, decisions = cx.structure.position[op], cx.plan.decisions
    if any(position in others for others in decisions.joined.values()):
        return
    others = [cx.operations[other] for other in decisions.joined.get(position, ())]
    stores = [*(other for other in others if isinstance(other, access.StoreOp)), op]
    store_tiles(cx, stores, decisions.nests[position])


def _define(cx: Lowering, op: Operation, result: SSAValue) -> None:
    """Scalars are computed here; tiles only when the plan keeps them."""
    if not is_tile(result):
        with cx.fresh():
            cx.env[result] = scalar_value(cx, result)
        return
    storage = cx.storage_of(result)
    if storage is None or cx.structure.position[op] in cx.plan.decisions.fused:
        return
    if isinstance(op, tiles.MmaOp):
        plain_loops(cx, op, storage, cx.plan.decisions.nests[cx.structure.position[op]])
        return
    with cx.fusing_at(cx.structure.position[op]):
        _compute(cx, op, result, storage)


def _compute(cx: Lowering, op: Operation, result: SSAValue, storage: Storage) -> None:
    nest = cx.plan.decisions.nests.get(cx.structure.position[op])
    fold = closed_fold_of(op) if nest is not None and nest.fold and isinstance(op, tiles.MapOp) else None
    if nest is not None and isinstance(fold, ClosedFold):
        fold_to_storage(cx, fold, storage, nest)
    elif nest is not None and nest.copies > 1 and isinstance(op, tiles.MapOp):
        fold_columns(cx, op, storage, nest)
    else:
        _fill(cx, storage, result, op)


def _fill(cx: Lowering, storage: Storage, result: SSAValue, op: Operation) -> None:
    nest = cx.plan.decisions.nests.get(cx.structure.position[op])
    with cx.bare(result):
        fill_storage(cx, storage, result, nest if nest is not None else copy_nest(cx, storage))


def _independent_loop(cx: Lowering, op: regions.ParallelOp, axis: int) -> None:
    """A nested parallel is an ordinary loop here; its instances are independent."""
    if axis == op.space.rank:
        lower_block(cx, op.body.block)
        return
    with cx.loop(0, op.space.extents[axis]) as loop:
        cx.env[op.indices[axis]] = Coord(loop.index)
        _independent_loop(cx, op, axis + 1)


def _ordered_loop(cx: Lowering, op: regions.CarryingOp) -> None:
    """Tiles are carried in their home buffers, scalars in registers."""
    for carry, init in zip(op.carries, op.inits, strict=True):
        storage = cx.storage_of(carry) if is_tile(carry) else None
        if storage is not None:
            fill_storage(cx, storage, init, copy_nest(cx, storage))
    scalars = [i for i, carry in enumerate(op.carries) if not isinstance(carry.type, TileType | MemoryStateType)]
    inits = tuple(as_carry(cx, scalar_value(cx, op.inits[i])) for i in scalars)
    results = _axis(cx, op, 0, scalars, inits)
    for i, value in zip(scalars, results, strict=True):
        cx.env[op.results_[i]] = from_carry(value, op.results_[i])


def _axis(
    cx: Lowering, op: regions.CarryingOp, axis: int, scalars: Sequence[int], carries: tuple[SSAValue, ...]
) -> tuple[SSAValue, ...]:
    if axis == op.space.rank:
        return _body(cx, op, scalars, carries)
    extent = op.space.extents[axis]
    with cx.loop(0, extent, 1, carries) as loop:
        cx.env[op.indices[axis]] = step_coord(cx, op, loop.index, extent)
        loop.yield_(_axis(cx, op, axis + 1, scalars, loop.carries))
    return loop.results


def _body(
    cx: Lowering, op: regions.CarryingOp, scalars: Sequence[int], carries: tuple[SSAValue, ...]
) -> tuple[SSAValue, ...]:
    for i, value in zip(scalars, carries, strict=True):
        cx.env[op.carries[i]] = from_carry(value, op.carries[i])
    when = op.when
    if when is None:
        return _rest_of_body(cx, op, op.body.block.ops, scalars)
    _lower_operations(cx, takewhile(lambda other: other is not when, op.body.block.ops))
    with cx.builder.if_(cx.ssa(scalar_value(cx, when.condition)), [value.type for value in carries]) as branch:
        branch.yield_(_rest_of_body(cx, op, following(when), scalars))
    if carries:
        with branch.orelse() as unchanged:
            unchanged.yield_(carries)
    return branch.results


def _rest_of_body(
    cx: Lowering, op: regions.CarryingOp, ops: Iterable[Operation], scalars: Sequence[int]
) -> tuple[SSAValue, ...]:
    _lower_operations(cx, ops)
    values = yielded(op.body.block.last_op)
    _tiles_home(cx, op, values)
    return tuple(as_carry(cx, scalar_value(cx, values[i])) for i in scalars)


def _tiles_home(cx: Lowering, op: regions.CarryingOp, values: Sequence[SSAValue]) -> None:
    """Every yielded tile reaches its home. Staged ones are all computed before any home is overwritten."""
    position = cx.structure.position[op]
    pending: list[tuple[Storage, Storage]] = []
    direct: list[tuple[Storage, SSAValue]] = []
    for index, (carry, value) in enumerate(zip(op.carries, values, strict=True)):
        home = cx.storage_of(carry) if is_tile(carry) else None
        if home is None or value is carry:
            continue
        if (position, index) in cx.plan.decisions.staged:
            pending.append((home, _staged(cx, value, home)))
        elif cx.storage_of(value) is None:
            direct.append((home, value))
    for home, value in direct:
        fill_storage(cx, home, value, copy_nest(cx, home))
    for home, source in pending:
        copy_storage(cx, source, home)


def _staged(cx: Lowering, value: SSAValue, home: Storage) -> Storage:
    """The yielded tile in a buffer that is not the home of any carry it may depend on."""
    stage = cx.stage_for(home)
    fill_storage(cx, stage, value, copy_nest(cx, stage))
    return stage

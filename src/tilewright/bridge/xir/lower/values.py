"""The value of a tile at a point, and of a scalar: the one evaluator of expressions.

A point gives one coordinate for each axis of the tile. Every subexpression is computed at the outermost open loop that
knows its coordinates, and remembered there.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.folds import ClosedFold, closed_fold_of
from tilewright.analysis.ranges import interval_of
from tilewright.bridge.xir.flow import is_anchored
from tilewright.bridge.xir.lower import elementwise as rules
from tilewright.bridge.xir.lower.access import (
    access_index,
    guards_of,
    load_from_storage,
    load_from_view,
    store_to_storage,
)
from tilewright.bridge.xir.lower.context import Lowering, Val, register_type
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.records import Storage
from tilewright.core.codes.internal import PLAN_BROKEN
from tilewright.core.codes.unsupported import OP_NOT_ON_ROUTE
from tilewright.core.errors import InternalError, UnsupportedError
from tilewright.ir.attrs import Policy
from tilewright.ir.location import span_of
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.memory import MemoryLoadOp
from tilewright.ir.types import I64, DimAttr, dtype_of, element_of, is_tile, space_of
from tilewright.numerics.bits import from_bits

__all__ = [
    "as_carry",
    "coord_value",
    "coord_values",
    "from_carry",
    "map_value",
    "operand_value",
    "remember",
    "run_inner_regions",
    "scalar_value",
    "settle_scalars",
    "step_coord",
    "tile_value",
    "yielded",
]

Point = tuple[Coord, ...]

_SHORT_FOLD = 8  # operations of a fold whose steps are cheaper than waiting for them


def tile_value(cx: Lowering, value: SSAValue, point: Point) -> Val:
    """One element (one a lane) of a tile. Axes of extent 1 are read at 0.

    A tile made inside the body of a map also depends on the arguments of that body: it is computed where it is read.
    """
    extents = space_of(value).extents
    point = tuple(cx.math.const(0) if extent == 1 else at for extent, at in zip(extents, point, strict=True))
    depth, key = _memory_of(cx, value, point)
    known = cx.levels[depth].memo.get(key)
    if known is not None:
        return known
    with cx.at_depth(depth):
        found = _tile_value(cx, value, point)
    cx.levels[depth].memo[key] = found
    return found


def remember(cx: Lowering, value: SSAValue, point: Point, found: Val) -> None:
    """The element of a tile at a point is at hand: whoever asks for it there is given `found`."""
    depth, key = _memory_of(cx, value, point)
    cx.levels[depth].memo[key] = found


def _memory_of(cx: Lowering, value: SSAValue, point: Point) -> tuple[int, object]:
    """The level that remembers an element, and under which key. Equal constants are the same coordinate."""
    active = cx.active if isinstance(cx.active, int) else None
    owner = value.owner
    at = tuple(coord if coord.known is None else coord.known for coord in point)
    if isinstance(owner, Operation) and not is_anchored(owner):
        return len(cx.levels) - 1, (value, at, active, cx.scope_number)
    return max((cx.depth_of(coord) for coord in point), default=0), (value, at, active, 0)


def _tile_value(cx: Lowering, value: SSAValue, point: Point) -> Val:
    if value in cx.sums:
        return cx.sums[value]
    storage = cx.storage_of(value)
    if storage is not None and value in cx.fusing and value not in cx.computing:
        return _computed_and_kept(cx, storage, value, point)
    if storage is not None and value not in cx.computing:
        return load_from_storage(cx, storage, value, point)
    owner = value.owner
    match owner:
        case tiles.ConstantOp():
            return constant(cx, owner)
        case LoadOp():
            return _load(cx, owner, point)
        case MemoryLoadOp():
            return load_from_storage(cx, cx.memory_of(owner.memory), value, point)
        case elementwise.ElementwiseOp():
            return _elementwise(cx, owner, point)
        case tiles.MapOp():
            return map_value(cx, owner, point)
        case _:
            raise UnsupportedError(OP_NOT_ON_ROUTE.at(span_of(value), op=_name(owner), route="xir"))


def _computed_and_kept(cx: Lowering, storage: Storage, value: SSAValue, point: Point) -> Val:
    """The element, which the fold that reads it first also writes to the tile's buffer."""
    with cx.bare(value):
        found = _tile_value(cx, value, point)
    at = dict(zip((dim.number for dim in space_of(value).dims), point, strict=True))
    store_to_storage(cx, storage, storage.dims, tuple(at[dim] for dim in storage.dims), found)
    return found


def _load(cx: Lowering, op: LoadOp, point: Point) -> Val:
    index = access_index(cx, coord_values(cx, op.origin), point)
    mask = (
        None if op.mask is None else operand_value(cx, op.mask, dict(zip(space_of(op.result).dims, point, strict=True)))
    )
    fill = None if op.fill is None else cx.ssa(scalar_value(cx, op.fill))
    guards = guards_of(cx, op, index, mask)
    return load_from_view(cx, op.view, index, guards, fill)


def coord_values(cx: Lowering, values: Sequence[SSAValue]) -> tuple[Coord, ...]:
    """The values of i64 scalars."""
    return tuple(coord_value(cx, value) for value in values)


def _name(owner: object) -> str:
    return owner.name if isinstance(owner, Operation) else "a carried tile"


def constant(cx: Lowering, op: tiles.ConstantOp) -> Val:
    """A constant, exactly."""
    dtype = dtype_of(element_of(op.result))
    if dtype.is_float and dtype.bits == 8:
        return cx.builder.const(register_type(dtype), op.value.data)
    exact = from_bits(dtype, np.asarray(op.value.data, dtype=np.uint64).astype(f"u{dtype.itemsize}"))
    found = cx.builder.const(register_type(dtype), float(exact) if dtype.kind == "float" else int(exact))
    return Coord(found) if dtype.name == "i64" else found


def _elementwise(cx: Lowering, op: elementwise.ElementwiseOp, point: Point) -> Val:
    dims = space_of(op.result).dims
    at = dict(zip(dims, point, strict=True))
    operands = [operand_value(cx, operand, at) for operand in op.operands]
    return rules.apply(cx, op, operands)


def operand_value(cx: Lowering, operand: SSAValue, at: Mapping[DimAttr, Coord]) -> Val:
    """A scalar operand, or a tile operand at the coordinates of its dimensions."""
    if not is_tile(operand):
        return scalar_value(cx, operand)
    zero = cx.math.const(0)
    return tile_value(cx, operand, tuple(at.get(dim, zero) for dim in space_of(operand).dims))


def map_value(cx: Lowering, op: tiles.MapOp, point: Point) -> Val:
    """The scalar that a map's body yields at a point."""
    with cx.scope(dict(zip(op.body.block.args, point, strict=True))):
        run_inner_regions(cx, op.body.block)
        return scalar_value(cx, yielded(op.body.block.last_op)[0])


def run_inner_regions(cx: Lowering, block: Block) -> None:
    """Emit the loops of a pure body where they stand, so that their results serve every later use."""
    for op in block.ops:
        if isinstance(op, regions.CarryingOp):
            settle_scalars(cx, op)
            cx.env.update(zip(op.results_, run_region(cx, op), strict=True))


def settle_scalars(cx: Lowering, op: Operation) -> None:
    """Compute before a loop what its body reads from around it, so that later readers find it outside the loop."""
    for inner in op.walk():
        for value in inner.operands:
            owner = value.owner
            if isinstance(owner, Operation) and not is_tile(value) and not op.is_ancestor(owner):
                scalar_value(cx, value)


def run_region(cx: Lowering, op: regions.CarryingOp) -> tuple[Val, ...]:
    """The ordered loops of a region with scalar carries. All yielded values are computed before any is replaced."""
    inits = tuple(as_carry(cx, scalar_value(cx, value)) for value in op.inits)
    chains = _chains(cx, op)
    if chains > 1:
        return (from_carry(_in_chains(cx, op, chains, inits[0]), op.inits[0]),)
    return tuple(from_carry(value, init) for value, init in zip(_axis_loop(cx, op, 0, inits), op.inits, strict=True))


def _chains(cx: Lowering, op: regions.CarryingOp) -> int:
    """How many running values a short fold of maxima keeps: with one, every step waits for the one before.

    Starting each from the seed is right, since a maximum does not mind what it meets twice.
    """
    around = op.parent_op()
    fold = closed_fold_of(around) if isinstance(around, tiles.MapOp) else None
    if not isinstance(fold, ClosedFold) or fold.merge not in ("max", "min") or not fold.may_permute:
        return 1
    if op.space.rank != 1 or sum(1 for _ in op.walk()) > _SHORT_FOLD:
        return 1
    return next((n for n in range(cx.plan.options.fold_partials, 1, -1) if op.space.volume % n == 0), 1)


def _in_chains(cx: Lowering, op: regions.CarryingOp, chains: int, init: SSAValue) -> SSAValue:
    """The fold with element i in chain i % chains, and the chains met at the end."""
    value = yielded(op.body.block.last_op)[0]
    with cx.loop(0, op.space.volume, chains, (init,) * chains) as loop:
        following: list[SSAValue] = []
        for chain, carried in enumerate(loop.carries):
            index = Coord(cx.builder.add(loop.index, chain))
            with cx.scope({op.indices[0]: index, op.carries[0]: from_carry(carried, op.carries[0])}):
                following.append(as_carry(cx, scalar_value(cx, value)))
        loop.yield_(following)
    total, *others = loop.results
    for other in others:
        pair = [from_carry(each, value) for each in (total, other)]
        total = as_carry(cx, rules.apply(cx, _merge_step(value), pair))
    return total


def _merge_step(value: SSAValue) -> elementwise.BinaryOp:
    """The operation that updates the carry of a closed fold."""
    if not isinstance(value.owner, elementwise.BinaryOp):
        raise InternalError(PLAN_BROKEN.at(span_of(value), what="a closed fold has no update"))
    return value.owner


def _axis_loop(cx: Lowering, op: regions.CarryingOp, axis: int, carries: tuple[SSAValue, ...]) -> tuple[SSAValue, ...]:
    if axis == op.space.rank:
        return _body(cx, op, carries)
    extent = op.space.extents[axis]
    with cx.loop(0, extent, 1, carries) as loop:
        cx.env[op.indices[axis]] = step_coord(cx, op, loop.index, extent)
        loop.yield_(_axis_loop(cx, op, axis + 1, loop.carries))
    return loop.results


def step_coord(cx: Lowering, op: regions.RegionOp, index: SSAValue, extent: int) -> Coord:
    """The coordinate of a trip: a right fold visits its domain backwards."""
    if isinstance(op, regions.ReduceOp) and op.policy.data is Policy.FOLD_RIGHT:
        return cx.math.sub(cx.math.const(extent - 1), Coord(index))
    return Coord(index)


def _body(cx: Lowering, op: regions.CarryingOp, carries: tuple[SSAValue, ...]) -> tuple[SSAValue, ...]:
    cx.env.update((argument, from_carry(value, argument)) for argument, value in zip(op.carries, carries, strict=True))
    run_inner_regions(cx, op.body.block)
    return tuple(as_carry(cx, scalar_value(cx, value)) for value in yielded(op.body.block.last_op))


def as_carry(cx: Lowering, value: Val) -> SSAValue:
    """A scalar as a loop carries it: a vector, where lanes may differ."""
    return cx.vectorised(cx.ssa(value), cx.width)


def from_carry(value: SSAValue, of: SSAValue) -> Val:
    """A carried value as the scalar it stands for."""
    return Coord(value) if of.type == I64 else value


def yielded(op: Operation | None) -> Sequence[SSAValue]:
    """What a terminator yields."""
    return tuple(op.values) if isinstance(op, regions.YieldOp) else ()


def scalar_value(cx: Lowering, value: SSAValue) -> Val:
    """The value of a scalar, computed on first use."""
    known = cx.env.get(value)
    if known is not None:
        return known
    owner = value.owner
    match owner:
        case tiles.ConstantOp():
            found = constant(cx, owner)
        case elementwise.ElementwiseOp():
            found = _scalar_elementwise(cx, owner)
        case tiles.ExtractOp():
            extents = space_of(owner.tile).extents
            point = tuple(_index_inside(cx, *each) for each in zip(owner.coords, extents, strict=True))
            found = tile_value(cx, owner.tile, point)
        case _:
            raise UnsupportedError(OP_NOT_ON_ROUTE.at(span_of(value), op=_name(owner), route="xir"))
    cx.env[value] = found
    return found


def _scalar_elementwise(cx: Lowering, op: elementwise.ElementwiseOp) -> Val:
    operands = [scalar_value(cx, operand) for operand in op.operands]
    depth = max((cx.depth_of(operand) for operand in operands), default=0)
    with cx.at_depth(depth):
        return rules.apply(cx, op, operands)


def _index_inside(cx: Lowering, index: SSAValue, extent: int) -> Coord:
    """An index of a tile's axis. One that is not proved to lie inside is moved there: which element an index outside
    reads is unspecified, and never one of other memory.
    """
    at, known = coord_value(cx, index), interval_of(index)
    if extent == 0 or (known is not None and known.within(extent)):
        return at
    value = cx.math.value(at)
    low, high = (cx.builder.const(value.type, limit) for limit in (0, extent - 1))
    return Coord(cx.builder.maxsi(cx.builder.minsi(value, high), low))


def coord_value(cx: Lowering, value: SSAValue) -> Coord:
    """The value of an i64 scalar."""
    found = scalar_value(cx, value)
    return found if isinstance(found, Coord) else Coord(found)

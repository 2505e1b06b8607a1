"""Running folds: plain loops around, one ordered loop along the scanned dimension that carries the states.

A right fold of i elements is no step away from that of i - 1: each element has its own loop, from it back to the first.
"""

from xdsl.ir import SSAValue

from tilewright.bridge.xir.lower.access import store_to_storage
from tilewright.bridge.xir.lower.context import Lowering
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.nests import At, extents_of, run_nest
from tilewright.bridge.xir.lower.values import as_carry, from_carry, operand_value, scalar_value, tile_value, yielded
from tilewright.bridge.xir.records import NestPlan
from tilewright.ir.attrs import Policy
from tilewright.ir.ops.tiles import ScanOp
from tilewright.ir.types import space_of

__all__ = ["lower_scan"]


def lower_scan(cx: Lowering, op: ScanOp, nest: NestPlan) -> None:
    """Compute every result of a scan into its buffer."""
    outer = NestPlan("scan", nest.axes[:-1], nest.lane, nest.width)
    run_nest(cx, outer, extents_of(space_of(op.tiles[0])), lambda at: _along(cx, op, at))


def _along(cx: Lowering, op: ScanOp, at: At) -> None:
    extent = space_of(op.tiles[0]).extent_of(op.dim) or 0
    by_dim = {dim: at[dim.number] for dim in space_of(op.tiles[0]).dims if dim != op.dim}
    seeds = tuple(as_carry(cx, operand_value(cx, seed, by_dim)) for seed in op.seeds)
    if op.policy.data is Policy.FOLD_RIGHT:
        _every_start(cx, op, at, extent, seeds)
    else:
        _in_one_go(cx, op, at, extent, seeds)


def _in_one_go(cx: Lowering, op: ScanOp, at: At, extent: int, seeds: tuple[SSAValue, ...]) -> None:
    with cx.loop(0, extent, 1, seeds) as loop:
        point = _point(cx, op, at, extent, Coord(loop.index))
        following = _step(cx, op, point, loop.carries)
        _keep(cx, op, point, loop.carries if op.exclusive.value.data else following)
        loop.yield_(following)


def _every_start(cx: Lowering, op: ScanOp, at: At, extent: int, seeds: tuple[SSAValue, ...]) -> None:
    """The i-th result from scratch: the elements i (or i - 1 when exclusive) down to 0, folded into the seeds."""
    with cx.loop(0, extent) as around:
        own = Coord(around.index)
        count = own if op.exclusive.value.data else cx.math.add(own, cx.math.const(1))
        with cx.loop(0, cx.ssa(count), 1, seeds) as loop:
            place = cx.math.sub(cx.math.sub(count, cx.math.const(1)), Coord(loop.index))
            loop.yield_(_step(cx, op, _point(cx, op, at, extent, place), loop.carries))
        _keep(cx, op, _point(cx, op, at, extent, own), loop.results)


def _point(cx: Lowering, op: ScanOp, at: At, extent: int, place: Coord) -> At:
    """Where the element stands that is `place` elements from the end at which the scan begins."""
    where = cx.math.sub(cx.math.const(extent - 1), place) if op.reverse.value.data else place
    return {**at, op.dim.number: where}


def _step(cx: Lowering, op: ScanOp, at: At, states: tuple[SSAValue, ...]) -> tuple[SSAValue, ...]:
    count = len(states)
    arguments = op.body.block.args
    elements = [tile_value(cx, tile, tuple(at[dim.number] for dim in space_of(tile).dims)) for tile in op.tiles]
    held = [from_carry(state, argument) for state, argument in zip(states, arguments[:count], strict=True)]
    with cx.scope(dict(zip(arguments, [*held, *elements], strict=True))):
        return tuple(as_carry(cx, scalar_value(cx, value)) for value in yielded(op.body.block.last_op))


def _keep(cx: Lowering, op: ScanOp, at: At, states: tuple[SSAValue, ...]) -> None:
    for result, state in zip(op.results_, states, strict=True):
        storage = cx.storage_of(result)
        if storage is not None:
            store_to_storage(cx, storage, storage.dims, tuple(at[dim] for dim in storage.dims), state)

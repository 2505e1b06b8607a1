"""Running folds: plain loops around, one ordered loop along the scanned dimension that carries the states."""

from xdsl.ir import SSAValue

from tilewright.bridge.xir.lower.access import store_to_storage
from tilewright.bridge.xir.lower.context import Lowering
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.nests import At, extents_of, run_nest
from tilewright.bridge.xir.lower.values import as_carry, from_carry, operand_value, scalar_value, tile_value, yielded
from tilewright.bridge.xir.records import NestPlan
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
    with cx.loop(0, extent, 1, seeds) as loop:
        index = Coord(loop.index)
        where = cx.math.sub(cx.math.const(extent - 1), index) if op.reverse.value.data else index
        point = {**at, op.dim.number: where}
        following = _step(cx, op, point, loop.carries)
        _keep(cx, op, point, loop.carries if op.exclusive.value.data else following)
        loop.yield_(following)


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

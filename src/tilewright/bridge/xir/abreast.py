"""Which stores compute several neighbouring vectors before they write any of them.

A load waits for a store before it whose address has the same place in its page, although it reads something else, and
arguments lie where they lie. With the loads of several vectors before their stores that happens once for all of them,
and the loop turns less often. Only timing depends on the choice.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from tilewright.analysis.folds import ClosedFold, closed_fold_of
from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.prices import DIVISIONS, EXPENSIVE
from tilewright.bridge.xir.records import NestPlan
from tilewright.bridge.xir.squares import inlined
from tilewright.ir.ops import tiles
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.regions import RegionOp
from tilewright.ir.types import DimAttr, space_of

__all__ = ["abreast"]

_VECTORS = 4  # of all stores of a loop
_OPERATIONS = 64  # of a loop body, so that it stays quick to compile


def abreast(
    placement: Placement,
    nests: Mapping[int, NestPlan],
    joined: Mapping[int, tuple[int, ...]],
    partial: Collection[int],
) -> dict[int, NestPlan]:
    """The nests, those of stores with how many vectors they compute at once; stores of one loop alike."""
    found = dict(nests)
    if placement.options.abreast is Use.NEVER:
        return found
    operations = {position: op for op, position in placement.structure.position.items()}
    for position, nest in nests.items():
        op = operations[position]
        if nest.fold and isinstance(op, tiles.MapOp):
            found[position] = replace(nest, rows=_fold_rows(placement, op, nest, partial))
    elsewhere = {other for others in joined.values() for other in others}
    for last in nests:
        group = [operations[each] for each in (*joined.get(last, ()), last)]
        stores = [op for op in group if isinstance(op, StoreOp)]
        if last not in elsewhere and len(stores) == len(group):
            copies = _copies(placement, stores, nests[last])
            rows = _rows(placement, stores, nests[last], copies, partial)
            for op in stores:
                position = placement.structure.position[op]
                found[position] = replace(nests[position], copies=copies if rows == 1 else max(1, 8//rows), rows=rows)
    return found


def _copies(placement: Placement, stores: list[StoreOp], nest: NestPlan) -> int:
    """How many vectors of each store; 1 where nothing is gained, or too much code."""
    if nest.lane is None or nest.width == 1 or nest.across is not None or nest.axes[-1] != nest.lane:
        return 1
    computed = {op for store in stores for op in inlined(placement, store, set())}
    if any(isinstance(inner, RegionOp) for op in computed for inner in op.walk()):
        return 1
    reads = any(isinstance(op, LoadOp) for op in computed) or any(
        not placement.is_inline(store.value) for store in stores
    )
    if not reads or _waits(placement, computed):
        return 1
    extents = {axis.dim.number: axis.extent for axis in space_of(stores[-1].value).axes}
    vectors = extents[nest.lane] // nest.width
    code = sum(sum(1 for _ in op.walk()) for op in computed) + len(stores)
    return max(1, min(_VECTORS // len(stores), vectors // 2, _OPERATIONS // code))


def _rows(placement: Placement, stores: list[StoreOp], nest: NestPlan, copies: int, partial: Collection[int]) -> int:
    """How many rows at once: where they share what they read, it is read once."""
    if copies == 1 or len(nest.axes) < 2 or nest.merged or nest.streaming:
        return 1
    rows = DimAttr.of(nest.axes[-2])
    extents = {axis.dim.number: axis.extent for axis in space_of(stores[-1].value).axes}
    extent = extents[rows.number]
    if rows.number in partial:
        return 1
    computed = {op for store in stores for op in inlined(placement, store, set())}
    shared = [op for op in computed if isinstance(op, LoadOp) and (space_of(op.result).extent_of(rows) or 1) == 1
              and (space_of(op.result).extent_of(DimAttr.of(nest.lane or 0)) or 1) > 1]
    if not shared:
        return 1
    return next(size for size in (4, 2, 1) if extent % size == 0)


def _fold_rows(placement: Placement, op: tiles.MapOp, nest: NestPlan, partial: Collection[int]) -> int:
    if not op.space.rank or op.space.axes[-1].dim.number in partial:
        return 1
    fold = closed_fold_of(op)
    assert isinstance(fold, ClosedFold)
    computed = inlined(placement, op, set())
    if _waits(placement, {*computed, op}):
        return 1
    masks = 2 if fold.merge in ("max", "min") else 1
    code = sum(sum(1 for _ in each.walk()) for each in computed) + sum(1 for _ in fold.reduce.body.block.ops)
    partials = placement.options.fold_partials
    most = min(placement.machine.vector_registers // (2 * partials * masks), 160 // (partials * code))
    return next((size for size in (4, 2) if size <= most and op.space.axes[-1].extent % size == 0), 1)


def _waits(placement: Placement, computed: set) -> bool:
    """Whether functions are computed, which take so long that no load is waited for."""
    if placement.options.abreast is Use.WHEREVER_LEGAL:
        return False
    return any(isinstance(inner, EXPENSIVE) and not isinstance(inner, DIVISIONS) for op in computed for inner in op.walk())

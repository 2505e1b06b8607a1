"""Which stores compute several neighbouring vectors before they write any of them.

A load waits for a store before it whose address has the same place in its page, although it reads something else, and
arguments lie where they lie. With the loads of several vectors before their stores that happens once for all of them,
and the loop turns less often. Only timing depends on the choice.
"""

from collections.abc import Mapping
from dataclasses import replace

from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.prices import DIVISIONS, EXPENSIVE
from tilewright.bridge.xir.records import NestPlan
from tilewright.bridge.xir.squares import inlined
from tilewright.ir.ops import tiles
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.regions import RegionOp
from tilewright.ir.types import space_of

__all__ = ["abreast"]

_VECTORS = 4  # of all stores of a loop
_OPERATIONS = 64  # of a loop body, so that it stays quick to compile


def abreast(
    placement: Placement, nests: Mapping[int, NestPlan], joined: Mapping[int, tuple[int, ...]]
) -> dict[int, NestPlan]:
    """The nests, those of stores with how many vectors they compute at once; stores of one loop alike."""
    found = dict(nests)
    if placement.options.abreast is Use.NEVER:
        return found
    operations = {position: op for op, position in placement.structure.position.items()}
    elsewhere = {other for others in joined.values() for other in others}
    for last in nests:
        group = [operations[each] for each in (*joined.get(last, ()), last)]
        stores = [op for op in group if isinstance(op, StoreOp)]
        if last not in elsewhere and len(stores) == len(group):
            copies = _copies(placement, stores, nests[last])
            for op in stores:
                position = placement.structure.position[op]
                found[position] = replace(nests[position], copies=copies)
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


def _waits(placement: Placement, computed: set) -> bool:
    """Whether functions are computed, which take so long that no load is waited for."""
    if placement.options.abreast is Use.WHEREVER_LEGAL:
        return False
    return any(isinstance(inner, EXPENSIVE) and not isinstance(inner, DIVISIONS) for op in computed for inner in op.walk())

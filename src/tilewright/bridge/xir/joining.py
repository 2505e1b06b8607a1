"""Stores that share a loop: what both read is read once, while it is at hand.

The stores stand one after the other, and nothing between them reads or writes memory. All are computed where the last
one stands, element by element, so that none may write where another one does, nor what an earlier one still reads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from xdsl.ir import Block, Operation

from tilewright.analysis.affine import affine_of
from tilewright.bridge.xir.flow import is_anchored
from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.records import NestPlan
from tilewright.ir.effects import effect_of
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.ops.regions import RegionOp
from tilewright.ir.types import is_tile, space_of

__all__ = ["joined_stores"]


def joined_stores(placement: Placement, nests: Mapping[int, NestPlan]) -> dict[int, tuple[int, ...]]:
    """Positions of stores that end a group -> positions of the others of the group, in order."""
    if placement.options.joining is Use.NEVER:
        return {}
    position = placement.structure.position
    blocks = dict.fromkeys(op.parent for op in position if isinstance(op, StoreOp) and is_anchored(op))
    groups = [group for block in blocks if block is not None for group in _groups(placement, nests, block)]
    for *others, last in groups:
        for other in others:
            placement.assume(_two_arguments(placement, other, last))
    return {position[last]: tuple(position[other] for other in others) for *others, last in groups}


def _groups(placement: Placement, nests: Mapping[int, NestPlan], block: Block) -> Iterator[list[StoreOp]]:
    group: list[StoreOp] = []
    for op in block.ops:
        if isinstance(op, StoreOp) and placement.structure.position[op] in nests:
            if not group or not all(_may_join(placement, nests, other, op) for other in group):
                yield from [group] if len(group) > 1 else []
                group = []
            group.append(op)
        elif not _does_nothing(placement, op):
            yield from [group] if len(group) > 1 else []
            group = []
    yield from [group] if len(group) > 1 else []


def _does_nothing(placement: Placement, op: Operation) -> bool:
    """Whether an operation touches no memory where it stands: a scalar, or a tile that is computed elsewhere."""
    if isinstance(op, RegionOp) or effect_of(op) & (Effect.READ | Effect.WRITE):
        return False
    return all(not is_tile(result) or placement.is_inline(result) for result in op.results)


def _may_join(placement: Placement, nests: Mapping[int, NestPlan], first: StoreOp, second: StoreOp) -> bool:
    position = placement.structure.position
    one, two = nests[position[first]], nests[position[second]]
    alike = replace(two, what=one.what, caching=one.caching, store_prices=one.store_prices, copies=one.copies)
    same_loops = one == alike and one.streaming == two.streaming
    if one.across is not None or not same_loops:
        return False
    if set(space_of(first.value).axes) != set(space_of(second.value).axes):
        return False
    if _reads_late(placement, first, second):
        return False
    return not placement.may_alias if first.view is not second.view else _apart(first, second)


def _reads_late(placement: Placement, first: StoreOp, second: StoreOp) -> bool:
    """Whether the first store reads, at its own points, the view that the second one writes."""
    loads = (op for op in placement.structure.position if isinstance(op, LoadOp) and op.view is second.view)
    return any(placement.is_inline(load.result) and first in placement.points(load.result) for load in loads)


def _apart(first: StoreOp, second: StoreOp) -> bool:
    """Whether two tiles of a view lie side by side along an axis, in every iteration."""
    extents = zip(space_of(first.value).extents, space_of(second.value).extents, strict=True)
    for one, two, (own, other) in zip(first.origin, second.origin, extents, strict=True):
        a, b = affine_of(one), affine_of(two)
        if a is not None and b is not None and a.terms == b.terms:
            distance = b.constant - a.constant
            if distance >= own or -distance >= other:
                return True
    return False


def _two_arguments(placement: Placement, first: StoreOp, second: StoreOp) -> set[tuple[int, int]]:
    arguments = placement.structure.kernel.body.block.args
    pair = arguments.index(first.view), arguments.index(second.view)
    return set() if pair[0] == pair[1] else {pair}

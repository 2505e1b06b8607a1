"""Which stores go past the caches: what a program writes once, never reads, and could not keep in the caches anyway.

A cached store reads its line first and throws out another one, so that it moves twice what it writes.
Only timing depends on the choice.
"""

from collections.abc import Mapping
from dataclasses import replace

from tilewright.analysis.access import is_inside
from tilewright.bridge.xir.layout import Layouts
from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.prices import EXPENSIVE
from tilewright.bridge.xir.records import Caching, NestPlan
from tilewright.core.dtypes import DType
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreOp
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import dtype_of, is_tile, space_of, view_type

__all__ = ["with_streams"]

_LEAST_VECTORS = 8  # of a row: shorter ones are all head and tail


def with_streams(layouts: Layouts, root: ParallelOp, nests: Mapping[int, NestPlan]) -> dict[int, NestPlan]:
    """The nests, each store with how it treats the caches."""
    found = dict(nests)
    for op, position in layouts.placement.structure.position.items():
        if isinstance(op, StoreOp) and position in nests:
            nest = nests[position]
            found[position] = replace(nest, caching=_caching(layouts, root, op, nest))
    return found


def _caching(layouts: Layouts, root: ParallelOp, op: StoreOp, nest: NestPlan) -> Caching:
    """What the caller asks for, or the rule."""
    match layouts.placement.options.streaming:
        case Use.NEVER:
            return Caching.ASKED
        case Use.WHEREVER_LEGAL:
            return _unfit(layouts, op, nest) or Caching.PAST
        case None:
            return _unprofitable(layouts, root, op) or _unfit(layouts, op, nest) or _seldom(layouts, op, nest)


def _unfit(layouts: Layouts, op: StoreOp, nest: NestPlan) -> Caching | None:
    """Why rows cannot be written as whole lines."""
    placement, space, view = layouts.placement, space_of(op.value), view_type(op.view)
    lane = next((axis for axis in space.axes if axis.dim.number == nest.lane), None)
    if lane is None or nest.axes[-1] != nest.lane or view.strides[space.dims.index(lane.dim)] != 1:
        return Caching.APART
    if nest.across is not None:
        return Caching.SQUARES
    if not _fills_vectors(nest, dtype_of(view.element), layouts.machine.vector_bits):
        return Caching.SHORT
    return Caching.GUARDED if op.mask is not None or not is_inside(op, placement.limits, placement.forms) else None


def _seldom(layouts: Layouts, op: StoreOp, nest: NestPlan) -> Caching:
    """Past the caches, unless that would seldom be whole lines, or again and again the same ones."""
    extent = next(axis.extent for axis in space_of(op.value).axes if axis.dim.number == nest.lane)
    if extent < _LEAST_VECTORS * nest.width:
        return Caching.SHORT
    return Caching.REPEATED if layouts.placement.structure.trips_of(op) > 1 else Caching.PAST


def _unprofitable(layouts: Layouts, root: ParallelOp, op: StoreOp) -> Caching | None:
    """Why the caches are of use."""
    volume = space_of(op.value).volume
    if 2 * root.space.volume * volume * dtype_of(view_type(op.view).element).itemsize <= layouts.machine.l3_bytes:
        return Caching.SMALL
    if any(isinstance(other, LoadOp | LoadElementOp) and other.view is op.view for other in root.walk()):
        return Caching.READ
    return Caching.ARITHMETIC if _computes(root, volume) else None


def _fills_vectors(nest: NestPlan, dtype: type[DType], vector_bits: int) -> bool:
    return nest.width > 1 and nest.width * dtype.bits == vector_bits and dtype.bits >= 8


def _computes(root: ParallelOp, volume: int) -> bool:
    """Whether a costly function or a product is computed for every element."""
    return any(
        isinstance(op, MmaOp)
        or (isinstance(op, EXPENSIVE) and is_tile(op.results[0]) and space_of(op.results[0]).volume >= volume)
        for op in root.walk()
    )

"""Which stores go past the caches: what a program writes once, never reads, and writes faster that way.

A cached store brings its line first and carries it back later, from and to where the results of the launch fit; one
past the caches does neither, but always goes to memory. Only timing depends on the choice.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import fsum

from xdsl.ir import Operation

from tilewright.analysis.access import is_inside
from tilewright.bridge.xir.flow import tile_operands
from tilewright.bridge.xir.layout import Layouts
from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.prices import operation_price
from tilewright.bridge.xir.records import Caching, NestPlan, StorePrices
from tilewright.bridge.xir.squares import inlined
from tilewright.core.dtypes import DType
from tilewright.core.machine import Level
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreOp
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.types import dtype_of, element_of, space_of, view_type

__all__ = ["with_streams"]

_MOVED = 2  # a line that is stored through the caches is brought, and carried back
_SHARE = 2  # what is written shares the last cache with as much that is read, and the other way round
_PARTIAL = 4  # vectors that the ends of a row take: two partial lines, each brought and carried back
_AT_ONCE = 2  # lines on their way beneath each other


def with_streams(layouts: Layouts, root: ParallelOp, nests: Mapping[int, NestPlan]) -> dict[int, NestPlan]:
    """The nests, each store with how it treats the caches."""
    found = dict(nests)
    for op, position in layouts.placement.structure.position.items():
        if isinstance(op, StoreOp) and position in nests:
            found[position] = _decided(layouts, root, op, nests[position])
    return found


def _decided(layouts: Layouts, root: ParallelOp, op: StoreOp, nest: NestPlan) -> NestPlan:
    """What the caller asks for, or what is cheaper."""
    asked, reason = layouts.placement.options.streaming, _unfit(layouts, op, nest)
    if asked is Use.NEVER:
        return replace(nest, caching=Caching.ASKED)
    if asked is Use.WHEREVER_LEGAL:
        return replace(nest, caching=reason or Caching.PAST)
    size = root.space.volume * space_of(op.value).volume * dtype_of(view_type(op.view).element).itemsize
    levels = layouts.machine.timings.levels
    carried = _MOVED * levels[layouts.machine.level_of(_SHARE * size)]
    if carried <= levels[Level.MEMORY]:
        return replace(nest, caching=Caching.SMALL)
    reason = _read_again(root, op) or reason or _repeated(layouts, op)
    if reason is not None:
        return replace(nest, caching=reason)
    caching, prices = _cheaper(layouts, root, op, nest, carried)
    return replace(nest, caching=caching, store_prices=prices)


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


def _repeated(layouts: Layouts, op: StoreOp) -> Caching | None:
    """Whether it writes again and again, maybe to the same lines."""
    return Caching.REPEATED if layouts.placement.structure.trips_of(op) > 1 else None


def _read_again(root: ParallelOp, op: StoreOp) -> Caching | None:
    """Whether the caches are of use for something that reads the view."""
    reads = (other for other in root.walk() if isinstance(other, LoadOp | LoadElementOp))
    return Caching.READ if any(other.view is op.view for other in reads) else None


def _fills_vectors(nest: NestPlan, dtype: type[DType], vector_bits: int) -> bool:
    return nest.width > 1 and nest.width * dtype.bits == vector_bits and dtype.bits >= 8


# ---- prices


def _cheaper(
    layouts: Layouts, root: ParallelOp, op: StoreOp, nest: NestPlan, carried: float
) -> tuple[Caching, StorePrices]:
    """The cheaper way of a vector, whose line is carried twice through the caches; of equals that one. What counts is
    arithmetic of the nest, or what is read and written if that takes longer: lines of several streams come and go at
    once.
    """
    memory = layouts.machine.timings.levels[Level.MEMORY]
    arithmetic, reads = _work(layouts, root, op)
    ends = _PARTIAL / max(_row_of(nest, op) / nest.width, 1.0)
    through, past = (reads + carried) / _AT_ONCE, (reads + memory * (1 + ends)) / _AT_ONCE
    prices = StorePrices(max(arithmetic, through), max(arithmetic, past))
    if prices.past < prices.through:
        return Caching.PAST, prices
    return Caching.ARITHMETIC if arithmetic >= through else Caching.SHORT, prices


def _work(layouts: Layouts, root: ParallelOp, op: StoreOp) -> tuple[float, float]:
    """Nanoseconds of arithmetic, and of reading, for a vector of results. What has fewer elements counts for its share;
    what another nest has read before is near.
    """
    placement, machine = layouts.placement, layouts.machine
    times, volume = machine.timings, max(space_of(op.value).volume, 1)
    arithmetic = reads = 0.0
    tiles = {value for inner in (op, *inlined(placement, op, set())) for value in tile_operands(inner)}
    for value in tiles:
        space, owner = space_of(value), value.owner
        share = min(space.volume / volume, 1.0)
        size = space.volume * max(dtype_of(element_of(value)).itemsize, 1)
        if isinstance(owner, LoadOp) and placement.is_inline(value) and placement.points(value) == [op]:
            view = view_type(owner.view)
            size = _SHARE * min(size * root.space.volume, view.space.volume * dtype_of(view.element).itemsize)
        if not placement.is_inline(value) or isinstance(owner, LoadOp):
            reads += share * times.levels[machine.level_of(size)]
        elif isinstance(owner, Operation):
            arithmetic += share * fsum(operation_price(inner, times) for inner in owner.walk())
    return arithmetic, reads


def _row_of(nest: NestPlan, op: StoreOp) -> int:
    """Elements of a row."""
    return next(axis.extent for axis in space_of(op.value).axes if axis.dim.number == nest.lane)

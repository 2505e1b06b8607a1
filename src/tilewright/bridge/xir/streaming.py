"""Which stores go past the caches: what a program writes once, never reads, and could not keep in the caches anyway.

A cached store reads its line first and throws out another one, so that it moves three bytes for every byte written.
Only timing depends on the choice.
"""

from collections.abc import Mapping
from dataclasses import replace

from tilewright.analysis.access import is_inside
from tilewright.bridge.xir.layout import Layouts
from tilewright.bridge.xir.placement import EXPENSIVE
from tilewright.bridge.xir.records import NestPlan
from tilewright.core.dtypes import DType
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreOp
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import dtype_of, is_tile, space_of, view_type

__all__ = ["with_streams"]

_LEAST_VECTORS = 8  # of a row: shorter ones are all head and tail


def with_streams(layouts: Layouts, root: ParallelOp, nests: Mapping[int, NestPlan]) -> dict[int, NestPlan]:
    """The nests, with those of such stores marked."""
    found = dict(nests)
    for op, position in layouts.placement.structure.position.items():
        nest = nests.get(position)
        if nest is not None and isinstance(op, StoreOp) and _why_cached(layouts, root, op, nest) is None:
            found[position] = replace(nest, streaming=True)
    return found


def _why_cached(layouts: Layouts, root: ParallelOp, op: StoreOp, nest: NestPlan) -> str | None:
    placement, machine = layouts.placement, layouts.machine
    space, view = space_of(op.value), view_type(op.view)
    dtype = dtype_of(view.element)
    lane = next((axis for axis in space.axes if axis.dim.number == nest.lane), None)
    if lane is None or nest.axes[-1] != nest.lane or view.strides[space.dims.index(lane.dim)] != 1:
        return "its lanes do not lie side by side"
    if nest.across is not None:
        return "it goes in squares, whose rows begin where lines need not"
    if not _fills_vectors(nest, dtype, machine.vector_bits) or lane.extent < _LEAST_VECTORS * nest.width:
        return "its rows are no whole vectors"
    if (
        op.mask is not None
        or not is_inside(op, placement.limits, placement.forms)
        or placement.structure.trips_of(op) > 1
    ):
        return "it is masked, guarded or repeated"
    if 2 * root.space.volume * space.volume * dtype.itemsize <= machine.l3_bytes:
        return "what it writes fits the last cache"
    if any(isinstance(other, LoadOp | LoadElementOp) and other.view is op.view for other in root.walk()):
        return "its view is read, too"
    return "it waits for arithmetic" if _computes(root, space.volume) else None


def _fills_vectors(nest: NestPlan, dtype: type[DType], vector_bits: int) -> bool:
    return nest.width > 1 and nest.width * dtype.bits == vector_bits and dtype.bits >= 8


def _computes(root: ParallelOp, volume: int) -> bool:
    """Whether a costly function or a product is computed for every element."""
    return any(
        isinstance(op, MmaOp)
        or (isinstance(op, EXPENSIVE) and is_tile(op.results[0]) and space_of(op.results[0]).volume >= volume)
        for op in root.walk()
    )

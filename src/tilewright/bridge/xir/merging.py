"""Rows that follow each other without a gap go as one: short ones would leave most lanes of their vectors empty.

Where every access of a store's loop moves from the end of one row to the beginning of the next, the lane's loop runs
through the rows outside of it as well.
"""

from dataclasses import replace

from xdsl.ir import SSAValue

from tilewright.analysis.access import is_inside
from tilewright.bridge.xir.flow import tile_operands
from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.records import NestPlan
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.elementwise import ElementwiseOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.ir.types import DimAttr, SpaceAttr, ViewType, is_tile, space_of, view_type

__all__ = ["with_merged_rows"]


def with_merged_rows(placement: Placement, store: StoreOp, nest: NestPlan) -> NestPlan:
    """The nest of a store, whose lane's loop runs through as many of the loops around it as are proved."""
    while len(nest.axes) > len(nest.merged) + 1 and nest.lane is not None and nest.across is None:
        row = nest.axes[-2 - len(nest.merged)]
        if not _Run(placement, row, (*nest.merged, nest.lane)).holds(store):
            return nest
        nest = replace(nest, merged=(row, *nest.merged))
    return nest


class _Run:
    """Whether the dimension `row` continues what runs along `inner`, of which the last is the lane's."""

    def __init__(self, placement: Placement, row: int, inner: tuple[int, ...]) -> None:
        self._placement, self._row, self._inner = placement, DimAttr.of(row), tuple(map(DimAttr.of, inner))

    def holds(self, store: StoreOp) -> bool:
        placement = self._placement
        if store.mask is not None or not is_inside(store, placement.limits, placement.forms):
            return False
        space = space_of(store.value)
        if any(self._ends_early(dim, space) for dim in self._inner):
            return False
        return self._continues(space, view_type(store.view), space) and self._value(store.value, space)

    def _ends_early(self, dim: DimAttr, space: SpaceAttr) -> bool:
        """Whether loops over the dimension may stop before its end; only those over the outermost may."""
        limit, extent = self._placement.limits.get(dim), space.extent_of(dim) or 0
        return limit is not None and (bool(limit.offset.terms) or limit.size - limit.offset.constant < extent)

    def _value(self, value: SSAValue, around: SpaceAttr) -> bool:
        """Whether a tile, and all that it is computed from, continues with the row, or does not move at all."""
        owner, space = value.owner, space_of(value)
        if not any(dim in space.dims for dim in (self._row, *self._inner)):
            return True
        if not self._placement.is_inline(value):
            return False
        match owner:
            case ConstantOp():
                return True
            case LoadOp():
                inside = owner.mask is None and is_inside(owner, self._placement.limits, self._placement.forms)
                plain = not any(is_tile(start) for start in owner.origin)
                return inside and plain and self._continues(space, view_type(owner.view), around)
            case ElementwiseOp():
                return all(self._value(operand, around) for operand in tile_operands(owner))
            case _:
                return False

    def _continues(self, space: SpaceAttr, view: ViewType, around: SpaceAttr) -> bool:
        """Whether a view's stride along the row is that of all the inner elements together, which are all there."""
        expected = 1
        for dim in reversed((self._row, *self._inner)):
            extent = space.extent_of(dim)
            if extent is None or extent != around.extent_of(dim) or view.strides[space.dims.index(dim)] != expected:
                return False
            expected *= extent
        return True

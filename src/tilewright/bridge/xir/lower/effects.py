"""Element accesses and updates of views, where they stand."""

from xdsl.ir import SSAValue

from tilewright.bridge.xir.lower.access import Guards, load_from_view, predicate_guards, store_to_view, update_view
from tilewright.bridge.xir.lower.context import Lowering, Val
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.nests import At, extents_of, run_nest
from tilewright.bridge.xir.lower.values import coord_values, operand_value, scalar_value
from tilewright.bridge.xir.nests import update_space
from tilewright.bridge.xir.records import NestPlan
from tilewright.ir.ops.access import LoadElementOp, StoreElementOp, UpdateOp
from tilewright.ir.types import DimAttr

__all__ = ["load_element", "store_element", "update"]


def load_element(cx: Lowering, op: LoadElementOp) -> Val:
    """One element; nothing is read where the predicate is false."""
    fill = None if op.fill is None else cx.ssa(scalar_value(cx, op.fill))
    return load_from_view(cx, op.view, coord_values(cx, op.index), _predicate(cx, op.predicate), fill)


def store_element(cx: Lowering, op: StoreElementOp) -> None:
    """One element, where the predicate holds."""
    index = coord_values(cx, op.index)
    store_to_view(cx, op.view, index, _predicate(cx, op.predicate), scalar_value(cx, op.value))


def _predicate(cx: Lowering, predicate: SSAValue | None) -> Guards:
    return Guards() if predicate is None else predicate_guards(scalar_value(cx, predicate))


def update(cx: Lowering, op: UpdateOp, nest: NestPlan) -> None:
    """One atomic step at every point whose coordinates lie inside and whose mask holds."""
    space = update_space(op)

    def body(at: At) -> None:
        by_dim: dict[DimAttr, Coord] = {dim: at[dim.number] for dim in space.dims}
        index = [operand_value(cx, coord, by_dim) for coord in op.coords]
        coords = tuple(item if isinstance(item, Coord) else Coord(item) for item in index)
        mask = None if op.mask is None else operand_value(cx, op.mask, by_dim)
        update_view(cx, op, coords, mask, operand_value(cx, op.value, by_dim))

    run_nest(cx, nest, extents_of(space), body)

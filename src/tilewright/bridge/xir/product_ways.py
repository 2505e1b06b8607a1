"""The way in which each product is computed, once all tiles have their places.

Only then it is known whether sums may wait where they end, and what of an operand all programs read alike.
"""

from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from tilewright.bridge.xir.blocking import Bounds
from tilewright.bridge.xir.contraction import blocked, times_of
from tilewright.bridge.xir.flow import tile_operands
from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.records import ContractPlan, Fill, Shared
from tilewright.bridge.xir.sharing import parts_of_operands, with_shared_panels
from tilewright.ir.ops import tiles
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.types import is_tile

__all__ = ["choose_ways"]


def choose_ways(placement: Placement) -> None:
    """Give each product its cheapest blocks, and panels that all programs share where those are cheaper."""
    values = {number: value for value, number in placement.structure.numbers.items()}
    left = placement.options.max_shared_bytes
    for op, plan in placement.contracts.items():
        if isinstance(op, tiles.MmaOp):
            result = values[plan.value]
            in_place = result is op.result and _one_buffer(placement, op.c, result)
            made = _chosen(placement, op, plan, result, left)
            left -= sum(each.bytes for each in (made.a_shared, made.b_shared) if isinstance(each, Shared))
            placement.contracts[op] = replace(made, in_place=in_place)


def _chosen(placement: Placement, op: tiles.MmaOp, plan: ContractPlan, result: SSAValue, left: int) -> ContractPlan:
    if plan.product is None or plan.along:
        return plan  # lanes along k were chosen with their tile
    runs = placement.structure.trips_of(op) * placement.programs * times_of(op, plan)
    a, b = parts_of_operands(placement, op, plan)
    a_parts, b_parts = (0 if isinstance(each, str) else each.count for each in (a, b))
    workers = max(placement.threads, 1)
    product = replace(plan.product, runs=runs, workers=workers, a_parts=a_parts, b_parts=b_parts)
    a_lanes = plan.a_fill.lanes if isinstance(plan.a_fill, Fill) else 0
    bounds = Bounds(_may_split(placement, op, result), bool(plan.folds), a_lanes, left)
    made = blocked(op, replace(plan, product=product), placement.machine, placement.options, bounds)
    return with_shared_panels(placement, op, made, (a, b), left)


def _one_buffer(placement: Placement, a: SSAValue, b: SSAValue) -> bool:
    first, second = placement.places.get(a), placement.places.get(b)
    return first is not None and second is not None and first.storage is not None and first.storage == second.storage


def _may_split(placement: Placement, op: tiles.MmaOp, result: SSAValue) -> bool:
    """Whether sums may lie in the sink between blocks of k: what is absorbed after the chain must not read it."""
    chain = [item for item, owner in placement.absorbed.items() if owner is op]
    sink = next((item.view for item in chain if isinstance(item, StoreOp)), None)
    storage = None if result not in placement.places else placement.places[result].storage
    for item in chain:
        for operand in item.operands:
            if is_tile(operand) and operand is not op.result and _touches(placement, operand, sink, storage):
                return False
    return True


def _touches(placement: Placement, value: SSAValue, view: SSAValue | None, storage: int | None) -> bool:
    """Whether computing an inline tile reads the view or the buffer."""
    place = placement.places.get(value)
    if place is not None and place.storage is not None:
        return place.storage == storage
    owner = value.owner
    if isinstance(owner, LoadOp):
        return owner.view is view
    if not isinstance(owner, Operation) or isinstance(owner, tiles.MmaOp):
        return False
    return any(_touches(placement, operand, view, storage) for operand in tile_operands(owner))

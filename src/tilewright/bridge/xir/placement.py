"""Which tiles are kept in scratch and which are recomputed where they are used.

Walked from the last operation to the first, so that the consumers of a tile are placed before it. A tile is inline only when its
snapshot cannot be overtaken by a write, and recomputing it costs little.
"""

from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.access import Limits
from tilewright.analysis.forms import Forms
from tilewright.analysis.structure import Structure
from tilewright.bridge.xir.contraction import ContractPlan, Demands, Setting, plan_contraction
from tilewright.bridge.xir.records import Place
from tilewright.core.machine import Machine
from tilewright.ir.effects import effect_of, storage_of
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.ops.regions import CarryingOp
from tilewright.ir.types import is_tile, space_of

__all__ = ["EXPENSIVE", "Placement", "place_tiles"]

EXPENSIVE: tuple[type[Operation], ...] = (
    elementwise.ExpOp,
    elementwise.Exp2Op,
    elementwise.LogOp,
    elementwise.Log2Op,
    elementwise.SinOp,
    elementwise.CosOp,
    elementwise.TanhOp,
    elementwise.ErfOp,
    elementwise.SigmoidOp,
    elementwise.PowOp,
    elementwise.DivOp,
    elementwise.SqrtOp,
    elementwise.RsqrtOp,
    elementwise.FloorDivOp,
    elementwise.FloorModOp,
    elementwise.TruncDivOp,
    elementwise.TruncModOp,
)
_INLINE_LIMIT = 64


@dataclass
class Placement:
    """The growing answer: places of tiles, demanded innermost dimensions, contractions, and pairs of arguments assumed disjoint."""

    structure: Structure
    may_alias: bool
    program_lanes: bool
    machine: Machine
    forms: Forms
    limits: Limits
    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    demands: Demands = field(default_factory=dict[SSAValue, int | None])
    contracts: dict[Operation, ContractPlan] = field(default_factory=dict[Operation, ContractPlan])
    disjoint: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    absorbed: dict[Operation, tiles.MmaOp] = field(default_factory=dict[Operation, tiles.MmaOp])
    closures: dict[SSAValue, frozenset[Operation]] = field(default_factory=dict[SSAValue, frozenset[Operation]])

    def is_inline(self, value: SSAValue) -> bool:
        return self.places[value].inline

    def keep(self, value: SSAValue, reason: str) -> None:
        """Give the tile a buffer of its own, unless it has one."""
        if value not in self.places or self.places[value].inline:
            self.places[value] = Place(self.structure.numbers[value], reason)

    def points(self, value: SSAValue) -> list[Operation]:
        """The operations at which the tile is really read: inline consumers pass it on to theirs."""
        found: dict[Operation, None] = {}
        for use in value.uses:
            anchor = anchor_of(use.operation)
            passes_on = len(anchor.results) == 1 and is_tile(anchor.results[0]) and self._passed(anchor)
            found.update(dict.fromkeys(self.points(anchor.results[0]) if passes_on else [anchor]))
        return list(found)

    def _passed(self, anchor: Operation) -> bool:
        place = self.places.get(anchor.results[0])
        return place is not None and place.inline


def anchor_of(op: Operation) -> Operation:
    """The outermost map or scan around an operation, or the operation itself."""
    anchor = op
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, regions.KernelOp):
        if isinstance(parent, tiles.MapOp | tiles.ScanOp):
            anchor = parent
        parent = parent.parent_op()
    return anchor


def is_anchored(op: Operation) -> bool:
    """Whether the operation stands directly in a region body, not inside a map or scan."""
    return anchor_of(op) is op


def place_tiles(placement: Placement) -> None:
    """Place every tile that stands in a region body; then the carried tiles, which always have a home."""
    ops = [op for op in placement.structure.position if is_anchored(op)]
    for op in reversed(ops):
        if isinstance(op, tiles.MmaOp) and not placement.program_lanes:
            _place_contraction(placement, op)
        for result in op.results:
            if is_tile(result):
                _place(placement, op, result)
    for op in ops:
        if isinstance(op, CarryingOp):
            _keep_carries(placement, op)


def _place_contraction(placement: Placement, op: tiles.MmaOp) -> None:
    setting = Setting(
        placement.structure,
        placement.forms,
        placement.limits,
        placement.machine,
        placement.may_alias,
        placement.absorbed,
    )
    outcome = plan_contraction(op, setting)
    placement.contracts[op] = outcome.plan
    placement.disjoint |= outcome.disjoint
    for value in outcome.kept:
        placement.keep(value, "operand of a contraction")
    for value, dim in outcome.demands.items():
        placement.demands.setdefault(value, dim)
    if outcome.absorbed:
        _absorb(placement, op, outcome.absorbed)


def _absorb(placement: Placement, op: tiles.MmaOp, absorbed: tuple[Operation, ...]) -> None:
    """Everything between the contraction and its sink is computed in registers."""
    placement.absorbed.update(dict.fromkeys(absorbed, op))
    for value in (op.result, *(item.results[0] for item in absorbed[:-1])):
        placement.places[value] = Place(None, "computed in the registers of a contraction")
    last = absorbed[-1]
    if last.results:
        placement.places.pop(last.results[0], None)
        placement.keep(last.results[0], "computed by a contraction")


def _keep_carries(placement: Placement, op: CarryingOp) -> None:
    for value in (*op.carries, *op.results_):
        if is_tile(value):
            placement.keep(value, "carried")


def _place(placement: Placement, op: Operation, value: SSAValue) -> None:
    reason = _must_keep(placement, op, value)
    if reason is None:
        placement.places[value] = Place(None, "recomputed where it is used")
        reason = _overtaken(placement, op) if isinstance(op, LoadOp) else _too_costly(placement, op, value)
    if reason is not None:
        placement.keep(value, reason)


def _must_keep(placement: Placement, op: Operation, value: SSAValue) -> str | None:
    if value in placement.places:
        return placement.places[value].reason
    return _must_keep_kind(op)


def _must_keep_kind(op: Operation) -> str | None:
    match op:
        case tiles.ConstantOp():
            return None
        case tiles.MmaOp() | tiles.ScanOp() | CarryingOp():
            return "accumulates"
        case tiles.MapOp():
            return "holds a fold" if any(isinstance(inner, CarryingOp) for inner in op.walk()) else None
        case _:
            return None


def _overtaken(placement: Placement, load: LoadOp) -> str | None:
    """Why a write may change what a deferred load would read, or None."""
    for point in placement.points(load.result):
        reason = _write_before(placement, load, point)
        if reason is not None:
            return reason
    placement.disjoint |= placement.structure.written_with(load.view)
    return None


def _write_before(placement: Placement, load: LoadOp, point: Operation) -> str | None:
    write = placement.structure.writes_between(load, point, load.view, may_alias=placement.may_alias)
    if write is not None:
        return "a store may overtake the load"
    if Effect.WRITE not in effect_of(point):
        return None
    if storage_of(point) is not load.view:
        return "the store may write what the load reads" if placement.may_alias else None
    pointwise = isinstance(point, StoreOp) and _same_access(load, point) and not _meets_map(placement, load.result)
    return None if pointwise else "the store writes what the load reads at other points"


def _meets_map(placement: Placement, value: SSAValue) -> bool:
    """Whether an inline map reads the tile on its way to a store, so that points of the two may differ."""
    for use in value.uses:
        anchor = anchor_of(use.operation)
        if isinstance(anchor, tiles.MapOp) or combines(anchor, value):
            return True
        if isinstance(anchor, elementwise.ElementwiseOp | tiles.MmaOp) and _meets_map(placement, anchor.result):
            return True
    return False


def combines(anchor: Operation, value: SSAValue) -> bool:
    """Whether an operation mixes elements of a tile: a contraction does, with its factors."""
    return isinstance(anchor, tiles.MmaOp) and (anchor.a is value or anchor.b is value)


def _same_access(load: LoadOp, store: StoreOp) -> bool:
    return tuple(load.origin) == tuple(store.origin) and space_of(load.result) == space_of(store.value)


def tile_operands(op: Operation) -> list[SSAValue]:
    """The tiles an operation reads, those inside its regions included, each once."""
    found: dict[SSAValue, None] = {}
    for inner in op.walk():
        found.update(dict.fromkeys(value for value in inner.operands if is_tile(value)))
    return [value for value in found if not _defined_inside(value, op)]


def _defined_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    start = owner if isinstance(owner, Operation) else owner.parent_op()
    return start is not None and start is not op and op.is_ancestor(start)


def _too_costly(placement: Placement, op: Operation, value: SSAValue) -> str | None:
    closure = _closure(placement, value)
    if len(closure) > _INLINE_LIMIT:
        return f"recomputing it takes {len(closure)} operations"
    points = placement.points(value)
    if not points or not any(isinstance(item, EXPENSIVE) for item in closure):
        return None
    if len(points) > 1:
        return f"expensive, and read in {len(points)} places"
    if placement.structure.trips_of(points[0]) > placement.structure.trips_of(op):
        return "expensive, and read in an inner loop"
    volume = space_of(value).volume
    return "expensive, and broadcast" if _point_volume(points[0]) > volume else None


def _point_volume(point: Operation) -> int:
    spaces = [space_of(value).volume for value in (*point.operands, *point.results) if is_tile(value)]
    return max(spaces, default=1)


def _closure(placement: Placement, value: SSAValue) -> frozenset[Operation]:
    """The operations that recomputing a tile takes at most: operands count as inline unless they cannot be."""
    known = placement.closures.get(value)
    if known is not None:
        return known
    op = value.owner
    found: frozenset[Operation] = frozenset()
    if isinstance(op, Operation) and isinstance(op, elementwise.ElementwiseOp | tiles.MapOp):
        inner = [_closure(placement, operand) for operand in tile_operands(op) if _may_inline(operand)]
        found = frozenset(op.walk()).union(*inner)
    placement.closures[value] = found
    return found


def _may_inline(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and _must_keep_kind(value.owner) is None

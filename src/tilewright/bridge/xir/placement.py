"""Which tiles are kept in scratch and which are recomputed where they are used.

Walked from the last operation to the first, so that the consumers of a tile are placed before it. A tile is inline only
when its snapshot cannot be overtaken by a write, and recomputing it costs less than a buffer.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.access import Limits
from tilewright.analysis.affine import affine_of
from tilewright.analysis.forms import Forms
from tilewright.analysis.structure import Structure
from tilewright.bridge.xir.contraction import Demands
from tilewright.bridge.xir.flow import Read, is_anchored, reads_of, tile_operands
from tilewright.bridge.xir.lanes import plan_product
from tilewright.bridge.xir.options import Use, XirOptions
from tilewright.bridge.xir.recompute import Closure, evaluations, has_expensive, lanes_of, weigh
from tilewright.bridge.xir.records import ContractPlan, LaneChoice, Place
from tilewright.bridge.xir.sinks import Setting
from tilewright.core.machine import Machine
from tilewright.ir.effects import effect_of, storage_of
from tilewright.ir.ops import elementwise, tiles
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.ops.memory import MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import CarryingOp, ParallelOp
from tilewright.ir.types import is_tile, space_of

__all__ = ["Placement", "place_tiles"]

RECOMPUTED = "recomputed where it is used"
FILLED = "computed while its panels are packed"
_INLINE_LIMIT = 64


@dataclass
class Placement:
    """The growing answer: places, demanded innermost dimensions, contractions, and pairs of arguments taken for
    disjoint; and how many vectors of a tile its readers compute, if they do. `root` is what `threads` workers share.
    """

    structure: Structure
    may_alias: bool
    choice: LaneChoice
    machine: Machine
    forms: Forms
    limits: Limits
    options: XirOptions
    root: ParallelOp
    threads: int
    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    demands: Demands = field(default_factory=dict[SSAValue, int | None])
    contracts: dict[Operation, ContractPlan] = field(default_factory=dict[Operation, ContractPlan])
    disjoint: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    absorbed: dict[Operation, tiles.MmaOp] = field(default_factory=dict[Operation, tiles.MmaOp])
    closures: dict[SSAValue, Closure] = field(default_factory=dict[SSAValue, Closure])
    vectors: dict[SSAValue, float] = field(default_factory=dict[SSAValue, float])

    @property
    def programs(self) -> int:
        """Of one worker."""
        return max(-(-self.root.space.volume // max(self.threads, 1)), 1)

    def is_inline(self, value: SSAValue) -> bool:
        """Whether the tile is placed, and recomputed where it is used."""
        place = self.places.get(value)
        return place is not None and place.inline

    def is_repeated(self, value: SSAValue) -> bool:
        """Whether each reader of the tile computes it again; sums of a product in registers are computed once."""
        return self.is_inline(value) and not isinstance(value.owner, tiles.MmaOp)

    def keep(self, value: SSAValue, reason: str) -> None:
        """Give the tile a buffer of its own, unless it has one."""
        if value not in self.places or self.places[value].inline:
            self.places[value] = Place(self.structure.numbers[value], reason)

    def assume(self, disjoint: Iterable[tuple[int, int]]) -> None:
        """Note pairs of arguments that must not overlap; nothing was assumed where they may."""
        if not self.may_alias:
            self.disjoint.update(disjoint)

    def reads(self, value: SSAValue) -> tuple[Read, ...]:
        """Where the tile is really read."""
        return reads_of(value, self.is_inline)

    def points(self, value: SSAValue) -> list[Operation]:
        """The operations at which the tile is really read, each once."""
        return list(dict.fromkeys(read.op for read in self.reads(value)))


def place_tiles(placement: Placement) -> None:
    """Place every tile that stands in a region body; then the carried tiles, which always have a home."""
    ops = [op for op in placement.structure.position if is_anchored(op)]
    for op in reversed(ops):
        if isinstance(op, tiles.MmaOp) and not placement.choice.program:
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
        placement.choice,
        placement.options,
        placement.may_alias,
        placement.absorbed,
    )
    outcome = plan_product(op, setting, placement.structure.trips_of(op) * placement.programs)
    placement.contracts[op] = outcome.plan
    placement.assume(outcome.disjoint)
    for value, reason in outcome.kept.items():
        placement.keep(value, f"operand of a contraction: {reason}")
    for value, fill in outcome.filled.items():
        if not isinstance(value.owner, LoadOp):
            placement.places[value] = Place(None, FILLED, fill.prices)
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
    if value in placement.places:
        return
    reason = _must_keep_kind(op)
    if reason is None:
        placement.places[value] = Place(None, RECOMPUTED)
        if isinstance(op, LoadOp | MemoryLoadOp):
            reason = _overtaken(placement, op)
        elif isinstance(op, elementwise.ElementwiseOp | tiles.MapOp):
            placement.places[value] = _weighed(placement, op, value)
    if reason is not None:
        placement.keep(value, reason)


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


def _overtaken(placement: Placement, load: LoadOp | MemoryLoadOp) -> str | None:
    """Why a write may change what a deferred load would read, or None."""
    reads = placement.reads(load.result)
    for point in dict.fromkeys(read.op for read in reads):
        displaced = any(read.displaced for read in reads if read.op is point)
        reason = _write_before(placement, load, point, displaced=displaced)
        if reason is not None:
            return reason
    if isinstance(load, LoadOp):
        placement.assume(placement.structure.written_with(load.view))
    return None


def _write_before(
    placement: Placement, load: LoadOp | MemoryLoadOp, point: Operation, *, displaced: bool
) -> str | None:
    structure = placement.structure
    source = load.view if isinstance(load, LoadOp) else load.memory
    if structure.writes_between(load, point, source, may_alias=placement.may_alias) is not None:
        return "a store may overtake the load"
    if Effect.WRITE not in effect_of(point):
        return None
    if storage_of(point) is not source:
        views = isinstance(load, LoadOp) and not isinstance(point, MemoryStoreOp)
        return "the store may write what the load reads" if placement.may_alias and views else None
    if load.parent is None or structure.ancestor_in(point, load.parent) is not point:
        return "the store writes what the load reads again in its loop"
    pointwise = not displaced and _same_access(load, point)
    return None if pointwise else "the store writes what the load reads at other points"


def _same_access(load: LoadOp | MemoryLoadOp, store: Operation) -> bool:
    """Whether element by element both touch the same place of the view or memory."""
    if isinstance(load, MemoryLoadOp):
        return isinstance(store, MemoryStoreOp)
    return (
        isinstance(store, StoreOp)
        and space_of(load.result) == space_of(store.value)
        and all(_same_number(a, b) for a, b in zip(load.origin, store.origin, strict=True))
    )


def _same_number(a: SSAValue, b: SSAValue) -> bool:
    form = affine_of(a)
    return a is b or (form is not None and form == affine_of(b))


def _weighed(placement: Placement, op: Operation, value: SSAValue) -> Place:
    """Where a tile goes that may be kept or recomputed: what is cheaper, or what was asked for."""
    structure = placement.structure
    kept, closure = structure.numbers[value], _closure(placement, value)
    readers = {read.op: read for read in reads_of(value, placement.is_repeated)}
    packet = placement.choice.width if placement.choice.program else 0
    lanes = lanes_of(value, placement.machine, packet)
    reads = evaluations(value, readers, structure, lanes, costly=has_expensive(closure))
    if len(closure) > _INLINE_LIMIT:
        return Place(kept, f"recomputing it takes more than {_INLINE_LIMIT} operations")
    placement.vectors[value] = reads
    asked = placement.options.recompute
    if asked is not None:
        return Place(None if asked is Use.WHEREVER_LEGAL else kept, f"asked for: recompute {asked.value}")
    trips = structure.trips_of(op)
    if len(readers) < 2 and reads <= trips * space_of(value).volume / lanes:
        return Place(None, RECOMPUTED)
    prices = weigh(value, closure, reads=reads, trips=trips, machine=placement.machine, packet=packet)
    if not prices.pays:
        return Place(None, RECOMPUTED, prices)
    return Place(kept, f"cheaper to keep, read in {len(readers)} place{'s' * (len(readers) > 1)}", prices)


def _closure(placement: Placement, value: SSAValue) -> Closure:
    """What recomputing an element takes, cut off above the limit.

    Operands count as inline, unless they cannot be, are too long, or are expensive and broadcast: those are buffered.
    """
    known = placement.closures.get(value)
    if known is not None:
        return known
    op = value.owner
    found: set[tuple[Operation, ...]] = set()
    if isinstance(op, elementwise.ElementwiseOp | tiles.MapOp):
        found.update((inner,) for inner in op.walk())
        for reader, operand in _inputs(op):
            inner = _closure(placement, operand) if _may_inline(operand) else frozenset[tuple[Operation, ...]]()
            if has_expensive(inner) and space_of(operand).volume < space_of(value).volume:
                continue
            if len(found) <= _INLINE_LIMIT and len(inner) <= _INLINE_LIMIT:
                through = (reader,) if reader is not op else ()
                found.update((*through, *path) for path in inner)
    placement.closures[value] = frozenset(found)
    return placement.closures[value]


def _inputs(op: Operation) -> list[tuple[Operation, SSAValue]]:
    """The tiles that an operation reads, with the operation inside it that reads them."""
    outside = tile_operands(op)
    return [(inner, value) for inner in op.walk() for value in dict.fromkeys(inner.operands) if value in outside]


def _may_inline(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and _must_keep_kind(value.owner) is None

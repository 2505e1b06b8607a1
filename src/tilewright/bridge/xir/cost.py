"""What a plan costs by the specification's terms: work per packet of programs, shared by workers, plus dispatch and
imbalance.

Uncalibrated, but for one rough factor. A cost ranks legal plans; it never makes one legal.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import affine_of
from tilewright.bridge.xir.flow import is_anchored
from tilewright.bridge.xir.layout import Layouts, lane_price
from tilewright.bridge.xir.options import CostModel
from tilewright.bridge.xir.records import Decisions
from tilewright.bridge.xir.squares import turn_price
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.types import AxisAttr, is_tile, space_of, view_type

__all__ = ["WORTH_WAKING", "CostTerms", "Work", "element_work", "program_work", "score"]

# One unit, measured on Zen 4 cores with the default coefficients: products, sums, copies 0.2 to 0.3, exponentials 0.6.
_UNIT_MICROSECONDS = 0.0003
WORTH_WAKING = 20.0
"""Microseconds of work from which a launch wakes sleeping workers: each costs the launching thread about 7 of them."""


_INLINE_LANES = 16  # of what is computed where it is used


@dataclass(frozen=True, slots=True)
class Work:
    """Vector operations of one packet: arithmetic and memory."""

    arithmetic: float
    memory: float


@dataclass(frozen=True, slots=True)
class CostTerms:
    """The terms of one candidate's score, in relative units."""

    arithmetic: float
    memory: float
    dispatch: float
    imbalance: float

    @property
    def total(self) -> float:
        return self.arithmetic + self.memory + self.dispatch + self.imbalance

    def microseconds(self, workers: int) -> float:
        """Roughly the time of all work on one thread, where the terms are the share of one of so many."""
        return (self.arithmetic + self.memory) * workers * _UNIT_MICROSECONDS

    def __str__(self) -> str:
        return (
            f"{self.total:.0f} = arithmetic {self.arithmetic:.0f} + memory {self.memory:.0f}"
            f" + dispatch {self.dispatch:.0f} + imbalance {self.imbalance:.0f}"
        )


def score(
    work: Work, model: CostModel, *, programs: int, block: int, packet: int, workers: int, uneven: bool = False
) -> CostTerms:
    """P programs in blocks of B, packets of W, on H workers.

    With h = min(blocks, H) workers at work, Q packets and waves of blocks:
    a*Q/h + m*Q/h + dispatch*waves + max(0, issued - Q/h)*(a + m). Not finite when a coefficient overflows it.
    `uneven` says that programs differ in their work: the last block may then be the longest, and others wait for it.
    """
    if not programs:
        return CostTerms(0.0, 0.0, 0.0, 0.0)
    blocks = -(-programs // block)
    active = min(blocks, workers)
    packets = -(-programs // packet)
    waves = -(-blocks // active)
    issued = waves * -(-min(programs, block) // packet)
    excess = max(0.0, issued - packets / active) * (work.arithmetic + work.memory)
    if uneven and active > 1:
        excess += -(-min(programs, block) // packet) * (work.arithmetic + work.memory)
    share = packets / active
    return CostTerms(work.arithmetic * share, work.memory * share, model.block_dispatch * waves, excess)


def program_work(root: regions.ParallelOp, innermost: int, model: CostModel, width: int) -> Work:
    """Work of a packet whose lanes are neighbours along root axis `innermost`, by the slope of each access along it."""
    meter = _ProgramMeter(root.indices[innermost] if root.space.rank else None, model, width)
    meter.block(root.body.block.ops, 1.0)
    ragged = bool(root.space.rank) and root.space.extents[innermost] % width != 0
    return Work(meter.arithmetic, meter.memory * (2 if ragged else 1))


class _ProgramMeter:
    """Counts the operations of one packet, every tile element being one vector of programs."""

    def __init__(self, lane: SSAValue | None, model: CostModel, width: int) -> None:
        self.lane, self.model, self.width = lane, model, width
        self.arithmetic = 0.0
        self.memory = 0.0

    def block(self, ops: Iterable[Operation], repeat: float) -> None:
        for op in ops:
            self.operation(op, repeat)

    def operation(self, op: Operation, repeat: float) -> None:
        match op:
            case regions.RegionOp() | tiles.MapOp():
                self.block(op.body.block.ops, repeat * op.space.volume)
            case tiles.ScanOp():
                self.block(op.body.block.ops, repeat * space_of(op.results_[0]).volume)
            case LoadOp() | StoreOp() | UpdateOp() | LoadElementOp() | StoreElementOp():
                self.memory += repeat * _access_volume(op) * self._weight(op)
            case tiles.MmaOp():
                self.arithmetic += repeat * contraction_volume(op) * 2 * self.model.arithmetic
            case elementwise.ElementwiseOp():
                self.arithmetic += repeat * space_of(op.result).volume * self.model.arithmetic
            case _:
                return

    def _weight(self, op: LoadOp | StoreOp | UpdateOp | LoadElementOp | StoreElementOp) -> float:
        slope = 0
        gathered = self.model.gathered_lane * self.width
        for start, stride in zip(_starts(op), view_type(op.view).strides, strict=True):
            form = None if is_tile(start) else affine_of(start)
            if form is None:
                return gathered
            slope += (form.coefficient(self.lane) if self.lane is not None else 0) * stride
        if slope == 0 and isinstance(op, LoadOp | LoadElementOp):
            return self.model.broadcast_load
        return self.model.contiguous if abs(slope) == 1 else gathered


def _starts(op: LoadOp | StoreOp | UpdateOp | LoadElementOp | StoreElementOp) -> tuple[SSAValue, ...]:
    match op:
        case LoadOp() | StoreOp():
            return tuple(op.origin)
        case UpdateOp():
            return tuple(op.coords)
        case _:
            return tuple(op.index)


def _access_volume(op: LoadOp | StoreOp | UpdateOp | LoadElementOp | StoreElementOp) -> int:
    match op:
        case LoadOp():
            return space_of(op.result).volume
        case StoreOp() | UpdateOp():
            return space_of(op.value).volume
        case _:
            return 1


def contraction_volume(op: tiles.MmaOp) -> int:
    """Multiply-adds of one `mma`."""
    volume = space_of(op.c).volume
    for axis in space_of(op.a).axes:
        if axis.dim not in space_of(op.c).dims:
            volume *= axis.extent
    return volume


def element_work(layouts: Layouts, decisions: Decisions, model: CostModel) -> Work:
    """Work of one program with lanes along tile axes: vectors of every nest, and what they touch."""
    structure = layouts.placement.structure
    arithmetic = memory = 0.0
    for op, position in structure.position.items():
        if not is_anchored(op):
            continue
        trips = structure.trips_of(op)
        width = _lanes_of(decisions, position)
        arithmetic += trips * _anchored_arithmetic(op, width) * model.arithmetic
        memory += trips * _anchored_memory(layouts, decisions, op, position) * model.contiguous
    return Work(arithmetic, memory)


def _lanes_of(decisions: Decisions, position: int) -> int:
    """How many elements one vector operation at a position computes."""
    if position in decisions.contracts:
        return decisions.contracts[position].tile[2]
    return decisions.nests[position].width if position in decisions.nests else _INLINE_LANES


def _anchored_arithmetic(op: Operation, width: int) -> float:
    if isinstance(op, tiles.MmaOp):
        return contraction_volume(op) / max(width, 1)
    if isinstance(op, tiles.MapOp):
        return _map_arithmetic(op, float(op.space.volume)) / max(width, 1)
    if isinstance(op, elementwise.ElementwiseOp) and is_tile(op.result):
        return space_of(op.result).volume / _INLINE_LANES
    return 1.0 if isinstance(op, elementwise.ElementwiseOp) else 0.0


def _map_arithmetic(op: tiles.MapOp | regions.RegionOp, repeat: float) -> float:
    total = 0.0
    for inner in op.body.block.ops:
        if isinstance(inner, regions.RegionOp):
            total += _map_arithmetic(inner, repeat * inner.space.volume)
        else:
            total += repeat
    return total


def _anchored_memory(layouts: Layouts, decisions: Decisions, op: Operation, position: int) -> float:
    nest = decisions.nests.get(position)
    values = [op.value] if isinstance(op, StoreOp) else [value for value in op.results if is_tile(value)]
    if nest is None or not values or isinstance(op, tiles.MmaOp | tiles.ScanOp):
        return 0.0
    axis = _lane_axis(values[0], nest.lane)
    space = space_of(values[0])
    if axis is None:
        return float(space.volume)
    turning = turn_price(nest, space) if nest.across is not None else 0.0
    return lane_price(layouts, values, axis, space) + turning + space.volume / nest.width


def _lane_axis(value: SSAValue, lane: int | None) -> AxisAttr | None:
    return next((axis for axis in space_of(value).axes if axis.dim.number == lane), None)

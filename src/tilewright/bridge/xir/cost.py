"""What a plan costs: work of its programs, shared by workers, plus dispatch and imbalance. The formula is the
specification's; what single steps cost comes from the machine, or from the specification too.

A cost ranks legal plans; it never makes one legal.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import affine_of
from tilewright.bridge.xir.block_prices import KIND
from tilewright.bridge.xir.flow import is_anchored
from tilewright.bridge.xir.footprint import Access, Footprint, extents_of, starts_of
from tilewright.bridge.xir.layout import Layouts, width_for
from tilewright.bridge.xir.prices import Basis, Prices
from tilewright.bridge.xir.product_work import product_work
from tilewright.bridge.xir.records import ContractPlan, Decisions
from tilewright.bridge.xir.squares import turn_price
from tilewright.bridge.xir.streams import streams
from tilewright.core.machine import Level, Machine
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.types import is_tile, space_of, view_type

__all__ = ["CostTerms", "Work", "element_work", "from_afar", "program_work", "score"]


@dataclass(frozen=True, slots=True)
class Work:
    """Of one packet of programs: arithmetic, memory where the packet's own data fit (`near`), and moving what it
    touches there from where the data of the whole launch fit (`far`). Products of an average program, how much more one
    with whole blocks takes (`excess`), and what a worker takes for them once a launch (`once`).
    """

    arithmetic: float
    memory: float
    transfer: float = 0.0
    near: Level = Level.L1
    far: Level = Level.L1
    products: float = 0.0
    excess: float = 0.0
    once: float = 0.0

    @property
    def total(self) -> float:
        return self.products + self.arithmetic + self.memory + self.transfer


@dataclass(frozen=True, slots=True)
class CostTerms:
    """The terms of one candidate's score, in the units of their basis. `products`: by prices of their own."""

    arithmetic: float
    memory: float
    dispatch: float
    imbalance: float
    transfer: float = 0.0
    near: Level = Level.L1
    far: Level = Level.L1
    basis: Basis = Basis.SPECIFICATION
    products: float = 0.0

    @property
    def total(self) -> float:
        return self.products + self.arithmetic + self.memory + self.transfer + self.dispatch + self.imbalance

    @property
    def nanoseconds(self) -> float:
        """The total, roughly where the basis is relative."""
        return self.total * self.basis.nanoseconds

    def __str__(self) -> str:
        products = f"products {self.products:.0f} + " if self.products else ""
        memory = f"memory {self.memory:.0f}"
        if self.basis is Basis.MACHINE:
            memory += f" in {self.near} + transfer {self.transfer:.0f} from {self.far}"
        return (
            f"{self.total:.0f} = {products}arithmetic {self.arithmetic:.0f} + {memory}"
            f" + dispatch {self.dispatch:.0f} + imbalance {self.imbalance:.0f}"
        )


def score(
    work: Work, prices: Prices, *, programs: int, block: int, packet: int, workers: int, uneven: bool = False
) -> CostTerms:
    """P programs in blocks of B, packets of W, on H workers.

    With h = min(blocks, H) workers at work, Q packets and waves of blocks:
    a*Q/h + m*Q/h + dispatch*waves + max(0, issued - Q/h)*(a + m). Not finite when a coefficient overflows it.
    The worker with the most packets may have none but whole products, as far as others have less for it. `uneven` says
    that programs differ in their work otherwise: the last block may then be the longest, and others wait for it.
    """
    if not programs:
        return CostTerms(0.0, 0.0, 0.0, 0.0, basis=prices.basis)
    blocks = -(-programs // block)
    active = min(blocks, workers)
    packets = -(-programs // packet)
    waves = -(-blocks // active)
    issued = waves * -(-min(programs, block) // packet)
    share = packets / active
    excess = max(0.0, issued - share) * work.total
    excess += min(issued * work.excess, max(packets - issued, 0) * work.total)
    if uneven and active > 1:
        excess += -(-min(programs, block) // packet) * work.total
    return CostTerms(
        work.arithmetic * share,
        work.memory * share,
        prices.dispatch * waves,
        excess,
        work.transfer * share,
        work.near,
        work.far,
        prices.basis,
        work.products * share + work.once,
    )


def from_afar(work: Work, machine: Machine, footprint: Footprint, packet: int, near: Level) -> Work:
    """The work with what it costs to bring each line that a packet touches to where it is used."""
    far = max(machine.level_of(footprint.launch), near)
    vectors = min(footprint.program * packet, footprint.launch) / (machine.vector_bits // 8)
    distance = machine.timings.levels[far] - machine.timings.levels[near]
    return replace(work, transfer=vectors * max(distance, 0.0), near=near, far=far)


def program_work(root: regions.ParallelOp, innermost: int, prices: Prices, width: int) -> Work:
    """Work of a packet whose lanes are neighbours along root axis `innermost`, by the slope of each access along it."""
    meter = _ProgramMeter(root.indices[innermost] if root.space.rank else None, prices, width)
    meter.block(root.body.block.ops, 1.0)
    ragged = bool(root.space.rank) and root.space.extents[innermost] % width != 0
    memory = meter.memory * (2 if ragged else 1)
    return Work(meter.arithmetic, memory, products=meter.products, once=meter.once)


class _ProgramMeter:
    """Counts the operations of one packet, every tile element being one vector of programs."""

    def __init__(self, lane: SSAValue | None, prices: Prices, width: int) -> None:
        self.lane, self.prices, self.width = lane, prices, width
        self.arithmetic = self.memory = self.products = self.once = 0.0

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
                self.memory += repeat * prod(extents_of(op)) * self._weight(op)
            case tiles.MmaOp():
                self._product(op, repeat)
            case tiles.ExtractOp():
                self.memory += repeat * self.prices.extract
            case elementwise.ElementwiseOp():
                self.arithmetic += repeat * space_of(op.result).volume * self.prices.of(op)
            case _:
                return

    def _product(self, op: tiles.MmaOp, repeat: float) -> None:
        """Plain loops. By the machine their sums wait for each other, and their code is fetched as that of tiles is."""
        volume, times = contraction_volume(op), self.prices.timings
        taken = volume * 2 * self.prices.arithmetic
        if times is None:
            self.arithmetic += repeat * taken
        elif volume:
            self.products += repeat * max(taken, volume / space_of(op.c).volume * times.latency)
            self.once += KIND * times.arithmetic

    def _weight(self, op: Access) -> float:
        slope = 0
        for start, stride in zip(starts_of(op), view_type(op.view).strides, strict=True):
            form = None if is_tile(start) else affine_of(start)
            if form is None:
                return self.prices.access(None, self.width)
            slope += (form.coefficient(self.lane) if self.lane is not None else 0) * stride
        if slope == 0 and not isinstance(op, LoadOp | LoadElementOp):
            return self.prices.access(None, self.width)
        return self.prices.access(abs(slope), self.width)


def contraction_volume(op: tiles.MmaOp) -> int:
    """Multiply-adds of one `mma`."""
    volume = space_of(op.c).volume
    for axis in space_of(op.a).axes:
        if axis.dim not in space_of(op.c).dims:
            volume *= axis.extent
    return volume


def element_work(layouts: Layouts, decisions: Decisions, prices: Prices) -> Work:
    """Work of one program with lanes along tile axes: vectors of every nest, and what they touch."""
    meter = _ElementMeter(layouts, decisions, prices)
    for op, position in layouts.placement.structure.position.items():
        if is_anchored(op):
            meter.operation(op, position)
    excess = meter.largest - meter.products
    return Work(meter.arithmetic, meter.memory, products=meter.products, excess=excess, once=meter.once)


class _ElementMeter:
    """Counts the vectors of one program."""

    def __init__(self, layouts: Layouts, decisions: Decisions, prices: Prices) -> None:
        self.layouts, self.decisions, self.prices = layouts, decisions, prices
        self.arithmetic = self.memory = self.products = self.largest = self.once = 0.0

    def operation(self, op: Operation, position: int) -> None:
        """Adds what one operation of a region body takes."""
        trips = self.layouts.placement.structure.trips_of(op)
        self.memory += trips * self._nest_memory(op, position)
        match op:
            case tiles.MmaOp():
                self._product(op, self.decisions.contracts[position], trips)
            case tiles.MapOp():
                self.arithmetic += self._map_arithmetic(op, trips * op.space.volume / self._lanes(op.result, position))
            case elementwise.ElementwiseOp():
                self.arithmetic += self._vectors(op, position, trips) * self.prices.of(op)
            case _:
                return

    def _product(self, op: tiles.MmaOp, contract: ContractPlan, trips: int) -> None:
        """By the price of its blocks; the specification knows only multiply-adds."""
        if self.prices.basis is Basis.SPECIFICATION:
            lanes = contract.along or contract.tile[2]
            self.arithmetic += trips * contraction_volume(op) / lanes * self.prices.arithmetic
            return
        work = product_work(op, contract, self.decisions.limits, self.layouts.machine, trips)
        self.products += work.average
        self.largest += work.whole
        self.once += work.once

    def _vectors(self, op: elementwise.ElementwiseOp, position: int, trips: int) -> float:
        if not is_tile(op.result):
            return trips
        placement = self.layouts.placement
        if placement.is_inline(op.result) and op.result in placement.vectors:
            return placement.vectors[op.result]
        return trips * space_of(op.result).volume / self._lanes(op.result, position)

    def _lanes(self, value: SSAValue, position: int) -> int:
        """How many elements one vector operation at a position computes."""
        nest = self.decisions.nests.get(position)
        return width_for(self.layouts.machine, self.layouts.choice, [value]) if nest is None else nest.width

    def _map_arithmetic(self, op: tiles.MapOp | regions.RegionOp, repeat: float) -> float:
        total = 0.0
        for inner in op.body.block.ops:
            if isinstance(inner, regions.RegionOp):
                total += self._map_arithmetic(inner, repeat * inner.space.volume)
            else:
                total += repeat * self.prices.of(inner)
        return total

    def _nest_memory(self, op: Operation, position: int) -> float:
        """What the nest of an operation reads, in vectors along its lanes, and what it writes."""
        nest = self.decisions.nests.get(position)
        values = [op.value] if isinstance(op, StoreOp) else [value for value in op.results if is_tile(value)]
        if nest is None or not values or isinstance(op, tiles.MmaOp | tiles.ScanOp):
            return 0.0
        space, folded = space_of(values[0]), _folded(op)
        written = space.volume / nest.width * self.prices.contiguous
        axis = next((axis for axis in space.axes if axis.dim.number == nest.lane), None)
        if axis is None:
            extracts = sum(isinstance(inner, tiles.ExtractOp) for inner in op.walk())
            return extracts * folded * written + space.volume * self.prices.contiguous
        width = width_for(self.layouts.machine, self.layouts.choice, values)
        vectors = space.volume // max(axis.extent, 1) * -(-axis.extent // width)
        found = [stream for value in values for stream in streams(self.layouts, value, axis.dim)]
        read = vectors * folded * sum(self.prices.access(stream.stride, width) for stream in found)
        turning = turn_price(nest, space) * self.prices.gathered_lane if nest.across is not None else 0.0
        return read + turning + written


def _folded(op: Operation) -> int:
    """How many elements a map folds for one of its own."""
    inner = [other.space.volume for other in op.walk() if isinstance(other, regions.RegionOp)]
    return max(prod(inner), 1) if isinstance(op, tiles.MapOp) else 1

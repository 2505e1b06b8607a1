"""`plan()`: enumerate every mapping in the declared finite space, reject what does not fit, score the rest.

All of it is kept as data. The space is lanes (along programs, or along tile axes) x root axis orders x programs per
block. The answer is its exact minimum under the stated cost; ties go to the first candidate in enumeration order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from math import factorial, isfinite

from xdsl.ir import Operation

from tilewright.analysis.access import Limits
from tilewright.analysis.forms import Forms, forms_of
from tilewright.analysis.limits import extent_of, limits_of
from tilewright.analysis.structure import Structure, structure_of
from tilewright.bridge.xir.abreast import abreast
from tilewright.bridge.xir.admission import admit
from tilewright.bridge.xir.asking import ask_ahead
from tilewright.bridge.xir.carries import share_homes
from tilewright.bridge.xir.cost import CostTerms, Work, element_work, from_afar, program_work, score
from tilewright.bridge.xir.explain import render_plan
from tilewright.bridge.xir.fixed import check_products, why_no_programs
from tilewright.bridge.xir.footprint import Footprint, footprint_of
from tilewright.bridge.xir.fusion import fused_producers
from tilewright.bridge.xir.joining import joined_stores
from tilewright.bridge.xir.layout import Layouts, width_for
from tilewright.bridge.xir.memories import memory_storages
from tilewright.bridge.xir.nests import plan_nests
from tilewright.bridge.xir.notes import notes_of
from tilewright.bridge.xir.options import PROGRAM, Element, Program, XirOptions
from tilewright.bridge.xir.placement import Placement, place_tiles
from tilewright.bridge.xir.prices import Prices, machine_prices, specification_prices
from tilewright.bridge.xir.product_ways import choose_ways
from tilewright.bridge.xir.records import (
    Decisions,
    LaneChoice,
    LimitPlan,
    Storage,
    stage_of,
)
from tilewright.bridge.xir.squares import turn_beforehand
from tilewright.bridge.xir.streaming import with_streams
from tilewright.core.codes.unsupported import NO_CANDIDATE, PLAN_CONFLICT, TOO_MANY_CANDIDATES
from tilewright.core.dtypes import by_name
from tilewright.core.errors import PlanError
from tilewright.core.machine import Machine
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of
from tilewright.ir.ops.regions import CarryingOp, ParallelOp, RegionOp, WhenOp
from tilewright.ir.ops.tiles import MapOp
from tilewright.ir.types import DimAttr, is_tile, space_of

__all__ = ["Candidate", "Plan", "Rejection", "plan"]

PROGRAM_BLOCKS = (32, 64, 128, 256, 512, 1024)
ELEMENT_BLOCKS = (1, 2, 4, 8, 16, 32, 64)
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Candidate:
    """One point of the space. `order` lists root axes by position, outermost first; `block` counts programs of one
    task.
    """

    lanes: Program | Element
    order: tuple[int, ...]
    block: int
    terms: CostTerms


@dataclass(frozen=True, slots=True)
class Rejection:
    """A candidate that cannot be taken, and why."""

    lanes: Program | Element
    order: tuple[int, ...]
    block: int
    reason: str


@dataclass(frozen=True)
class Plan:
    """The decision, with everything that was weighed. Same input, same plan. `alone` and `in_two` are the terms of the
    chosen candidate on one thread, and on two.
    """

    kernel: str
    kernel_hash: str
    machine: Machine
    options: XirOptions
    axes: tuple[str, ...]
    extents: tuple[int, ...]
    chosen: Candidate
    alone: CostTerms
    in_two: CostTerms
    width: int
    programs: int
    tasks: int
    threads: int
    fast_math: bool
    may_alias: bool
    decisions: Decisions
    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejection, ...]
    notes: tuple[str, ...]

    @property
    def is_program(self) -> bool:
        """Whether lanes are neighbouring programs."""
        return isinstance(self.chosen.lanes, Program)

    @property
    def wakes(self) -> bool:
        """Whether a launch is worth waking workers that sleep; those that are awake take part in any.

        They are woken one after the other, so the first must pay by itself.
        """
        return self.machine.timings.wake + self.in_two.nanoseconds < self.alone.nanoseconds

    def copy_width(self, storage: Storage) -> int:
        """Lanes of a plain copy into a buffer."""
        return self.options.lane_width or max(self.machine.vector_bits // max(by_name(storage.dtype).bits, 32), 1)

    def render(self) -> str:
        """The plan as text: mapping, nests, buffers, costs, rejections."""
        return render_plan(self)


@dataclass(frozen=True)
class _Space:
    """What one call searches."""

    kernel: Kernel
    root: ParallelOp
    structure: Structure
    forms: Forms
    machine: Machine
    options: XirOptions
    threads: int
    block: int
    may_alias: bool


@dataclass(frozen=True)
class _Choice:
    """Decisions and work of one choice of lanes, or the reason why it cannot be."""

    lanes: Program | Element
    width: int
    decisions: Decisions
    layouts: Layouts
    reason: str | None


@dataclass(frozen=True)
class _Mapping:
    """A choice of lanes with one order of root axes, and the work of a packet."""

    choice: _Choice
    order: tuple[int, ...]
    work: Work
    prices: Prices

    @property
    def packet(self) -> int:
        return self.choice.width if isinstance(self.choice.lanes, Program) else 1


def plan(
    kernel: Kernel,
    machine: Machine,
    options: XirOptions | None = None,
    *,
    threads: int,
    threads_per_group: int = 0,
    fast_math: bool = False,
    may_alias: bool = False,
) -> Plan:
    """The cheapest legal mapping of an admitted kernel.

    `threads` is the number of workers, `threads_per_group` the exact number of programs of a task (0: open).
    `may_alias` says that arguments may overlap: loads then stay where they are written.

    Raises UnsupportedError for a kernel that the route does not take, PlanError for contradicting constraints (TW427),
    a space over budget (TW428) and a space without a legal candidate (TW429, with `.rejections`).
    """
    asked = options if options is not None else XirOptions()
    root = admit(kernel)
    block = _fixed_block(kernel, asked, threads_per_group)
    space = _Space(
        kernel, root, structure_of(kernel.op), forms_of(kernel.op), machine, asked, threads, block, may_alias
    )
    _check_budget(space)
    check_products(root, machine, asked)
    choices = [_decide(space, lanes) for lanes in _lane_choices(space)]
    mappings = list(_mappings(space, choices))
    found = [_weigh(space, each, block) for each in mappings for block in _blocks(space, each.choice.lanes)]
    candidates = tuple(item for item in found if isinstance(item, Candidate))
    rejected = tuple(item for item in found if isinstance(item, Rejection))
    if not candidates:
        where = span_of(root)
        diagnostic = NO_CANDIDATE.at(where, count=len(rejected), reason=rejected[0].reason)
        raise PlanError(diagnostic, rejections=tuple(str(item.reason) for item in rejected))
    best = min(candidates, key=lambda item: item.terms.total)
    chosen = next(each for each in mappings if (each.choice.lanes, each.order) == (best.lanes, best.order))
    return _plan_of(space, chosen, best, candidates, rejected, fast_math=fast_math)


def _fixed_block(kernel: Kernel, options: XirOptions, threads_per_group: int) -> int:
    if options.block_size and threads_per_group and options.block_size != threads_per_group:
        conflict = f"block_size = {options.block_size} and threads_per_group = {threads_per_group}"
        raise PlanError(PLAN_CONFLICT.at(span_of(kernel.op), conflict=conflict))
    return options.block_size or threads_per_group


def _orders(space: _Space) -> Iterator[tuple[int, ...]]:
    wanted = space.options.root_axis_order
    if not wanted:
        yield from permutations(range(space.root.space.rank))
        return
    labels = [space.kernel.label(dim) for dim in space.root.space.dims]
    if sorted(wanted) != sorted(labels):
        conflict = f"root_axis_order = {wanted} is no permutation of the root axes {tuple(labels)}"
        raise PlanError(PLAN_CONFLICT.at(span_of(space.root), conflict=conflict))
    yield tuple(labels.index(label) for label in wanted)


def _blocks(space: _Space, lanes: Program | Element) -> tuple[int, ...]:
    if space.block:
        return (space.block,)
    return PROGRAM_BLOCKS if isinstance(lanes, Program) else ELEMENT_BLOCKS


def _lane_choices(space: _Space) -> tuple[Program | Element, ...]:
    return (space.options.lanes,) if space.options.lanes is not None else (Element(), PROGRAM)


def _check_budget(space: _Space) -> None:
    """The size of the space, known before anything is searched."""
    permuted = 1 if space.options.root_axis_order else factorial(space.root.space.rank)
    count = sum(
        len(_blocks(space, lanes)) * (permuted if isinstance(lanes, Program) else 1) for lanes in _lane_choices(space)
    )
    if count > space.options.max_candidates:
        limit = space.options.max_candidates
        raise PlanError(TOO_MANY_CANDIDATES.at(span_of(space.root), count=count, limit=limit))


def _decide(space: _Space, lanes: Program | Element) -> _Choice:
    """Everything below the root for one choice of lanes."""
    program = isinstance(lanes, Program)
    forms = space.forms
    limits: Limits = {} if program else limits_of(space.root, forms)
    fixed, reason = _fixed_dims(space, lanes)
    width = _program_width(space) if program else space.options.lane_width
    asked = LaneChoice(program, width, fixed)
    placement = Placement(
        space.structure, space.may_alias, asked, space.machine, forms, limits, space.options, space.root, space.threads
    )
    place_tiles(placement)
    staged = share_homes(placement)
    choose_ways(placement)
    ask_ahead(placement, space.root)
    memories = {storage.owner: storage for storage in memory_storages(space.structure)}
    layouts = Layouts(placement, space.machine, asked, dict(memories))
    planned = plan_nests(layouts)
    if turn_beforehand(placement, planned.values()):
        layouts = Layouts(placement, space.machine, asked, dict(memories))
        planned = plan_nests(layouts)
    nests = with_streams(layouts, space.root, planned)
    fused = fused_producers(placement, nests)
    joined = joined_stores(placement, nests)
    partial = dict(_limit_plans(space, limits))
    nests = abreast(layouts, nests, joined, partial)
    storages = {**layouts.storages, **_stages(space, layouts, staged)}
    scratch = sum(_bytes(item.dtype, item.size * (width if program else 1)) for item in storages.values())
    numbers = space.structure.numbers
    decisions = Decisions(
        places={numbers[value]: place for value, place in placement.places.items()},
        storages=storages,
        nests={position: nest for position, nest in nests.items() if position not in fused},
        fused=fused,
        joined=joined,
        contracts={space.structure.position[op]: item for op, item in placement.contracts.items()},
        limits=partial,
        staged=staged,
        disjoint=frozenset(placement.disjoint),
        scratch_bytes=scratch,
    )
    limit = space.options.max_scratch_bytes
    if reason is None and scratch > limit:
        reason = f"its buffers take {scratch} bytes of scratch, more than max_scratch_bytes = {limit}"
    return _Choice(lanes, width, decisions, layouts, reason)


def _limit_plans(space: _Space, limits: Limits) -> Iterator[tuple[int, LimitPlan]]:
    """The limits that cut something off, by positions of root axes, which lowering can read."""
    for dim, limit in limits.items():
        extent = extent_of(space.root, dim)
        places = [place for place, index in enumerate(space.root.indices) if limit.offset.coefficient(index)]
        blocks = space.root.space.extents[places[0]] if places else 1
        if blocks and 0 < limit.size - (blocks - 1) * extent < extent:
            yield dim.number, LimitPlan(places[0] if places else None, blocks, extent, limit.size)


def _stages(space: _Space, layouts: Layouts, staged: frozenset[tuple[int, int]]) -> dict[int, Storage]:
    """A second buffer like its home for each staged carry."""
    regions = {position: op for op, position in space.structure.position.items() if isinstance(op, CarryingOp)}
    homes = [layouts.storage_of(regions[position].carries[index]) for position, index in sorted(staged)]
    return {stage_of(home.owner): replace(home, owner=stage_of(home.owner)) for home in homes if home is not None}


def _bytes(dtype: str, count: int) -> int:
    size = count * by_name(dtype).itemsize
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _fixed_dims(space: _Space, lanes: Program | Element) -> tuple[frozenset[int], str | None]:
    """The dimensions that carry the asked-for label, or why the lanes cannot be."""
    if isinstance(lanes, Program):
        skips = "programs of one packet would skip different iterations" if _skips(space) else None
        return frozenset(), skips or why_no_programs(space.root, space.options)
    if not lanes.axis:
        return frozenset(), None
    dims = {dim.number: dim for op in space.root.walk() for dim in _dims_of(op)}
    labelled = frozenset(number for number, dim in dims.items() if space.kernel.label(dim) == lanes.axis)
    return labelled, None if labelled else f"no axis is called {lanes.axis}"


def _skips(space: _Space) -> bool:
    """Whether programs may skip iterations, and so differ in their work."""
    return any(isinstance(op, WhenOp) for op in space.structure.position)


def _dims_of(op: Operation) -> Iterator[DimAttr]:
    """Every dimension that an operation makes an index or a tile over."""
    if isinstance(op, RegionOp | MapOp):
        yield from op.space.dims
    for value in op.results:
        yield from space_of(value).dims if is_tile(value) else ()


def _program_width(space: _Space) -> int:
    if space.options.lane_width:
        return space.options.lane_width
    tiles = [value for value in space.structure.numbers if is_tile(value)]
    return width_for(space.machine, LaneChoice(program=False, width=0), tiles)


def _mappings(space: _Space, choices: Sequence[_Choice]) -> Iterator[_Mapping]:
    footprint = footprint_of(space.root)
    for choice in choices:
        for order in islice(_orders(space), None if isinstance(choice.lanes, Program) else 1):
            yield _Mapping(choice, order, *_work(space, choice, order, footprint))


def _work(space: _Space, choice: _Choice, order: tuple[int, ...], footprint: Footprint) -> tuple[Work, Prices]:
    """The work of a packet, and by what prices."""
    model, packet = space.options.cost, choice.width if isinstance(choice.lanes, Program) else 1
    near = space.machine.level_of(footprint.program * packet + choice.decisions.scratch_bytes)
    prices = machine_prices(space.machine, near) if model is None else specification_prices(model)
    if isinstance(choice.lanes, Program):
        work = program_work(space.root, order[-1] if order else 0, prices, choice.width)
    else:
        work = element_work(choice.layouts, choice.decisions, prices)
    return (work if model is not None else from_afar(work, space.machine, footprint, packet, near)), prices


def _weigh(space: _Space, mapping: _Mapping, block: int) -> Candidate | Rejection:
    lanes, order, reason = mapping.choice.lanes, mapping.order, mapping.choice.reason
    if reason is None and block % mapping.packet:
        reason = f"a block of {block} programs does not hold whole packets of {mapping.packet} lanes"
    if reason is not None:
        return Rejection(lanes, order, block, reason)
    terms = _score(space, mapping, block, space.threads)
    if not isfinite(terms.total):
        return Rejection(lanes, order, block, "its cost is not a finite number")
    return Candidate(lanes, order, block, terms)


def _score(space: _Space, mapping: _Mapping, block: int, threads: int) -> CostTerms:
    shape = {"programs": space.root.space.volume, "block": block, "packet": mapping.packet, "workers": max(threads, 1)}
    return score(mapping.work, mapping.prices, **shape, uneven=_skips(space))


def _plan_of(
    space: _Space,
    mapping: _Mapping,
    best: Candidate,
    candidates: tuple[Candidate, ...],
    rejected: tuple[Rejection, ...],
    *,
    fast_math: bool,
) -> Plan:
    programs, choice = space.root.space.volume, mapping.choice
    return Plan(
        kernel=space.kernel.name,
        kernel_hash=space.kernel.hash,
        machine=space.machine,
        options=space.options,
        axes=tuple(space.kernel.label(dim) for dim in space.root.space.dims),
        extents=space.root.space.extents,
        chosen=best,
        alone=_score(space, mapping, best.block, 1),
        in_two=_score(space, mapping, best.block, 2),
        width=choice.width,
        programs=programs,
        tasks=-(-programs // best.block),
        threads=space.threads,
        fast_math=fast_math,
        may_alias=space.may_alias,
        decisions=choice.decisions,
        candidates=candidates,
        rejected=rejected,
        notes=tuple(notes_of(space.kernel, space.structure, choice.decisions)),
    )

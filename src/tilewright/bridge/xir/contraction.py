"""How one `mma` becomes a register-blocked contraction.

Roles come from dimension identity, lanes from what is cheapest to read; then how far its epilogue reaches, and its
blocks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.access import is_inside
from tilewright.analysis.structure import Structure
from tilewright.analysis.windows import window_of
from tilewright.bridge.xir.blocking import LONGEST_BLOCK, ROW_BLOCK, ROWS, Blocks, Matrices, even_split, way_of
from tilewright.bridge.xir.fixed import has_blocks, refuse
from tilewright.bridge.xir.options import XirOptions
from tilewright.bridge.xir.prologues import Packed, fill_of
from tilewright.bridge.xir.records import ContractPlan, Fill
from tilewright.bridge.xir.sinks import Setting, Sink, sink_of, store_stride
from tilewright.core.machine import Machine
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.tiles import ConstantOp, MmaOp
from tilewright.ir.types import DimAttr, dtype_of, element_of, is_tile, space_of, view_type

__all__ = [
    "Demands",
    "Outcome",
    "Roles",
    "assumed",
    "blocked",
    "plan_contraction",
    "roles_of",
    "stride_along",
    "why_copied",
]

Demands = dict[SSAValue, int | None]
"""The dimension that must be innermost in a tile's buffer; None leaves it open."""

_TRANSPOSE = 4  # a copy through squares of vectors
_GATHERED = 12  # a copy, and another by gathers
_LONG_CHAIN = 16  # steps of k after which it costs little to store the sums and to load them again
_ROWS_OF_ONE_VECTOR = 14
_VECTORS = 8


@dataclass(frozen=True)
class Roles:
    """The dimensions of a contraction by role, each in the axis order of the operand named first."""

    batch: tuple[DimAttr, ...]
    contracted: tuple[DimAttr, ...]
    rows: tuple[DimAttr, ...]
    columns: tuple[DimAttr, ...]


@dataclass(frozen=True)
class Outcome:
    """The plan of one contraction and what it asks for.

    Operations that it absorbs, operands that it needs in buffers and why, those that it computes itself, innermost
    dimensions of buffers, disjoint arguments.
    """

    plan: ContractPlan
    absorbed: tuple[Operation, ...]
    kept: Mapping[SSAValue, str]
    filled: Mapping[SSAValue, Fill]
    demands: Demands
    disjoint: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class _Candidate:
    swapped: bool
    lane: DimAttr | None
    cost: float


def roles_of(op: MmaOp) -> Roles:
    """Roles by dimension identity: batch (a, b, c), contracted (a, b), rows (a, c), columns (b, c)."""
    a, b, c = space_of(op.a).dims, space_of(op.b).dims, space_of(op.c).dims
    return Roles(
        batch=tuple(dim for dim in c if dim in a and dim in b),
        contracted=tuple(dim for dim in a if dim in b and dim not in c),
        rows=tuple(dim for dim in c if dim in a and dim not in b),
        columns=tuple(dim for dim in c if dim in b and dim not in a),
    )


def plan_contraction(op: MmaOp, setting: Setting) -> Outcome:
    """The cheapest assignment of roles, and the sink it allows."""
    roles = roles_of(op)
    k = _inner(op, roles)
    around = any(_depth(op, dim) != 1 for dim in roles.contracted if dim != k)
    sink = Sink(op, op.result, ()) if around and not _stay_near(op, setting) else sink_of(op, setting)
    copied = {value: why_copied(value, sink.op, setting) for value in (op.a, op.b)}
    direct = {value: reason is None for value, reason in copied.items()}
    candidates = [
        _priced(op, setting, direct, sink, dim, swapped=swapped)
        for swapped, dim in _choices(op, roles, setting.choice.fixed)
    ]
    best = min(candidates, key=lambda candidate: candidate.cost)
    if isinstance(sink.op, StoreOp) and store_stride(sink.op, best.lane) != 1:
        sink = Sink(op, op.result, ())
    return _outcome(op, roles, best, copied, sink, setting)


# ---- roles


def _choices(op: MmaOp, roles: Roles, fixed: frozenset[int]) -> list[tuple[bool, DimAttr | None]]:
    """Whether rows and lanes are swapped, and the dimension of the lanes: an asked-for one where there is one."""
    free = [(False, dim) for dim in reversed(roles.columns)] + [(True, dim) for dim in reversed(roles.rows)]
    wide = [(swapped, dim) for swapped, dim in free if _extent(op, dim) > 1]
    asked = [(swapped, dim) for swapped, dim in wide if dim.number in fixed]
    return [*(asked or wide or free[:1])] or [(False, None)]


def _inner(op: MmaOp, roles: Roles) -> DimAttr:
    """The contracted dimension that runs inside: an empty one, else the last one longer than 1, so that order is
    kept. Where another order is allowed, a long one goes before short ones, since sums leave the registers after it.
    """
    empty = (dim for dim in roles.contracted if _depth(op, dim) == 0)
    longer = [dim for dim in reversed(roles.contracted) if _depth(op, dim) > 1]
    if op.reassociate.value.data and longer and _depth(op, longer[0]) < _LONG_CHAIN:
        longer.sort(key=lambda dim: _depth(op, dim) < _LONG_CHAIN)
    return (*empty, *longer, roles.contracted[-1])[0]


def _depth(op: MmaOp, dim: DimAttr) -> int:
    return space_of(op.a).extent_of(dim) or 0


def _extent(op: MmaOp, dim: DimAttr) -> int:
    return space_of(op.c).extent_of(dim) or 0


def _lanes(op: MmaOp, setting: Setting) -> int:
    """How many columns one vector holds."""
    return setting.choice.width or setting.machine.lanes(max(dtype_of(element_of(op.c)).bits, 32))


def _priced(
    op: MmaOp, setting: Setting, direct: Mapping[SSAValue, bool], sink: Sink, lane: DimAttr | None, *, swapped: bool
) -> _Candidate:
    """Cost in vector operations: copies of operands that cannot be read in place, and of a result whose lanes do not
    lie side by side where it ends; lanes that stay empty.
    """
    lane_side, row_side = (op.a, op.b) if swapped else (op.b, op.a)
    cost = 0.0
    if not (direct[lane_side] and stride_along(lane_side, lane) == 1):
        strided = stride_along(lane_side, lane) not in (1, None)
        cost += _copy_cost(_in_buffer(lane_side, lane), op, setting) * (_TRANSPOSE if strided else 1)
    if not direct[row_side]:
        cost += _copy_cost(_in_buffer(row_side, None), op, setting)
    if isinstance(sink.op, StoreOp) and store_stride(sink.op, lane) != 1:
        cost += _copy_cost(sink.value, op, setting) * _GATHERED
    extent = 1 if lane is None else _extent(op, lane)
    lanes = _lanes(op, setting)
    waste = -(-extent // lanes) * lanes / max(extent, 1)
    work = space_of(op.c).volume * setting.structure.trips_of(op) * waste
    return _Candidate(swapped, lane, cost + work)


def _copy_cost(value: SSAValue, op: MmaOp, setting: Setting) -> float:
    owner = value.owner
    trips = setting.structure.trips_of(owner) if isinstance(owner, Operation) else setting.structure.trips_of(op)
    return float(space_of(value).volume * trips)


def stride_along(value: SSAValue, dim: DimAttr | None) -> int | None:
    """The element stride at which a load, or a window of one, moves along a dimension; None when it is no load."""
    window = window_of(value)
    load = window.tile.owner
    if dim is None or not isinstance(load, LoadOp):
        return None
    return window.stride(dim, view_type(load.view).strides)


def _in_buffer(value: SSAValue, lane: DimAttr | None) -> SSAValue:
    """What is kept when an operand cannot be read in place: the tile that it shows many times over, if lanes lie side
    by side in it.
    """
    window = window_of(value)
    if space_of(window.tile).volume >= space_of(value).volume:
        return value
    return value if lane is not None and window.axis_along(lane) is None else window.tile


def why_copied(value: SSAValue, sink: Operation, setting: Setting) -> str | None:
    """Why the operand cannot be read from its view, or None where it is inside, never masked and never overtaken."""
    load = window_of(value).tile.owner
    if not isinstance(load, LoadOp):
        return "it is computed"
    if load.mask is not None or not is_inside(load, setting.limits, setting.forms):
        return "its load is guarded"
    overtaken = isinstance(sink, StoreOp) and sink.view is load.view
    if overtaken or setting.structure.writes_between(load, sink, load.view, may_alias=setting.may_alias) is not None:
        return "a store may overtake its load"
    return None


def _outcome(
    op: MmaOp,
    roles: Roles,
    best: _Candidate,
    copied: Mapping[SSAValue, str | None],
    sink: Sink,
    setting: Setting,
) -> Outcome:
    direct = {value: reason is None for value, reason in copied.items()}
    lane_side, row_side = (op.a, op.b) if best.swapped else (op.b, op.a)
    row_dims = roles.columns if best.swapped else roles.rows
    row = max(row_dims, key=lambda dim: _extent(op, dim), default=None)
    folded = tuple(dim for dim in roles.contracted if dim != _inner(op, roles) and _depth(op, dim) != 1)
    in_registers = bool(folded) and _stay_near(op, setting)
    side_by_side = stride_along(lane_side, best.lane) == 1
    fixed = setting.options.packing is not None
    lane_direct = direct[lane_side] and (
        side_by_side or fixed or (not in_registers and _pack_here(lane_side, op, setting))
    )
    packed = lane_direct and stride_along(lane_side, best.lane) not in (1, None)
    lane = _number(best.lane)
    demands: Demands = {op.c: lane, sink.value: lane}
    kept = {} if direct[row_side] else {_in_buffer(row_side, None): copied[row_side]}
    if not lane_direct:
        held = _in_buffer(lane_side, best.lane)
        kept[held] = copied[lane_side]
        demands[held] = _number(None if best.lane is None else window_of(lane_side).axis_along(best.lane))
        demands.setdefault(lane_side, lane)
    others = [dim for dim in (*roles.batch, *roles.rows, *roles.columns) if dim not in (row, best.lane)]
    structure = setting.structure
    plan = ContractPlan(
        swapped=best.swapped,
        row=_number(row),
        lane=lane,
        k=_inner(op, roles).number,
        outer=tuple(dim.number for dim in (others if in_registers else _outer(op, folded, others, setting))),
        folds=tuple(dim.number for dim in folded) if in_registers else (),
        a_direct=direct[row_side],
        b_direct=lane_direct,
        tile=register_tile(setting.machine, _lanes(op, setting), _size_of(op, _number(row)), _size_of(op, lane)),
        sink=structure.position[sink.op],
        value=structure.numbers[sink.value],
        blocking=(0, 0, int(packed)),
        from_zero=_is_zero(op.c),
    )
    fills = _fills(op, plan, (row_side, lane_side), sink, setting)
    for value, held in ((row_side, _in_buffer(row_side, None)), (lane_side, _in_buffer(lane_side, best.lane))):
        if isinstance(fills.get(value), Fill):
            kept.pop(held, None)
    plan = replace(plan, a_fill=fills.get(row_side), b_fill=fills.get(lane_side))
    reasons = {value: reason or "it lies across the lanes" for value, reason in kept.items()}
    filled = {value: fill for value, fill in fills.items() if isinstance(fill, Fill)}
    return Outcome(plan, sink.absorbed, reasons, filled, demands, assumed(direct, structure))


def _fills(
    op: MmaOp, plan: ContractPlan, sides: tuple[SSAValue, SSAValue], sink: Sink, setting: Setting
) -> dict[SSAValue, Fill | str]:
    """How operands that are not read as they lie are computed into panels, or why not."""
    rows, lanes = (setting.options.register_tile or (min(plan.tile[0], ROWS), 0))[0], plan.tile[2]
    k, extents = DimAttr.of(plan.k), {axis.dim.number: axis.extent for value in sides for axis in space_of(value).axes}
    tiles_of = -(-_size_of(op, plan.lane) // (plan.tile[1] * lanes)), -(-_size_of(op, plan.row) // rows)
    found: dict[SSAValue, Fill | str] = {}
    for value, along, width, direct, passes in zip(
        sides, (plan.row, plan.lane), (rows & -rows, lanes), (plan.a_direct, plan.b_direct), tiles_of, strict=True
    ):
        if direct and element_of(value) == element_of(op.c):
            continue
        operand = Packed(
            value=value,
            along=None if along is None else DimAttr.of(along),
            k=k,
            lanes=width,
            times=prod(extents[dim] for dim in plan.outer),
            passes=passes,
            in_place=direct,
            is_rows=value is sides[0],
            k_block=_shortest_block(_depth(op, k), setting.options),
            in_registers=bool(plan.folds),
        )
        found[value] = fill_of(op, operand, sink.op, setting)
    return found


def _shortest_block(depth: int, options: XirOptions) -> int:
    """The last block of k, which may be shorter than the others."""
    block = options.k_block or even_split(depth, LONGEST_BLOCK)
    return depth % block or block if 0 < block < depth else depth


def _outer(op: MmaOp, folded: tuple[DimAttr, ...], others: list[DimAttr], setting: Setting) -> tuple[DimAttr, ...]:
    """The loops around the contraction. Contracted ones go outside when an operand would otherwise be read again and
    again from beyond the second cache.
    """
    return (*others, *folded) if _stay_near(op, setting) else (*folded, *others)


def _stay_near(op: MmaOp, setting: Setting) -> bool:
    """Whether both operands stay in the second cache while each is read many times, and no blocks are asked for."""
    if has_blocks(setting.options):
        return False
    machine = setting.machine
    tiles = (window_of(value).tile for value in (op.a, op.b))
    return all(space_of(tile).volume * dtype_of(element_of(tile)).itemsize <= machine.l2_bytes // 2 for tile in tiles)


def _pack_here(value: SSAValue, op: MmaOp, setting: Setting) -> bool:
    """Whether panels made at the contraction are no worse than a copy made where the operand is loaded."""
    owner = value.owner
    trips = setting.structure.trips_of
    same_type = element_of(value) == element_of(op.c)
    return isinstance(owner, Operation) and same_type and trips(owner) == trips(op)


def register_tile(machine: Machine, lanes: int, rows: int, columns: int) -> tuple[int, int, int]:
    """Rows, vectors and lanes of the register tile: rows * vectors accumulators leave room for one row of B and a
    broadcast.

    Few rows take more vectors, since enough accumulators must be in flight to hide the latency of the multiply-add.
    """
    needed, rows = max(1, -(-columns // lanes)), max(1, rows)
    if rows >= ROWS:
        vectors = min(range(min(2, needed), 0, -1), key=lambda vectors: _row_cost(columns, vectors, lanes))
        many = machine.vector_registers >= 32
        if vectors == 1:
            return (_ROWS_OF_ONE_VECTOR if many and rows >= _ROWS_OF_ONE_VECTOR else ROWS), 1, lanes
        return (ROWS if many else 6), vectors, lanes
    spare = (machine.vector_registers - 2) // (rows + 1)
    return rows, max(1, min(spare, needed, _VECTORS)), lanes


def _row_cost(columns: int, vectors: int, lanes: int) -> float:
    """Vector operations a row of C takes in panels of so many vectors, with half a broadcast of A for every panel.

    A last panel of half a vector or less is computed in narrower ones, which cost half; in a panel of several vectors
    the last is masked, and costs as much as a full one.
    """
    full, rest = divmod(columns, vectors * lanes)
    edge = 0.5 if 0 < rest <= lanes // 2 else -(-rest // lanes)
    return (full * vectors + edge) * (1 + 0.5 / vectors)


def _number(dim: DimAttr | None) -> int | None:
    return None if dim is None else dim.number


def _is_zero(value: SSAValue) -> bool:
    """Whether the value is the constant +0."""
    return isinstance(value.owner, ConstantOp) and value.owner.value.data == 0


def assumed(direct: Mapping[SSAValue, bool], structure: Structure) -> frozenset[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for value, is_direct in direct.items():
        load = window_of(value).tile.owner
        if is_direct and isinstance(load, LoadOp):
            found |= structure.written_with(load.view)
    return frozenset(found)


# ---- blocking


def blocked(op: MmaOp, plan: ContractPlan, machine: Machine, options: XirOptions, *, may_split: bool) -> ContractPlan:
    """The plan with its blocks, as the rule or the caller has them.

    `may_split` says that sums may lie in the sink between blocks of k: nothing that is read later is overwritten by
    them.
    """
    if plan.along:
        return plan
    if plan.folds:
        tile = (*(options.register_tile or plan.tile[:2]), plan.tile[2])
        return replace(
            plan, blocking=(0, 0, 0), tile=tile, why=("sums stay in registers over all axes: both are near",)
        )
    rule, why = _rule(op, plan, machine)
    blocks = _with_fixed(op, plan, options, rule)
    if not may_split and blocks.k:
        if options.k_block:
            refuse(op, f"k_block = {options.k_block}, and what follows the product reads where its sums would wait")
        blocks = replace(blocks, k=0)
        why = (*why, "k in one block: what follows the product reads where its sums would wait")
    tile = blocks.tile(plan.tile, _size_of(op, plan.lane), machine)
    if isinstance(plan.a_fill, Fill):
        tile = (min(tile[0], ROWS), *tile[1:])
    tile = (*(options.register_tile or tile[:2]), tile[2])
    blocking = (blocks.k, blocks.rows, blocks.packed)
    return replace(plan, blocking=blocking, tile=tile, why=why if blocks.packed == rule.packed else ())


def _with_fixed(op: MmaOp, plan: ContractPlan, options: XirOptions, rule: Blocks) -> Blocks:
    k = options.k_block or rule.k
    packed = rule.packed if options.packing is None else options.packing.value
    return Blocks(k if k < _depth(op, DimAttr.of(plan.k)) else 0, options.row_block or rule.rows, packed)


def _rule(op: MmaOp, plan: ContractPlan, machine: Machine) -> tuple[Blocks, tuple[str, ...]]:
    """Blocks, and why. What is computed goes through panels, those of A for a block of rows at a time."""
    blocks, why = way_of(_matrices(op, plan, machine))
    a, b = isinstance(plan.a_fill, Fill), isinstance(plan.b_fill, Fill)
    if not (a or b):
        return blocks, why
    names = " and ".join(name for name, filled in (("A", a), ("B", b)) if filled)
    rows, packed = ROW_BLOCK if a else blocks.rows, max(blocks.packed, int(b))
    return Blocks(_longest(op, plan), rows, packed), (*why, f"{names} in panels: computed while they are packed")


def _longest(op: MmaOp, plan: ContractPlan) -> int:
    return even_split(_depth(op, DimAttr.of(plan.k)), LONGEST_BLOCK)


def _matrices(op: MmaOp, plan: ContractPlan, machine: Machine) -> Matrices:
    filled = isinstance(plan.b_fill, Fill)
    no_panels = None if filled or plan.b_direct else "B lies in a buffer of its own"
    if no_panels is None and not filled and _reads_narrow(op, plan):
        no_panels = "B is converted as it is read"
    return Matrices(
        rows=_size_of(op, plan.row),
        columns=_size_of(op, plan.lane),
        depth=_depth(op, DimAttr.of(plan.k)),
        itemsize=dtype_of(element_of(op.c)).itemsize,
        second_cache=machine.l2_bytes,
        apart=bool(plan.blocking[2]),
        no_panels=no_panels,
        across=_reads_across_rows(op, plan),
    )


def _reads_across_rows(op: MmaOp, plan: ContractPlan) -> bool:
    """Whether A lies so that its rows are neighbours, and k goes from line to line."""
    value = op.b if plan.swapped else op.a
    across = plan.a_direct and plan.row is not None and stride_along(value, DimAttr.of(plan.row)) == 1
    return across and element_of(value) == element_of(op.c)


def _size_of(op: MmaOp, dim: int | None) -> int:
    return 1 if dim is None else _extent(op, DimAttr.of(dim))


def _reads_narrow(op: MmaOp, plan: ContractPlan) -> bool:
    """Whether B's elements are of another type than the sums."""
    value = op.a if plan.swapped else op.b
    return is_tile(value) and element_of(value) != element_of(op.c)

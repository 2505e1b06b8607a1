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
from tilewright.bridge.xir.block_prices import Lines, Product
from tilewright.bridge.xir.blocking import LONGEST_BLOCK, Bounds, cheapest, even_split, tiles_of
from tilewright.bridge.xir.fixed import has_blocks, refuse
from tilewright.bridge.xir.options import XirOptions
from tilewright.bridge.xir.prologues import Packed, fill_of
from tilewright.bridge.xir.records import ContractPlan, Fill
from tilewright.bridge.xir.sinks import Setting, Sink, sink_of, store_stride
from tilewright.core.codes.unsupported import TOO_MANY_CANDIDATES
from tilewright.core.errors import PlanError
from tilewright.core.machine import Machine
from tilewright.ir.location import span_of
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.tiles import ConstantOp, MmaOp
from tilewright.ir.types import DimAttr, dtype_of, element_of, space_of, view_type

__all__ = [
    "Demands",
    "Outcome",
    "Roles",
    "assumed",
    "blocked",
    "is_zero",
    "lanes_of",
    "plan_contraction",
    "roles_of",
    "stride_along",
    "times_of",
    "why_copied",
]

Demands = dict[SSAValue, int | None]
"""The dimension that must be innermost in a tile's buffer; None leaves it open."""

_TRANSPOSE = 4  # a copy through squares of vectors
_GATHERED = 12  # a copy, and another by gathers
_LONG_CHAIN = 16  # steps of k after which it costs little to store the sums and to load them again


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


def lanes_of(op: MmaOp, setting: Setting) -> int:
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
    lanes = lanes_of(op, setting)
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
        tile=(1, 1, lanes_of(op, setting)),
        sink=structure.position[sink.op],
        value=structure.numbers[sink.value],
        from_zero=is_zero(op.c),
    )
    product = _product_of(op, plan, (row_side, lane_side), sink)
    usual = tiles_of(product, setting.machine, setting.options)[0]
    fills = _fills(op, replace(plan, tile=(*usual, plan.tile[2])), (row_side, lane_side), sink, setting)
    for value, held in ((row_side, _in_buffer(row_side, None)), (lane_side, _in_buffer(lane_side, best.lane))):
        if isinstance(fills.get(value), Fill):
            kept.pop(held, None)
    a_fill, b_fill = fills.get(row_side), fills.get(lane_side)
    product = replace(product, a_panels=isinstance(a_fill, Fill), b_panels=isinstance(b_fill, Fill))
    plan = replace(plan, a_fill=a_fill, b_fill=b_fill, product=product)
    reasons = {value: reason or "it lies across the lanes" for value, reason in kept.items()}
    filled = {value: fill for value, fill in fills.items() if isinstance(fill, Fill)}
    return Outcome(plan, sink.absorbed, reasons, filled, demands, assumed(direct, structure))


def _fills(
    op: MmaOp, plan: ContractPlan, sides: tuple[SSAValue, SSAValue], sink: Sink, setting: Setting
) -> dict[SSAValue, Fill | str]:
    """How operands that are not read as they lie are computed into panels, or why not."""
    rows, vectors, lanes = plan.tile
    k = DimAttr.of(plan.k)
    passes = -(-_size_of(op, plan.lane) // (vectors * lanes)), -(-_size_of(op, plan.row) // rows)
    found: dict[SSAValue, Fill | str] = {}
    for value, along, width, direct, times in zip(
        sides, (plan.row, plan.lane), (rows & -rows, lanes), (plan.a_direct, plan.b_direct), passes, strict=True
    ):
        if direct and element_of(value) == element_of(op.c):
            continue
        operand = Packed(
            value=value,
            along=None if along is None else DimAttr.of(along),
            k=k,
            lanes=width,
            times=times_of(op, plan),
            passes=times,
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


def _number(dim: DimAttr | None) -> int | None:
    return None if dim is None else dim.number


def is_zero(value: SSAValue) -> bool:
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


def blocked(op: MmaOp, plan: ContractPlan, machine: Machine, options: XirOptions, bounds: Bounds) -> ContractPlan:
    """The plan of a priced product with its register tile and blocks: those that cost least, of what the caller leaves
    open.
    """
    product = plan.product
    if product is None:
        return plan
    if not bounds.may_split and 0 < options.k_block < product.depth:
        refuse(op, f"k_block = {options.k_block}, and what follows the product reads where its sums would wait")
    search = cheapest(product, machine, options, bounds).beside(plan.dots)
    if search.count > options.max_candidates:
        where = span_of(op)
        raise PlanError(TOO_MANY_CANDIDATES.at(where, count=search.count, limit=options.max_candidates))
    best = search.chosen.blocks
    blocking = (best.k, 0 if plan.folds else best.row_block, best.packed)
    tile = best.rows, best.vectors, plan.tile[2]
    return replace(plan, tile=tile, blocking=blocking, search=search)


def times_of(op: MmaOp, plan: ContractPlan) -> int:
    """How often its loops around compute a product whose operands have rows, columns and k only."""
    extents = {axis.dim.number: axis.extent for value in (op.a, op.b) for axis in space_of(value).axes}
    return prod(extents[dim] for dim in plan.outer)


def _product_of(op: MmaOp, plan: ContractPlan, sides: tuple[SSAValue, SSAValue], sink: Sink) -> Product:
    """Extents, and how the operands and the sink lie."""
    itemsize, k = dtype_of(element_of(op.c)).itemsize, DimAttr.of(plan.k)
    row, lane = (None if dim is None else DimAttr.of(dim) for dim in (plan.row, plan.lane))
    columns = _size_of(op, plan.lane)
    step = store_stride(sink.op, row) if isinstance(sink.op, StoreOp) and row is not None else columns
    a = _lines(sides[0], row, k, op, gathers=False) if plan.a_direct else Lines(_depth(op, k) * itemsize)
    b = _lines(sides[1], k, lane, op, gathers=True) if plan.b_direct else Lines(columns * itemsize)
    rows, depth = _size_of(op, plan.row), _depth(op, k)
    folds = prod(_depth(op, DimAttr.of(dim)) for dim in plan.folds)
    return Product(rows, columns, depth, plan.tile[2], itemsize, a, b, Lines(step * itemsize), folds=folds)


def _lines(value: SSAValue, outer: DimAttr | None, inner: DimAttr | None, op: MmaOp, *, gathers: bool) -> Lines:
    """How an operand lies that is read in place, along `inner` for each `outer`. What is not side by side there is
    gathered, or is neighbours along `outer` that are read one by one.
    """
    along, beside = stride_along(value, inner), stride_along(value, outer)
    across = along not in (0, 1, None) and (gathers or beside == 1)
    step = (along if across else beside) or 1
    return Lines(step * dtype_of(element_of(value)).itemsize, across, element_of(value) != element_of(op.c))


def _size_of(op: MmaOp, dim: int | None) -> int:
    return 1 if dim is None else _extent(op, DimAttr.of(dim))

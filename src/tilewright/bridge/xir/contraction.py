"""How one `mma` becomes a register-blocked contraction: roles from dimension identity, lanes from what is cheapest to read."""

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.access import is_inside
from tilewright.analysis.structure import Structure
from tilewright.bridge.xir.records import ContractPlan
from tilewright.core.machine import Machine
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.tiles import ConstantOp, MmaOp
from tilewright.ir.types import DimAttr, dtype_of, element_of, space_of, view_type

__all__ = ["Demands", "Outcome", "Roles", "plan_contraction", "roles_of"]

Demands = dict[SSAValue, int | None]
"""The dimension that must be innermost in a tile's buffer; None leaves it open."""

_TRANSPOSE = 4


@dataclass(frozen=True)
class Roles:
    """The dimensions of a contraction by role, each in the axis order of the operand named first."""

    batch: tuple[DimAttr, ...]
    contracted: tuple[DimAttr, ...]
    rows: tuple[DimAttr, ...]
    columns: tuple[DimAttr, ...]


@dataclass(frozen=True)
class Outcome:
    """The plan of one contraction, the operands it needs in buffers, what it asks of buffers, and arguments taken for disjoint."""

    plan: ContractPlan
    kept: tuple[SSAValue, ...]
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


def plan_contraction(op: MmaOp, structure: Structure, may_alias: bool, machine: Machine) -> Outcome:
    """The cheapest assignment of roles."""
    roles = roles_of(op)
    direct = {value: _is_direct(value, op, structure, may_alias) for value in (op.a, op.b)}
    candidates = [_priced(op, structure, direct, swapped, dim) for swapped, dim in _choices(op, roles)]
    best = min(candidates, key=lambda candidate: candidate.cost)
    return _outcome(op, roles, best, direct, structure, machine)


def _choices(op: MmaOp, roles: Roles) -> list[tuple[bool, DimAttr | None]]:
    free = [(False, dim) for dim in reversed(roles.columns)] + [(True, dim) for dim in reversed(roles.rows)]
    wide = [(swapped, dim) for swapped, dim in free if _extent(op, dim) > 1]
    return wide or free[:1] or [(False, None)]


def _extent(op: MmaOp, dim: DimAttr) -> int:
    return space_of(op.c).extent_of(dim) or 0


def _priced(
    op: MmaOp, structure: Structure, direct: dict[SSAValue, bool], swapped: bool, lane: DimAttr | None
) -> _Candidate:
    """Cost in vector operations: copies of operands that cannot be read in place, and lanes that stay empty."""
    lane_side, row_side = (op.a, op.b) if swapped else (op.b, op.a)
    cost = 0.0
    if not (direct[lane_side] and _stride(lane_side, lane) == 1):
        strided = _stride(lane_side, lane) not in (1, None)
        cost += _copy_cost(lane_side, structure) * (_TRANSPOSE if strided else 1)
    if not direct[row_side]:
        cost += _copy_cost(row_side, structure)
    extent = 1 if lane is None else _extent(op, lane)
    waste = -(-extent // 16) * 16 / max(extent, 1)
    work = space_of(op.c).volume * structure.trips_of(op) * waste
    return _Candidate(swapped, lane, cost + work)


def _copy_cost(value: SSAValue, structure: Structure) -> float:
    owner = value.owner
    trips = structure.trips_of(owner) if isinstance(owner, Operation) else 0
    return float(space_of(value).volume * trips)


def _stride(value: SSAValue, dim: DimAttr | None) -> int | None:
    """The element stride at which a load moves along a dimension; None when the value is no load."""
    load = value.owner
    if dim is None or not isinstance(load, LoadOp):
        return None
    return view_type(load.view).strides[space_of(value).dims.index(dim)]


def _is_direct(value: SSAValue, op: MmaOp, structure: Structure, may_alias: bool) -> bool:
    """Whether the operand can be read from its view: always inside, never masked, never overtaken by a store."""
    load = value.owner
    if not isinstance(load, LoadOp) or load.mask is not None or not is_inside(load):
        return False
    return structure.writes_between(load, op, load.view, may_alias=may_alias) is None


def _outcome(
    op: MmaOp,
    roles: Roles,
    best: _Candidate,
    direct: dict[SSAValue, bool],
    structure: Structure,
    machine: Machine,
) -> Outcome:
    lane_side, row_side = (op.a, op.b) if best.swapped else (op.b, op.a)
    row_dims = roles.columns if best.swapped else roles.rows
    row = max(row_dims, key=lambda dim: _extent(op, dim), default=None)
    lane_direct = direct[lane_side] and _stride(lane_side, best.lane) == 1
    demands: Demands = {op.c: _number(best.lane), op.result: _number(best.lane)}
    kept = [value for value, read in ((row_side, direct[row_side]), (lane_side, lane_direct)) if not read]
    if not lane_direct:
        demands[lane_side] = _number(best.lane)
    k = roles.contracted[-1]
    others = [dim for dim in (*roles.batch, *roles.rows, *roles.columns) if dim not in (row, best.lane)]
    plan = ContractPlan(
        swapped=best.swapped,
        row=_number(row),
        lane=_number(best.lane),
        k=k.number,
        outer=tuple(dim.number for dim in (*others, *roles.contracted[:-1])),
        a_direct=direct[row_side],
        b_direct=lane_direct,
        tile=register_tile(
            machine, dtype_of(element_of(op.c)).bits, 1 if best.lane is None else _extent(op, best.lane)
        ),
        in_place=False,
        from_zero=_is_zero(op.c),
    )
    return Outcome(plan, tuple(kept), demands, _assumed(op, direct, structure))


def register_tile(machine: Machine, element_bits: int, columns: int) -> tuple[int, int, int]:
    """Rows, vectors and lanes of the register tile: rows * vectors accumulators leave room for the operands."""
    lanes = machine.lanes(max(element_bits, 32))
    vectors = 1 if columns <= lanes else 2
    rows = 8 if machine.vector_registers >= 32 or vectors == 1 else 6
    return rows, vectors, lanes


def _number(dim: DimAttr | None) -> int | None:
    return None if dim is None else dim.number


def _is_zero(value: SSAValue) -> bool:
    """Whether the value is the constant +0."""
    return isinstance(value.owner, ConstantOp) and value.owner.value.data == 0


def _assumed(op: MmaOp, direct: dict[SSAValue, bool], structure: Structure) -> frozenset[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for value, is_direct in direct.items():
        if is_direct and isinstance(value.owner, LoadOp):
            found |= structure.written_with(value.owner.view)
    return frozenset(found)

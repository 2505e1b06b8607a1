"""An `mma` as loops around one contraction, with operands read in place or from buffers; or as plain loops over program lanes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.bridge.xir.contraction import roles_of
from tilewright.bridge.xir.lower.access import store_to_storage
from tilewright.bridge.xir.lower.context import Lowering, Val, register_type
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.nests import At, copy_nest, extents_of, fill_storage, run_nest
from tilewright.bridge.xir.lower.values import coord_values, operand_value, tile_value
from tilewright.bridge.xir.records import ContractPlan, NestPlan, Storage
from tilewright.core.dtypes import DType
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import dtype_of, element_of, space_of, view_type
from tilewright.xir.types import I64

__all__ = ["lower_contraction"]


@dataclass(frozen=True)
class _Matrix:
    """One operand in memory: where it starts, and how it moves with each dimension."""

    buffer: SSAValue
    start: SSAValue
    strides: Mapping[int, int]

    def stride(self, dim: int | None) -> int:
        return 0 if dim is None else self.strides.get(dim, 0)


def lower_contraction(cx: Lowering, op: MmaOp, storage: Storage) -> None:
    """Accumulate into the buffer of the result."""
    position = cx.structure.position[op]
    plan = cx.plan.decisions.contracts.get(position)
    if plan is None:
        _plain_loops(cx, op, storage, cx.plan.decisions.nests[position])
        return
    extents = extents_of(space_of(op.a), space_of(op.b), space_of(op.c))
    contracted = {dim.number for dim in roles_of(op).contracted}
    from_zero = plan.from_zero and not contracted & set(plan.outer)
    if not plan.in_place and not from_zero:
        fill_storage(cx, storage, op.c, copy_nest(cx, storage))
    first, second = (op.b, op.a) if plan.swapped else (op.a, op.b)
    matrices = (
        _matrix(cx, first, direct=plan.a_direct),
        _matrix(cx, second, direct=plan.b_direct),
        _buffered(cx, storage),
    )
    with cx.fresh():
        _outer(cx, plan, extents, list(plan.outer), matrices, from_zero=from_zero)


def _matrix(cx: Lowering, value: SSAValue, *, direct: bool) -> _Matrix:
    load = value.owner
    if not direct or not isinstance(load, LoadOp):
        return _buffered(cx, cx.required_storage(value))
    strides = view_type(load.view).strides
    start = cx.math.const(0)
    for at, stride in zip(coord_values(cx, load.origin), strides, strict=True):
        start = cx.math.add(start, cx.math.scale(at, stride))
    moves = {dim.number: stride for dim, stride in zip(space_of(value).dims, strides, strict=True)}
    return _Matrix(cx.buffers[load.view], start.base, moves)


def _buffered(cx: Lowering, storage: Storage) -> _Matrix:
    moves = dict(zip(storage.dims, storage.strides, strict=True))
    return _Matrix(cx.scratch[storage.owner], cx.builder.i64(0), moves)


def _outer(
    cx: Lowering,
    plan: ContractPlan,
    extents: Mapping[int, int],
    dims: list[int],
    matrices: Sequence[_Matrix],
    *,
    from_zero: bool,
) -> None:
    if not dims:
        _contract(cx, plan, extents, matrices, from_zero=from_zero)
        return
    dim, rest = dims[0], dims[1:]
    with cx.loop(0, extents[dim]) as loop:
        b = cx.builder
        moved = [
            _Matrix(item.buffer, b.add(item.start, b.mul(loop.index, b.i64(item.stride(dim)))), item.strides)
            for item in matrices
        ]
        _outer(cx, plan, extents, rest, moved, from_zero=from_zero)


def _contract(
    cx: Lowering, plan: ContractPlan, extents: Mapping[int, int], matrices: Sequence[_Matrix], *, from_zero: bool
) -> None:
    a, b, c = matrices
    sizes = (_extent(extents, plan.row), _extent(extents, plan.lane), extents[plan.k])
    lane_stride = b.stride(plan.lane) if plan.lane is not None else 1
    c_stride = c.stride(plan.lane) if plan.lane is not None else 1
    strides = (a.stride(plan.row), a.stride(plan.k), b.stride(plan.k), lane_stride, c.stride(plan.row), c_stride)
    operands = [a.buffer, a.start, b.buffer, b.start, c.buffer, c.start]
    cx.builder.contract(operands, sizes, strides, plan.tile, from_zero=from_zero)


def _extent(extents: Mapping[int, int], dim: int | None) -> int:
    return 1 if dim is None else extents[dim]


def _plain_loops(cx: Lowering, op: MmaOp, storage: Storage, nest: NestPlan) -> None:
    """Every element is a chain of fused multiply-adds over the contracted dimensions, in a's axis order."""
    dims = space_of(op.c).dims

    def body(at: At) -> None:
        start = cx.ssa(tile_value(cx, op.c, tuple(at[dim.number] for dim in dims)))
        chain = [dim.number for dim in roles_of(op).contracted]
        result = _chain(cx, op, chain, dict(at), cx.vectorised(start, cx.width) if cx.width > 1 else start)
        value: Val = Coord(result) if element_of(op.c) == I64 else result
        store_to_storage(cx, storage, storage.dims, tuple(at[dim] for dim in storage.dims), value)

    run_nest(cx, nest, extents_of(space_of(op.a), space_of(op.b), space_of(op.c)), body)


def _chain(cx: Lowering, op: MmaOp, dims: list[int], at: dict[int, Coord], carry: SSAValue) -> SSAValue:
    if not dims:
        return _step(cx, op, at, carry)
    extent = extents_of(space_of(op.a))[dims[0]]
    with cx.loop(0, extent, 1, (carry,)) as loop:
        loop.yield_([_chain(cx, op, dims[1:], {**at, dims[0]: Coord(loop.index)}, loop.carries[0])])
    return loop.results[0]


def _step(cx: Lowering, op: MmaOp, at: dict[int, Coord], carry: SSAValue) -> SSAValue:
    target = dtype_of(element_of(op.c))
    by_dim = {dim: at[dim.number] for value in (op.a, op.b) for dim in space_of(value).dims}
    factors: list[SSAValue] = []
    for value in (op.a, op.b):
        element = cx.ssa(operand_value(cx, value, by_dim))
        element = _widened(cx, element, dtype_of(element_of(value)), target)
        factors.append(cx.vectorised(element, cx.width) if cx.width > 1 else element)
    b = cx.builder
    if target.kind == "float":
        return b.fma(*factors, carry)
    return b.add(b.mul(*factors), carry)


def _widened(cx: Lowering, value: SSAValue, source: type[DType], target: type[DType]) -> SSAValue:
    """An operand in the accumulator's type."""
    wanted = register_type(target)
    if source.kind == "float":
        return value if register_type(source) == wanted else cx.builder.extf(value, wanted)
    if source.bits == target.bits:
        return value
    return cx.builder.extsi(value, wanted) if source.kind == "int" else cx.builder.extui(value, wanted)

"""An `mma` as loops around one contraction, operands in place or in buffers; or as plain loops over program lanes."""

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.scf import YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.bridge.xir.contraction import roles_of
from tilewright.bridge.xir.lower.access import store_to_storage
from tilewright.bridge.xir.lower.context import Lowering, Val, register_type
from tilewright.bridge.xir.lower.convert import converted
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.nests import At, copy_nest, extents_of, fill_storage, run_nest
from tilewright.bridge.xir.lower.operands import OperandMatrix, buffered_matrix, operand_matrix, viewed_matrix
from tilewright.bridge.xir.lower.panels import PanelBody, fill_panels
from tilewright.bridge.xir.lower.values import operand_value, tile_value
from tilewright.bridge.xir.records import ContractPlan, Fill, NestPlan, Shared, Storage
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import dtype_of, element_of, space_of
from tilewright.xir.types import I64, scalar_of, vector_of

__all__ = ["lower_contraction", "plain_loops"]


def lower_contraction(cx: Lowering, op: MmaOp, plan: ContractPlan) -> None:
    """Compute the product and all that its sink absorbs, straight into what the sink writes."""
    lowering = _Contraction(cx, op, plan)
    if lowering.split and not plan.in_place:
        storage = cx.required_storage(op.result)
        fill_storage(cx, storage, op.c, copy_nest(cx, storage))
    with cx.fresh():
        lowering.outer(list(plan.outer), lowering.matrices(), {})


Matrices = tuple[OperandMatrix | None, OperandMatrix | None, OperandMatrix]
"""The operand with the rows, that with the lanes, and C. None is computed."""


@dataclass(frozen=True)
class _Contraction:
    """The loops around one contraction, and its bodies."""

    cx: Lowering
    op: MmaOp
    plan: ContractPlan

    @property
    def split(self) -> bool:
        """Whether the chain of one element runs through several contractions, and starts and ends outside them."""
        contracted = {dim.number for dim in roles_of(self.op).contracted}
        extents = self.extents
        return any(dim in contracted and extents[dim] != 1 for dim in self.plan.outer)

    @property
    def extents(self) -> dict[int, int]:
        return extents_of(space_of(self.op.a), space_of(self.op.b), space_of(self.op.c))

    @property
    def sink(self) -> Operation:
        return self.cx.operations[self.plan.sink]

    @property
    def operands(self) -> tuple[SSAValue, SSAValue]:
        """What supplies rows, and what supplies lanes."""
        return (self.op.b, self.op.a) if self.plan.swapped else (self.op.a, self.op.b)

    def matrices(self) -> Matrices:
        plan, (first, second) = self.plan, self.operands
        a = self._matrix(first, plan.a_fill, plan.a_shared, direct=plan.a_direct, is_rows=True)
        b = self._matrix(second, plan.b_fill, plan.b_shared, direct=plan.b_direct, is_rows=False)
        return a, b, self._target()

    def _matrix(
        self, value: SSAValue, fill: object, shared: object, *, direct: bool, is_rows: bool
    ) -> OperandMatrix | None:
        """Where the operand, or its shared panels, begin; None for what is computed."""
        cx = self.cx
        if isinstance(shared, Shared):
            return OperandMatrix(*cx.shared[cx.structure.position[self.op], is_rows], {})
        return None if isinstance(fill, Fill) else operand_matrix(cx, value, direct=direct)

    def _target(self) -> OperandMatrix:
        sink = self.sink
        if isinstance(sink, StoreOp):
            return viewed_matrix(self.cx, sink.view, sink.origin, sink.value)
        return buffered_matrix(self.cx, self.cx.required_storage(sink.results[0]))

    def outer(self, dims: list[int], matrices: Matrices, at: dict[int, Coord]) -> None:
        """Loops over what is neither row, lane nor k."""
        if not dims:
            self._sized(matrices, at, [dim for dim in (self.plan.row, self.plan.lane) if dim is not None], {})
            return
        b = self.cx.builder
        with self.cx.loop(0, self.cx.bound_of(dims[0], self.extents[dims[0]])) as loop:
            first, second, target = matrices
            left, right = (None if item is None else item.moved(b, dims[0], loop.index) for item in (first, second))
            moved = (left, right, target.moved(b, dims[0], loop.index))
            self.outer(dims[1:], moved, {**at, dims[0]: Coord(loop.index)})

    def _sized(self, matrices: Matrices, at: dict[int, Coord], dims: list[int], sizes: dict[int, int]) -> None:
        """One contraction for whole blocks, one for the partial last block along each dimension that has one."""
        if not dims:
            self._contract(matrices, at, {**self.extents, **sizes})
            return
        limit = self.cx.plan.decisions.limits.get(dims[0])
        if limit is None:
            self._sized(matrices, at, dims[1:], sizes)
            return
        if limit.axis is None:
            self._sized(matrices, at, dims[1:], {**sizes, dims[0]: limit.last})
            return
        with self.cx.builder.if_(
            self.cx.builder.cmp("slt", self.cx.bound_of(dims[0], limit.extent), limit.extent)
        ) as branch:
            self._sized(matrices, at, dims[1:], {**sizes, dims[0]: limit.last})
            branch.close()
            with branch.orelse():
                self._sized(matrices, at, dims[1:], sizes)

    def _contract(self, matrices: Matrices, at: dict[int, Coord], extents: Mapping[int, int]) -> None:
        a, b, c = matrices
        plan = self.plan
        sizes = (_extent(extents, plan.row), _extent(extents, plan.lane), extents[plan.k])
        (a_row, a_k), (b_k, b_lane), (c_row, c_lane) = (
            _moves(a, plan.row, plan.k), _moves(b, plan.k, plan.lane), _moves(c, plan.row, plan.lane),
        )  # fmt: skip
        places = [value for item in (a, b) for value in ((None, None) if item is None else (item.buffer, item.start))]
        zero = plan.from_zero and not self.split
        sides = ((plan.a_fill, a), (plan.b_fill, b))
        fills = [fill if isinstance(fill, Fill) and item is None else None for fill, item in sides]
        turned = [fill is not None and fill.turned for fill in fills]
        made = self.cx.builder.contract(
            [*places, c.buffer, c.start], sizes, (a_row, a_k, b_k, b_lane, c_row, c_lane), plan.tile,
            from_zero=zero, blocking=plan.blocking, unsigned=self._unsigned(), folds=self._folds(a, b, extents),
            turned=(turned[0], turned[1]), ready=(isinstance(plan.a_shared, Shared), isinstance(plan.b_shared, Shared)),
            ahead=plan.ahead, along=plan.along,
        )  # fmt: skip
        target, orders = dtype_of(element_of(self.op.c)), ((plan.row, plan.k), (plan.k, plan.lane))
        for fill, value, side, order in zip(fills, self.operands, made.sides, orders, strict=True):
            if fill is not None:
                (along,) = (dim for dim in order if (dim == plan.k) == fill.turned)
                fill_panels(self.cx, PanelBody(value, order, along, at, target), side)
        tail = sizes[1] % plan.tile[2]
        if not zero and not plan.in_place and not self.split:
            self._bodies((made.start, made.start_tail), at, tail, self.op.c)
        if plan.value != self.cx.structure.numbers[self.op.result]:
            self._bodies((made.finish, made.finish_tail), at, tail, self._absorbed())

    def _folds(
        self, a: OperandMatrix | None, b: OperandMatrix | None, extents: Mapping[int, int]
    ) -> list[tuple[int, int, int]]:
        """Sums that stay in registers over several axes read both operands where they lie."""
        if a is None or b is None:
            return []
        return [(extents[dim], a.stride(dim), b.stride(dim)) for dim in self.plan.folds]

    def _unsigned(self) -> tuple[bool, bool]:
        first, second = (dtype_of(element_of(value)).kind == "uint" for value in (self.op.a, self.op.b))
        return (second, first) if self.plan.swapped else (first, second)

    def _absorbed(self) -> SSAValue:
        sink = self.sink
        return sink.value if isinstance(sink, StoreOp) else sink.results[0]

    def _bodies(self, regions: tuple[Region, Region], at: Mapping[int, Coord], tail: int, value: SSAValue) -> None:
        self._body(regions[0], at, None, value)
        if tail:
            self._body(regions[1], at, tail, value)

    def _body(self, region: Region, at: Mapping[int, Coord], active: int | None, value: SSAValue) -> None:
        """One vector of columns of a tile, where the sums of the contraction are the last argument of the body."""
        cx, plan = self.cx, self.plan
        finishes = value is not self.op.c
        lanes = plan.tile[2]
        kind = vector_of(register_type(dtype_of(element_of(self.op.c))), lanes)
        block = Block(arg_types=[I64, I64, kind] if finishes else [I64, I64])
        region.add_block(block)
        point = dict(at)
        if plan.row is not None:
            point[plan.row] = Coord(block.args[0])
        if plan.lane is not None:
            point[plan.lane] = Coord(block.args[1], 1)
        sums: dict[SSAValue, Val] = {self.op.result: _as_val(block.args[2])} if finishes else {}
        dims = space_of(value).dims
        with cx.builder.at(block), cx.body(lanes, sums, value if finishes else None), cx.lanes_active(active):
            result = tile_value(cx, value, tuple(point[dim.number] for dim in dims))
            cx.builder.insert(YieldOp(cx.vectorised(cx.ssa(result), lanes)))


def _as_val(value: SSAValue) -> Val:
    return Coord(value) if scalar_of(value.type) == I64 else value


def _moves(matrix: OperandMatrix | None, first: int | None, second: int | None) -> tuple[int, int]:
    """Strides by two dimensions. One column has a stride of 1, and what is computed has none."""
    if matrix is None:
        return 0, 0
    return matrix.stride(first), 1 if second is None else matrix.stride(second)


def _extent(extents: Mapping[int, int], dim: int | None) -> int:
    return 1 if dim is None else extents[dim]


def plain_loops(cx: Lowering, op: MmaOp, storage: Storage, nest: NestPlan) -> None:
    """Every element is a chain of fused multiply-adds over the contracted dimensions, in a's axis order."""
    dims = space_of(op.c).dims

    def body(at: At) -> None:
        start = cx.ssa(tile_value(cx, op.c, tuple(at[dim.number] for dim in dims)))
        chain = [dim.number for dim in roles_of(op).contracted]
        result = _chain(cx, op, chain, dict(at), cx.vectorised(start, cx.width))
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
        element = converted(cx.builder, element, dtype_of(element_of(value)), target)
        factors.append(cx.vectorised(element, cx.width))
    b = cx.builder
    if target.kind == "float":
        return b.fma(factors[0], factors[1], carry)
    return b.add(b.mul(factors[0], factors[1]), carry)

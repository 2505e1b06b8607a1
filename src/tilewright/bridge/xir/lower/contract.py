"""An `mma` as loops around one contraction, operands in place or in buffers; or as plain loops over program lanes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.scf import YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.windows import Window, window_of
from tilewright.bridge.xir.contraction import roles_of
from tilewright.bridge.xir.lower.access import store_to_storage
from tilewright.bridge.xir.lower.context import Lowering, Val, register_type
from tilewright.bridge.xir.lower.convert import converted
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.nests import At, copy_nest, extents_of, fill_storage, run_nest
from tilewright.bridge.xir.lower.panels import PanelBody, fill_panels
from tilewright.bridge.xir.lower.values import coord_values, operand_value, tile_value
from tilewright.bridge.xir.records import ContractPlan, Fill, NestPlan, Storage
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import dtype_of, element_of, space_of, view_type
from tilewright.xir.builder import XirBuilder
from tilewright.xir.types import I64, scalar_of, vector_of

__all__ = ["lower_contraction", "plain_loops"]


@dataclass(frozen=True)
class _Matrix:
    """One operand in memory: where it starts, and how it moves with each dimension. Without a buffer it is computed."""

    buffer: SSAValue | None
    start: SSAValue | None
    strides: Mapping[int, int]

    def stride(self, dim: int | None) -> int:
        return 0 if dim is None else self.strides.get(dim, 0)

    def moved(self, b: XirBuilder, dim: int, index: SSAValue) -> "_Matrix":
        """The part at an index of a dimension."""
        if self.start is None:
            return self
        return replace(self, start=b.add(self.start, b.mul(index, b.i64(self.stride(dim)))))


_NOWHERE = _Matrix(None, None, {})


def lower_contraction(cx: Lowering, op: MmaOp, plan: ContractPlan) -> None:
    """Compute the product and all that its sink absorbs, straight into what the sink writes."""
    lowering = _Contraction(cx, op, plan)
    if lowering.split and not plan.in_place:
        storage = cx.required_storage(op.result)
        fill_storage(cx, storage, op.c, copy_nest(cx, storage))
    with cx.fresh():
        lowering.outer(list(plan.outer), lowering.matrices(), {})


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

    def matrices(self) -> tuple[_Matrix, _Matrix, _Matrix]:
        plan, (first, second) = self.plan, self.operands
        a = _NOWHERE if isinstance(plan.a_fill, Fill) else _matrix(self.cx, first, direct=plan.a_direct)
        b = _NOWHERE if isinstance(plan.b_fill, Fill) else _matrix(self.cx, second, direct=plan.b_direct)
        return a, b, self._target()

    def _target(self) -> _Matrix:
        sink = self.sink
        if isinstance(sink, StoreOp):
            return _viewed(self.cx, sink.view, sink.origin, sink.value)
        return _buffered(self.cx, self.cx.required_storage(sink.results[0]))

    def outer(self, dims: list[int], matrices: Sequence[_Matrix], at: dict[int, Coord]) -> None:
        """Loops over what is neither row, lane nor k."""
        if not dims:
            self._sized(matrices, at, [dim for dim in (self.plan.row, self.plan.lane) if dim is not None], {})
            return
        b = self.cx.builder
        with self.cx.loop(0, self.cx.bound_of(dims[0], self.extents[dims[0]])) as loop:
            moved = [item.moved(b, dims[0], loop.index) for item in matrices]
            self.outer(dims[1:], moved, {**at, dims[0]: Coord(loop.index)})

    def _sized(self, matrices: Sequence[_Matrix], at: dict[int, Coord], dims: list[int], sizes: dict[int, int]) -> None:
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

    def _contract(self, matrices: Sequence[_Matrix], at: dict[int, Coord], extents: Mapping[int, int]) -> None:
        a, b, c = matrices
        plan = self.plan
        sizes = (_extent(extents, plan.row), _extent(extents, plan.lane), extents[plan.k])
        lane_stride = b.stride(plan.lane) if plan.lane is not None else 1
        c_stride = c.stride(plan.lane) if plan.lane is not None else 1
        strides = (a.stride(plan.row), a.stride(plan.k), b.stride(plan.k), lane_stride, c.stride(plan.row), c_stride)
        operands = [a.buffer, a.start, b.buffer, b.start, c.buffer, c.start]
        zero = plan.from_zero and not self.split
        fills = (plan.a_fill, plan.b_fill)
        turned = [isinstance(fill, Fill) and fill.turned for fill in fills]
        made = self.cx.builder.contract(
            operands, sizes, strides, plan.tile, from_zero=zero, blocking=plan.blocking, unsigned=self._unsigned(),
            folds=[(extents[dim], a.stride(dim), b.stride(dim)) for dim in plan.folds], turned=(turned[0], turned[1]),
        )  # fmt: skip
        target, orders = dtype_of(element_of(self.op.c)), ((plan.row, plan.k), (plan.k, plan.lane))
        for fill, value, side, order in zip(fills, self.operands, made.sides, orders, strict=True):
            if isinstance(fill, Fill):
                (along,) = (dim for dim in order if (dim == plan.k) == fill.turned)
                fill_panels(self.cx, PanelBody(value, order, along, at, target), side)
        tail = sizes[1] % plan.tile[2]
        if not zero and not plan.in_place and not self.split:
            self._bodies((made.start, made.start_tail), at, tail, self.op.c)
        if plan.value != self.cx.structure.numbers[self.op.result]:
            self._bodies((made.finish, made.finish_tail), at, tail, self._absorbed())

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


def _matrix(cx: Lowering, value: SSAValue, *, direct: bool) -> _Matrix:
    """An operand: in its own buffer, or through a window of what lies in a view or in a buffer."""
    if not direct and cx.storage_of(value) is not None:
        return _buffered(cx, cx.required_storage(value))
    window = window_of(value)
    load = window.tile.owner
    if direct and isinstance(load, LoadOp):
        return _through(cx, window, value, _viewed(cx, load.view, load.origin, window.tile))
    return _through(cx, window, value, _buffered(cx, cx.required_storage(window.tile)))


def _through(cx: Lowering, window: Window, value: SSAValue, source: _Matrix) -> _Matrix:
    """A window of a tile in memory."""
    strides = tuple(source.stride(dim.number) for dim in space_of(window.tile).dims)
    moves = {dim.number: window.stride(dim, strides) for dim in space_of(value).dims}
    start = window.start(strides)
    return _Matrix(source.buffer, None if source.start is None else cx.builder.add(source.start, start), moves)


def _viewed(cx: Lowering, view: SSAValue, origin: Sequence[SSAValue], tile: SSAValue) -> _Matrix:
    """A tile of a view, where it lies."""
    strides = view_type(view).strides
    start = cx.math.const(0)
    for at, stride in zip(coord_values(cx, origin), strides, strict=True):
        start = cx.math.add(start, cx.math.scale(at, stride))
    moves = {dim.number: stride for dim, stride in zip(space_of(tile).dims, strides, strict=True)}
    return _Matrix(cx.buffers[view], start.base, moves)


def _buffered(cx: Lowering, storage: Storage) -> _Matrix:
    moves = dict(zip(storage.dims, storage.strides, strict=True))
    return _Matrix(cx.scratch[storage.owner], cx.builder.i64(0), moves)


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

"""The kernel that packs panels for all programs, before the one that reads them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.bridge.xir.lower.context import Lowering, register_type, storage_type
from tilewright.bridge.xir.lower.operands import operand_matrix
from tilewright.bridge.xir.lower.panels import PanelBody, fill_panels
from tilewright.bridge.xir.lower.values import scalar_value, settle_scalars
from tilewright.bridge.xir.prologues import expression_of
from tilewright.bridge.xir.records import ContractPlan, Decisions, Fill, Shared
from tilewright.core.dtypes import by_name
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.ops.tiles import MapOp, MmaOp
from tilewright.ir.types import ViewType, dtype_of, element_of, is_tile, space_of
from tilewright.xir.pack_op import PackOp
from tilewright.xir.types import BufferType

__all__ = ["SharedPanels", "fill_shared", "part_of", "shared_panels"]


@dataclass(frozen=True)
class SharedPanels:
    """Shared panels of one operand of the product at a position: its rows', or its columns'."""

    position: int
    plan: ContractPlan
    shared: Shared
    fill: Fill | None
    is_rows: bool

    @property
    def tasks(self) -> int:
        """One a panel."""
        return self.shared.parts * self.shared.panels

    @property
    def buffer(self) -> BufferType:
        dtype = by_name(self.shared.dtype)
        element = storage_type(dtype) if self.fill is None else register_type(dtype)
        return BufferType.of(element, self.shared.elements, "launch")


def shared_panels(decisions: Decisions) -> list[SharedPanels]:
    """All of a plan, in a fixed order."""
    return list(_found(decisions.contracts))


def _found(contracts: Mapping[int, ContractPlan]) -> Iterator[SharedPanels]:
    for position, plan in contracts.items():
        for shared, fill, rows in ((plan.a_shared, plan.a_fill, True), (plan.b_shared, plan.b_fill, False)):
            if isinstance(shared, Shared):
                yield SharedPanels(position, plan, shared, fill if isinstance(fill, Fill) else None, rows)


def part_of(cx: Lowering, root: ParallelOp, shared: Shared) -> SSAValue:
    """The index of the first element of the part that this program reads."""
    b = cx.builder
    part: SSAValue = b.i64(0)
    for axis in shared.axes:
        index = cx.env[root.indices[axis]]
        part = b.add(b.mul(part, root.space.extents[axis]), cx.ssa(index))
    return b.mul(part, shared.panels * shared.width * shared.depth)


def fill_shared(cx: Lowering, item: SharedPanels, buffer: SSAValue, number: SSAValue) -> None:
    """The `number`th panel of an operand, where the root indices are those of its part."""
    _Filling(cx, item, buffer, number).write()


@dataclass(frozen=True)
class _Filling:
    """One panel, the `number`th of its operand."""

    cx: Lowering
    item: SharedPanels
    buffer: SSAValue
    number: SSAValue

    def write(self) -> None:
        """The panel by how many columns it has: it may be the last one of a part, or of the last part."""
        cx, b, shared = self.cx, self.cx.builder, self.item.shared
        op = cx.operations[self.item.position]
        if not isinstance(op, MmaOp):
            return
        value = self._operand(op)
        _settle(cx, value)
        column = b.mul(b.remsi(self.number, shared.panels), shared.width)
        left = b.sub(cx.bound_of(self._along, self._extent(value)), column)
        for size in self._sizes(value):
            fits = b.cmp("sge", left, size) if size == shared.width else b.cmp("eq", left, size)
            with b.if_(fits):
                self._pack(op, value, column, size)

    def _operand(self, op: MmaOp) -> SSAValue:
        return op.a if self.item.is_rows != self.item.plan.swapped else op.b

    @property
    def _along(self) -> int:
        plan = self.item.plan
        found = plan.row if self.item.is_rows else plan.lane
        return -1 if found is None else found

    def _extent(self, value: SSAValue) -> int:
        return next(axis.extent for axis in space_of(value).axes if axis.dim.number == self._along)

    def _sizes(self, value: SSAValue) -> list[int]:
        """How many columns a panel may have."""
        limit, width = self.cx.plan.decisions.limits.get(self._along), self.item.shared.width
        extents = {self._extent(value), *([] if limit is None else [limit.last])}
        found = {width for extent in extents if extent >= width} | {extent % width for extent in extents}
        return sorted(found - {0}, reverse=True)

    def _pack(self, op: MmaOp, value: SSAValue, column: SSAValue, size: int) -> None:
        cx, b, item = self.cx, self.cx.builder, self.item
        shared, plan = item.shared, item.plan
        panel = (self.buffer, b.mul(self.number, shared.width * shared.depth))
        lanes = shared.width & -shared.width if item.is_rows else plan.tile[2]
        extents = (shared.depth, size, shared.width, lanes)
        if item.fill is not None:
            made = b.insert(PackOp(None, column, panel, extents, turned=item.fill.turned))
            vector = plan.k if item.fill.turned else self._along
            at = {dim: cx.math.const(0) for dim in plan.outer}
            body = PanelBody(value, (plan.k, self._along), vector, at, dtype_of(element_of(op.c)))
            fill_panels(cx, body, made.side)
            return
        matrix = operand_matrix(cx, value, direct=True)
        moves = (matrix.stride(plan.k), matrix.stride(self._along))
        start = b.add(matrix.start, b.mul(column, moves[1]))
        b.insert(PackOp((matrix.buffer, start), column, panel, extents, moves))


def _settle(cx: Lowering, operand: SSAValue) -> None:
    """Compute all scalars that the operand reads, where every panel finds them."""
    for tile in expression_of(operand):
        owner = tile.owner
        if not isinstance(owner, Operation):
            continue
        if isinstance(owner, MapOp):
            settle_scalars(cx, owner)
            continue
        scalars = [value for value in owner.operands if not (is_tile(value) or isinstance(value.type, ViewType))]
        for value in scalars:
            scalar_value(cx, value)

"""`lower()`: a kernel and its plan, as a verified XIR module with entry, task count and typed arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from tilewright.analysis.forms import forms_of
from tilewright.analysis.limits import limits_of
from tilewright.analysis.structure import structure_of
from tilewright.bridge.xir.admission import admit
from tilewright.bridge.xir.lower.arguments import load_scalars
from tilewright.bridge.xir.lower.context import Lowering, storage_type
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.regions import lower_block, lower_operation
from tilewright.bridge.xir.lower.sharing import SharedPanels, fill_shared, part_of, shared_panels
from tilewright.bridge.xir.plan import Plan
from tilewright.bridge.xir.records import Shared
from tilewright.core.abi import KernelArgument, Usage
from tilewright.core.codes.internal import PLAN_BROKEN
from tilewright.core.codes.unsupported import BUDGET_EXCEEDED
from tilewright.core.errors import InternalError, PlanError
from tilewright.ir.effects import usage
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.ir.location import span_of
from tilewright.ir.ops.regions import ParallelOp
from tilewright.ir.ops.tiles import MmaOp
from tilewright.ir.types import footprint
from tilewright.xir.builder import XirBuilder
from tilewright.xir.ops import KernelOp
from tilewright.xir.types import BufferType
from tilewright.xir.verify import verify_or_raise

__all__ = ["Lowered", "lower"]


@dataclass(frozen=True, slots=True)
class Lowered:
    """What a backend needs.

    `argument_order` gives, for each buffer of the entry, the position of the argument it is; arguments that the kernel
    never touches have no buffer.
    """

    module: ModuleOp
    kernel: str
    tasks: int
    programs: int
    arguments: tuple[KernelArgument, ...]
    argument_order: tuple[int, ...]
    plan: Plan
    counters: Mapping[str, int]


def lower(kernel: Kernel, plan: Plan) -> Lowered:
    """Obey the plan.

    Raises PlanError (TW430) when the code grows past the budget, UnsupportedError where a rule is missing,
    InternalError (TW947) for the plan of another kernel.
    """
    root = admit(kernel)
    if kernel.hash != plan.kernel_hash:
        raise InternalError(PLAN_BROKEN.at(span_of(kernel.op), what="the plan was made for another kernel"))
    usages = usage(kernel.op)
    used = tuple(i for i, use in enumerate(usages) if use is not Usage.NONE)
    panels = shared_panels(plan.decisions)
    buffers = [*(_buffer_type(kernel.parameters[i]) for i in used), *(item.buffer for item in panels)]
    making = _Making(kernel, root, plan, used, panels)
    entries = [*([making.first(buffers)] if panels else []), making.main(buffers)]
    module = ModuleOp(entries)
    count = _count_within_budget(kernel, plan, module)
    verify_or_raise(module)
    described = tuple(_argument(p, use) for p, use in zip(kernel.parameters, usages, strict=True))
    counters = {"operations": count, "buffers": len(plan.decisions.storages)}
    return Lowered(module, kernel.name, plan.tasks, plan.programs, described, used, plan, counters)


@dataclass(frozen=True)
class _Making:
    """What the kernels of one module are made from. `used`: the arguments that have buffers."""

    kernel: Kernel
    root: ParallelOp
    plan: Plan
    used: tuple[int, ...]
    panels: Sequence[SharedPanels]

    def main(self, buffers: Sequence[BufferType]) -> KernelOp:
        """The programs."""
        entry = self._entry(self.kernel.name, buffers, self.plan.tasks)
        block = entry.body.block
        cx = self._lowering(XirBuilder(block, self.kernel.op.location), block)
        own = list(zip(self.panels, block.args[len(self.used) : -1], strict=True))
        _emit(cx, self.kernel, self.root, block.args[-1], own)
        return entry

    def first(self, buffers: Sequence[BufferType]) -> KernelOp:
        """The kernel that packs what all programs share."""
        entry = self._entry(f"{self.kernel.name}.panels", buffers, sum(item.tasks for item in self.panels))
        block = entry.body.block
        b, task, first = XirBuilder(block, self.kernel.op.location), block.args[-1], 0
        for item, buffer in zip(self.panels, block.args[len(self.used) : -1], strict=True):
            with b.if_(b.and_(b.cmp("sge", task, first), b.cmp("slt", task, first + item.tasks))):
                cx, number = self._lowering(b, block), b.sub(task, first)
                _bind_part(cx, self.root, item.shared, b.divsi(number, item.shared.panels))
                fill_shared(cx, item, buffer, number)
            first += item.tasks
        b.return_()
        return entry

    def _entry(self, name: str, buffers: Sequence[BufferType], tasks: int) -> KernelOp:
        entry = KernelOp(name, buffers, tasks)
        entry.location = self.kernel.op.location
        return entry

    def _lowering(self, b: XirBuilder, block: Block) -> Lowering:
        """A state that knows the arguments."""
        cx = Lowering(self.plan, structure_of(self.kernel.op), b, block)
        _prepare(cx, self.kernel, self.root)
        arguments = [self.kernel.op.body.block.args[i] for i in self.used]
        cx.buffers.update(zip(arguments, block.args, strict=False))
        load_scalars(cx, arguments)
        return cx


def _prepare(cx: Lowering, kernel: Kernel, root: ParallelOp) -> None:
    """Facts that rules read: operations by position, values by number, contractions by sink, limits proved again."""
    cx.operations.update((position, op) for op, position in cx.structure.position.items())
    cx.values.update((number, value) for value, number in cx.structure.numbers.items())
    for position, item in cx.plan.decisions.contracts.items():
        op = cx.operations[position]
        if isinstance(op, MmaOp):
            cx.sinks[item.sink] = op
    if not cx.plan.is_program:
        cx.forms = forms_of(kernel.op)
        cx.limits = limits_of(root, cx.forms)


def _buffer_type(parameter: Parameter) -> BufferType:
    return BufferType.of(storage_type(parameter.element), footprint(parameter.shape, parameter.strides))


def _argument(parameter: Parameter, use: Usage) -> KernelArgument:
    size = footprint(parameter.shape, parameter.strides) * parameter.element.itemsize
    return KernelArgument(
        parameter.name, parameter.element, parameter.shape, parameter.strides, size, use, parameter.const
    )


def _count_within_budget(kernel: Kernel, plan: Plan, module: ModuleOp) -> int:
    count = sum(1 for _ in module.walk())
    if count > plan.options.max_operations:
        limit = plan.options.max_operations
        raise PlanError(BUDGET_EXCEEDED.at(span_of(kernel.op), count=count, limit=limit))
    return count


_Own = Sequence[tuple[SharedPanels, SSAValue]]
"""Shared panels with the memory where they lie."""


def _emit(cx: Lowering, kernel: Kernel, root: ParallelOp, task: SSAValue, own: _Own) -> None:
    b = cx.builder
    cx.width = cx.plan.width if cx.plan.is_program else 1
    for owner, storage in cx.plan.decisions.storages.items():
        cx.scratch[owner] = cx.allocate(storage)
    for op in kernel.op.body.block.ops:
        with cx.located(op):
            if op is root:
                _programs(cx, root, task, own)
            else:
                lower_operation(cx, op)
    b.return_()


def _programs(cx: Lowering, root: ParallelOp, task: SSAValue, own: _Own) -> None:
    """The programs of one task, one after the other or a packet at a time."""
    b, plan = cx.builder, cx.plan
    packet = plan.width if plan.is_program else 1
    block = plan.chosen.block
    first = b.mul(task, block)
    packets = block // packet
    if plan.tasks * block != plan.programs:
        left = b.sub(plan.programs, first)
        packets_left = b.divui(b.add(left, packet - 1), packet)
        upper = b.minsi(b.i64(packets), packets_left)
    else:
        upper = b.i64(packets)
    with cx.loop(0, upper) as loop:
        j = b.add(first, b.mul(loop.index, packet))
        ragged = plan.is_program and plan.programs % packet
        with cx.lanes_active(b.sub(plan.programs, j) if ragged else None):
            _bind_indices(cx, root, j)
            _bind_bounds(cx, root)
            for item, buffer in own:
                cx.shared[item.position, item.is_rows] = buffer, part_of(cx, root, item.shared)
            lower_block(cx, root.body.block)


def _bind_indices(cx: Lowering, root: ParallelOp, j: SSAValue) -> None:
    """Root coordinates from the program number: mixed radix in the chosen axis order."""
    order = cx.plan.chosen.order
    extents = root.space.extents
    rest = _program_number(cx, extents[order[-1]] if order else 1, len(order), j)
    for place, axis in enumerate(reversed(order)):
        last = place == len(order) - 1
        cx.env[root.indices[axis]] = rest if last else _remainder(cx, rest, extents[axis])
        if not last:
            rest = _quotient(cx, rest, extents[axis])


def _bind_part(cx: Lowering, root: ParallelOp, shared: Shared, part: SSAValue) -> None:
    """Root coordinates of any program that reads this part."""
    cx.env.update((index, cx.math.const(0)) for index in root.indices)
    for axis in reversed(shared.axes):
        extent = root.space.extents[axis]
        cx.env[root.indices[axis]] = Coord(cx.builder.remsi(part, extent))
        part = cx.builder.divsi(part, extent)
    _bind_bounds(cx, root)


def _bind_bounds(cx: Lowering, root: ParallelOp) -> None:
    """How much of each partial last block is seen by this program."""
    for dim, limit in cx.plan.decisions.limits.items():
        if limit.axis is None:
            cx.bounds[dim] = cx.builder.i64(limit.last)
            continue
        index = cx.env[root.indices[limit.axis]]
        if isinstance(index, Coord):
            rest = cx.builder.sub(limit.size, cx.builder.mul(index.base, limit.extent))
            cx.bounds[dim] = cx.builder.minsi(rest, limit.extent)


def _program_number(cx: Lowering, innermost: int, rank: int, j: SSAValue) -> Coord:
    """The number of each lane's program. Packets that never straddle a row keep lanes consecutive."""
    if not cx.plan.is_program:
        return Coord(j)
    if rank <= 1 or innermost % cx.plan.width == 0:
        return Coord(j, 1)
    return Coord(cx.math.vector(Coord(j, 1)))


def _remainder(cx: Lowering, number: Coord, extent: int) -> Coord:
    value = cx.builder.remsi(number.base, cx.builder.const(number.base.type, extent))
    return Coord(value, number.step)


def _quotient(cx: Lowering, number: Coord, extent: int) -> Coord:
    """Lanes of one packet share every coordinate but the innermost, unless the number is a vector."""
    return Coord(cx.builder.divsi(number.base, cx.builder.const(number.base.type, extent)))

"""Panels that programs share: a first launch packs them once, and those of the product only read them.

Each condition has its own function, which gives the reason why an operand is packed by every program for itself. Where
all hold, the figures of the machine decide.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import BlockArgument, SSAValue

from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.prologues import expression_of, loads_of
from tilewright.bridge.xir.records import ContractPlan, Fill, Shared
from tilewright.core.dtypes import by_name
from tilewright.core.machine import Level
from tilewright.ir.effects import effect_of, storage_of
from tilewright.ir.location import span_of
from tilewright.ir.ops import elementwise, tiles
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.ops.regions import KernelOp, ParallelOp, YieldOp
from tilewright.ir.types import dtype_of, element_of, space_of

__all__ = ["share_panels"]

_BARRIER = 2_000  # nanoseconds until workers that are awake have ended one launch and begun the next


@dataclass(frozen=True)
class _Side:
    """One operand of a product that goes through panels `width` wide, along a dimension of so many elements."""

    op: tiles.MmaOp
    plan: ContractPlan
    value: SSAValue
    fill: Fill | str | None
    direct: bool
    extent: int
    width: int
    is_rows: bool

    @property
    def depth(self) -> int:
        return next(axis.extent for axis in space_of(self.value).axes if axis.dim.number == self.plan.k)

    @property
    def panels(self) -> int:
        return -(-self.extent // self.width)

    @property
    def dtype(self) -> str:
        """Computed panels are of the type of the sums."""
        return dtype_of(element_of(self.op.c if isinstance(self.fill, Fill) else self.value)).name


def share_panels(placement: Placement, root: ParallelOp, threads: int) -> None:
    """Give panels of products to all programs, where that is legal and cheaper, or asked for."""
    left = placement.options.max_shared_bytes
    for op, plan in placement.contracts.items():
        sides = list(_sides(op, plan)) if isinstance(op, tiles.MmaOp) else []
        for side in sides:
            found = _shared(placement, root, side, threads, left)
            if isinstance(found, Shared):
                left -= found.elements * by_name(found.dtype).itemsize
                for load in loads_of(side.value):
                    placement.assume(placement.structure.written_with(load.view))
            known = placement.contracts[op]
            made = replace(known, a_shared=found) if side.is_rows else replace(known, b_shared=found)
            placement.contracts[op] = made


def _sides(op: tiles.MmaOp, plan: ContractPlan) -> Iterator[_Side]:
    """The operands that have panels."""
    first, second = (op.b, op.a) if plan.swapped else (op.a, op.b)
    (rows, vectors, lanes), packed = plan.tile, plan.blocking[2]
    extents = {axis.dim.number: axis.extent for value in (first, second) for axis in space_of(value).axes}
    if plan.row is not None and (packed > 1 or isinstance(plan.a_fill, Fill)):
        yield _Side(op, plan, first, plan.a_fill, plan.a_direct, extents[plan.row], rows, is_rows=True)
    if plan.lane is not None and (packed > 0 or isinstance(plan.b_fill, Fill)):
        yield _Side(op, plan, second, plan.b_fill, plan.b_direct, extents[plan.lane], vectors * lanes, is_rows=False)


def _shared(placement: Placement, root: ParallelOp, side: _Side, threads: int, left: int) -> Shared | str:
    if placement.options.sharing is Use.NEVER:
        return "none are asked for"
    reason = (
        _why_repeated(root, side)
        or _why_in_buffers(placement, side)
        or _why_overwritten(placement, side)
        or _why_cut(side)
    )
    axes = _axes_of(root, side.value) if reason is None else str(reason)
    if isinstance(axes, str):
        return axes
    parts = prod(root.space.extents[axis] for axis in axes)
    if parts >= root.space.volume:
        return "each program has columns of its own" if not side.is_rows else "each program has rows of its own"
    private, together = _prices(placement, root, side, parts, threads)
    found = Shared(axes, parts, side.panels, side.width, side.depth, side.dtype, private, together)
    size = found.elements * by_name(found.dtype).itemsize
    if size > left:
        limit = placement.options.max_shared_bytes
        return f"they take {size} bytes, and {left} are left of max_shared_bytes = {limit}"
    if together < private or placement.options.sharing is Use.WHEREVER_LEGAL:
        return found
    return f"{together:.0f} ns, {private:.0f} ns if each program packs"


# ---- conditions


def _why_repeated(root: ParallelOp, side: _Side) -> str | None:
    """Whether the product is more than one of a program."""
    if side.op.parent is not root.body.block:
        return "a loop stands around the product"
    extents = {axis.dim.number: axis.extent for value in (side.op.a, side.op.b) for axis in space_of(value).axes}
    if any(extents.get(dim, 1) != 1 for dim in side.plan.outer) or not side.depth:
        return "each step of a loop around has its own"
    return None


def _why_in_buffers(placement: Placement, side: _Side) -> str | None:
    """Whether the operand, or what it is computed from, is kept by each program for itself."""
    if not side.direct and not isinstance(side.fill, Fill):
        return "each program keeps it in a buffer"
    kept = [each for each in expression_of(side.value) if not placement.is_inline(each)]
    return f"each program keeps what line {span_of(kept[0]).line} computes" if kept else None


def _why_overwritten(placement: Placement, side: _Side) -> str | None:
    """Whether a program writes what would have been packed before it began."""
    if placement.may_alias:
        return "arguments may overlap"
    views = {load.view for load in loads_of(side.value)}
    for op in placement.structure.position:
        if Effect.WRITE in effect_of(op) and storage_of(op) in views:
            return f"line {span_of(op).line} writes what it reads"
    return None


def _why_cut(side: _Side) -> str | None:
    """Whether blocks of rows begin inside of panels."""
    rows = side.plan.blocking[1]
    return f"blocks of {rows} rows cut panels of {side.width}" if side.is_rows and rows % side.width else None


def _axes_of(root: ParallelOp, value: SSAValue) -> tuple[int, ...] | str:
    """The axes of the root along which the operand differs, or what only a program knows."""
    found: set[int] = set()
    seen, pending = {value}, [value]
    while pending:
        each = pending.pop()
        owner = each.owner
        if isinstance(each, BlockArgument):
            around = each.block.parent_op()
            if around is root:
                found.add(each.index)
            elif not isinstance(around, KernelOp | tiles.MapOp):
                return "it depends on a loop"
            continue
        if not isinstance(owner, elementwise.ElementwiseOp | tiles.ConstantOp | LoadOp | tiles.MapOp | tiles.ExtractOp):
            return f"it depends on what line {span_of(each).line} computes"
        inner = [operand for op in owner.walk() if not isinstance(op, YieldOp) for operand in op.operands]
        fresh = [operand for operand in inner if operand not in seen]
        seen.update(fresh)
        pending += fresh
    return tuple(sorted(found))


# ---- prices


def _prices(placement: Placement, root: ParallelOp, side: _Side, parts: int, threads: int) -> tuple[float, float]:
    """Nanoseconds that one worker packs where each program does, and where they share: then panels come from afar."""
    machine, programs, workers = placement.machine, root.space.volume, max(threads, 1)
    times, size = machine.timings, by_name(side.dtype).itemsize
    panel = side.width * side.depth * size * 8 / machine.vector_bits
    whole = panel * side.panels
    far = times.levels[machine.level_of(parts * whole * machine.vector_bits / 8)]
    once = far + times.levels[Level.L2]
    each = -(-programs // workers)
    moved = each * whole * max(far - times.levels[Level.L2], 0.0) if workers > 1 else 0.0
    tasks = -(-parts * side.panels // workers)
    return each * whole * once, tasks * (panel * once + times.task) + moved + _BARRIER

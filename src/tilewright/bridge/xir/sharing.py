"""Panels that programs share: a first launch packs them once, and those of the product only read them.

Each condition has its own function, which gives the reason why an operand is packed by every program for itself. Where
all hold, sharing is one of the ways to compute the product, and the cheapest way is taken.
"""

from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import BlockArgument, SSAValue

from tilewright.bridge.xir.block_prices import Blocks
from tilewright.bridge.xir.blocking import has_panels, why_not_shared
from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.prologues import expression_of, loads_of
from tilewright.bridge.xir.records import ContractPlan, Fill, Shared
from tilewright.ir.effects import effect_of, storage_of
from tilewright.ir.location import span_of
from tilewright.ir.ops import elementwise, tiles
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.ops.regions import KernelOp, ParallelOp, YieldOp
from tilewright.ir.types import dtype_of, element_of, space_of

__all__ = ["Parts", "parts_of_operands", "with_shared_panels"]


@dataclass(frozen=True, slots=True)
class Parts:
    """An operand that programs share: it differs along the `axes` of the root, so there is one for each `count`."""

    axes: tuple[int, ...]
    count: int


@dataclass(frozen=True)
class _Side:
    """One operand of a product."""

    op: tiles.MmaOp
    plan: ContractPlan
    is_rows: bool

    @property
    def value(self) -> SSAValue:
        return self.op.a if self.is_rows != self.plan.swapped else self.op.b

    @property
    def fill(self) -> Fill | str | None:
        return self.plan.a_fill if self.is_rows else self.plan.b_fill

    @property
    def along(self) -> int | None:
        return self.plan.row if self.is_rows else self.plan.lane

    @property
    def direct(self) -> bool:
        return self.plan.a_direct if self.is_rows else self.plan.b_direct

    @property
    def depth(self) -> int:
        return next(axis.extent for axis in space_of(self.value).axes if axis.dim.number == self.plan.k)

    @property
    def dtype(self) -> str:
        """Computed panels are of the type of the sums."""
        return dtype_of(element_of(self.op.c if isinstance(self.fill, Fill) else self.value)).name


def parts_of_operands(placement: Placement, op: tiles.MmaOp, plan: ContractPlan) -> tuple[Parts | str, Parts | str]:
    """What programs could share of the rows' operand and of the columns', or why they cannot."""
    rows, columns = _Side(op, plan, is_rows=True), _Side(op, plan, is_rows=False)
    return _parts(placement, rows), _parts(placement, columns)


def with_shared_panels(
    placement: Placement, op: tiles.MmaOp, plan: ContractPlan, parts: tuple[Parts | str, Parts | str], left: int
) -> ContractPlan:
    """The plan with the panels that its way shares, or why those of an operand are not; `left` bytes of them were."""
    if plan.search is None:
        return plan
    a = _outcome(placement, _Side(op, plan, is_rows=True), parts[0], plan.search.chosen.blocks, left)
    left -= a.bytes if isinstance(a, Shared) else 0
    b = _outcome(placement, _Side(op, plan, is_rows=False), parts[1], plan.search.chosen.blocks, left)
    return replace(plan, a_shared=a, b_shared=b)


def _outcome(placement: Placement, side: _Side, parts: Parts | str, blocks: Blocks, left: int) -> Shared | str | None:
    product, is_rows = side.plan.product, side.is_rows
    if product is None or not has_panels(product, blocks, is_rows=is_rows):
        return None
    if isinstance(parts, str):
        return parts
    if not (blocks.shares_a if is_rows else blocks.shares_b):
        return why_not_shared(product, blocks, left, is_rows=is_rows) or "not cheaper"
    for load in loads_of(side.value):
        placement.assume(placement.structure.written_with(load.view))
    return _shared(side, parts)


def _shared(side: _Side, parts: Parts) -> Shared:
    rows, vectors, lanes = side.plan.tile
    width = rows if side.is_rows else vectors * lanes
    extent = next(axis.extent for axis in space_of(side.value).axes if axis.dim.number == side.along)
    return Shared(parts.axes, parts.count, -(-extent // width), width, side.depth, side.dtype)


def _parts(placement: Placement, side: _Side) -> Parts | str:
    if placement.options.sharing is Use.NEVER:
        return "none are asked for"
    root = placement.root
    alone = "it is one vector" if side.along is None else None
    reason = alone or _why_repeated(root, side) or _why_in_buffers(placement, side) or _why_overwritten(placement, side)
    axes = _axes_of(root, side.value) if reason is None else reason
    if isinstance(axes, str):
        return axes
    parts = prod(root.space.extents[axis] for axis in axes)
    if parts >= root.space.volume:
        return "each program has columns of its own" if not side.is_rows else "each program has rows of its own"
    return Parts(axes, parts)


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

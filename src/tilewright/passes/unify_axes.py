"""The pass `unify-axes`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import affine_of
from tilewright.analysis.structure import is_in_map, structure_of
from tilewright.ir.location import span_of
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.regions import KernelOp, RegionOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp, MapOp, ScanOp
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.ir.types import AxisAttr, DimAttr, is_tile, space_of
from tilewright.passes.dissolve_loops import Declined
from tilewright.passes.retile import Retiling

__all__ = ["UnifyAxes"]

Axes = Mapping[AxisAttr, AxisAttr]
"""What each axis of one load is called in the other one, where the names differ."""


@dataclass(frozen=True)
class UnifyAxes(TilePass):
    """Gives axes one name along which the same elements are loaded.

    Requires: a verified kernel.
    Ensures: equal results, since a name says only which axes of two tiles belong together, and these never meet.
    Rewrites: `fold over c of load X[c]; fold over e of f(load X[e])` → `fold over c of load X[c]; fold over c of
        f(load X[c])`, whose two loads, and all that is computed from both alike, `merge-equal-values` makes one.
    Declines when: something brings both axes together; one runs inside the other; one of them is that of a loop; or
        anything may write between the loads.
    """

    name: ClassVar[str] = "unify-axes"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for kernel in [op for op in module.walk() if isinstance(op, KernelOp)]:
            while self._unify_one(kernel, rewriter):
                pass

    def _unify_one(self, kernel: KernelOp, rewriter: TileRewriter) -> bool:
        rewriter.notes = [note for note in rewriter.notes if " apart: " not in note]
        for first, second in _pairs(kernel):
            axes = _renamed(first, second)
            reason = _crossing(axes) or _written(kernel, first, second) or _why_apart(kernel, axes)
            lines = f"what line {span_of(second).line} loads"
            if reason is not None:
                rewriter.note(f"{lines} stays apart: {reason.reason}")
                continue
            extents = ", ".join(str(axis.extent) for axis in axes)
            rewriter.note(f"{lines} has the axes of line {span_of(first).line}, of {extents}")
            _rewrite(kernel, axes, rewriter)
            return True
        return False


def _pairs(kernel: KernelOp) -> Iterator[tuple[LoadOp, LoadOp]]:
    """Loads of the same elements into tiles that differ in the names of their axes only; the earlier one first, in a
    body around the other one.
    """
    loads = [op for op in kernel.walk() if isinstance(op, LoadOp)]
    for place, second in enumerate(loads):
        for first in loads[:place]:
            if first.view is second.view and _are_alike(first, second) and _renamed(first, second):
                yield first, second


def _are_alike(first: LoadOp, second: LoadOp) -> bool:
    body = first.parent_op()
    return (
        body is not None
        and body.is_ancestor(second)
        and first.properties == second.properties
        and space_of(first.result).extents == space_of(second.result).extents
        and all(_is_same(*each) for each in zip(first.operands, second.operands, strict=True))
    )


def _is_same(one: SSAValue, other: SSAValue) -> bool:
    """Whether two values are one, before `merge-equal-values` has made them one."""
    if one is other:
        return True
    a, b = one.owner, other.owner
    if isinstance(a, ConstantOp) and isinstance(b, ConstantOp):
        return one.type == other.type and a.value == b.value
    form = affine_of(one)
    return form is not None and form == affine_of(other)


def _renamed(first: LoadOp, second: LoadOp) -> Axes:
    pairs = zip(space_of(second.result).axes, space_of(first.result).axes, strict=True)
    return {old: new for old, new in pairs if old != new}


def _crossing(axes: Axes) -> Declined | None:
    """A tile and its transpose have the same names, in another order."""
    names = {axis.dim for axis in axes}
    return (
        Declined("its axes have those names in another order") if names & {new.dim for new in axes.values()} else None
    )


def _written(kernel: KernelOp, first: LoadOp, second: LoadOp) -> Declined | None:
    between = structure_of(kernel).writes_between(first, second, first.view, may_alias=True)
    return None if between is None else Declined(f"line {span_of(between).line} may write it in between")


def _why_apart(kernel: KernelOp, axes: Axes) -> Declined | None:
    """Why one of the axes must keep its name."""
    for old, new in axes.items():
        for op in kernel.walk():
            reason = _brought_together(op, old.dim, new.dim) or _inside(op, old.dim, new.dim) or _looped(op, old, new)
            if reason is not None:
                return reason
    return None


def _brought_together(op: Operation, one: DimAttr, other: DimAttr) -> Declined | None:
    """Axes of one name are one axis to whatever sees both, in two tiles or in one."""
    if isinstance(op, RegionOp | YieldOp):
        return None
    dims = {dim for value in (*op.operands, *op.results) if is_tile(value) for dim in space_of(value).dims}
    return Declined(f"line {span_of(op).line} brings both axes together") if {one, other} <= dims else None


def _inside(op: Operation, one: DimAttr, other: DimAttr) -> Declined | None:
    """A coordinate along an axis is known by its name: two at a time need two."""
    for dim, outer in ((one, other), (other, one)):
        if dim in _domain(op) and any(outer in _domain(around) for around in _around(op)):
            return Declined(f"line {span_of(op).line} runs along one axis inside the other")
    return None


def _domain(op: Operation) -> tuple[DimAttr, ...]:
    match op:
        case MapOp() | RegionOp():
            return op.space.dims
        case ScanOp():
            return (op.dim,)
        case _:
            return ()


def _around(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def _looped(op: Operation, one: AxisAttr, other: AxisAttr) -> Declined | None:
    """Loops have a name each."""
    if isinstance(op, RegionOp) and not is_in_map(op) and {one.dim, other.dim} & set(op.space.dims):
        return Declined(f"line {span_of(op).line} loops along one of the axes")
    return None


def _rewrite(kernel: KernelOp, axes: Axes, rewriter: TileRewriter) -> None:
    retiling = Retiling(axes)
    *ops, end = kernel.body.block.ops
    rewriter.insert_before(end, [retiling.copy(op) for op in ops])
    for op in reversed(ops):
        rewriter.erase(op)

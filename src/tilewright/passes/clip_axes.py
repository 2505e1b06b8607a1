"""A tile axis shrinks to the part that anybody can see."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.folds import ClosedFold, closed_fold_of
from tilewright.analysis.forms import Form, Forms, forms_of
from tilewright.ir.attrs import Bounds
from tilewright.ir.effects import effect_of
from tilewright.ir.location import span_of
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.ir.types import AxisAttr, DimAttr, dtype_of, element_of, space_of, view_type
from tilewright.numerics.arrays import Array
from tilewright.numerics.bits import from_bits, to_bits
from tilewright.numerics.elementwise import OPS
from tilewright.passes.dissolve_loops import Declined, folded_dims
from tilewright.passes.retile import Retiling

__all__ = ["ClipAxes", "value_beyond"]


@dataclass(frozen=True)
class ClipAxes(TilePass):
    """Requires: a verified kernel.

    Ensures: equal results, bit for bit. Where products of zeros are no longer added, +0 is added once at the end,
    since they would
    have turned a sum of -0 into +0.

    Rewrites: fold over K:128 of a view of 99 → fold over K:99; store of M:128 to a view of 100 → store of M:100.

    Declines when: a store places the axis at another origin or without bounds; a fold over it meets anything but its
    identity beyond
    the clip; something reads single elements along it.
    """

    name: ClassVar[str] = "clip-axes"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for kernel in [op for op in module.walk() if isinstance(op, regions.KernelOp)]:
            for root in [op for op in kernel.body.block.ops if isinstance(op, regions.ParallelOp)]:
                _clip_root(kernel, root, rewriter)


def _clip_root(kernel: regions.KernelOp, root: regions.ParallelOp, rewriter: TileRewriter) -> None:
    forms = forms_of(kernel)
    clips: dict[AxisAttr, AxisAttr] = {}
    for axis in _tile_axes(root):
        outcome = clipped_extent(root, axis, forms)
        if isinstance(outcome, Declined):
            rewriter.note(f"line {span_of(root).line}: axis of {axis.extent} kept: {outcome.reason}")
        elif outcome is not None:
            rewriter.note(f"line {span_of(root).line}: axis of {axis.extent} clipped to {outcome}")
            clips[axis] = AxisAttr.of(axis.dim, outcome)
    if clips:
        _rewrite(root, clips, rewriter)


def _tile_axes(root: regions.ParallelOp) -> list[AxisAttr]:
    found: dict[DimAttr, AxisAttr] = {}
    for op in root.walk():
        for value in op.results:
            for axis in space_of(value).axes:
                known = found.get(axis.dim)
                if known is None or axis.extent > known.extent:
                    found[axis.dim] = axis
    return list(found.values())


def clipped_extent(root: regions.ParallelOp, axis: AxisAttr, forms: Forms) -> int | Declined | None:
    """How far the axis can be seen; None when that is all of it."""
    reach = [extent for _, _, extent in _accesses(root, axis.dim, forms)]
    if not reach or max(reach) >= axis.extent:
        return None
    limit = max(reach)
    reason = _stores_see(root, axis, limit, forms) or _elements_read(root, axis.dim, forms)
    reason = reason or _folds_see(root, axis.dim, limit)
    return limit if reason is None else Declined(reason)


def _accesses(root: regions.ParallelOp, dim: DimAttr, forms: Forms) -> Iterator[tuple[Operation, Form, int]]:
    """The accesses whose tile has the axis: operation, form on its view axis, extent of that view axis."""
    for use in forms.uses:
        if isinstance(use.op, LoadOp | StoreOp) and root.is_ancestor(use.op):
            tile = use.op.result if isinstance(use.op, LoadOp) else use.op.value
            dims = space_of(tile).dims
            if use.place < len(dims) and dims[use.place] == dim:
                yield use.op, use.form, view_type(use.op.view).space.extents[use.place]


def _stores_see(root: regions.ParallelOp, axis: AxisAttr, limit: int, forms: Forms) -> str | None:
    for op, form, extent in _accesses(root, axis.dim, forms):
        placed = form == Form({axis.dim: 1}) and extent <= limit
        if isinstance(op, StoreOp) and not (placed and op.bounds.data is Bounds.ZERO):
            return f"line {span_of(op).line} stores it elsewhere"
    for op in root.walk():
        writes = Effect.WRITE in effect_of(op) and not isinstance(op, StoreOp)
        if writes and any(axis.dim in space_of(value).dims for value in op.operands):
            return f"line {span_of(op).line} writes it without bounds of its own"
    return None


def _elements_read(root: regions.ParallelOp, dim: DimAttr, forms: Forms) -> str | None:
    for op in root.walk():
        if isinstance(op, tiles.ExtractOp) and dim in space_of(op.tile).dims:
            coord = op.coords[space_of(op.tile).dims.index(dim)]
            if forms.of(coord) != Form({dim: 1}):
                return f"line {span_of(op).line} reads single elements along it"
        if isinstance(op, tiles.ScanOp) and op.dim == dim:
            return f"line {span_of(op).line} scans it"
    return None


def _folds_see(root: regions.ParallelOp, dim: DimAttr, limit: int) -> str | None:
    for op in root.walk():
        if dim not in folded_dims(op) or isinstance(op, regions.RegionOp):
            continue
        reason = _contraction_sees(op, dim, limit) if isinstance(op, tiles.MmaOp) else _fold_sees(op, dim, limit)
        if reason is not None:
            return f"line {span_of(op).line} {reason}"
    return None


def _contraction_sees(op: tiles.MmaOp, dim: DimAttr, limit: int) -> str | None:
    beyond = [value_beyond(value, dim, limit) for value in (op.a, op.b)]
    if any(value is None or float(value) != 0.0 for value in beyond):
        return "multiplies something that is not known to be 0 beyond the clip"
    return None


_IDENTITIES = {"add": 0.0, "mul": 1.0, "max": -np.inf, "min": np.inf}


def _fold_sees(op: Operation, dim: DimAttr, limit: int) -> str | None:
    fold = closed_fold_of(op) if isinstance(op, tiles.MapOp) else None
    if not isinstance(fold, ClosedFold):
        return "folds it in a way that is not known to be closed"
    beyond = _scalar_beyond(fold.element, dim, limit)
    wanted = _IDENTITIES.get(fold.merge)
    if beyond is None or wanted is None or float(beyond) != wanted:
        return "folds something that is not known to be the identity beyond the clip"
    if fold.merge == "add" and not _is_plus_zero(fold.init):
        return "starts from a value that may be -0"
    return None


def _is_plus_zero(value: SSAValue) -> bool:
    return isinstance(value.owner, tiles.ConstantOp) and value.owner.value.data == 0


def value_beyond(value: SSAValue, dim: DimAttr, limit: int) -> Array | None:
    """What every element of a tile is where its coordinate along `dim` is `limit` or more; None when that is not
    known.
    """
    op = value.owner
    match op:
        case tiles.ConstantOp():
            return _constant(op)
        case LoadOp():
            return _loaded(op, dim, limit)
        case elementwise.ElementwiseOp() if op.opcode in OPS and op.opcode != "select":
            return _computed(op, [value_beyond(operand, dim, limit) for operand in op.operands])
        case _:
            return None


def _scalar_beyond(value: SSAValue, dim: DimAttr, limit: int) -> Array | None:
    op = value.owner
    match op:
        case tiles.ExtractOp():
            return value_beyond(op.tile, dim, limit)
        case tiles.ConstantOp():
            return _constant(op)
        case elementwise.ElementwiseOp() if op.opcode in OPS and op.opcode != "select":
            return _computed(op, [_scalar_beyond(operand, dim, limit) for operand in op.operands])
        case _:
            return None


def _constant(op: tiles.ConstantOp) -> Array:
    dtype = dtype_of(element_of(op.result))
    return from_bits(dtype, np.asarray(op.value.data, dtype=to_bits(dtype, np.zeros((), np.uint8)).dtype))


def _loaded(op: LoadOp, dim: DimAttr, limit: int) -> Array | None:
    """The fill, when the view ends at the limit or before."""
    dims = space_of(op.result).dims
    if dim not in dims or op.bounds.data is not Bounds.ZERO:
        return None
    place = dims.index(dim)
    origin = op.origin[place]
    known = Form() if _is_zero(origin) else None
    if known is None or view_type(op.view).space.extents[place] > limit:
        return None
    if op.fill is None:
        dtype = dtype_of(element_of(op.result))
        return from_bits(dtype, np.asarray(0, dtype=to_bits(dtype, np.zeros((), np.uint8)).dtype))
    return _constant(op.fill.owner) if isinstance(op.fill.owner, tiles.ConstantOp) else None


def _is_zero(value: SSAValue) -> bool:
    """Whether an origin is 0, as folding leaves it."""
    op = value.owner
    if isinstance(op, tiles.ConstantOp):
        return op.value.data == 0
    if isinstance(op, elementwise.MulOp):
        return _is_zero(op.lhs) or _is_zero(op.rhs)
    return isinstance(op, elementwise.AddOp) and _is_zero(op.lhs) and _is_zero(op.rhs)


def _computed(op: elementwise.ElementwiseOp, operands: list[Array | None]) -> Array | None:
    known = [operand for operand in operands if operand is not None]
    if len(known) != len(operands):
        return None
    return OPS[op.opcode](dtype_of(element_of(op.operands[0])), *known)


def _rewrite(root: regions.ParallelOp, clips: dict[AxisAttr, AxisAttr], rewriter: TileRewriter) -> None:
    retiling = Retiling(clips)
    new = retiling.copy(root)
    rewriter.insert_before(root, [new])
    for old, op in zip(list(root.walk()), list(new.walk()), strict=True):
        if isinstance(old, tiles.MmaOp) and isinstance(op, tiles.MmaOp):
            _add_zero(old, op, clips, rewriter)
    rewriter.erase(root)


def _add_zero(old: tiles.MmaOp, op: tiles.MmaOp, clips: dict[AxisAttr, AxisAttr], rewriter: TileRewriter) -> None:
    """The zero products that a clip removed end in `x + 0`, which matters for x = -0 only."""
    contracted = [axis for axis in space_of(old.a).axes if axis in clips and axis.dim not in space_of(old.c).dims]
    integer = dtype_of(element_of(op.c)).kind != "float"
    free = bool(op.reassociate.value.data) and _is_plus_zero(op.c)
    if not contracted or integer or free:
        return
    zero = tiles.ConstantOp(0, element_of(op.c))
    total = elementwise.AddOp(op.result, zero.result, op.result.type)
    following = op.next_op
    if following is not None:
        rewriter.insert_before(following, [zero, total])
        for made in (zero, total):
            made.location = op.location
        rewriter.forward(op.result, total.result, past=total)

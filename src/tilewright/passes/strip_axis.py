"""An independent tile axis becomes blocks: a root axis over a smaller tile axis."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue, Use

from tilewright.analysis.affine import Affine, affine_of
from tilewright.analysis.limits import extent_of
from tilewright.core.codes.internal import BROKEN_PASS
from tilewright.core.errors import InternalError
from tilewright.ir.attrs import Bounds
from tilewright.ir.effects import effect_of
from tilewright.ir.location import span_of
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreOp
from tilewright.ir.ops.base import Effect
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.ir.types import I64, AxisAttr, DimAttr, SpaceAttr, is_tile, space_of, view_type
from tilewright.passes.dissolve_loops import folded_dims
from tilewright.passes.retile import Retiling, fresh_dim

__all__ = ["StripAxis", "why_not_strippable"]


@dataclass(frozen=True)
class StripAxis(TilePass):
    """Requires: a verified kernel whose root parallel has the tile axis `dim`, which every write carries and nothing
    folds.

    Ensures: the same elements, each computed from the same values; the inverse of `coalesce-axes`.

    Rewrites: parallel { store X[E] } → parallel g:cdiv(E, block) { store X[g*block + e] } with e:block.

    Declines when: never; an axis that is not independent is a mistake of the planner and an InternalError.
    """

    name: ClassVar[str] = "strip-axis"
    dim: int
    block: int
    why: str = ""

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for kernel in [op for op in module.walk() if isinstance(op, regions.KernelOp)]:
            for root in [op for op in kernel.body.block.ops if isinstance(op, regions.ParallelOp)]:
                self._strip(kernel, root, rewriter)

    def _strip(self, kernel: regions.KernelOp, root: regions.ParallelOp, rewriter: TileRewriter) -> None:
        dim = DimAttr.of(self.dim)
        reason = why_not_strippable(root, dim, self.block)
        if reason is not None:
            raise InternalError(BROKEN_PASS.at(span_of(root), name=self.name, what=reason), pass_name=self.name)
        whole = extent_of(root, dim)
        blocks = AxisAttr.of(fresh_dim(kernel), -(-whole // self.block))
        rewriter.note(
            f"line {span_of(root).line}: axis of {whole} stripped into {blocks.extent} blocks of {self.block}{self.why}"
        )
        _rewrite(root, AxisAttr.of(dim, whole), AxisAttr.of(dim, self.block), blocks, rewriter)


def why_not_strippable(root: regions.ParallelOp, dim: DimAttr, block: int) -> str | None:
    """Why an axis is not independent under a root, in blocks of this size; None when it is."""
    for op in root.walk():
        if Effect.WRITE in effect_of(op) and not (isinstance(op, StoreOp) and dim in space_of(op.value).dims):
            return f"line {span_of(op).line} writes without the axis"
        if not isinstance(op, regions.RegionOp) and dim in folded_dims(op):
            return f"line {span_of(op).line} folds the axis"
        if isinstance(op, tiles.ExtractOp) and not _reads_itself(op, dim):
            return f"line {span_of(op).line} reads other elements along the axis"
        if any(_is_from_outside(value, root, dim) for value in op.operands):
            return f"line {span_of(op).line} reads a tile over the axis that is computed outside"
    return _crossing(root, dim) or _overshooting(root, dim, block)


def _overshooting(root: regions.ParallelOp, dim: DimAttr, block: int) -> str | None:
    """Why a last block that is not full may touch what is no element of the axis: it must lie outside of the view."""
    whole = AxisAttr.of(dim, extent_of(root, dim))
    if whole.extent % block == 0:
        return None
    for op in root.walk():
        if not isinstance(op, LoadOp | StoreOp) or whole not in _space_of_access(op).axes:
            continue
        if op.bounds.data is Bounds.ASSUME:
            return f"line {span_of(op).line} promises that its tile is inside, and the last block is longer"
        if isinstance(op, StoreOp) and not _ends_with_its_view(root, op, whole):
            return f"line {span_of(op).line} writes past the axis in the last block"
    return None


def _ends_with_its_view(root: regions.ParallelOp, op: StoreOp, whole: AxisAttr) -> bool:
    """Whether what follows the axis is outside of the view in every root instance."""
    found = _place_along(root, op, whole)
    if found is None:
        return False
    place, start = found
    steps = zip(root.indices, root.space.extents, strict=True)
    least = start.constant + sum(min(0, start.coefficient(index) * (extent - 1)) for index, extent in steps)
    return least + whole.extent >= view_type(op.view).space.extents[place]


def _space_of_access(op: LoadOp | StoreOp) -> SpaceAttr:
    return space_of(op.value if isinstance(op, StoreOp) else op.result)


def _is_from_outside(value: SSAValue, root: regions.ParallelOp, dim: DimAttr) -> bool:
    owner = value.owner
    inside = not isinstance(owner, Operation) or root.is_ancestor(owner)
    return not inside and is_tile(value) and dim in space_of(value).dims


def _crossing(root: regions.ParallelOp, dim: DimAttr) -> str | None:
    """Why a block may touch what another one writes: all accesses of a written view must move along the axis alike."""
    whole = AxisAttr.of(dim, extent_of(root, dim))
    written = {op.view for op in root.walk() if isinstance(op, StoreOp)}
    places: dict[SSAValue, tuple[int, Affine]] = {}
    for op in root.walk():
        if isinstance(op, LoadOp | LoadElementOp | StoreOp) and op.view in written:
            found = _place_along(root, op, whole)
            if found is None or places.setdefault(op.view, found) != found:
                return f"line {span_of(op).line} reaches what another block writes"
    return None


def _place_along(
    root: regions.ParallelOp, op: LoadOp | LoadElementOp | StoreOp, whole: AxisAttr
) -> tuple[int, Affine] | None:
    """Along which axis of its view an access moves with the tile axis, and where it starts there in a root instance."""
    if isinstance(op, LoadElementOp):
        return None
    space = _space_of_access(op)
    if whole not in space.axes:
        return None
    place = space.axes.index(whole)
    start = affine_of(op.origin[place])
    return None if start is None or not start.terms.keys() <= set(root.indices) else (place, start)


def _reads_itself(op: tiles.ExtractOp, dim: DimAttr) -> bool:
    """Whether the coordinate along `dim` is the index of an enclosing map along the same axis."""
    dims = space_of(op.tile).dims
    if dim not in dims:
        return True
    coord = op.coords[dims.index(dim)]
    owner = coord.owner
    parent = owner.parent_op() if isinstance(owner, Block) else None
    return (
        isinstance(parent, tiles.MapOp) and coord in parent.body.block.args and parent.space.dims[_place(coord)] == dim
    )


def _place(coord: SSAValue) -> int:
    owner = coord.owner
    return owner.args.index(coord) if isinstance(owner, Block) else -1


def _rewrite(
    root: regions.ParallelOp, whole: AxisAttr, inner: AxisAttr, blocks: AxisAttr, rewriter: TileRewriter
) -> None:
    moving = [op for op in root.walk() if _has_whole(op, whole)]
    retiling = Retiling({whole: inner})
    space = SpaceAttr.of((*root.space.axes, blocks))
    body = retiling.block(root.body.block)
    index = body.insert_arg(I64, len(body.args))
    scope = None if root.scope is None else root.scope.data
    new = regions.ParallelOp(space, scope=scope, body=Region(body))
    new.location = root.location
    copies = dict(zip(root.walk(), list(new.walk()), strict=True))
    size = tiles.ConstantOp(inner.extent, I64)
    start = elementwise.MulOp(index, size.result, I64)
    first = body.first_op
    if first is not None:
        rewriter.insert_before(first, [size, start])
    for op in moving:
        _shift(copies[op], inner.dim, start.result, rewriter)
    rewriter.insert_before(root, [new])
    rewriter.erase(root)


def _has_whole(op: Operation, whole: AxisAttr) -> bool:
    """Whether the operation sees the axis itself, not a broadcast of it."""
    match op:
        case LoadOp():
            return whole in space_of(op.result).axes
        case StoreOp():
            return whole in space_of(op.value).axes
        case tiles.MapOp():
            return whole in op.space.axes
        case _:
            return False


def _shift(op: Operation, dim: DimAttr, start: SSAValue, rewriter: TileRewriter) -> None:
    """Move what an operation sees of the axis by the start of the block."""
    match op:
        case LoadOp() | StoreOp():
            dims = space_of(op.result if isinstance(op, LoadOp) else op.value).dims
            _move_origin(op, dims.index(dim), start, rewriter)
        case tiles.MapOp():
            _move_index(op, dim, start, rewriter)
        case _:
            return


def _move_origin(op: LoadOp | StoreOp, place: int, start: SSAValue, rewriter: TileRewriter) -> None:
    moved = elementwise.AddOp(op.origin[place], start, I64)
    rewriter.insert_before(op, [moved])
    op.operands[1 + place] = moved.result


def _move_index(op: tiles.MapOp, dim: DimAttr, start: SSAValue, rewriter: TileRewriter) -> None:
    """Inside a map the index counts within the block; as a number, or along another axis, from the axis' start."""
    index = op.body.block.args[op.space.dims.index(dim)]
    plain = [use for use in index.uses if not _is_within(use, dim)]
    first = op.body.block.first_op
    if not plain or first is None:
        return
    moved = elementwise.AddOp(index, start, I64)
    rewriter.insert_before(first, [moved])
    for use in plain:
        use.operation.operands[use.index] = moved.result


def _is_within(use: Use, dim: DimAttr) -> bool:
    """Whether an index takes an element of a tile that is cut into the same blocks."""
    op = use.operation
    return isinstance(op, tiles.ExtractOp) and use.index > 0 and space_of(op.tile).dims[use.index - 1] == dim

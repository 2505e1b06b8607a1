"""Tiles that are computed by the fold that first reads them: one pass over the elements instead of two."""

from collections.abc import Iterator, Mapping

from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.folds import ClosedFold, closed_fold_of
from tilewright.bridge.xir.flow import tile_operands
from tilewright.bridge.xir.options import Use
from tilewright.bridge.xir.placement import Placement
from tilewright.bridge.xir.records import NestPlan
from tilewright.ir.ops import elementwise, regions, tiles
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.memory import MemoryLoadOp
from tilewright.ir.types import is_tile, space_of

__all__ = ["fused_producers"]


def fused_producers(placement: Placement, nests: Mapping[int, NestPlan]) -> dict[int, int]:
    """Positions of elementwise operations whose buffer is filled by the fold at another position, as a by-product.

    The fold must be the first reader, visit every element of the tile exactly once, and compute it where it stands
    from the same inputs: no store may come between.
    """
    if placement.options.fusion is Use.NEVER:
        return {}
    structure = placement.structure
    found: dict[int, int] = {}
    for op, position in structure.position.items():
        if position in nests and isinstance(op, elementwise.ElementwiseOp) and is_tile(op.result):
            fold = _first_reader(placement, op)
            if fold is not None and _computable_at(placement, op, fold):
                found[position] = structure.position[fold]
    return found


def _first_reader(placement: Placement, op: elementwise.ElementwiseOp) -> tiles.MapOp | None:
    """The closed fold over all of a tile that reads it before anything else does."""
    structure = placement.structure
    place = placement.places[op.result]
    if place.storage != structure.numbers[op.result] or op in placement.absorbed:
        return None
    points = placement.points(op.result)
    first = min(points, key=lambda point: structure.position[point], default=None)
    if not isinstance(first, tiles.MapOp) or first.parent is not op.parent:
        return None
    fold = closed_fold_of(first)
    return first if isinstance(fold, ClosedFold) and _visits_once(fold, op.result) else None


def _visits_once(fold: ClosedFold, tile: SSAValue) -> bool:
    """Whether the fold's element reads the tile directly, once, at its own coordinates, and ranges over exactly its
    axes.
    """
    reads = [use.operation for use in tile.uses if fold.map.is_ancestor(use.operation)]
    if len(reads) != 1 or not isinstance(reads[0], tiles.ExtractOp) or reads[0].parent is not fold.reduce.body.block:
        return False
    axes = (*fold.map.space.axes, *fold.reduce.space.axes)
    if sorted(axis.dim.number for axis in axes) != sorted(axis.dim.number for axis in space_of(tile).axes):
        return False
    return all(_is_own_index(coord, dim) for coord, dim in zip(reads[0].coords, space_of(tile).dims, strict=True))


def _is_own_index(coord: SSAValue, dim: object) -> bool:
    owner = coord.owner
    parent = owner.parent_op() if isinstance(owner, Block) else None
    if not isinstance(parent, tiles.MapOp | regions.ReduceOp) or not isinstance(owner, Block):
        return False
    place = owner.args.index(coord)
    return place < parent.space.rank and parent.space.dims[place] == dim


def _computable_at(placement: Placement, op: Operation, fold: Operation) -> bool:
    """Whether everything the tile is computed from is still the same at the fold."""
    structure = placement.structure
    span = range(structure.position[op] + 1, structure.position[fold] + 1)
    changed = {
        place.storage
        for value, place in placement.places.items()
        if isinstance(value.owner, Operation) and structure.position[value.owner] in span
    }
    for source in _sources(placement, op.results[0], set()):
        load = source.owner
        if placement.is_inline(source) and isinstance(load, LoadOp | MemoryLoadOp):
            read = load.view if isinstance(load, LoadOp) else load.memory
            if structure.writes_between(load, fold, read, may_alias=placement.may_alias) is not None:
                return False
        elif source in placement.places and placement.places[source].storage in changed:
            return False
    return True


def _sources(placement: Placement, tile: SSAValue, seen: set[SSAValue]) -> Iterator[SSAValue]:
    """The buffered tiles and inline loads that computing a tile reads."""
    owner = tile.owner
    if not isinstance(owner, Operation) or tile in seen:
        return
    seen.add(tile)
    for operand in tile_operands(owner):
        inner = operand.owner
        if not placement.is_inline(operand) or isinstance(inner, LoadOp | MemoryLoadOp):
            yield operand
        if placement.is_inline(operand):
            yield from _sources(placement, operand, seen)

"""Which tiles an elementwise computation reads at its own point, and how their axes follow its own.

A read at any other point, through a computed coordinate or inside a fold, is not found here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.elementwise import ElementwiseOp
from tilewright.ir.ops.memory import MemoryLoadOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp
from tilewright.ir.types import DimAttr, is_tile, space_of

__all__ = ["PointRead", "point_reads"]


@dataclass(frozen=True)
class PointRead:
    """A tile in memory, and for each of its axes the dimension that moves it. None: it stays at 0, its extent is 1."""

    value: SSAValue
    dims: tuple[DimAttr | None, ...]

    def place_of(self, dim: DimAttr) -> int | None:
        """The axis that moves with a dimension and no other; None when there is none."""
        return self.dims.index(dim) if self.dims.count(dim) == 1 else None


def point_reads(value: SSAValue, is_kept: Callable[[SSAValue], bool]) -> Iterator[PointRead]:
    """What computing one element of `value` reads from memory: loads, and the tiles that are kept in buffers."""
    found: dict[PointRead, None] = {}
    start = PointRead(value, tuple(space_of(value).dims))
    pending, done = [start], {start}
    while pending:
        read = pending.pop()
        in_memory = isinstance(read.value.owner, LoadOp | MemoryLoadOp) or (read is not start and is_kept(read.value))
        if in_memory:
            found[read] = None
            continue
        fresh = [inner for inner in _read_by(read) if inner not in done]
        done.update(fresh)
        pending += fresh
    yield from found


def _read_by(read: PointRead) -> Iterator[PointRead]:
    owner = read.value.owner
    if isinstance(owner, ElementwiseOp):
        moved = dict(zip(space_of(read.value).dims, read.dims, strict=True))
        for operand in owner.operands:
            if is_tile(operand):
                axes = space_of(operand).axes
                yield PointRead(operand, tuple(moved.get(axis.dim) if axis.extent != 1 else None for axis in axes))
    elif isinstance(owner, MapOp):
        for inner in owner.body.block.ops:
            if isinstance(inner, ExtractOp) and not _is_inside(inner.tile, owner):
                dims = tuple(_mover(*each, owner, read) for each in zip(inner.coords, _extents(inner), strict=True))
                if all(found for found, _ in dims):
                    yield PointRead(inner.tile, tuple(dim for _, dim in dims))


def _extents(op: ExtractOp) -> tuple[int, ...]:
    return tuple(space_of(op.tile).extents)


def _mover(coord: SSAValue, extent: int, op: MapOp, read: PointRead) -> tuple[bool, DimAttr | None]:
    """Whether a coordinate is plainly one of the map's, and the dimension that it moves with."""
    if extent == 1:
        return True, None
    if isinstance(coord, BlockArgument) and coord.block is op.body.block:
        return True, read.dims[coord.index]
    return False, None


def _is_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    start = owner if isinstance(owner, Operation) else owner.parent_op()
    return start is not None and op.is_ancestor(start)

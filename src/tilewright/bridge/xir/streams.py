"""How the memory that a tile is computed from moves along one dimension.

The facts behind the choice of lanes, and estimates of cost.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from xdsl.ir import SSAValue

from tilewright.analysis.affine import affine_of
from tilewright.bridge.xir.records import Storage
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.ops.elementwise import ElementwiseOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp
from tilewright.ir.types import DimAttr, compact_strides, is_tile, space_of, view_type

__all__ = ["Stored", "Stream", "read_streams", "streams"]


@dataclass(frozen=True, slots=True)
class Stream:
    """One memory access; `stride` in elements along the lanes, None when it has no constant stride."""

    stride: int | None


class Stored(Protocol):
    """Knows the buffers of tiles."""

    def storage_of(self, value: SSAValue) -> Storage | None: ...


def streams(stored: Stored, value: SSAValue, dim: DimAttr) -> Iterator[Stream]:
    """The accesses that computing one element of `value` makes, seen along `dim`. A buffered tile is computed, not
    read.
    """
    return _Walk(stored, dim, set()).computed(value)


def read_streams(stored: Stored, value: SSAValue, dim: DimAttr) -> Iterator[Stream]:
    """The accesses that reading one element of `value` makes, seen along `dim`."""
    return _Walk(stored, dim, set()).read(value)


@dataclass(frozen=True, slots=True)
class _Walk:
    """One element of one tile: what it takes twice is computed once. Another element, behind an extract, is another
    walk.
    """

    stored: Stored
    dim: DimAttr
    seen: set[SSAValue]

    def read(self, value: SSAValue) -> Iterator[Stream]:
        if value in self.seen:
            return
        self.seen.add(value)
        extent = space_of(value).extent_of(self.dim)
        moves = extent is not None and extent > 1
        storage = self.stored.storage_of(value)
        if storage is not None:
            yield Stream((storage.stride_of(self.dim.number) or 0) if moves else 0)
        elif moves:
            yield from self.computed(value)

    def computed(self, value: SSAValue) -> Iterator[Stream]:
        match value.owner:
            case LoadOp() as load:
                yield Stream(_stride_of_load(load, self.dim))
            case MemoryLoadOp() as load:
                yield Stream(_stride_of_memory(load, self.dim))
            case ElementwiseOp() as op:
                for operand in op.operands:
                    if is_tile(operand):
                        yield from self.read(operand)
            case MapOp() as op:
                yield from _through_map(self.stored, op, self.dim)
            case _:
                return


def _stride_of_load(op: LoadOp, dim: DimAttr) -> int:
    space = space_of(op.result)
    extent = space.extent_of(dim)
    return 0 if extent is None or extent == 1 else view_type(op.view).strides[space.dims.index(dim)]


def _stride_of_memory(op: MemoryLoadOp, dim: DimAttr) -> int | None:
    """As the elements lie without a layout; a layout says nothing that is as simple."""
    space = space_of(op.result)
    extent = space.extent_of(dim)
    if extent is None or extent == 1:
        return 0
    made = op.memory.owner
    plain = isinstance(made, MemoryAllocOp) and made.layout is None
    return compact_strides(space.extents)[space.dims.index(dim)] if plain else None


def _through_map(stored: Stored, op: MapOp, dim: DimAttr) -> Iterator[Stream]:
    if dim not in op.space.dims:
        return
    index = op.body.block.args[op.space.dims.index(dim)]
    for inner in op.walk():
        if isinstance(inner, ExtractOp):
            yield from _through_extract(stored, inner, index)


def _through_extract(stored: Stored, op: ExtractOp, index: SSAValue) -> Iterator[Stream]:
    forms = [affine_of(coord) for coord in op.coords]
    if any(form is None for form in forms):
        yield Stream(None)
        return
    moving = [place for place, form in enumerate(forms) if form is not None and form.coefficient(index)]
    if len(moving) != 1:
        yield Stream(None if moving else 0)
        return
    form = forms[moving[0]]
    source = space_of(op.tile).dims[moving[0]]
    for stream in read_streams(stored, op.tile, source):
        yield Stream(None if form is None or stream.stride is None else stream.stride * form.coefficient(index))

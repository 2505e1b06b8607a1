"""The scratch buffers of manual memories: one each, laid out exactly as its layout says."""

from collections.abc import Iterator

from tilewright.analysis.structure import Structure
from tilewright.bridge.xir.records import Storage
from tilewright.ir.ops.memory import MemoryAllocOp
from tilewright.ir.types import compact_strides, dtype_of, memory_type

__all__ = ["memory_storages"]


def memory_storages(structure: Structure) -> Iterator[Storage]:
    """The buffer of every memory, owned by the memory's number. Without a layout its elements lie in written order."""
    for op in structure.position:
        if isinstance(op, MemoryAllocOp):
            space = memory_type(op.memory).space
            yield Storage(
                owner=structure.numbers[op.memory],
                dtype=dtype_of(memory_type(op.memory).element).name,
                dims=tuple(dim.number for dim in space.dims),
                extents=space.extents,
                strides=compact_strides(space.extents),
                size=max(space.volume if op.layout is None else op.layout.codomain.volume, 1),
                layout=op.layout,
            )

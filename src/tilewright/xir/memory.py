"""Which operations may change what which others read."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from xdsl.ir import Operation, SSAValue

from tilewright.xir import ops
from tilewright.xir.pack_op import PackOp
from tilewright.xir.types import BufferType

__all__ = ["ANYTHING", "GLOBAL", "Region", "read_region", "written_regions"]

GLOBAL = "global"
ANYTHING = "anything"

# The buffer that an operation writes.
_WRITTEN: Mapping[type[Operation], Callable[[Any], SSAValue]] = MappingProxyType(
    {
        ops.StoreOp: lambda op: op.operands[1],
        ops.ScatterOp: lambda op: op.operands[1],
        ops.AtomicOp: lambda op: op.operands[0],
        ops.ContractOp: lambda op: op.c,
        PackOp: lambda op: op.panel,
    }
)

Region = SSAValue | str
"""Memory that overlaps no other: one `xir.alloc`, or GLOBAL, all buffers that came as arguments. ANYTHING is all."""


def region_of(buffer: SSAValue) -> Region:
    """Arguments may overlap each other, an allocation overlaps nothing."""
    return buffer if isinstance(buffer.owner, ops.AllocOp) else GLOBAL


def read_region(op: ops.LoadOp | ops.GatherOp) -> Region:
    return region_of(op.operands[0])


def written_regions(op: Operation) -> set[Region]:
    """What `op` may write, nested blocks included."""
    found: set[Region] = set()
    _add_written(op, found)
    return found


def _add_written(op: Operation, found: set[Region]) -> None:
    kind = type(op)
    if kind in _WRITTEN:
        found.add(region_of(_WRITTEN[kind](op)))
    elif kind is ops.CallOp:
        found.update(region_of(value) for value in op.operands if isinstance(value.type, BufferType))
    elif kind is ops.BarrierOp:
        found.add(ANYTHING)
    else:
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    _add_written(inner, found)

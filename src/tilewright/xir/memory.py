"""Which operations may change what which others read."""

from xdsl.ir import Block, Operation, SSAValue

from tilewright.xir import ops
from tilewright.xir.pack_op import PackOp
from tilewright.xir.types import BufferType

__all__ = ["ANYTHING", "GLOBAL", "Region", "read_region", "written_regions"]

GLOBAL = "global"
ANYTHING = "anything"

Region = SSAValue | str
"""Memory that overlaps no other: one `xir.alloc`, or GLOBAL, all buffers that came as arguments. ANYTHING is all."""


def region_of(buffer: SSAValue) -> Region:
    """Arguments may overlap each other, an allocation overlaps nothing."""
    return buffer if isinstance(buffer.owner, ops.AllocOp) else GLOBAL


def read_region(op: ops.LoadOp | ops.GatherOp) -> Region:
    return region_of(op.operands[0])


def written_regions(op: Operation) -> set[Region]:
    """What `op` may write, nested blocks included."""
    match op:
        case ops.StoreOp() | ops.ScatterOp():
            return {region_of(op.operands[1])}
        case ops.AtomicOp():
            return {region_of(op.operands[0])}
        case PackOp():
            return {region_of(op.panel)}
        case ops.ContractOp():
            return {region_of(op.c)}
        case ops.CallOp():
            return {region_of(value) for value in op.operands if isinstance(value.type, BufferType)}
        case ops.BarrierOp():
            return {ANYTHING}
        case _:
            blocks = [block for region in op.regions for block in region.blocks]
            return set[Region]().union(*map(_written_in, blocks))


def _written_in(block: Block) -> set[Region]:
    return set[Region]().union(*map(written_regions, block.ops))

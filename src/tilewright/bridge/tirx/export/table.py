"""The table of rules: one function an operation."""

from collections.abc import Mapping
from types import MappingProxyType

from xdsl.ir import Operation

from tilewright.bridge.tirx.export import access, manual, regions, scan, tiles
from tilewright.bridge.tirx.export.context import Rule
from tilewright.bridge.tirx.export.elementwise import export_elementwise
from tilewright.ir.dialect import ELEMENTWISE_OPS
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import (
    KernelOp,
    ParallelOp,
    PipelineOp,
    ReduceOp,
    SerialOp,
    StageOp,
    WhenOp,
    YieldOp,
)
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp, MmaOp, ScanOp

__all__ = ["RULES", "STRUCTURE"]

RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        **dict.fromkeys(ELEMENTWISE_OPS, export_elementwise),
        ConstantOp: tiles.export_constant,
        MapOp: tiles.export_map,
        ExtractOp: tiles.export_extract,
        MmaOp: tiles.export_mma,
        ScanOp: scan.export_scan,
        LoadOp: access.export_load,
        StoreOp: access.export_store,
        LoadElementOp: access.export_load_element,
        StoreElementOp: access.export_store_element,
        UpdateOp: access.export_update,
        MemoryAllocOp: manual.export_memory_alloc,
        MemoryLoadOp: manual.export_memory_load,
        MemoryStoreOp: manual.export_memory_store,
        ParallelOp: regions.export_parallel,
        SerialOp: regions.export_ordered,
        PipelineOp: regions.export_ordered,
        ReduceOp: regions.export_ordered,
        StageOp: regions.export_stage,
    }
)
STRUCTURE = frozenset({KernelOp, WhenOp, YieldOp})
"""Operations that the export of a kernel or of a block takes itself."""

"""The table of meanings: one function an operation."""

from collections.abc import Mapping
from types import MappingProxyType

from xdsl.ir import Operation

from tilewright.ir.dialect import ELEMENTWISE_OPS
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import ParallelOp, PipelineOp, ReduceOp, SerialOp, StageOp, WhenOp
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp, MmaOp, ScanOp

from . import access, elementwise, folds, manual, regions, scan, tiles, update
from .machine import Meaning

__all__ = ["MEANINGS"]

MEANINGS: Mapping[type[Operation], Meaning] = MappingProxyType(
    {
        **dict.fromkeys(ELEMENTWISE_OPS, elementwise.elementwise),
        ConstantOp: tiles.constant,
        MapOp: tiles.tile_map,
        ExtractOp: tiles.extract,
        MmaOp: tiles.mma,
        ScanOp: scan.scan,
        LoadOp: access.load,
        StoreOp: access.store,
        LoadElementOp: access.load_element,
        StoreElementOp: access.store_element,
        UpdateOp: update.update,
        MemoryAllocOp: manual.allocate,
        MemoryLoadOp: manual.load,
        MemoryStoreOp: manual.store,
        ParallelOp: regions.parallel,
        SerialOp: regions.ordered,
        PipelineOp: regions.ordered,
        ReduceOp: folds.reduce,
        StageOp: regions.stage,
        WhenOp: regions.when,
    }
)

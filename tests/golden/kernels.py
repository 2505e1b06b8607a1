"""Hand-made kernels for golden texts."""

from xdsl.dialects.builtin import ModuleOp

from tests.unit.ir.making import Make, space, tile, view
from tilewright.core.dtypes import boolean, f16, f32, i64
from tilewright.ir.attrs import Policy, UpdateKind
from tilewright.ir.index_map import strided
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.convert import CastOp, SelectOp
from tilewright.ir.ops.elementwise import AddOp, LtOp, MaxOp, MulOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import PipelineOp, ReduceOp, SerialOp, StageOp, WhenOp, YieldOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp, MmaOp, ScanOp
from tilewright.ir.types import BOOL, I64, DimAttr, MemoryType, element_attr

LABELS = {0: "M", 1: "K", 2: "N", 3: "gm", 4: "gk", 5: "m", 6: "n", 7: "k"}
F32 = element_attr(f32)


def gemm() -> ModuleOp:
    """Pipelined, with stages; half operands, an f32 accumulator."""
    A, B = view((0, 8), (1, 6), dtype=f16, const=True), view((1, 6), (2, 4), dtype=f16, const=True)
    m = Make(A, B, view((0, 8), (2, 4)), labels=LABELS)
    with m.parallel((3, 2), scope="worker") as grid:
        zero = m.const()
        row = m.put(MulOp(grid.indices[0], m.const(4), I64)).result
        row.name_hint = "m0"
        acc = m.splat(tile((5, 4), (6, 4)))
        acc.name_hint = "acc"
        with m.carrying(PipelineOp(space((4, 3)), [acc], window=2)) as steps:
            column = m.put(MulOp(steps.indices[0], m.const(2), I64)).result
            m.put(StageOp("load"))
            a = m.put(LoadOp(m.args[0], [row, column], tile((5, 4), (7, 2), dtype=f16))).result
            b = m.put(LoadOp(m.args[1], [column, zero], tile((7, 2), (6, 4), dtype=f16))).result
            m.put(StageOp("compute"))
            m.put(YieldOp([m.put(MmaOp(a, b, steps.carries[0], reassociate=False)).result]))
        m.put(StoreOp(m.args[2], [row, zero], steps.results[0]))
    return m.done()


def every_kind() -> ModuleOp:
    """One operation of every kind that `gemm` does not show."""
    m = Make(view((0, 16)), view((1, 16), dtype=i64, const=True), labels={0: "i", 1: "j", 3: "g", 5: "m", 9: "cell"})
    with m.parallel((3, 4)) as grid:
        at = m.put(LoadElementOp(m.args[1], [grid.indices[0]])).result
        small = m.put(LtOp(at, m.const(8), BOOL)).result
        low = m.const(0xFF800000, f32)
        row = m.put(LoadOp(m.args[0], [at], tile((5, 4)), fill=low, mask=small)).result
        with_map = m.put(MapOp(tile((5, 4))))
        with m.inside(with_map):
            with m.carrying(ReduceOp(space((6, 4)), [low], policy=Policy.ORDERED_TREE)) as fold:
                element = m.put(ExtractOp(row, [fold.indices[0]])).result
                m.put(YieldOp([m.put(MaxOp(fold.carries[0], element, F32)).result]))
            m.put(YieldOp([fold.results[0]]))
        scan = m.put(ScanOp([row], [m.const(0, f32)], DimAttr.of(5), Policy.FOLD_LEFT, exclusive=True))
        with m.inside(scan):
            state, element = scan.body.block.args
            m.put(YieldOp([m.put(AddOp(state, element, F32)).result]))
        chosen = m.put(
            SelectOp(m.splat(tile((5, 4), dtype=boolean), 1), with_map.result, scan.results[0], tile((5, 4)))
        )
        layout = LayoutAttr.of(strided(space((5, 4)), DimAttr.of(9), (2,)))
        alloc = m.put(MemoryAllocOp(MemoryType(F32, space((5, 4))), resource="private", layout=layout))
        state = m.put(MemoryStoreOp(alloc.memory, alloc.state, chosen.result)).result
        with m.carrying(SerialOp(space((7, 2)), [state])) as loop:
            value = m.put(MemoryLoadOp(alloc.memory, loop.carries[0])).result
            m.put(YieldOp([m.put(MemoryStoreOp(alloc.memory, loop.carries[0], value)).result]))
        half = m.put(CastOp(m.const(0x3F800000, f32), element_attr(f16))).result
        one = m.put(CastOp(half, F32)).result
        with m.carrying(SerialOp(space((7, 2)))) as loop:
            m.put(WhenOp(m.put(LtOp(loop.indices[0], at, BOOL)).result))
            m.put(UpdateOp(m.args[0], [at], one, UpdateKind.ADD, mask=small))
        m.put(StoreElementOp(m.args[0], [at], one, predicate=small))
    return m.done()

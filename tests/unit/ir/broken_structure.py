"""Broken modules: structure, types of values, kernels, regions, stages, early ends and yields."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, IntegerType, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, Region, SSAValue

from tests.unit.ir.making import Make, space, tile, view
from tilewright.core.dtypes import boolean, f32
from tilewright.ir.ops.access import LoadElementOp, LoadOp
from tilewright.ir.ops.elementwise import AddOp, NegOp
from tilewright.ir.ops.memory import MemoryAllocOp
from tilewright.ir.ops.regions import KernelOp, ParallelOp, PipelineOp, SerialOp, StageOp, WhenOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp, MapOp
from tilewright.ir.types import I64, MemoryType, TileType, ViewType, element_attr

F32 = element_attr(f32)
SPACE = space((0, 4))
TILE = tile((0, 4))
MEMORY = MemoryType(F32, SPACE)


def _splat(m: Make, kind: TileType = TILE) -> SSAValue:
    return m.splat(kind)


def foreign_op(m: Make) -> None:
    m.put(TestOp())


def declaration(m: Make) -> None:
    m.put(AddOp.create(operands=[m.const()], result_types=[I64]))


def early_use(m: Make) -> None:
    later = ConstantOp(0, I64)
    m.put(NegOp(later.result, I64))
    m.put(later)


def escape(m: Make) -> None:
    with m.parallel((1, 2)):
        inner = m.const()
    m.put(NegOp(inner, I64))


def unknown_value(m: Make) -> None:
    m.put(NegOp(ConstantOp(0, I64).result, I64))


def isolated(m: Make) -> None:
    with m.parallel((1, 2)) as region:
        inner = m.put(KernelOp("inner", []))
        with m.inside(inner):
            m.put(NegOp(region.indices[0], I64))


def impure_map(m: Make) -> None:
    made = m.put(MapOp(TILE))
    with m.inside(made):
        m.put(YieldOp([m.put(LoadElementOp(m.args[0], [made.body.block.args[0]])).result]))


def unknown_type(m: Make) -> None:
    m.put(ConstantOp(0, UnitAttr()))


def element_type(m: Make) -> None:
    m.put(ConstantOp(0, TileType(IntegerType(7), SPACE)))


def repeated_dim(m: Make) -> None:
    _splat(m, tile((0, 4), (0, 4)))


def negative_extent(m: Make) -> None:
    _splat(m, tile((0, -1)))


def stride_count() -> ModuleOp:
    return Make(ViewType.of(f32, SPACE, (4, 1), const=False)).done()


def negative_stride() -> ModuleOp:
    return Make(ViewType.of(f32, SPACE, (-1,), const=False)).done()


def access() -> ModuleOp:
    return Make(ViewType(F32, SPACE, ArrayAttr([IntAttr(1)]), StringAttr("write"))).done()


def kernel_name() -> ModuleOp:
    return _renamed("")


def _renamed(name: str) -> ModuleOp:
    m = Make()
    m.kernel.properties["sym_name"] = StringAttr(name)
    return m.done()


def kernel_twice() -> ModuleOp:
    first, second = Make(), Make()
    kernel = second.done().body.block.first_op
    assert kernel is not None
    kernel.detach()
    first.done().body.block.add_op(kernel)
    return first.module


def parameter_count(m: Make) -> None:
    m.kernel.properties["parameters"] = ArrayAttr[StringAttr]([])


def parameter_twice() -> ModuleOp:
    m = Make(view((0, 4)), view((1, 4)))
    m.kernel.properties["parameters"] = ArrayAttr([StringAttr("A"), StringAttr("A")])
    return m.done()


def parameter_kind() -> ModuleOp:
    return Make(TILE).done()


def label_table(m: Make) -> None:
    m.kernel.properties["labels"] = DictionaryAttr({"m": StringAttr("m")})


def kernel_place(m: Make) -> None:
    with m.parallel((1, 2)), m.inside(m.put(KernelOp("inner", []))):
        pass


def body_args(m: Make) -> None:
    body = Region(Block(arg_types=[I64, I64]))
    m.region(m_op := ParallelOp(space((1, 2)), body=body))
    assert m_op.parent is not None


def body_index(m: Make) -> None:
    m.region(ParallelOp(space((1, 2)), body=Region(Block(arg_types=[F32]))))


def carry_types(m: Make) -> None:
    body = Region(Block(arg_types=[I64, F32]))
    m.region(SerialOp(space((1, 2)), [m.const()], body=body))


def carry_count(m: Make) -> None:
    body = Region(Block(arg_types=[I64, I64]))
    op = SerialOp.create(operands=[m.const()], result_types=[], regions=[body], properties={"space": space((1, 2))})
    m.put(op)
    with m.inside(op, body.block.args[1]):
        pass


def carry_kind(m: Make) -> None:
    m.region(SerialOp(space((1, 2)), [m.args[0]]))


def window(m: Make) -> None:
    m.region(PipelineOp(space((1, 2)), window=-1))


def interval(m: Make) -> None:
    m.region(PipelineOp(space((1, 2)), interval=0))


def stage_place(m: Make) -> None:
    m.put(StageOp("load"))


def stage_twice(m: Make) -> None:
    with m.carrying(PipelineOp(space((1, 2)))):
        m.put(StageOp("load"))
        m.put(StageOp("load"))


def stage_late(m: Make) -> None:
    with m.carrying(PipelineOp(space((1, 2)))):
        m.put(LoadOp(m.args[0], [m.const()], TILE))
        m.put(StageOp("load"))


def stage_unnamed(m: Make) -> None:
    with m.carrying(PipelineOp(space((1, 2)))):
        m.put(StageOp(""))


def when_place(m: Make) -> None:
    with m.parallel((1, 2)):
        m.put(WhenOp(m.const(1, boolean)))


def when_in_map(m: Make) -> None:
    with m.inside(m.put(MapOp(TILE))):
        with m.carrying(SerialOp(space((1, 2)))):
            m.put(WhenOp(m.const(1, boolean)))
        m.put(YieldOp([m.const(0, f32)]))


def when_late(m: Make) -> None:
    with m.carrying(SerialOp(space((1, 2)))):
        m.put(LoadOp(m.args[0], [m.const()], TILE))
        m.put(WhenOp(m.const(1, boolean)))


def when_twice(m: Make) -> None:
    with m.carrying(SerialOp(space((1, 2)))):
        condition = m.const(1, boolean)
        m.put(WhenOp(condition))
        m.put(WhenOp(condition))


def when_type(m: Make) -> None:
    with m.carrying(SerialOp(space((1, 2)))):
        m.put(WhenOp(m.const(1)))


def when_state(m: Make) -> None:
    with m.parallel((1, 2)):
        made = m.put(MemoryAllocOp(MEMORY))
        with m.carrying(SerialOp(space((1, 2)), [made.state])):
            m.put(WhenOp(m.const(1, boolean)))


def yield_missing(m: Make) -> None:
    m.put(ParallelOp(space((1, 2))))


def yield_count(m: Make) -> None:
    with m.parallel((1, 2)):
        m.put(YieldOp([m.const()]))


def yield_types(m: Make) -> None:
    with m.carrying(SerialOp(space((1, 2)), [m.const()])):
        m.put(YieldOp([m.const(0, f32)]))


def yield_early(m: Make) -> None:
    with m.parallel((1, 2)):
        m.put(YieldOp())
        m.const()


def yield_place() -> ModuleOp:
    return ModuleOp([YieldOp()])


BROKEN: Mapping[str, Callable[[Make], object]] = MappingProxyType(
    {
        "V-OP-1": foreign_op,
        "V-OP-2": declaration,
        "V-DOM-1": early_use,
        "V-DOM-2": escape,
        "V-DOM-3": unknown_value,
        "V-DOM-4": isolated,
        "V-PURE-1": impure_map,
        "V-TYPE-1": unknown_type,
        "V-TYPE-2": element_type,
        "V-TYPE-3": repeated_dim,
        "V-TYPE-4": negative_extent,
        "V-KERNEL-3": parameter_count,
        "V-KERNEL-6": label_table,
        "V-KERNEL-7": kernel_place,
        "V-REG-1": body_args,
        "V-REG-2": body_index,
        "V-REG-3": carry_types,
        "V-REG-4": carry_count,
        "V-REG-5": carry_kind,
        "V-PIPE-1": window,
        "V-PIPE-2": interval,
        "V-STAGE-1": stage_place,
        "V-STAGE-2": stage_twice,
        "V-STAGE-3": stage_late,
        "V-STAGE-4": stage_unnamed,
        "V-WHEN-1": when_place,
        "V-WHEN-2": when_in_map,
        "V-WHEN-3": when_late,
        "V-WHEN-4": when_twice,
        "V-WHEN-5": when_type,
        "V-WHEN-6": when_state,
        "V-YIELD-1": yield_missing,
        "V-YIELD-2": yield_count,
        "V-YIELD-3": yield_types,
        "V-YIELD-4": yield_early,
    }
)
# These need another signature or module than `Make()` gives.
BROKEN_MODULES: Mapping[str, Callable[[], ModuleOp]] = MappingProxyType(
    {
        "V-TYPE-5": stride_count,
        "V-TYPE-6": negative_stride,
        "V-TYPE-7": access,
        "V-KERNEL-1": kernel_name,
        "V-KERNEL-2": kernel_twice,
        "V-KERNEL-4": parameter_twice,
        "V-KERNEL-5": parameter_kind,
        "V-YIELD-5": yield_place,
    }
)

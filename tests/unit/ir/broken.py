"""One broken module for each rule of the verifier."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, IntegerType, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, Region, SSAValue

from tests.unit.ir.making import Make, space, tile, view
from tilewright.core.dtypes import boolean, f16, f32, f64, float8_e4m3fn, i32, i64
from tilewright.ir.attrs import Policy, UpdateKind
from tilewright.ir.index_map import IndexMap, strided
from tilewright.ir.layout import coordinate
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.convert import BitcastOp, CastOp, SelectOp
from tilewright.ir.ops.elementwise import AddOp, AndOp, EqOp, ExpOp, NegOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import KernelOp, ParallelOp, PipelineOp, ReduceOp, SerialOp, StageOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp, MmaOp, ScanOp
from tilewright.ir.types import BOOL, I64, DimAttr, MemoryStateType, MemoryType, TileType, ViewType, element_attr

Broken = Callable[[Make], object]

F32 = element_attr(f32)
SPACE = space((0, 4))
TILE = tile((0, 4))
FLAGS = tile((0, 4), dtype=boolean)
MEMORY = MemoryType(F32, SPACE)


def _splat(m: Make, kind: TileType = TILE) -> SSAValue:
    return m.splat(kind)


def _alloc(m: Make) -> MemoryAllocOp:
    return m.put(MemoryAllocOp(MEMORY))


def _stored(m: Make) -> tuple[MemoryAllocOp, SSAValue]:
    alloc = _alloc(m)
    return alloc, m.put(MemoryStoreOp(alloc.memory, alloc.state, _splat(m))).result


# ------------------------------------------------------------------------------------------------------------ structure


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


# --------------------------------------------------------------------------------------------------------------- values


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


# -------------------------------------------------------------------------------------------------------------- regions


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


# ---------------------------------------------------------------------------------------------------------- elementwise


def operand_kind(m: Make) -> None:
    m.put(NegOp(m.args[0], I64))


def element_refused(m: Make) -> None:
    m.put(AndOp(m.const(0, f32), m.const(0, f32), F32))


def elements_differ(m: Make) -> None:
    m.put(AddOp(m.const(), m.const(0, i32), I64))


def result_element(m: Make) -> None:
    m.put(EqOp(m.const(), m.const(), I64))


def tile_to_scalar(m: Make) -> None:
    m.put(NegOp(_splat(m), F32))


def not_broadcast(m: Make) -> None:
    m.put(AddOp(_splat(m), _splat(m, tile((0, 5))), tile((0, 5))))


def axis_from_nowhere(m: Make) -> None:
    m.put(NegOp(_splat(m), tile((0, 4), (1, 2))))


def condition(m: Make) -> None:
    m.put(SelectOp(m.const(), m.const(), m.const(), I64))


def shape_changed(m: Make) -> None:
    m.put(CastOp(_splat(m), tile((1, 4))))


def widths_differ(m: Make) -> None:
    m.put(BitcastOp(m.const(), F32))


def float8_arithmetic(m: Make) -> None:
    eight = element_attr(float8_e4m3fn)
    m.put(ExpOp(m.const(0, float8_e4m3fn), eight))


# ---------------------------------------------------------------------------------------------------------------- tiles


def constant_kind(m: Make) -> None:
    m.put(ConstantOp(0, MemoryStateType()))


def constant_payload(m: Make) -> None:
    m.const(2, boolean)


def map_space(m: Make) -> None:
    made = m.put(MapOp(TILE))
    made.properties["space"] = space((1, 4))
    with m.inside(made, m.args[0]):
        m.put(YieldOp([m.const(0, f32)]))


def map_body(m: Make) -> None:
    made = m.put(MapOp(TILE, Region(Block(arg_types=[]))))
    with m.inside(made):
        m.put(YieldOp([m.const(0, f32)]))


def extract_count(m: Make) -> None:
    m.put(ExtractOp(_splat(m), []))


def extract_index(m: Make) -> None:
    m.put(ExtractOp(_splat(m), [m.const(0, i32)]))


def extract_element(m: Make) -> None:
    m.put(ExtractOp.create(operands=[_splat(m), m.const()], result_types=[I64]))


def _mma(m: Make, a: TileType, b: TileType, c: TileType) -> None:
    m.put(MmaOp(_splat(m, a), _splat(m, b), _splat(m, c)))


def mma_result(m: Make) -> None:
    kinds = tile((0, 2), (2, 3)), tile((2, 3), (1, 2)), tile((0, 2), (1, 2))
    op = MmaOp(*(_splat(m, kind) for kind in kinds))
    m.put(MmaOp.create(operands=op.operands, result_types=[kinds[0]], properties=op.properties))
    op.erase()


def mma_a_dim(m: Make) -> None:
    _mma(m, tile((0, 2), (2, 3), (7, 2)), tile((2, 3), (1, 2)), tile((0, 2), (1, 2)))


def mma_b_dim(m: Make) -> None:
    _mma(m, tile((0, 2), (2, 3)), tile((2, 3), (1, 2), (7, 2)), tile((0, 2), (1, 2)))


def mma_contracted_extent(m: Make) -> None:
    _mma(m, tile((0, 2), (2, 3)), tile((2, 4), (1, 2)), tile((0, 2), (1, 2)))


def mma_extent(m: Make) -> None:
    _mma(m, tile((0, 2), (2, 3)), tile((2, 3), (1, 2)), tile((0, 5), (1, 2)))


def mma_c_dim(m: Make) -> None:
    _mma(m, tile((0, 2), (2, 3)), tile((2, 3), (1, 2)), tile((0, 2), (1, 2), (7, 2)))


def mma_nothing(m: Make) -> None:
    _mma(m, tile((0, 2)), tile((1, 2)), tile((0, 2), (1, 2)))


def mma_accumulator(m: Make) -> None:
    half = tile((0, 2), (1, 2), dtype=f16)
    _mma(m, tile((0, 2), (2, 3), dtype=f16), tile((2, 3), (1, 2), dtype=f16), half)


def mma_operand(m: Make) -> None:
    _mma(m, tile((0, 2), (2, 3)), tile((2, 3), (1, 2)), tile((0, 2), (1, 2), dtype=i32))


def _scan(m: Make, tiles: list[SSAValue], seeds: list[SSAValue], dim: int = 0) -> ScanOp:
    op = m.put(ScanOp(tiles, seeds, DimAttr.of(dim), Policy.FOLD_LEFT))
    with m.inside(op, *op.body.block.args[: len(tiles)]):
        pass
    return op


def scan_empty(m: Make) -> None:
    _scan(m, [], [])


def scan_spaces(m: Make) -> None:
    zero = m.const(0, f32)
    _scan(m, [_splat(m), _splat(m, tile((0, 5)))], [zero, zero])


def scan_dim(m: Make) -> None:
    _scan(m, [_splat(m)], [m.const(0, f32)], dim=1)


def scan_seed(m: Make) -> None:
    _scan(m, [_splat(m)], [m.const()])


def scan_result(m: Make) -> None:
    good = _scan(m, [_splat(m)], [m.const(0, f32)])
    body = good.detach_region(0)
    operands = list(good.operands)
    good.detach()
    m.put(ScanOp.create(operands=operands, result_types=[tile((1, 4))], properties=good.properties, regions=[body]))


def scan_body(m: Make) -> None:
    op = m.put(ScanOp([_splat(m)], [m.const(0, f32)], DimAttr.of(0), Policy.FOLD_LEFT, body=Region(Block())))
    with m.inside(op):
        m.put(YieldOp([m.const(0, f32)]))


# --------------------------------------------------------------------------------------------------------------- access


def index_count(m: Make) -> None:
    m.put(LoadOp(m.args[0], [], TILE))


def index_type(m: Make) -> None:
    m.put(LoadElementOp(m.args[0], [m.const(0, i32)]))


def tile_rank(m: Make) -> None:
    m.put(LoadOp(m.args[0], [m.const()], tile((0, 4), (1, 2))))


def load_element(m: Make) -> None:
    m.put(LoadOp(m.args[0], [m.const()], tile((0, 4), dtype=f64)))


def fill_type(m: Make) -> None:
    m.put(LoadOp(m.args[0], [m.const()], TILE, fill=m.const()))


def mask_type(m: Make) -> None:
    m.put(LoadOp(m.args[0], [m.const()], TILE, mask=m.const()))


def mask_space(m: Make) -> None:
    m.put(LoadOp(m.args[0], [m.const()], TILE, mask=_splat(m, tile((1, 4), dtype=boolean))))


def store_element(m: Make) -> None:
    m.put(StoreOp(m.args[0], [m.const()], _splat(m, tile((0, 4), dtype=f64))))


def fill_alone(m: Make) -> None:
    m.put(LoadElementOp(m.args[0], [m.const()], fill=m.const(0, f32)))


def const_write() -> ModuleOp:
    m = Make(view((0, 16), const=True))
    m.put(StoreElementOp(m.args[0], [m.const()], m.const(0, f32)))
    return m.done()


def _update(m: Make, coords: list[SSAValue], value: SSAValue, mask: SSAValue | None = None) -> None:
    m.put(UpdateOp(m.args[0], coords, value, UpdateKind.ADD, mask=mask))


def update_coords(m: Make) -> None:
    _update(m, [], m.const(0, f32))


def update_coord_type(m: Make) -> None:
    _update(m, [m.const(0, i32)], m.const(0, f32))


def update_value(m: Make) -> None:
    _update(m, [m.const()], m.const())


def update_mask(m: Make) -> None:
    _update(m, [m.const()], m.const(0, f32), m.const())


def update_space(m: Make) -> None:
    _update(m, [_splat(m, tile((0, 5), dtype=i64))], _splat(m))


def update_reducer() -> ModuleOp:
    m = Make(view((0, 16), dtype=boolean))
    _update(m, [m.const()], m.const(0, boolean))
    return m.done()


# ------------------------------------------------------------------------------------------------------- independence


def race(m: Make) -> None:
    with m.parallel((1, 2)):
        m.put(StoreOp(m.args[0], [m.const()], _splat(m)))


# --------------------------------------------------------------------------------------------------------------- memory


def layout_domain(m: Make) -> None:
    m.put(MemoryAllocOp(MEMORY, layout=LayoutAttr.of(strided(space((1, 4)), DimAttr.of(9), (1,)))))


def layout_unsafe(m: Make) -> None:
    square = space((0, 4), (1, 4))
    skewed = IndexMap(square, space((9, 8)), (coordinate(DimAttr.of(0)) + coordinate(DimAttr.of(1)),))
    m.put(MemoryAllocOp(MemoryType(F32, square), layout=LayoutAttr.of(skewed)))


def memory_load_type(m: Make) -> None:
    alloc, state = _stored(m)
    m.put(MemoryLoadOp.create(operands=[alloc.memory, state], result_types=[tile((1, 4))]))


def memory_store_type(m: Make) -> None:
    alloc = _alloc(m)
    m.put(MemoryStoreOp(alloc.memory, alloc.state, _splat(m, tile((1, 4)))))


def foreign_state(m: Make) -> None:
    one, _ = _stored(m)
    _, other = _stored(m)
    m.put(MemoryLoadOp(one.memory, other))


def stale_state(m: Make) -> None:
    alloc, _ = _stored(m)
    m.put(MemoryLoadOp(alloc.memory, alloc.state))


def uninitialised(m: Make) -> None:
    alloc = _alloc(m)
    m.put(MemoryLoadOp(alloc.memory, alloc.state))


def stale_yield(m: Make) -> None:
    alloc, state = _stored(m)
    with m.carrying(SerialOp(space((1, 2)), [state])) as loop:
        m.put(MemoryStoreOp(alloc.memory, loop.carries[0], _splat(m)))
        m.put(YieldOp([loop.carries[0]]))


def foreign_yield(m: Make) -> None:
    _, one = _stored(m)
    _, other = _stored(m)
    with m.carrying(SerialOp(space((1, 2)), [one, other])) as loop:
        m.put(YieldOp([loop.carries[1], loop.carries[0]]))


def stale_init(m: Make) -> None:
    alloc, _ = _stored(m)
    m.region(SerialOp(space((1, 2)), [alloc.state]))


def carried_twice(m: Make) -> None:
    _, state = _stored(m)
    m.region(SerialOp(space((1, 2)), [state, state]))


def changed_outside(m: Make) -> None:
    alloc, state = _stored(m)
    with m.parallel((1, 2)):
        m.put(MemoryStoreOp(alloc.memory, state, _splat(m)))


# ------------------------------------------------------------------------------------------------------------ targets


def unknown_scope(m: Make) -> None:
    with m.parallel((1, 2), scope="warp"):
        pass


def scope_order(m: Make) -> None:
    with m.parallel((1, 2), scope="worker"), m.parallel((2, 2), scope="group"):
        pass


def unknown_resource(m: Make) -> None:
    m.put(MemoryAllocOp(MEMORY, resource="tensor"))


def cannot_load(m: Make) -> None:
    with m.parallel((1, 2), scope="worker"):
        alloc = m.put(MemoryAllocOp(MEMORY, resource="written"))
        state = m.put(MemoryStoreOp(alloc.memory, alloc.state, _splat(m))).result
        m.put(MemoryLoadOp(alloc.memory, state))


def cannot_store(m: Make) -> None:
    with m.parallel((1, 2), scope="worker"):
        alloc = m.put(MemoryAllocOp(MEMORY, resource="read"))
        m.put(MemoryStoreOp(alloc.memory, alloc.state, _splat(m)))


# ----------------------------------------------------------------------------------------------------------------- form


def root_op(m: Make) -> None:
    m.region(ReduceOp(space((1, 2))))


def no_root(m: Make) -> None:
    m.const()


BROKEN: Mapping[str, Broken] = MappingProxyType(
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
        "V-YIELD-1": yield_missing,
        "V-YIELD-2": yield_count,
        "V-YIELD-3": yield_types,
        "V-YIELD-4": yield_early,
        "V-EW-1": operand_kind,
        "V-EW-2": element_refused,
        "V-EW-3": elements_differ,
        "V-EW-4": result_element,
        "V-EW-5": tile_to_scalar,
        "V-EW-6": not_broadcast,
        "V-EW-7": axis_from_nowhere,
        "V-EW-8": condition,
        "V-EW-9": shape_changed,
        "V-EW-10": widths_differ,
        "V-EW-11": float8_arithmetic,
        "V-CONST-1": constant_kind,
        "V-CONST-2": constant_payload,
        "V-MAP-1": map_space,
        "V-MAP-2": map_body,
        "V-EXT-1": extract_count,
        "V-EXT-2": extract_index,
        "V-EXT-3": extract_element,
        "V-MMA-1": mma_result,
        "V-MMA-2": mma_a_dim,
        "V-MMA-3": mma_b_dim,
        "V-MMA-4": mma_contracted_extent,
        "V-MMA-5": mma_extent,
        "V-MMA-6": mma_c_dim,
        "V-MMA-7": mma_nothing,
        "V-MMA-8": mma_accumulator,
        "V-MMA-9": mma_operand,
        "V-SCAN-1": scan_empty,
        "V-SCAN-2": scan_spaces,
        "V-SCAN-3": scan_dim,
        "V-SCAN-4": scan_seed,
        "V-SCAN-5": scan_result,
        "V-SCAN-6": scan_body,
        "V-VIEW-1": index_count,
        "V-VIEW-2": index_type,
        "V-VIEW-3": tile_rank,
        "V-VIEW-4": load_element,
        "V-VIEW-5": fill_type,
        "V-VIEW-6": mask_type,
        "V-VIEW-7": mask_space,
        "V-VIEW-8": store_element,
        "V-VIEW-9": fill_alone,
        "V-UPD-1": update_coords,
        "V-UPD-2": update_coord_type,
        "V-UPD-3": update_value,
        "V-UPD-4": update_mask,
        "V-UPD-5": update_space,
        "V-PAR-1": race,
        "V-MEM-1": layout_domain,
        "V-MEM-2": layout_unsafe,
        "V-MEM-3": memory_load_type,
        "V-MEM-4": memory_store_type,
        "V-FLOW-1": foreign_state,
        "V-FLOW-2": stale_state,
        "V-FLOW-3": uninitialised,
        "V-FLOW-4": stale_yield,
        "V-FLOW-5": foreign_yield,
        "V-FLOW-6": stale_init,
        "V-FLOW-7": carried_twice,
        "V-FLOW-8": changed_outside,
        "V-SCOPE-1": unknown_scope,
        "V-SCOPE-2": scope_order,
        "V-RES-1": unknown_resource,
        "V-RES-2": cannot_load,
        "V-RES-3": cannot_store,
        "V-FORM-1": root_op,
        "V-FORM-2": no_root,
    }
)
# Those that need another signature or module than `Make()` gives.
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
        "V-VIEW-10": const_write,
        "V-UPD-6": update_reducer,
    }
)


def broken_module(rule: str) -> ModuleOp:
    """The module that violates `rule`."""
    if rule in BROKEN_MODULES:
        return BROKEN_MODULES[rule]()
    m = Make(labels={0: "m", 1: "g", 2: "k"})
    BROKEN[rule](m)
    return m.done()


__all__ = ["BOOL", "BROKEN", "BROKEN_MODULES", "FLAGS", "broken_module"]

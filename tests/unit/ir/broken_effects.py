"""Broken modules: races, manual memory, targets, the form of a kernel."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from xdsl.ir import SSAValue

from tests.unit.ir.making import Make, space, tile
from tilewright.core.dtypes import f32
from tilewright.ir.index_map import IndexMap, strided
from tilewright.ir.layout import coordinate
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import ReduceOp, SerialOp, YieldOp
from tilewright.ir.types import DimAttr, MemoryType, TileType, element_attr

F32 = element_attr(f32)
SPACE = space((0, 4))
TILE = tile((0, 4))
MEMORY = MemoryType(F32, SPACE)


def _splat(m: Make, kind: TileType = TILE) -> SSAValue:
    return m.splat(kind)


def _alloc(m: Make) -> MemoryAllocOp:
    return m.put(MemoryAllocOp(MEMORY))


def _stored(m: Make) -> tuple[MemoryAllocOp, SSAValue]:
    alloc = _alloc(m)
    return alloc, m.put(MemoryStoreOp(alloc.memory, alloc.state, _splat(m))).result


def race(m: Make) -> None:
    with m.parallel((1, 2)):
        m.put(StoreOp(m.args[0], [m.const()], _splat(m)))


def layout_domain(m: Make) -> None:
    m.put(MemoryAllocOp(MEMORY, layout=LayoutAttr.of(strided(space((1, 4)), DimAttr.of(9), (1,)))))


def layout_unsafe(m: Make) -> None:
    square = space((0, 4), (1, 4))
    skewed = IndexMap(square, space((9, 8)), (coordinate(DimAttr.of(0)) + coordinate(DimAttr.of(1)),))
    m.put(MemoryAllocOp(MemoryType(F32, square), layout=LayoutAttr.of(skewed)))


def storage_used(m: Make) -> None:
    """Four elements in storage of no cells, written and read."""
    none = LayoutAttr.of(IndexMap(SPACE, space((9, 0)), (coordinate(DimAttr.of(0)),)))
    alloc = m.put(MemoryAllocOp(MEMORY, layout=none))
    state = m.put(MemoryStoreOp(alloc.memory, alloc.state, _splat(m))).result
    m.put(MemoryLoadOp(alloc.memory, state))


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


def root_op(m: Make) -> None:
    m.region(ReduceOp(space((1, 2))))


def no_root(m: Make) -> None:
    m.const()


BROKEN: Mapping[str, Callable[[Make], object]] = MappingProxyType(
    {
        "V-PAR-1": race,
        "V-MEM-1": layout_domain,
        "V-MEM-2": layout_unsafe,
        "V-MEM-3": memory_load_type,
        "V-MEM-4": memory_store_type,
        "V-MEM-5": storage_used,
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

"""Broken modules: elementwise operations, tiles and accesses."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue

from tests.unit.ir.making import Make, space, tile, view
from tilewright.core.dtypes import boolean, f16, f32, f64, float8_e4m3fn, i32, i64
from tilewright.ir.attrs import Policy, UpdateKind
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.convert import BitcastOp, CastOp, SelectOp
from tilewright.ir.ops.elementwise import AddOp, AndOp, EqOp, ExpOp, NegOp
from tilewright.ir.ops.regions import YieldOp
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp, MmaOp, ScanOp
from tilewright.ir.types import I64, DimAttr, MemoryStateType, MemoryType, TileType, element_attr

F32 = element_attr(f32)
SPACE = space((0, 4))
TILE = tile((0, 4))
MEMORY = MemoryType(F32, SPACE)


def _splat(m: Make, kind: TileType = TILE) -> SSAValue:
    return m.splat(kind)


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


BROKEN: Mapping[str, Callable[[Make], object]] = MappingProxyType(
    {
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
    }
)
# These need another signature or module than `Make()` gives.
BROKEN_MODULES: Mapping[str, Callable[[], ModuleOp]] = MappingProxyType(
    {
        "V-VIEW-10": const_write,
        "V-UPD-6": update_reducer,
    }
)

"""Constants, maps, extraction and contraction."""

from xdsl.ir import SSAValue

from tilewright.analysis.ranges import interval_of
from tilewright.bridge.tirx.export import integers
from tilewright.bridge.tirx.export.casts import as_held, converted
from tilewright.bridge.tirx.export.context import Exporter, Point, Tile
from tilewright.bridge.tirx.export.representation import held, in_memory
from tilewright.bridge.tirx.nodes import Expr
from tilewright.core.dtypes import DType
from tilewright.ir.ops.regions import CarryingOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp, MmaOp
from tilewright.ir.types import DimAttr, SpaceAttr, dtype_of, element_of, is_tile, space_of

__all__ = ["export_constant", "export_extract", "export_map", "export_mma"]


def export_constant(cx: Exporter, op: ConstantOp) -> None:
    """The same value everywhere."""
    value = _literal(cx, dtype_of(element_of(op.result)), op.value.data)
    if is_tile(op.result):
        cx.tiles[op.result] = Tile(lambda _: value)
    else:
        cx.scalars[op.result] = value


def _literal(cx: Exporter, dtype: type[DType], bits: int) -> Expr:
    """The value of a bit pattern: a number that decimal text cannot blur."""
    n = cx.n
    if dtype.kind == "bool":
        return n.bool_(value=bool(bits))
    if dtype.is_integer:
        signed = dtype.is_signed and bits >> (dtype.bits - 1)
        return n.int_(held(dtype), bits - (1 << dtype.bits) if signed else bits)
    if dtype.bits >= 32:
        return n.exact_float(held(dtype), bits)
    return as_held(cx, dtype, n.int_(in_memory(dtype), bits))


def export_map(cx: Exporter, op: MapOp) -> None:
    """A nest whose body is that of the map, into a buffer."""
    space = op.space
    stored = cx.allocate(dtype_of(element_of(op.result)), space)
    with cx.nest(space, notes={"tile.independent": space.rank}) as indices:
        cx.scalars.update(zip(op.body.block.args, indices, strict=True))
        at = dict(zip(space.dims, indices, strict=True))
        cx.run(op.body.block, lambda values: cx.write(stored, at, cx.element(values[0], {})))
    cx.tiles[op.result] = cx.tile_of(stored)


def export_extract(cx: Exporter, op: ExtractOp) -> None:
    """One element. An index that is not proved to lie inside is brought there: some element, never foreign memory."""
    space, point = space_of(op.tile), dict[DimAttr, Expr]()
    for axis, value in zip(space.axes, op.coords, strict=True):
        known, index = interval_of(value), cx.element(value, {})
        if known is None or not known.within(axis.extent):
            last = cx.n.i64(max(axis.extent - 1, 0))
            index = cx.n.max(cx.n.min(index, last), cx.n.i64(0))
        point[axis.dim] = index
    cx.scalars[op.result] = cx.once(cx.element(op.tile, point))


def _dtype(value: SSAValue) -> type[DType]:
    return dtype_of(element_of(value))


def export_mma(cx: Exporter, op: MmaOp) -> None:
    """An independent nest over the result, and in it one ordered loop nest over the contracted coordinates: a chain of
    fused multiply-adds, lexicographic in a's axis order. What a loop carries and nobody else reads grows where it lies.
    """
    dtype, out = _dtype(op.c), space_of(op.c)
    contracted = SpaceAttr.of(axis for axis in space_of(op.a).axes if axis.dim not in out.dims)
    grown = cx.tiles[op.c].stored if _grows_in_place(op) else None
    stored = cx.allocate(dtype, out) if grown is None else grown
    notes = {"tile.independent": out.rank, "tile.mma": 1 + int(bool(op.reassociate))}
    with cx.nest(out, "m", notes) as free:
        at = dict(zip(out.dims, free, strict=True))
        if grown is None:
            cx.write(stored, at, cx.element(op.c, at))
        with cx.nest(contracted, "k") as steps:
            both: Point = {**at, **dict(zip(contracted.dims, steps, strict=True))}
            a, b = (converted(cx, cx.element(x, both), _dtype(x), dtype) for x in (op.a, op.b))
            cx.write(stored, at, _multiply_add(cx, dtype, a, b, cx.read(stored, at)))
    cx.tiles[op.result] = cx.tile_of(stored)
    cx.count("contractions")


def _grows_in_place(op: MmaOp) -> bool:
    """Whether c is carried by the loop around, read only here, and replaced by the result in every iteration."""
    block, loop = op.parent, op.parent_op()
    if not isinstance(loop, CarryingOp) or block is None or loop.when is not None:
        return False
    last = block.last_op
    pairs = zip(loop.carries, last.values, strict=True) if isinstance(last, YieldOp) else ()
    return op.c.has_one_use() and any(carry is op.c and value is op.result for carry, value in pairs)


def _multiply_add(cx: Exporter, dtype: type[DType], a: Expr, b: Expr, c: Expr) -> Expr:
    if dtype.is_float:
        return cx.n.intrinsic("llvm.fma", a, b, c)
    return integers.add(cx, dtype, (integers.mul(cx, dtype, (a, b)), c))

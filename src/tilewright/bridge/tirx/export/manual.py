"""Manual memory: a buffer that keeps its identity and its layout. States order accesses and need no storage."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tilewright.bridge.tirx.export import integers
from tilewright.bridge.tirx.export.context import Exporter, Notes, Point
from tilewright.bridge.tirx.nodes import Expr
from tilewright.core.dtypes import i64, u64
from tilewright.ir.index_expr import ExprKind, IndexExpr, in_order
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.types import SpaceAttr, compact_strides, dtype_of, memory_type

__all__ = ["export_memory_alloc", "export_memory_load", "export_memory_store"]


def export_memory_alloc(cx: Exporter, op: MemoryAllocOp) -> None:
    """Storage for all cells of the layout, marked so that no later pass takes it for a temporary."""
    kind = memory_type(op.memory)
    resource = {} if op.resource is None else {"tile.resource": op.resource.data}
    notes: Notes = {"tile.manual": 1, **resource}
    dtype = dtype_of(kind.element)
    if op.layout is None:
        cx.memories[op.memory] = cx.allocate(dtype, kind.space, "m", notes)
        return
    size = max(op.layout.codomain.volume, 1)
    cell = _cell(cx, op.layout, kind.space)
    cx.memories[op.memory] = cx.allocate_cells(dtype, kind.space, size, cell, "m", notes, "local")


def export_memory_load(cx: Exporter, op: MemoryLoadOp) -> None:
    """A copy of the contents: a later store does not change it."""
    memory = cx.memories[op.memory]
    stored = cx.allocate(memory.dtype, memory.space, notes={"tile.snapshot": 1})
    with cx.nest(memory.space, notes={"tile.independent": memory.space.rank}) as indices:
        point = dict(zip(memory.space.dims, indices, strict=True))
        cx.write(stored, point, cx.read(memory, point))
    cx.tiles[op.result] = cx.tile_of(stored)


def export_memory_store(cx: Exporter, op: MemoryStoreOp) -> None:
    """Every element of the value into its cell."""
    memory = cx.memories[op.memory]
    with cx.nest(memory.space, notes={"tile.independent": memory.space.rank}) as indices:
        point = dict(zip(memory.space.dims, indices, strict=True))
        cx.write(memory, point, cx.element(op.value, point))


def _cell(cx: Exporter, layout: LayoutAttr, space: SpaceAttr) -> Callable[[Point], Expr]:
    """The storage cell, row by row, of the element at a point. That it fits into 64 bits was proved on admission."""
    index_map = layout.map

    def cell(point: Point) -> Expr:
        coordinates = dict(zip(space.dims, cx.coordinates(space, point), strict=True))
        known: dict[int, Expr] = {}
        for node in in_order(index_map.outputs):
            known[id(node)] = _node(cx, node, known, coordinates)
        cells = [known[id(output)] for output in index_map.outputs]
        return cx.linear(cells, compact_strides(index_map.codomain.extents))

    return cell


def _node(cx: Exporter, node: IndexExpr, known: Mapping[int, Expr], point: Point) -> Expr:
    if node.dim is not None:
        return point[node.dim]
    if node.lhs is None or node.rhs is None:
        return cx.n.i64(node.value)
    return cx.once(_RULES[node.kind](cx, known[id(node.lhs)], known[id(node.rhs)]))


def _shr(cx: Exporter, a: Expr, b: Expr) -> Expr:
    """Logical: the shifts of layouts act on the bit pattern."""
    n = cx.n
    return n.cast("int64", integers.shift_right(cx, u64, (n.cast("uint64", a), n.cast("uint64", b))))


_RULES: Mapping[ExprKind, Callable[[Exporter, Expr, Expr], Expr]] = MappingProxyType(
    {
        ExprKind.ADD: lambda cx, a, b: cx.n.add(a, b),
        ExprKind.SUB: lambda cx, a, b: cx.n.sub(a, b),
        ExprKind.MUL: lambda cx, a, b: cx.n.mul(a, b),
        ExprKind.FLOOR_DIV: lambda cx, a, b: integers.floor_div(cx, i64, (a, b)),
        ExprKind.MOD: lambda cx, a, b: integers.floor_mod(cx, i64, (a, b)),
        ExprKind.XOR: lambda cx, a, b: cx.n.bit_xor(a, b),
        ExprKind.AND: lambda cx, a, b: cx.n.bit_and(a, b),
        ExprKind.SHL: lambda cx, a, b: integers.shift_left(cx, i64, (a, b)),
        ExprKind.SHR: _shr,
    }
)

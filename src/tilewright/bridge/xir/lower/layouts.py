"""Addresses under a layout: its index expressions over the coordinates of an element.

Sums and products keep lane steps, so that an affine layout gives contiguous or strided accesses. Everything else is
computed a lane at a time. A proof has shown that no point of the memory divides by zero, shifts too far or overflows;
lanes beyond it are switched off, and give some number without a trap.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import SSAValue

from tilewright.bridge.xir.lower.coords import Coord, CoordMath
from tilewright.bridge.xir.lower.integers import floor_div, floor_mod, shift_left, shift_right
from tilewright.core.dtypes import i64, u64
from tilewright.ir.index_expr import ExprKind, IndexExpr, in_order
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.types import compact_strides

__all__ = ["layout_address"]

Rule = Callable[[CoordMath, Coord, Coord], Coord]


def layout_address(math: CoordMath, layout: LayoutAttr, point: Mapping[int, Coord]) -> Coord:
    """The storage cell, row by row, of the element at `point`, which is given by the numbers of dimensions."""
    index_map = layout.map
    known: dict[int, Coord] = {}
    for node in in_order(index_map.outputs):
        known[id(node)] = _node(math, node, known, point)
    address = math.const(0)
    cells = compact_strides(index_map.codomain.extents)
    for output, stride in zip(index_map.outputs, cells, strict=True):
        address = math.add(address, math.scale(known[id(output)], stride))
    return address


def _node(math: CoordMath, node: IndexExpr, known: Mapping[int, Coord], point: Mapping[int, Coord]) -> Coord:
    if node.dim is not None:
        return point[node.dim.number]
    if node.lhs is None or node.rhs is None:
        return math.const(node.value)
    return _RULES[node.kind](math, known[id(node.lhs)], known[id(node.rhs)])


def _xor(math: CoordMath, a: Coord, b: Coord) -> Coord:
    return Coord(math.builder.xor(*_leveled(math, a, b)))


def _and(math: CoordMath, a: Coord, b: Coord) -> Coord:
    return Coord(math.builder.and_(*_leveled(math, a, b)))


def _floor_div(math: CoordMath, a: Coord, b: Coord) -> Coord:
    return Coord(floor_div(math.builder, i64, _leveled(math, a, b)))


def _floor_mod(math: CoordMath, a: Coord, b: Coord) -> Coord:
    return Coord(floor_mod(math.builder, i64, _leveled(math, a, b)))


def _shl(math: CoordMath, a: Coord, b: Coord) -> Coord:
    return Coord(shift_left(math.builder, i64, _leveled(math, a, b)))


def _shr(math: CoordMath, a: Coord, b: Coord) -> Coord:
    """Logical: the shifts of layouts act on the bit pattern."""
    return Coord(shift_right(math.builder, u64, _leveled(math, a, b)))


def _leveled(math: CoordMath, a: Coord, b: Coord) -> Sequence[SSAValue]:
    """Both scalars, or both vectors."""
    if a.is_uniform and b.is_uniform:
        return a.base, b.base
    return math.vector(a), math.vector(b)


_RULES: Mapping[ExprKind, Rule] = MappingProxyType(
    {
        ExprKind.ADD: CoordMath.add,
        ExprKind.SUB: CoordMath.sub,
        ExprKind.MUL: CoordMath.mul,
        ExprKind.FLOOR_DIV: _floor_div,
        ExprKind.MOD: _floor_mod,
        ExprKind.XOR: _xor,
        ExprKind.AND: _and,
        ExprKind.SHL: _shl,
        ExprKind.SHR: _shr,
    }
)

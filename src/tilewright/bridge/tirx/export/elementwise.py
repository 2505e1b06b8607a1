"""One rule for each elementwise operation, on held values of one point.

Half types are computed in float32 and rounded once, here. A product is fenced where it may meet a sum, because LLVM
would round both at once; see `_fenced`.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.ranges import interval_of
from tilewright.bridge.tirx.export import casts, integers
from tilewright.bridge.tirx.export.context import Exporter, Point, Tile
from tilewright.bridge.tirx.export.functions import FUNCTIONS
from tilewright.bridge.tirx.export.representation import held, is_narrow
from tilewright.bridge.tirx.nodes import Expr
from tilewright.bridge.tirx.providers.arrays import map_notes
from tilewright.core.dtypes import DType
from tilewright.ir.effects import reads
from tilewright.ir.ops import access, convert, regions, tiles
from tilewright.ir.ops import elementwise as ops
from tilewright.ir.types import dtype_of, element_of, is_tile, space_of

__all__ = ["RULES", "export_elementwise"]

Operands = Sequence[Expr]
Rule = Callable[[Exporter, type[DType], Operands], Expr]


def export_elementwise(cx: Exporter, op: ops.ElementwiseOp) -> None:
    """A scalar: its value. A tile: an expression of its elements, or a buffer of them where it is shared."""
    if not is_tile(op.result):
        cx.scalars[op.result] = _kept(cx, op, _value(cx, op, {}))
        return
    tile = Tile(lambda point: _value(cx, op, point))
    if not cx.sharing.is_stored(op.result):
        cx.tiles[op.result] = tile
        return
    space = space_of(op.result)
    stored = cx.allocate(_dtype(op.result), space, notes={"tile.materialized": 1})
    notes = {"tile.independent": space.rank, "tile.materialized": 1, **map_notes(op)}
    with cx.nest(space, notes=notes) as indices:
        point = dict(zip(space.dims, indices, strict=True))
        cx.write(stored, point, tile.at(point))
    cx.tiles[op.result] = cx.tile_of(stored)
    cx.count("shared tiles")


def _kept(cx: Exporter, op: ops.ElementwiseOp, value: Expr) -> Expr:
    """A scalar with several uses, or one further in, is computed once: under a name if it is a plain index."""
    uses = list(op.result.uses)
    near = len(uses) == 1 and uses[0].operation.parent_block() is op.parent_block()
    if near and not uses[0].operation.regions:
        return value
    return cx.bind(value) if _is_index(op.result, _DEPTH) else cx.once(value)


_DEPTH = 4


def _is_index(value: SSAValue, depth: int) -> bool:
    """Whether an i64 is made of indices and constants by few operations that keep it inside 64 bits."""
    op = value.owner
    if isinstance(op, tiles.ConstantOp) or not isinstance(op, Operation):
        return True
    plain = depth > 0 and type(op) in _PROVED and interval_of(value) is not None
    return plain and all(_is_index(operand, depth - 1) for operand in op.operands)


def _value(cx: Exporter, op: ops.ElementwiseOp, point: Point) -> Expr:
    operands = [cx.element(value, point) for value in op.operands]
    dtype = _dtype(op.operands[-1])
    if isinstance(op, convert.CastOp):
        return casts.converted(cx, operands[0], dtype, _dtype(op.result), saturating=bool(op.saturating))
    if isinstance(op, convert.BitcastOp):
        return casts.bitcast(cx, operands[0], dtype, _dtype(op.result))
    plain = _PROVED.get(type(op)) if dtype.name == "i64" else None
    if plain is not None and interval_of(op.result) is not None:
        return plain(cx, operands)
    return _finished(cx, op, RULES[type(op)](cx, dtype, operands))


def _dtype(value: SSAValue) -> type[DType]:
    return dtype_of(element_of(value))


def _finished(cx: Exporter, op: ops.ElementwiseOp, value: Expr) -> Expr:
    dtype = _dtype(op.result)
    if is_narrow(dtype):
        return value if isinstance(op, _EXACT) else casts.rounded(cx, dtype, value)
    if dtype.is_float and isinstance(op, _PRODUCTS) and not _meets_no_sum(op.result):
        cx.count("fences")
        return cx.n.intrinsic("llvm.arithmetic.fence", value)
    return value


_EXACT = (
    ops.NegOp, ops.AbsOp, ops.MinOp, ops.MaxOp, convert.SelectOp, ops.FloorOp, ops.CeilOp, ops.TruncOp, ops.RoundOp,
)  # fmt: skip
# LLVM makes a division by a power of two, and a power of 2, a product.
_PRODUCTS = (ops.MulOp, ops.DivOp, ops.PowOp)
_APART = (
    ops.MulOp, ops.DivOp, ops.CompareOp, ops.PredicateOp, convert.CastOp, convert.BitcastOp, tiles.MmaOp,
    *(ops.ExpOp, ops.Exp2Op, ops.LogOp, ops.Log2Op, ops.SqrtOp, ops.RsqrtOp, ops.SinOp, ops.CosOp, ops.TanhOp),
    *(ops.ErfOp, ops.SigmoidOp, ops.PowOp, ops.FloorOp, ops.CeilOp, ops.RoundOp, ops.TruncOp),
)  # fmt: skip


def _meets_no_sum(product: SSAValue) -> bool:
    """Whether no addition can see the product: TVM permits LLVM to contract wherever it meets both.

    Through memory it meets them too, so a stored product is apart only if the kernel never reads where it went.
    """
    for use in product.uses:
        reader = use.operation
        if isinstance(reader, access.StoreOp | access.StoreElementOp):
            if reader.view in reads(_kernel_of(reader)):
                return False
        elif isinstance(reader, convert.CastOp):
            if _dtype(reader.result).is_float:
                return False
        elif not isinstance(reader, _APART):
            return False
    return True


def _kernel_of(op: Operation) -> Operation:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, regions.KernelOp):
        parent = parent.parent_op()
    return op if parent is None else parent


# ---- i64 arithmetic that a proof keeps inside 64 bits

_PROVED: Mapping[type[Operation], Callable[[Exporter, Operands], Expr]] = MappingProxyType(
    {
        ops.AddOp: lambda cx, o: cx.n.add(*o),
        ops.SubOp: lambda cx, o: cx.n.sub(*o),
        ops.MulOp: lambda cx, o: cx.n.mul(*o),
        ops.NegOp: lambda cx, o: cx.n.sub(cx.n.i64(0), *o),
        ops.FloorDivOp: lambda cx, o: cx.n.floordiv(*o),
        ops.FloorModOp: lambda cx, o: cx.n.floormod(*o),
    }
)

# ---- rules


def _float_or_integer(
    floats: Callable[[Exporter, Operands], Expr], whole: Callable[[Exporter, type[DType], Operands], Expr]
) -> Rule:
    return lambda cx, dtype, operands: floats(cx, operands) if dtype.is_float else whole(cx, dtype, operands)


def _function(name: str) -> Rule:
    return lambda cx, _dtype, operands: FUNCTIONS[name](cx, operands)


def _bits(numbers: Callable[[Exporter, Operands], Expr], booleans: Callable[[Exporter, Operands], Expr]) -> Rule:
    return lambda cx, dtype, operands: (booleans if dtype.kind == "bool" else numbers)(cx, operands)


def _compare(compare: Callable[[Exporter, Operands], Expr]) -> Rule:
    def rule(cx: Exporter, _dtype: type[DType], operands: Operands) -> Expr:
        return compare(cx, [cx.n.as_byte(operand) for operand in operands])

    return rule


def _negative(cx: Exporter, operands: Operands) -> Expr:
    """By the sign bit, which -0 and NaN have too."""
    n, x = cx.n, operands[0]
    kind = n.dtype(x)
    bits = int(kind.removeprefix("float"))
    word = n.reinterpret(f"int{bits}", x)
    return n.reinterpret(kind, n.bit_xor(word, n.int_(f"int{bits}", -(1 << (bits - 1)))))


def _abs_integer(cx: Exporter, dtype: type[DType], operands: Operands) -> Expr:
    if not dtype.is_signed:
        return operands[0]
    x = cx.once(operands[0])
    return cx.n.select(cx.n.lt(x, cx.n.int_(held(dtype), 0)), integers.neg(cx, dtype, x), x)


def _larger(cx: Exporter, operands: Operands) -> Expr:
    """NaN if either is: TVM's own maximum forgets one."""
    n, (a, b) = cx.n, map(cx.once, operands)
    return n.select(n.or_(n.gt(a, b), n.ne(a, a)), a, b)


def _smaller(cx: Exporter, operands: Operands) -> Expr:
    n, (a, b) = cx.n, map(cx.once, operands)
    return n.select(n.or_(n.lt(a, b), n.ne(a, a)), a, b)


def _xor(cx: Exporter, operands: Operands) -> Expr:
    n, (a, b) = cx.n, map(cx.once, operands)
    return n.or_(n.and_(a, n.not_(b)), n.and_(n.not_(a), b))


def _is_infinite(cx: Exporter, operands: Operands) -> Expr:
    n, x = cx.n, operands[0]
    return n.eq(n.intrinsic("llvm.fabs", x), n.float_(n.dtype(x), float("inf")))


def _is_nan(cx: Exporter, operands: Operands) -> Expr:
    x = cx.once(operands[0])
    return cx.n.ne(x, x)


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        ops.NegOp: _float_or_integer(_negative, lambda cx, dtype, o: integers.neg(cx, dtype, o[0])),
        ops.AbsOp: _float_or_integer(lambda cx, o: cx.n.intrinsic("llvm.fabs", *o), _abs_integer),
        ops.NotOp: _bits(lambda cx, o: cx.n.bit_not(*o), lambda cx, o: cx.n.not_(*o)),
        ops.LogicalNotOp: lambda cx, _, o: cx.n.not_(*o),
        **{
            op: _function(op.name.removeprefix("tile."))
            for op in (
                *(ops.ExpOp, ops.Exp2Op, ops.LogOp, ops.Log2Op, ops.SqrtOp, ops.RsqrtOp, ops.SinOp, ops.CosOp),
                *(ops.TanhOp, ops.ErfOp, ops.SigmoidOp, ops.FloorOp, ops.CeilOp, ops.RoundOp, ops.TruncOp),
            )
        },
        ops.AddOp: _float_or_integer(lambda cx, o: cx.n.add(*o), integers.add),
        ops.SubOp: _float_or_integer(lambda cx, o: cx.n.sub(*o), integers.sub),
        ops.MulOp: _float_or_integer(lambda cx, o: cx.n.mul(*o), integers.mul),
        ops.DivOp: lambda cx, _, o: cx.n.div(*o),
        ops.FloorDivOp: integers.floor_div,
        ops.FloorModOp: integers.floor_mod,
        ops.TruncDivOp: integers.trunc_div,
        ops.TruncModOp: integers.trunc_mod,
        ops.MinOp: _float_or_integer(_smaller, lambda cx, _, o: cx.n.min(*o)),
        ops.MaxOp: _float_or_integer(_larger, lambda cx, _, o: cx.n.max(*o)),
        ops.PowOp: _float_or_integer(FUNCTIONS["pow"], integers.power),
        ops.AndOp: _bits(lambda cx, o: cx.n.bit_and(*o), lambda cx, o: cx.n.and_(*o)),
        ops.OrOp: _bits(lambda cx, o: cx.n.bit_or(*o), lambda cx, o: cx.n.or_(*o)),
        ops.XorOp: _bits(lambda cx, o: cx.n.bit_xor(*o), _xor),
        ops.ShlOp: integers.shift_left,
        ops.ShrOp: integers.shift_right,
        ops.LogicalAndOp: lambda cx, _, o: cx.n.and_(*o),
        ops.LogicalOrOp: lambda cx, _, o: cx.n.or_(*o),
        ops.EqOp: _compare(lambda cx, o: cx.n.eq(*o)),
        ops.NeOp: _compare(lambda cx, o: cx.n.ne(*o)),
        ops.LtOp: _compare(lambda cx, o: cx.n.lt(*o)),
        ops.LeOp: _compare(lambda cx, o: cx.n.le(*o)),
        ops.GtOp: _compare(lambda cx, o: cx.n.gt(*o)),
        ops.GeOp: _compare(lambda cx, o: cx.n.ge(*o)),
        ops.IsNanOp: lambda cx, _, o: _is_nan(cx, o),
        ops.IsInfOp: lambda cx, _, o: _is_infinite(cx, o),
        convert.SelectOp: lambda cx, _, o: cx.n.select(*o),
    }
)

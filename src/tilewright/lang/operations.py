"""Elementwise operations on IR values: operands checked, literals converted, spaces joined."""

from collections.abc import Callable, Sequence
from typing import NoReturn, Protocol

from xdsl.ir import Attribute, SSAValue

from tilewright.analysis.affine import constant_of
from tilewright.analysis.ranges import interval_of
from tilewright.core.codes.types import (
    BAD_INDEX,
    BAD_LITERAL,
    BAD_OPERAND,
    DTYPE_MISMATCH,
    NOT_BOOLEAN,
    NOT_DEFINED,
    RANK_MISMATCH,
    SHAPE_CHANGE,
)
from tilewright.core.dtypes import DType, boolean, i64, u64
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.ops.convert import BitcastOp, CastOp, SelectOp
from tilewright.ir.ops.elementwise import (
    BinaryOp,
    CompareOp,
    DivOp,
    FloorDivOp,
    FloorModOp,
    LogicalAndOp,
    LogicalOrOp,
    PredicateOp,
    TruncDivOp,
    TruncModOp,
    UnaryOp,
)
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp
from tilewright.ir.types import BOOL, POINT, DimAttr, SpaceAttr, TileType, element_attr, element_of, is_tile, space_of
from tilewright.lang.base import StagedBase, use
from tilewright.lang.broadcast import joint_space
from tilewright.lang.conditions import open_arm, where_it_matters
from tilewright.lang.context import emit
from tilewright.lang.refusing import NotAValue
from tilewright.lang.spaces import Coord, counted_axes
from tilewright.numerics.bits import to_bits
from tilewright.numerics.cast import exact_literal, literal
from tilewright.numerics.scalars import Number, as_number

__all__ = [
    "Coordinates", "as_index", "as_number", "binary", "bitcast_to", "cast_to", "condition", "constant", "extract",
    "lifted", "logical", "select", "typed", "unary",
]  # fmt: skip

_INTEGER_DIVISIONS = (FloorDivOp, FloorModOp, TruncDivOp, TruncModOp)


class Coordinates(Protocol):
    """A handle that knows the coordinates of the open regions."""

    def coordinate(self, dim: DimAttr) -> SSAValue:
        """The coordinate along `dim`; an error when no open region has it."""
        ...


def constant(dtype: type[DType], value: Number, space: SpaceAttr | None = None) -> SSAValue:
    """A constant scalar, or with `space` a tile of it. Raises TileTypeError (TW206) when `dtype` cannot hold it."""
    if not exact_literal(value, dtype):
        raise TileTypeError(BAD_LITERAL.at(user_span(), value=value, dtype=dtype))
    bits = int(to_bits(dtype, literal(value, dtype)))
    kind: Attribute = element_attr(dtype) if space is None else TileType.of(dtype, space)
    return emit(ConstantOp(bits, kind)).result


def lifted(value: object, dtype: type[DType], op: str) -> SSAValue:
    """An operand of type `dtype`: a staged value that has it, or a literal that it holds.

    Raises TileTypeError: TW205 for another element type, TW206 for a literal, TW207 for anything else.
    """
    if isinstance(value, StagedBase):
        if value.dtype != dtype:
            raise TileTypeError(
                DTYPE_MISMATCH.at(user_span(), op=op, a=value.describe(), b=f"a value of {dtype!r}", target=dtype)
            )
        return use(value)
    number = as_number(value)
    if number is None:
        _refuse_operand(value, op)
    return constant(dtype, number)


def typed(value: object, op: str) -> StagedBase:
    """A staged operand. Raises TileTypeError (TW207) for a host value."""
    if isinstance(value, StagedBase):
        return value
    if as_number(value) is None:
        _refuse_operand(value, op)
    remedy = "make it staged, as in scalar(f32, x) or full(f32, shape(...), x)"
    raise TileTypeError(BAD_OPERAND.at(user_span(), what=f"the host number {value!r}", op=op, remedy=remedy))


def _refuse_operand(value: object, op: str) -> NoReturn:
    if isinstance(value, NotAValue):
        value.refuse()
    what = repr(value) if isinstance(value, str | type(None)) else f"a {type(value).__name__}"
    remedy = "read arrays through a view parameter" if hasattr(value, "__array__") else "use a tile, scalar or number"
    raise TileTypeError(BAD_OPERAND.at(user_span(), what=what, op=op, remedy=remedy))


def _element(operands: Sequence[object], op: str) -> type[DType]:
    """The one element type of the staged operands (TW205 when they differ)."""
    staged = [item for item in operands if isinstance(item, StagedBase)]
    first = staged[0] if staged else typed(operands[0], op)
    for other in staged[1:]:
        if other.dtype != first.dtype:
            raise TileTypeError(
                DTYPE_MISMATCH.at(user_span(), op=op, a=first.describe(), b=other.describe(), target=first.dtype)
            )
    return first.dtype


def _result_type(op: str, element: Attribute, operands: Sequence[SSAValue]) -> Attribute:
    spaces = [space_of(operand) for operand in operands if is_tile(operand)]
    return TileType(element, joint_space(op, spaces)) if spaces else element


def _require(op: type[UnaryOp] | type[BinaryOp], symbol: str, dtype: type[DType]) -> None:
    accepts: Callable[[type[DType]], bool] = op.accepts
    if dtype.bits == 8 and dtype.is_float:
        reason = "eight-bit floats are for storage: their arithmetic differs from target to target"
        remedy = "convert to f16, bf16 or f32 first, as in cast(f32, x)"
    elif not accepts(dtype):
        reason, remedy = _why_not(op, dtype)
    else:
        return
    raise TileTypeError(NOT_DEFINED.at(user_span(), op=symbol, dtype=dtype, reason=reason, remedy=remedy))


def _why_not(op: type[UnaryOp] | type[BinaryOp], dtype: type[DType]) -> tuple[str, str]:
    if op is DivOp and dtype.is_integer:
        return "a quotient of integers is no integer", "write // for the quotient rounded down, or convert to a float"
    if op is FloorDivOp and dtype.is_float:
        return "// is the quotient of integers rounded down", "write floor(x / y)"
    if dtype == boolean:
        return "a truth value is not a number", "use `and`, `or`, `not`, or convert it with cast(i32, x)"
    return f"the operation does not exist for {dtype!r}", "convert the operand, as in cast(f32, x)"


def unary(op: type[UnaryOp], symbol: str, operand: object) -> SSAValue:
    """One unary operation. Raises TileTypeError: TW207 for a host operand, TW208 for an element type without it."""
    value = typed(operand, symbol)
    _require(op, symbol, value.dtype)
    ssa = use(value)
    element = BOOL if issubclass(op, PredicateOp) else element_of(ssa)
    return emit(op(ssa, _result_type(symbol, element, [ssa]))).result


def binary(op: type[BinaryOp], symbol: str, lhs: object, rhs: object) -> SSAValue:
    """One binary operation with identity broadcast; a literal takes the element type of the other side.

    Raises TileTypeError: TW205 for two element types, TW206 for a literal, TW207 for a host object, TW208 for an
    element type without the operation, TW209 for spaces that do not fit.
    """
    for item in (lhs, rhs):
        if not isinstance(item, StagedBase) and as_number(item) is None:
            _refuse_operand(item, symbol)
    dtype = _element((lhs, rhs), symbol)
    _require(op, symbol, dtype)
    a, b = lifted(lhs, dtype, symbol), lifted(rhs, dtype, symbol)
    if issubclass(op, _INTEGER_DIVISIONS) and dtype.is_integer:
        b = _divisor(b, a, dtype)
    element = BOOL if issubclass(op, CompareOp) else element_attr(dtype)
    return emit(op(a, b, _result_type(symbol, element, [a, b]))).result


def _divisor(divisor: SSAValue, dividend: SSAValue, dtype: type[DType]) -> SSAValue:
    """The divisor, but 1 where an open arm is not taken: there it may be 0."""
    if open_arm() is None or constant_of(divisor):
        return divisor
    spaces = [space_of(each) for each in (dividend, divisor) if is_tile(each)]
    return where_it_matters(divisor, constant(dtype, 1), joint_space("division", spaces) if spaces else POINT)


def _place(item: object, extent: int) -> SSAValue:
    """A coordinate inside a tile, but 0 where an open arm is not taken: there it may lie outside."""
    index = as_index(item)
    interval = interval_of(index)
    if open_arm() is None or (interval is not None and interval.within(extent)):
        return index
    return where_it_matters(index, constant(i64, 0), POINT)


def select(mask: object, on_true: object, on_false: object) -> SSAValue:
    """`on_true` where the condition holds, else `on_false`; both are evaluated. One of them is staged."""
    test = condition(mask, "the condition")
    dtype = _element((on_true, on_false), "where")
    a, b = lifted(on_true, dtype, "where"), lifted(on_false, dtype, "where")
    return emit(SelectOp(test, a, b, _result_type("where", element_attr(dtype), [a, b, test]))).result


def condition(value: object, role: str) -> SSAValue:
    """A boolean operand; host truth values are lifted. Raises TileTypeError (TW217) for anything else."""
    if isinstance(value, StagedBase):
        if value.dtype != boolean:
            raise TileTypeError(NOT_BOOLEAN.at(user_span(), role=role, what=value.describe()))
        return use(value)
    number = as_number(value)
    if isinstance(number, bool):
        return constant(boolean, number)
    if isinstance(value, NotAValue):
        value.refuse()
    raise TileTypeError(NOT_BOOLEAN.at(user_span(), role=role, what=repr(value)))


def cast_to(dtype: type[DType], operand: object, *, saturating: bool = False) -> SSAValue:
    """The operand converted to `dtype`; itself when it has that type already."""
    value = typed(operand, "cast")
    ssa = use(value)
    if value.dtype == dtype:
        return ssa
    return emit(CastOp(ssa, _result_type("cast", element_attr(dtype), [ssa]), saturating=saturating)).result


def bitcast_to(dtype: type[DType], operand: object) -> SSAValue:
    """The same bits as another element type. Raises TileTypeError (TW216) for another width."""
    value = typed(operand, "bitcast")
    if value.dtype.bits != dtype.bits:
        raise TileTypeError(
            SHAPE_CHANGE.at(
                user_span(), op="bitcast", before=repr(value.dtype), after=repr(dtype),
                reason="the bits of a value are kept, so both types have the same number of them",
                remedy="use cast, which converts the value",
            )
        )  # fmt: skip
    ssa = use(value)
    return emit(BitcastOp(ssa, _result_type("bitcast", element_attr(dtype), [ssa]))).result


def as_index(value: object) -> SSAValue:
    """A coordinate as an i64 scalar. Raises TileTypeError (TW219) for what is no integer scalar that fits."""
    if isinstance(value, StagedBase):
        if is_tile(value.ssa) or not value.dtype.is_integer or value.dtype == u64:
            remedy = "take one element with x.at(...), and convert it with cast(i64, x)"
            raise TileTypeError(BAD_INDEX.at(user_span(), what=value.describe(), remedy=remedy))
        return cast_to(i64, value)
    number = as_number(value)
    if isinstance(number, int) and not isinstance(number, bool):
        return constant(i64, number)
    if isinstance(value, NotAValue):
        value.refuse()
    raise TileTypeError(BAD_INDEX.at(user_span(), what=repr(value), remedy="use a Python int or a staged integer"))


def extract(tile: StagedBase, where: Coord | Coordinates) -> SSAValue:
    """One element of a tile. Raises TileTypeError (TW210) when the position has another rank."""
    ssa = use(tile)
    dims = tile.space.dims
    if not isinstance(where, Coord):
        return emit(ExtractOp(ssa, [where.coordinate(dim) for dim in dims])).result
    if len(where.items) != len(dims):
        what = "the position of an element"
        raise TileTypeError(
            RANK_MISMATCH.at(
                user_span(), what=what, got=counted_axes(len(where.items)), expected=len(dims), view=tile.describe()
            )
        )
    places = [_place(item, extent) for item, extent in zip(where.items, tile.space.extents, strict=True)]
    return emit(ExtractOp(ssa, places)).result


def logical(op: type[LogicalAndOp] | type[LogicalOrOp], symbol: str, lhs: object, rhs: object) -> SSAValue:
    """Both or either of two conditions. Raises TileTypeError (TW217) for what is no condition."""
    a, b = condition(lhs, f"the left side of {symbol}"), condition(rhs, f"the right side of {symbol}")
    return emit(op(a, b, _result_type(symbol, BOOL, [a, b]))).result

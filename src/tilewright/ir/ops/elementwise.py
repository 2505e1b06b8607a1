"""Elementwise operations: one class each on three bases.

Operands are scalars or tiles of the result's element type unless an operation says otherwise; a tile operand broadcasts
into the result by dimension identity (a missing dimension repeats, an extent of 1 repeats), a scalar everywhere.
"""

from typing import ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

from tilewright.core.dtypes import DType
from tilewright.ir.ops.base import ANY


class ElementwiseOp(IRDLOperation):
    """Base of all elementwise operations. `opcode` is the name of the scalar meaning in `numerics.elementwise`."""

    result = result_def(ANY)

    @property
    def opcode(self) -> str:
        return self.name.removeprefix("tile.")


def accepts_numbers(dtype: type[DType]) -> bool:
    return dtype.kind != "bool"


def accepts_floats(dtype: type[DType]) -> bool:
    return dtype.kind == "float"


def accepts_integers(dtype: type[DType]) -> bool:
    return dtype.kind in ("int", "uint")


def accepts_integers_and_booleans(dtype: type[DType]) -> bool:
    return dtype.kind != "float"


def accepts_booleans(dtype: type[DType]) -> bool:
    return dtype.kind == "bool"


def accepts_all(_dtype: type[DType]) -> bool:
    return True


class UnaryOp(ElementwiseOp):
    """One operand of the result's element type."""

    accepts = staticmethod(accepts_numbers)
    operand = operand_def(ANY)
    assembly_format: ClassVar[str | None] = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, result_type: Attribute):
        super().__init__(operands=[operand], result_types=[result_type])


class BinaryOp(ElementwiseOp):
    """Two operands of one element type, which is the result's too."""

    accepts = staticmethod(accepts_numbers)
    lhs = operand_def(ANY)
    rhs = operand_def(ANY)
    assembly_format: ClassVar[str | None] = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, result_type: Attribute):
        super().__init__(operands=[lhs, rhs], result_types=[result_type])


class CompareOp(BinaryOp):
    """Two operands of one element type; the result is boolean."""

    accepts = staticmethod(accepts_all)


class PredicateOp(UnaryOp):
    """A float operand; the result is boolean."""

    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class NegOp(UnaryOp):
    """-x; integers wrap."""

    name = "tile.neg"


@irdl_op_definition
class AbsOp(UnaryOp):
    """|x|; the smallest integer wraps to itself."""

    name = "tile.abs"


@irdl_op_definition
class NotOp(UnaryOp):
    """Bitwise complement."""

    name = "tile.not"
    accepts = staticmethod(accepts_integers_and_booleans)


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """Boolean negation."""

    name = "tile.logical_not"
    accepts = staticmethod(accepts_booleans)


@irdl_op_definition
class ExpOp(UnaryOp):
    """e to the x."""

    name = "tile.exp"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class Exp2Op(UnaryOp):
    """2 to the x."""

    name = "tile.exp2"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class LogOp(UnaryOp):
    """Natural logarithm."""

    name = "tile.log"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class Log2Op(UnaryOp):
    """Base-2 logarithm."""

    name = "tile.log2"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class SqrtOp(UnaryOp):
    """Correctly rounded square root."""

    name = "tile.sqrt"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """1 / sqrt(x)."""

    name = "tile.rsqrt"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class SinOp(UnaryOp):
    """Sine."""

    name = "tile.sin"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class CosOp(UnaryOp):
    """Cosine."""

    name = "tile.cos"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class TanhOp(UnaryOp):
    """Hyperbolic tangent."""

    name = "tile.tanh"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class ErfOp(UnaryOp):
    """Error function."""

    name = "tile.erf"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x))."""

    name = "tile.sigmoid"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class FloorOp(UnaryOp):
    """Round toward minus infinity."""

    name = "tile.floor"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class CeilOp(UnaryOp):
    """Round toward plus infinity."""

    name = "tile.ceil"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class RoundOp(UnaryOp):
    """Round to nearest, ties to even."""

    name = "tile.round"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class TruncOp(UnaryOp):
    """Round toward zero."""

    name = "tile.trunc"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class AddOp(BinaryOp):
    """x + y; integers wrap."""

    name = "tile.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """x - y; integers wrap."""

    name = "tile.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """x * y; integers wrap."""

    name = "tile.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """Float division, correctly rounded."""

    name = "tile.div"
    accepts = staticmethod(accepts_floats)


@irdl_op_definition
class FloorDivOp(BinaryOp):
    """Integer quotient rounded toward minus infinity."""

    name = "tile.floor_div"
    accepts = staticmethod(accepts_integers)


@irdl_op_definition
class FloorModOp(BinaryOp):
    """Integer remainder with the divisor's sign."""

    name = "tile.floor_mod"
    accepts = staticmethod(accepts_integers)


@irdl_op_definition
class TruncDivOp(BinaryOp):
    """Integer quotient rounded toward zero."""

    name = "tile.trunc_div"
    accepts = staticmethod(accepts_integers)


@irdl_op_definition
class TruncModOp(BinaryOp):
    """Integer remainder with the dividend's sign."""

    name = "tile.trunc_mod"
    accepts = staticmethod(accepts_integers)


@irdl_op_definition
class MinOp(BinaryOp):
    """The smaller; NaN if either is NaN."""

    name = "tile.min"


@irdl_op_definition
class MaxOp(BinaryOp):
    """The larger; NaN if either is NaN."""

    name = "tile.max"


@irdl_op_definition
class PowOp(BinaryOp):
    """x to the y."""

    name = "tile.pow"


@irdl_op_definition
class AndOp(BinaryOp):
    """Bitwise and."""

    name = "tile.and"
    accepts = staticmethod(accepts_integers_and_booleans)


@irdl_op_definition
class OrOp(BinaryOp):
    """Bitwise or."""

    name = "tile.or"
    accepts = staticmethod(accepts_integers_and_booleans)


@irdl_op_definition
class XorOp(BinaryOp):
    """Bitwise exclusive or."""

    name = "tile.xor"
    accepts = staticmethod(accepts_integers_and_booleans)


@irdl_op_definition
class ShlOp(BinaryOp):
    """Shift left."""

    name = "tile.shl"
    accepts = staticmethod(accepts_integers)


@irdl_op_definition
class ShrOp(BinaryOp):
    """Shift right; arithmetic for signed types."""

    name = "tile.shr"
    accepts = staticmethod(accepts_integers)


@irdl_op_definition
class LogicalAndOp(BinaryOp):
    """Both."""

    name = "tile.logical_and"
    accepts = staticmethod(accepts_booleans)


@irdl_op_definition
class LogicalOrOp(BinaryOp):
    """Either."""

    name = "tile.logical_or"
    accepts = staticmethod(accepts_booleans)


@irdl_op_definition
class EqOp(CompareOp):
    """x == y."""

    name = "tile.eq"


@irdl_op_definition
class NeOp(CompareOp):
    """x != y."""

    name = "tile.ne"


@irdl_op_definition
class LtOp(CompareOp):
    """x < y."""

    name = "tile.lt"


@irdl_op_definition
class LeOp(CompareOp):
    """x <= y."""

    name = "tile.le"


@irdl_op_definition
class GtOp(CompareOp):
    """x > y."""

    name = "tile.gt"


@irdl_op_definition
class GeOp(CompareOp):
    """x >= y."""

    name = "tile.ge"


@irdl_op_definition
class IsNanOp(PredicateOp):
    """Whether x is NaN."""

    name = "tile.isnan"


@irdl_op_definition
class IsInfOp(PredicateOp):
    """Whether x is an infinity."""

    name = "tile.isinf"

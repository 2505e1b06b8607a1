"""Elementwise operations that choose or convert: select, cast, bitcast."""

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import ParsePropInAttrDict, irdl_op_definition, operand_def, prop_def

from tilewright.ir.ops.base import ANY
from tilewright.ir.ops.elementwise import ElementwiseOp


@irdl_op_definition
class SelectOp(ElementwiseOp):
    """`on_true` where `condition` holds, else `on_false`. Both are evaluated."""

    name = "tile.select"
    condition = operand_def(ANY)
    on_true = operand_def(ANY)
    on_false = operand_def(ANY)
    assembly_format: ClassVar[str | None] = (
        "$condition `,` $on_true `,` $on_false attr-dict `:` "
        "type($condition) `,` type($on_true) `,` type($on_false) `->` type($result)"
    )

    def __init__(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue, result_type: Attribute):
        super().__init__(operands=[condition, on_true, on_false], result_types=[result_type])


@irdl_op_definition
class CastOp(ElementwiseOp):
    """Value-preserving conversion to another element type, rounded once; never changes scalar to tile.

    `saturating` concerns float8 targets only: overflow becomes the largest finite value instead of NaN or infinity.
    """

    name = "tile.cast"
    operand = operand_def(ANY)
    saturating = prop_def(BoolAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format: ClassVar[str | None] = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, result_type: Attribute, *, saturating: bool = False):
        properties: dict[str, Attribute] = {"saturating": BoolAttr.from_bool(saturating)}
        super().__init__(operands=[operand], result_types=[result_type], properties=properties)


@irdl_op_definition
class BitcastOp(ElementwiseOp):
    """The same bits as another element type of equal width."""

    name = "tile.bitcast"
    operand = operand_def(ANY)
    assembly_format: ClassVar[str | None] = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, result_type: Attribute):
        super().__init__(operands=[operand], result_types=[result_type])

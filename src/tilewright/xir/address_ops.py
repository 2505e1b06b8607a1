"""Operations about the addresses of elements, which read and write nothing there."""

from typing import ClassVar

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, irdl_op_definition, operand_def, prop_def, result_def

from tilewright.xir.ops import BUFFER
from tilewright.xir.types import I64

__all__ = ["LineOffsetOp", "PrefetchOp"]


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Asks for the line of an element, which may lie outside of the buffer, ahead of its use. It changes nothing."""

    name = "xir.prefetch"
    buffer = operand_def(BUFFER)
    index = operand_def(I64)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format: ClassVar[str | None] = "$buffer `[` $index `]` attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue, index: SSAValue):
        super().__init__(operands=[buffer, index])


@irdl_op_definition
class LineOffsetOp(IRDLOperation):
    """How many elements lie before the first one, from `index` on, whose address is a multiple of `bytes`.

    It reads no memory. `bytes` is a power of two and a multiple of the element's size.
    """

    name = "xir.line_offset"
    buffer = operand_def(BUFFER)
    index = operand_def(I64)
    bytes = prop_def(IntAttr)
    result = result_def(I64)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format: ClassVar[str | None] = "$buffer `[` $index `]` attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue, index: SSAValue, size: int):
        super().__init__(operands=[buffer, index], result_types=[I64], properties={"bytes": IntAttr(size)})

"""The operation that fills one panel of an operand, for contractions that find their panels made."""

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IntAttr
from xdsl.ir import Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
)

from tilewright.xir.ops import BUFFER, Side
from tilewright.xir.types import I64

__all__ = ["PackOp"]


@irdl_op_definition
class PackOp(IRDLOperation):
    """`panel[k * width + column] = element(k, first + column)` for all of k, and zero where there are fewer columns.

    Elements are those of a matrix (buffer, index of its first element, strides by k and by column), or of bodies for
    (k, column), as those of a contraction that compute B; `first` counts for bodies only. `extents`: k, columns, width
    of the panel, lanes of a vector.
    """

    name = "xir.pack"
    source = opt_operand_def(BUFFER)
    index = opt_operand_def(I64)
    first = operand_def(I64)
    panel = operand_def(BUFFER)
    panel_index = operand_def(I64)
    extents = prop_def(ArrayAttr[IntAttr])
    strides = prop_def(ArrayAttr[IntAttr])
    turned = prop_def(BoolAttr)
    body = region_def()
    tail = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        source: tuple[SSAValue, SSAValue] | None,
        first: SSAValue,
        panel: tuple[SSAValue, SSAValue],
        extents: tuple[int, int, int, int],
        strides: tuple[int, int] = (0, 0),
        *,
        turned: bool = False,
    ):
        """`source` and `panel`: buffer and index. Bodies are empty and may be filled."""
        properties = {
            "extents": ArrayAttr(map(IntAttr, extents)),
            "strides": ArrayAttr(map(IntAttr, strides)),
            "turned": BoolAttr.from_bool(turned),
        }
        buffer, index = ([], []) if source is None else ([source[0]], [source[1]])
        super().__init__(operands=[buffer, index, first, *panel], properties=properties, regions=[Region(), Region()])

    @property
    def side(self) -> Side:
        """The operand whose panel it is."""
        return Side(self.source, self.index, self.body, self.tail, self.extents.data[3].data, bool(self.turned))

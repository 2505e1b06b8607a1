"""Manual memory. States are values: a store consumes the reaching state and produces the next, a load consumes it."""

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def

from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.ops.base import ANY, MEMORY, STATE, TILE, Effect, HasEffect
from tilewright.ir.types import MemoryStateType, MemoryType, TileType, memory_type


@irdl_op_definition
class MemoryAllocOp(IRDLOperation):
    """Storage with an uninitialised state.

    `resource` names a placement class; `layout` maps elements to storage cells.
    """

    name = "tile.memory_alloc"
    resource = opt_prop_def(StringAttr)
    layout = opt_prop_def(LayoutAttr)
    memory = result_def(MEMORY)
    state = result_def(STATE)
    traits = traits_def(HasEffect(Effect.ALLOCATE))
    assembly_format: ClassVar[str | None] = "(`in` $resource^)? (`layout` $layout^)? attr-dict `:` type($memory)"

    def __init__(self, kind: MemoryType, *, resource: str | None = None, layout: LayoutAttr | None = None):
        properties: dict[str, Attribute | None] = {
            "resource": None if resource is None else StringAttr(resource),
            "layout": layout,
        }
        super().__init__(operands=[], result_types=[kind, MemoryStateType()], properties=properties)


@irdl_op_definition
class MemoryLoadOp(IRDLOperation):
    """A snapshot of the whole memory."""

    name = "tile.memory_load"
    memory = operand_def(MEMORY)
    state = operand_def(STATE)
    result = result_def(TILE)
    traits = traits_def(HasEffect(Effect.READ))
    assembly_format: ClassVar[str | None] = "$memory `at` $state attr-dict `:` type($memory) `->` type($result)"

    def __init__(self, memory: SSAValue, state: SSAValue):
        kind = memory_type(memory)
        super().__init__(operands=[memory, state], result_types=[TileType(kind.element, kind.space)])


@irdl_op_definition
class MemoryStoreOp(IRDLOperation):
    """Replaces the whole memory's contents."""

    name = "tile.memory_store"
    memory = operand_def(MEMORY)
    state = operand_def(STATE)
    value = operand_def(ANY)
    result = result_def(STATE)
    traits = traits_def(HasEffect(Effect.WRITE))
    assembly_format: ClassVar[str | None] = (
        "$value `,` $memory `at` $state attr-dict `:` type($value) `,` type($memory)"
    )

    def __init__(self, memory: SSAValue, state: SSAValue, value: SSAValue):
        super().__init__(operands=[memory, state, value], result_types=[MemoryStateType()])

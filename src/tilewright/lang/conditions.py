"""What must hold for the effects of the open arms of staged `if`s, as IR values."""

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir import Region as Body

from tilewright.core.source import user_span
from tilewright.ir.ops.convert import SelectOp
from tilewright.ir.ops.elementwise import LogicalAndOp, LogicalNotOp, LogicalOrOp
from tilewright.ir.ops.regions import ReduceOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp, ExtractOp, MapOp
from tilewright.ir.types import BOOL, I64, POINT, SpaceAttr, TileType, is_tile, space_of
from tilewright.ir.verify.shapes import broadcasts
from tilewright.lang.broadcast import joint_space
from tilewright.lang.context import Arm, Frame, current, emit

__all__ = ["both", "condition_for", "open_arm", "open_condition", "where_it_matters"]


def open_arm() -> Arm | None:
    """The innermost open arm."""
    return current("an arm").arm


def open_condition() -> SSAValue | None:
    """What the open arms ask for together; None outside every arm."""
    arm = open_arm()
    return None if arm is None else _condition(arm)


def condition_for(space: SpaceAttr) -> SSAValue | None:
    """The same for a read into `space`: when the condition has other axes, whether it holds anywhere."""
    condition = open_condition()
    if condition is None or broadcasts(space_of(condition), space):
        return condition
    return _anywhere(condition)


def both(first: SSAValue, second: SSAValue) -> SSAValue:
    """The conjunction of two conditions."""
    return emit(LogicalAndOp(first, second, _truths("`and`", first, second))).result


def where_it_matters(value: SSAValue, harmless: SSAValue, space: SpaceAttr) -> SSAValue:
    """`value`, but `harmless` where the open arms are not taken, for an operation over `space` that may fail."""
    condition = condition_for(space)
    if condition is None:
        return value
    tiles = [space_of(each) for each in (value, harmless, condition) if is_tile(each)]
    element = harmless.type
    kind: Attribute = TileType(element, joint_space("`if`", tiles)) if tiles else element
    return emit(SelectOp(condition, value, harmless, kind)).result


def _condition(arm: Arm) -> SSAValue:
    if arm.condition is not None:
        return arm.condition
    condition = arm.test
    if not arm.wanted:
        condition = emit(LogicalNotOp(condition, condition.type)).result
    if arm.outer is not None:
        condition = both(_condition(arm.outer), condition)
    if current("an arm").frame is arm.frame:  # what was made in a region inside the arm cannot be used after it
        arm.condition = condition
    return condition


def _truths(op: str, *operands: SSAValue) -> Attribute:
    tiles = [space_of(operand) for operand in operands if is_tile(operand)]
    return TileType(BOOL, joint_space(op, tiles)) if tiles else BOOL


def _anywhere(condition: SSAValue) -> SSAValue:
    """Whether any element of a tile of truths holds."""
    op = emit(MapOp(TileType(BOOL, POINT)))
    with_map = _entered("map", op.body.block)
    seed = emit(ConstantOp(0, BOOL)).result
    space = space_of(condition)
    block = Block(arg_types=[I64] * space.rank + [BOOL])
    fold = _entered("reduce", block)
    element = emit(ExtractOp(condition, _indices(block, space.rank))).result
    emit(YieldOp([emit(LogicalOrOp(block.args[-1], element, BOOL)).result]))
    current("an arm").leave(fold)
    total = emit(ReduceOp(space, [seed], body=Body(block))).results[0]
    emit(YieldOp([total]))
    current("an arm").leave(with_map)
    return emit(ExtractOp(op.result, [])).result


def _indices(block: Block, rank: int) -> Sequence[SSAValue]:
    return tuple(block.args[:rank])


def _entered(kind: str, block: Block) -> Frame:
    capture = current("an arm")
    frame = Frame(kind, block, user_span(), capture.frame)
    capture.enter(frame)
    return frame

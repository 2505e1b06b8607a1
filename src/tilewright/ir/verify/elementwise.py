"""Rules of elementwise operations: element types, and broadcasting by dimension identity."""

from xdsl.ir import Attribute

from tilewright.core.dtypes import DType
from tilewright.ir.ops.convert import BitcastOp, CastOp, SelectOp
from tilewright.ir.ops.elementwise import BinaryOp, CompareOp, ElementwiseOp, PredicateOp, UnaryOp
from tilewright.ir.types import BOOL, TileType, dtype_of
from tilewright.ir.verify.rule import Findings, op_text, typed
from tilewright.ir.verify.shapes import broadcasts, element_part, is_boolean, is_numeric_value, space_part

OPERAND_KIND = typed("V-EW-1", "{op} takes scalars and tiles, not {kind}")
ELEMENT_REFUSED = typed("V-EW-2", "{op} is not defined for {element}")
ELEMENTS_DIFFER = typed("V-EW-3", "{op} has operands of different element types, {a} and {b}")
RESULT_ELEMENT = typed("V-EW-4", "{op} gives {expected}, not {element}")
TILE_TO_SCALAR = typed("V-EW-5", "{op} has the tile operand {operand} but the scalar result {result}")
NOT_BROADCAST = typed("V-EW-6", "{op} cannot broadcast {operand} into {result}")
AXIS_FROM_NOWHERE = typed("V-EW-7", "{op} has an axis {dim} of extent {extent} in its result that no operand has")
CONDITION = typed("V-EW-8", "select chooses by a boolean, not by {kind}")
SHAPE_CHANGED = typed("V-EW-9", "{op} keeps the space of its operand, but {operand} became {result}")
WIDTHS_DIFFER = typed("V-EW-10", "bitcast needs types of one width, not {a} and {b}")
FLOAT8_ARITHMETIC = typed("V-EW-11", "{op} is not defined for {element}: cast to f32 first, and back once at the end")

RULES = (
    OPERAND_KIND, ELEMENT_REFUSED, ELEMENTS_DIFFER, RESULT_ELEMENT, TILE_TO_SCALAR, NOT_BROADCAST, AXIS_FROM_NOWHERE,
    CONDITION, SHAPE_CHANGED, WIDTHS_DIFFER, FLOAT8_ARITHMETIC,
)  # fmt: skip


def check_elementwise(op: ElementwiseOp, found: Findings) -> None:
    """All rules of one elementwise operation."""
    kinds: list[Attribute] = [operand.type for operand in op.operands]
    wrong = [kind for kind in (*kinds, op.result.type) if not is_numeric_value(kind)]
    for kind in wrong:
        found.add(OPERAND_KIND, op, op=op_text(op), kind=found.type(kind))
    if wrong:
        return
    match op:
        case SelectOp():
            _check_select(op, found)
        case CastOp() | BitcastOp():
            _check_conversion(op, found)
            return
        case UnaryOp() | BinaryOp():
            _check_elements(op, kinds, found)
        case _:
            pass
    _check_broadcast(op, kinds, found)


def _check_elements(op: UnaryOp | BinaryOp, kinds: list[Attribute], found: Findings) -> None:
    first = element_part(kinds[0])
    for kind in kinds[1:]:
        if element_part(kind) != first:
            found.add(ELEMENTS_DIFFER, op, op=op_text(op), a=found.type(first), b=found.type(element_part(kind)))
    dtype = dtype_of(first)
    if _is_float8(dtype):
        found.add(FLOAT8_ARITHMETIC, op, op=op_text(op), element=dtype.name)
    elif not op.accepts(dtype):
        found.add(ELEMENT_REFUSED, op, op=op_text(op), element=dtype.name)
    expected = BOOL if isinstance(op, CompareOp | PredicateOp) else first
    _check_result_element(op, expected, found)


def _check_select(op: SelectOp, found: Findings) -> None:
    if not is_boolean(op.condition.type):
        found.add(CONDITION, op, kind=found.type(op.condition.type))
    a, b = element_part(op.on_true.type), element_part(op.on_false.type)
    if a != b:
        found.add(ELEMENTS_DIFFER, op, op="select", a=found.type(a), b=found.type(b))
    _check_result_element(op, a, found)


def _check_result_element(op: ElementwiseOp, expected: Attribute, found: Findings) -> None:
    element = element_part(op.result.type)
    if element != expected:
        found.add(RESULT_ELEMENT, op, op=op_text(op), expected=found.type(expected), element=found.type(element))


def _check_conversion(op: CastOp | BitcastOp, found: Findings) -> None:
    source, target = op.operand.type, op.result.type
    tiles = isinstance(source, TileType), isinstance(target, TileType)
    if tiles[0] != tiles[1] or space_part(source) != space_part(target):
        found.add(SHAPE_CHANGED, op, op=op_text(op), operand=found.type(source), result=found.type(target))
    a, b = dtype_of(element_part(source)), dtype_of(element_part(target))
    if isinstance(op, BitcastOp) and a.bits != b.bits:
        found.add(WIDTHS_DIFFER, op, a=a.name, b=b.name)


def _check_broadcast(op: ElementwiseOp, kinds: list[Attribute], found: Findings) -> None:
    result = op.result.type
    for kind in kinds:
        if not isinstance(kind, TileType):
            continue
        if not isinstance(result, TileType):
            found.add(TILE_TO_SCALAR, op, op=op_text(op), operand=found.type(kind), result=found.type(result))
        elif not broadcasts(kind.space, result.space):
            found.add(NOT_BROADCAST, op, op=op_text(op), operand=found.type(kind), result=found.space(result.space))
    offered = {axis for kind in kinds for axis in space_part(kind).axes}
    for axis in space_part(result).axes:
        if axis not in offered:
            found.add(AXIS_FROM_NOWHERE, op, op=op_text(op), dim=found.dim(axis.dim), extent=axis.extent)


def _is_float8(dtype: type[DType]) -> bool:
    return dtype.is_float and dtype.bits == 8

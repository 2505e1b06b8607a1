"""Rules of loads, stores and updates of views."""

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.core.codes.effects import CONST_VIEW_WRITTEN
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.types import BOOL, I64, TileType, ViewType, dtype_of, tile_type, view_type
from tilewright.ir.verify.rule import Findings, Rule, op_text, typed
from tilewright.ir.verify.shapes import (
    broadcasts,
    conflicting_dim,
    element_part,
    is_boolean,
    is_index,
    is_numeric_value,
    space_part,
)

INDEX_COUNT = typed("V-VIEW-1", "{op} gives {given} coordinates to a view of rank {rank}")
INDEX_TYPE = typed("V-VIEW-2", "{op} is addressed by i64 scalars, not by {kind}")
TILE_RANK = typed("V-VIEW-3", "{op} moves a tile of rank {given} at a view of rank {rank}")
LOAD_ELEMENT = typed("V-VIEW-4", "{op} from a view of {expected} gives {element}")
FILL_TYPE = typed("V-VIEW-5", "{op} fills with {kind}, but the view holds {element}")
MASK_TYPE = typed("V-VIEW-6", "{op} is masked by a boolean, not by {kind}")
MASK_SPACE = typed("V-VIEW-7", "{op} has the mask {mask}, which does not broadcast into {space}")
STORE_ELEMENT = typed("V-VIEW-8", "{op} writes {element} into a view of {expected}")
FILL_ALONE = typed("V-VIEW-9", "{op} has a predicate or a fill without the other")
CONST_WRITE = Rule("V-VIEW-10", CONST_VIEW_WRITTEN, "{op} writes through the const view {view}")
UPDATE_COORDS = typed("V-UPD-1", "update gives {given} coordinates to a view of rank {rank}")
UPDATE_COORD_TYPE = typed("V-UPD-2", "update is addressed by i64 scalars or tiles, not by {kind}")
UPDATE_VALUE = typed("V-UPD-3", "update folds {kind} into a view of {expected}")
UPDATE_MASK = typed("V-UPD-4", "update is masked by a boolean, not by {kind}")
UPDATE_SPACE = typed("V-UPD-5", "update combines operands with {a} and {b} points along {dim}")
UPDATE_REDUCER = typed("V-UPD-6", "update with {reducer} is not defined for {element}")

RULES = (
    INDEX_COUNT, INDEX_TYPE, TILE_RANK, LOAD_ELEMENT, FILL_TYPE, MASK_TYPE, MASK_SPACE, STORE_ELEMENT, FILL_ALONE,
    CONST_WRITE, UPDATE_COORDS, UPDATE_COORD_TYPE, UPDATE_VALUE, UPDATE_MASK, UPDATE_SPACE, UPDATE_REDUCER,
)  # fmt: skip


def check_load(op: LoadOp, found: Findings) -> None:
    """All rules of a tile load."""
    view = view_type(op.view)
    _check_index(op, view, op.origin, found)
    _check_tile(op, view, tile_type(op.result), LOAD_ELEMENT, found)
    if op.fill is not None and op.fill.type != view.element:
        found.add(FILL_TYPE, op, op="load", kind=found.type(op.fill.type), element=found.type(view.element))
    _check_mask(op, op.mask, tile_type(op.result), found)


def check_store(op: StoreOp, found: Findings) -> None:
    """All rules of a tile store."""
    view = view_type(op.view)
    _check_written(op, op.view, found)
    _check_index(op, view, op.origin, found)
    _check_tile(op, view, tile_type(op.value), STORE_ELEMENT, found)
    _check_mask(op, op.mask, tile_type(op.value), found)


def check_load_element(op: LoadElementOp, found: Findings) -> None:
    """All rules of an element load."""
    view = view_type(op.view)
    _check_index(op, view, op.index, found)
    if op.result.type != view.element:
        found.add(
            LOAD_ELEMENT, op, op="load_element", expected=found.type(view.element), element=found.type(op.result.type)
        )
    if (op.predicate is None) != (op.fill is None):
        found.add(FILL_ALONE, op, op="load_element")
    if op.fill is not None and op.fill.type != view.element:
        found.add(FILL_TYPE, op, op="load_element", kind=found.type(op.fill.type), element=found.type(view.element))
    _check_predicate(op, op.predicate, found)


def check_store_element(op: StoreElementOp, found: Findings) -> None:
    """All rules of an element store."""
    view = view_type(op.view)
    _check_written(op, op.view, found)
    _check_index(op, view, op.index, found)
    if op.value.type != view.element:
        expected = found.type(view.element)
        found.add(STORE_ELEMENT, op, op="store_element", expected=expected, element=found.type(op.value.type))
    _check_predicate(op, op.predicate, found)


def check_update(op: UpdateOp, found: Findings) -> None:
    """All rules of an update."""
    view = view_type(op.view)
    _check_written(op, op.view, found)
    if len(op.coords) != view.space.rank:
        found.add(UPDATE_COORDS, op, given=len(op.coords), rank=view.space.rank)
    for coord in op.coords:
        if not is_numeric_value(coord.type) or element_part(coord.type) != I64:
            found.add(UPDATE_COORD_TYPE, op, kind=found.type(coord.type))
    if element_part(op.value.type) != view.element:
        found.add(UPDATE_VALUE, op, kind=found.type(op.value.type), expected=found.type(view.element))
    if op.mask is not None and not is_boolean(op.mask.type):
        found.add(UPDATE_MASK, op, kind=found.type(op.mask.type))
    conflict = conflicting_dim(space_part(operand.type) for operand in op.operands[1:])
    if conflict is not None:
        dim, a, b = conflict
        found.add(UPDATE_SPACE, op, dim=found.dim(dim), a=a, b=b)
    _check_reducer(op, view.element, found)


def _check_reducer(op: UpdateOp, element: Attribute, found: Findings) -> None:
    dtype = dtype_of(element)
    if dtype.kind == "bool" or (dtype.is_float and dtype.bits == 8):
        found.add(UPDATE_REDUCER, op, reducer=op.reducer.data.value, element=dtype.name)


def _check_written(op: Operation, view: SSAValue, found: Findings) -> None:
    if view_type(view).is_const:
        found.add(CONST_WRITE, op, op=op_text(op), view=view.name_hint or found.type(view.type))


def _check_index(op: Operation, view: ViewType, index: Sequence[SSAValue], found: Findings) -> None:
    if len(index) != view.space.rank:
        found.add(INDEX_COUNT, op, op=op_text(op), given=len(index), rank=view.space.rank)
    for value in index:
        if not is_index(value):
            found.add(INDEX_TYPE, op, op=op_text(op), kind=found.type(value.type))


def _check_tile(op: Operation, view: ViewType, tile: TileType, element_rule: Rule, found: Findings) -> None:
    if tile.space.rank != view.space.rank:
        found.add(TILE_RANK, op, op=op_text(op), given=tile.space.rank, rank=view.space.rank)
    if tile.element != view.element:
        expected, element = found.type(view.element), found.type(tile.element)
        found.add(element_rule, op, op=op_text(op), expected=expected, element=element)


def _check_mask(op: Operation, mask: SSAValue | None, tile: TileType, found: Findings) -> None:
    if mask is None:
        return
    if not is_boolean(mask.type):
        found.add(MASK_TYPE, op, op=op_text(op), kind=found.type(mask.type))
    if not broadcasts(space_part(mask.type), tile.space):
        found.add(MASK_SPACE, op, op=op_text(op), mask=found.type(mask.type), space=found.space(tile.space))


def _check_predicate(op: Operation, predicate: SSAValue | None, found: Findings) -> None:
    if predicate is not None and predicate.type != BOOL:
        found.add(MASK_TYPE, op, op=op_text(op), kind=found.type(predicate.type))

"""Loads, stores and updates of views, in tile form and element form.

Tile form: element u of the tile addresses `origin + u`, axis by axis; the tile's dimensions need not be the view's.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)

from tilewright.ir.attrs import Bounds, BoundsAttr, UpdateKind, UpdateKindAttr
from tilewright.ir.ops.base import ANY, TILE, VIEW, Effect, HasEffect
from tilewright.ir.types import TileType, view_type


def _optional(value: SSAValue | None) -> list[SSAValue]:
    return [] if value is None else [value]


@irdl_op_definition
class LoadOp(IRDLOperation):
    """A snapshot of the view at this point.

    Zero- or `fill`-padded outside, and where `mask` (a boolean tile or scalar) is false.
    """

    name = "tile.load"
    view = operand_def(VIEW)
    origin = var_operand_def(ANY)
    fill = opt_operand_def(ANY)
    mask = opt_operand_def(ANY)
    result = result_def(TILE)
    bounds = prop_def(BoundsAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(HasEffect(Effect.READ))
    assembly_format: ClassVar[str | None] = (
        "$view `[` $origin `]` (`fill` $fill^ `:` type($fill))? (`mask` $mask^ `:` type($mask))? "
        "`bounds` $bounds attr-dict `:` type($view) `[` type($origin) `]` `->` type($result)"
    )

    def __init__(
        self,
        view: SSAValue,
        origin: Sequence[SSAValue],
        result_type: TileType,
        *,
        fill: SSAValue | None = None,
        mask: SSAValue | None = None,
        bounds: Bounds = Bounds.ZERO,
    ):
        super().__init__(
            operands=[view, origin, _optional(fill), _optional(mask)],
            result_types=[result_type],
            properties={"bounds": BoundsAttr(bounds)},
        )


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Writes a tile at an origin; elements outside the view, or where `mask` is false, are not written."""

    name = "tile.store"
    view = operand_def(VIEW)
    origin = var_operand_def(ANY)
    value = operand_def(TILE)
    mask = opt_operand_def(ANY)
    bounds = prop_def(BoundsAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(HasEffect(Effect.WRITE))
    assembly_format: ClassVar[str | None] = (
        "$value `,` $view `[` $origin `]` (`mask` $mask^ `:` type($mask))? "
        "`bounds` $bounds attr-dict `:` type($value) `,` type($view) `[` type($origin) `]`"
    )

    def __init__(
        self,
        view: SSAValue,
        origin: Sequence[SSAValue],
        value: SSAValue,
        *,
        mask: SSAValue | None = None,
        bounds: Bounds = Bounds.ZERO,
    ):
        super().__init__(
            operands=[view, origin, value, _optional(mask)], result_types=[], properties={"bounds": BoundsAttr(bounds)}
        )


@irdl_op_definition
class LoadElementOp(IRDLOperation):
    """One element. Without a predicate the index must lie inside.

    Where the predicate is false nothing is read and `fill` results.
    """

    name = "tile.load_element"
    view = operand_def(VIEW)
    index = var_operand_def(ANY)
    predicate = opt_operand_def(ANY)
    fill = opt_operand_def(ANY)
    result = result_def(ANY)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(HasEffect(Effect.READ))
    assembly_format: ClassVar[str | None] = (
        "$view `[` $index `]` (`where` $predicate^ `:` type($predicate))? (`fill` $fill^ `:` type($fill))? "
        "attr-dict `:` type($view) `[` type($index) `]` `->` type($result)"
    )

    def __init__(
        self,
        view: SSAValue,
        index: Sequence[SSAValue],
        *,
        predicate: SSAValue | None = None,
        fill: SSAValue | None = None,
    ):
        super().__init__(
            operands=[view, index, _optional(predicate), _optional(fill)], result_types=[view_type(view).element]
        )


@irdl_op_definition
class StoreElementOp(IRDLOperation):
    """Writes one element. The index must lie inside unless the predicate is false."""

    name = "tile.store_element"
    view = operand_def(VIEW)
    index = var_operand_def(ANY)
    value = operand_def(ANY)
    predicate = opt_operand_def(ANY)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(HasEffect(Effect.WRITE))
    assembly_format: ClassVar[str | None] = (
        "$value `,` $view `[` $index `]` (`where` $predicate^ `:` type($predicate))? "
        "attr-dict `:` type($value) `,` type($view) `[` type($index) `]`"
    )

    def __init__(
        self, view: SSAValue, index: Sequence[SSAValue], value: SSAValue, *, predicate: SSAValue | None = None
    ):
        super().__init__(operands=[view, index, value, _optional(predicate)], result_types=[])


@irdl_op_definition
class UpdateOp(IRDLOperation):
    """Unordered atomic read-modify-write: at every point q of the joint space of the operands,
    `view[c0(q), c1(q), ...] = reducer(view[...], value(q))` where `mask(q)` holds and the coordinates lie inside.

    Each coordinate, the value and the mask is a scalar or a tile; they broadcast by dimension identity. Exempt from the
    noninterference rule of `parallel`.
    """

    name = "tile.update"
    view = operand_def(VIEW)
    coords = var_operand_def(ANY)
    value = operand_def(ANY)
    mask = opt_operand_def(ANY)
    reducer = prop_def(UpdateKindAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(HasEffect(Effect.READ | Effect.WRITE))
    assembly_format: ClassVar[str | None] = (
        "$reducer $value `,` $view `[` $coords `]` (`mask` $mask^ `:` type($mask))? "
        "attr-dict `:` type($value) `,` type($view) `[` type($coords) `]`"
    )

    def __init__(
        self,
        view: SSAValue,
        coords: Sequence[SSAValue],
        value: SSAValue,
        reducer: UpdateKind,
        *,
        mask: SSAValue | None = None,
    ):
        super().__init__(
            operands=[view, coords, value, _optional(mask)],
            result_types=[],
            properties={"reducer": UpdateKindAttr(reducer)},
        )

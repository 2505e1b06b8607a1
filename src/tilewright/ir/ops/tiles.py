"""Pure operations on tiles: constants, maps, extraction, contraction, scans."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from tilewright.ir.attrs import NumberAttr, Policy, PolicyAttr
from tilewright.ir.ops.base import ANY, TILE
from tilewright.ir.types import I64, DimAttr, SpaceAttr, TileType, element_of


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A scalar, or a tile whose elements are all the same; the payload is the exact bit pattern of the element."""

    name = "tile.constant"
    value = prop_def(NumberAttr)
    result = result_def(ANY)
    assembly_format: ClassVar[str | None] = "$value attr-dict `:` type($result)"

    def __init__(self, bits: int, result_type: Attribute):
        super().__init__(operands=[], result_types=[result_type], properties={"value": NumberAttr(bits)})


@irdl_op_definition
class MapOp(IRDLOperation):
    """A tile defined point by point: the body has one i64 argument per axis of `space` and yields one scalar. Pure."""

    name = "tile.map"
    space = prop_def(SpaceAttr)
    body = region_def("single_block")
    result = result_def(TILE)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format: ClassVar[str | None] = "$space attr-dict-with-keyword `->` type($result) $body"

    def __init__(self, result_type: TileType, body: Region | None = None):
        region = body if body is not None else Region(Block(arg_types=[I64] * result_type.space.rank))
        super().__init__(
            operands=[], result_types=[result_type], regions=[region], properties={"space": result_type.space}
        )


@irdl_op_definition
class ExtractOp(IRDLOperation):
    """One element of a tile at i64 coordinates, one per axis in axis order. Must lie inside."""

    name = "tile.extract"
    tile = operand_def(TILE)
    coords = var_operand_def(ANY)
    result = result_def(ANY)
    assembly_format: ClassVar[str | None] = (
        "$tile `[` $coords `]` attr-dict `:` type($tile) `[` type($coords) `]` `->` type($result)"
    )

    def __init__(self, tile: SSAValue, coords: Sequence[SSAValue]):
        super().__init__(operands=[tile, coords], result_types=[element_of(tile)])


@irdl_op_definition
class MmaOp(IRDLOperation):
    """`c` plus the sum over contracted coordinates of a*b, as a chain of fused multiply-adds from `c`.

    Roles come from dimension identity: in a, b and c: batch; in a and b only: contracted; in c and one operand: free.
    Operands convert to the accumulator's element type first. The chain runs lexicographically over the contracted
    dimensions in a's axis order; `reassociate` permits another order; `atoms` permits matrix units with their own
    stated bound.
    """

    name = "tile.mma"
    a = operand_def(TILE)
    b = operand_def(TILE)
    c = operand_def(TILE)
    result = result_def(TILE)
    reassociate = prop_def(BoolAttr)
    atoms = prop_def(BoolAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format: ClassVar[str | None] = (
        "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c) `->` type($result)"
    )

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue, *, reassociate: bool = True, atoms: bool = False):
        properties: dict[str, Attribute] = {
            "reassociate": BoolAttr.from_bool(reassociate),
            "atoms": BoolAttr.from_bool(atoms),
        }
        super().__init__(operands=[a, b, c], result_types=[c.type], properties=properties)


@irdl_op_definition
class ScanOp(IRDLOperation):
    """Running fold along one dimension.

    Tiles and seeds pair up; the body takes (states..., elements...) and yields states. Inclusive: result i folds the
    seed and elements 0..i; exclusive: 0..i-1. `reverse` runs from the far end. The policy says which regroupings are
    permitted.
    """

    name = "tile.scan"
    tiles = var_operand_def(TILE)
    seeds = var_operand_def(ANY)
    dim = prop_def(DimAttr)
    policy = prop_def(PolicyAttr)
    exclusive = prop_def(BoolAttr)
    reverse = prop_def(BoolAttr)
    body = region_def("single_block")
    results_ = var_result_def(TILE)
    irdl_options = (SameVariadicOperandSize(), ParsePropInAttrDict())
    assembly_format: ClassVar[str | None] = (
        "`(` $tiles `:` type($tiles) `)` `from` `(` $seeds `:` type($seeds) `)` "
        "attr-dict-with-keyword `->` `(` type($results_) `)` $body"
    )

    def __init__(
        self,
        tiles: Sequence[SSAValue],
        seeds: Sequence[SSAValue],
        dim: DimAttr,
        policy: Policy,
        *,
        exclusive: bool = False,
        reverse: bool = False,
        body: Region | None = None,
    ):
        elements = [element_of(tile) for tile in tiles]
        region = body if body is not None else Region(Block(arg_types=elements + elements))
        properties: dict[str, Attribute] = {
            "dim": dim,
            "policy": PolicyAttr(policy),
            "exclusive": BoolAttr.from_bool(exclusive),
            "reverse": BoolAttr.from_bool(reverse),
        }
        super().__init__(
            operands=[tiles, seeds],
            result_types=[[tile.type for tile in tiles]],
            regions=[region],
            properties=properties,
        )

"""Policies and payloads that TileIR operations carry."""

from collections.abc import Sequence
from enum import StrEnum

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Data, EnumAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

__all__ = ["BoolAttr", "IntegerAttr", "StringAttr", "Bounds", "BoundsAttr", "Policy", "PolicyAttr", "NumberAttr", "UpdateKind", "UpdateKindAttr"]


class Policy(StrEnum):
    """Which regroupings of a fold are permitted."""

    UNORDERED_TREE = "unordered_tree"
    ORDERED_TREE = "ordered_tree"
    FOLD_LEFT = "fold_left"
    FOLD_RIGHT = "fold_right"


class Bounds(StrEnum):
    """What happens outside the view: `zero` guards every element, `assume` promises there is none."""

    ZERO = "zero"
    ASSUME = "assume"


class UpdateKind(StrEnum):
    """The reducer of an unordered read-modify-write."""

    ADD = "add"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"


@irdl_attr_definition
class PolicyAttr(EnumAttribute[Policy], SpacedOpaqueSyntaxAttribute):
    name = "tile.policy"


@irdl_attr_definition
class BoundsAttr(EnumAttribute[Bounds], SpacedOpaqueSyntaxAttribute):
    name = "tile.bounds"


@irdl_attr_definition
class UpdateKindAttr(EnumAttribute[UpdateKind], SpacedOpaqueSyntaxAttribute):
    name = "tile.update_kind"


@irdl_attr_definition
class NumberAttr(Data[int]):
    """A constant as the exact bit pattern of its element type (which the result type names)."""

    name = "tile.number"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> int:
        with parser.in_angle_brackets():
            return parser.parse_integer(allow_boolean=False, allow_negative=False)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"0x{self.data:x}")



"""Policies and payloads that TileIR operations carry."""

from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

__all__ = ["Bounds", "BoundsAttr", "NumberAttr", "Policy", "PolicyAttr", "UpdateKind", "UpdateKindAttr"]


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
    """A `Policy`."""

    name = "tile.policy"


@irdl_attr_definition
class BoundsAttr(EnumAttribute[Bounds], SpacedOpaqueSyntaxAttribute):
    """A `Bounds`."""

    name = "tile.bounds"


@irdl_attr_definition
class UpdateKindAttr(EnumAttribute[UpdateKind], SpacedOpaqueSyntaxAttribute):
    """An `UpdateKind`."""

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

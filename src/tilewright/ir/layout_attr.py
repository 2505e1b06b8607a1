"""A layout as an attribute: the index map from a memory's elements to its storage cells."""

from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def

from tilewright.ir.types import SpaceAttr


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """An index map from `domain` to `codomain`."""

    name = "tile.layout"
    domain: SpaceAttr = param_def()
    codomain: SpaceAttr = param_def()

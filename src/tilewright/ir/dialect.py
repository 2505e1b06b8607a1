"""Registration of the TileIR dialect."""

from types import ModuleType

from xdsl.ir import Attribute, Dialect, Operation

from tilewright.ir import attrs, layout_attr, types
from tilewright.ir.ops import access, convert, elementwise, memory, regions, tiles


def _declared(module: ModuleType, kind: type) -> list[type]:
    """The concrete (named) operation or attribute classes a module declares, in order."""
    found = [item for item in vars(module).values() if isinstance(item, type) and issubclass(item, kind)]
    return [item for item in found if "name" in vars(item) and item.__module__ == module.__name__]


_OP_MODULES = (elementwise, convert, access, tiles, regions, memory)
_ATTR_MODULES = (types, attrs, layout_attr)

TILE_OPS: tuple[type[Operation], ...] = tuple(op for module in _OP_MODULES for op in _declared(module, Operation))
TILE_ATTRS: tuple[type[Attribute], ...] = tuple(a for module in _ATTR_MODULES for a in _declared(module, Attribute))
ELEMENTWISE_OPS = tuple(op for op in TILE_OPS if issubclass(op, elementwise.ElementwiseOp))

TileDialect = Dialect("tile", list(TILE_OPS), list(TILE_ATTRS))

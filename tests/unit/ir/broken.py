"""One broken module for each rule of the verifier."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from xdsl.dialects.builtin import ModuleOp

from tests.unit.ir import broken_effects, broken_operations, broken_structure
from tests.unit.ir.making import Make

__all__ = ["BROKEN", "BROKEN_MODULES", "broken_module"]

BROKEN: Mapping[str, Callable[[Make], object]] = MappingProxyType(
    {**broken_structure.BROKEN, **broken_operations.BROKEN, **broken_effects.BROKEN}
)
BROKEN_MODULES: Mapping[str, Callable[[], ModuleOp]] = MappingProxyType(
    {**broken_structure.BROKEN_MODULES, **broken_operations.BROKEN_MODULES}
)


def broken_module(rule: str) -> ModuleOp:
    """The module that violates `rule`."""
    if rule in BROKEN_MODULES:
        return BROKEN_MODULES[rule]()
    m = Make(labels={0: "m", 1: "g", 2: "k"})
    BROKEN[rule](m)
    return m.done()

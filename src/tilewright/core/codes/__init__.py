"""Every cause of failure, one constant each, in one module per family. `ALL` finds a code by its printed form."""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from ..diagnostics import Code
from . import capture, dispatch, effects, internal, toolchain, types, unsupported

__all__ = ["ALL", "FAMILIES", "collect"]

FAMILIES: Mapping[int, ModuleType] = MappingProxyType(
    {1: capture, 2: types, 3: effects, 4: unsupported, 5: toolchain, 6: dispatch, 9: internal}
)


def collect(families: Mapping[int, ModuleType]) -> Mapping[str, Code]:
    """The codes of these modules by printed form.

    Raises ValueError for a number that is declared twice or in the module of another family.
    """
    found: dict[str, Code] = {}
    for family, module in families.items():
        for name, code in vars(module).items():
            if not isinstance(code, Code):
                continue
            if code.id in found or code.family != family:
                raise ValueError(f"{module.__name__}.{name}: {code.id} is taken or belongs to another family")
            found[code.id] = code
    return MappingProxyType(dict(sorted(found.items())))


ALL: Mapping[str, Code] = collect(FAMILIES)

"""Names of a module that are imported when they are first used, so that importing the module itself costs nothing."""

from collections.abc import Callable, Sequence
from importlib import import_module
from sys import modules

__all__ = ["late_names"]


def late_names(module: str, homes: Sequence[str]) -> Callable[[str], object]:
    """A module's `__getattr__` for the names in its `__all__`: from the first of `homes` that has it, and then kept."""

    def named(name: str) -> object:
        owner = modules[module]
        if name in owner.__all__:
            for home in map(import_module, homes):
                if hasattr(home, name):
                    setattr(owner, name, value := getattr(home, name))
                    return value
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=owner)

    return named

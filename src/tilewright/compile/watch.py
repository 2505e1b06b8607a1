"""Capture guards at the speed of a direct call: identities first, in C, and the exact comparison where they differ."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_, itemgetter
from types import ModuleType
from typing import Any, cast

from tilewright.lang.guards import CaptureGuards

__all__ = ["Watch"]

_SCALARS = (bool, int, float, complex, str, bytes, type(None))


class Watch:
    """Whether everything that captures read from outside is as it was: `holds()`.

    A value that cannot change in place (a number, a string, a function, a module) is unchanged when the same object is
    still there. Everything else, and every name that now has another object, is left to the guards.
    """

    __slots__ = ("_guards", "_loose", "_quick", "holds")

    def __init__(self, guards: Sequence[CaptureGuards]) -> None:
        self._guards = tuple(guards)
        tables: dict[int, tuple[Mapping[str, object], dict[str, object]]] = {}
        loose: list[Callable[[], bool]] = []
        for read in [read for each in guards for read in each.reads]:
            table = _table(read.owner)
            if table is not None and table.get(read.name, self) is read.value and _is_fixed(read.value):
                tables.setdefault(id(table), (table, {}))[1][read.name] = read.value
            else:
                loose.append(read.holds)
        self._quick = [self._one_table(*_check(table, values)) for table, values in tables.values()]
        self._loose = loose
        single = len(tables) == 1 and not loose  # nearly always: names of one module
        self.holds: Callable[[], bool] = self._quick[0] if single else self._all

    def _one_table(
        self, table: Mapping[str, object], names: "_Names", values: tuple[object, ...]
    ) -> Callable[[], bool]:
        def holds() -> bool:
            try:
                return all(map(is_, names(table), values)) or self._exactly()
            except KeyError:  # a name is gone
                return self._exactly()

        return holds

    def _all(self) -> bool:
        return all(check() for check in self._quick) and all(check() for check in self._loose)

    def _exactly(self) -> bool:
        return all(each.holds() for each in self._guards)


_Names = Callable[[Mapping[str, object]], Iterable[object]]
_Check = tuple[Mapping[str, object], _Names, tuple[object, ...]]


def _check(table: Mapping[str, object], values: Mapping[str, object]) -> _Check:
    """The names twice where there is one, because `itemgetter` gives a tuple from two names on."""
    names = [*values, *values] if len(values) == 1 else [*values]
    get = cast("_Names", itemgetter(*names))
    return table, get, tuple(values[name] for name in names)


def _table(owner: object) -> Mapping[str, object] | None:
    if isinstance(owner, ModuleType):
        return vars(owner)
    return cast("dict[str, Any]", owner) if isinstance(owner, dict) else None


def _is_fixed(value: object) -> bool:
    """Whether the same object means the same contents, in the sense of the guards' fingerprint."""
    if type(value) in _SCALARS or isinstance(value, ModuleType | type):
        return True
    if type(value) is tuple:
        return all(map(_is_fixed, cast("tuple[object, ...]", value)))
    return callable(value) and not hasattr(value, "__self__")

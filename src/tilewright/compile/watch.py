"""Capture guards at the speed of a direct call: identities first, in C, and the exact comparison where they differ."""

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import is_, itemgetter
from types import CellType, MethodType, ModuleType
from typing import Any, cast

from tilewright.lang.guards import CaptureGuards
from tilewright.runtime.direct import Identity

__all__ = ["Watch"]

_SCALARS = (bool, int, float, complex, str, bytes, type(None))


class Watch:
    """Whether everything that captures read from outside is as it was: `holds()`.

    A value that cannot change in place (a number, a string, a function, a module) is unchanged when the same object is
    still there. Everything else, and every name that now has another object, is left to the guards.

    `identities` says the same without running Python; None where identities are not enough. Where names turn out to
    mean the same in other objects (a cell of a notebook was run again), these are watched from then on: `rebound`.
    """

    __slots__ = ("_loose", "_quick", "_reads", "holds", "identities", "rebound")

    def __init__(self, guards: Sequence[CaptureGuards]) -> None:
        self._reads = [read for each in guards for read in each.reads]
        self.rebound = False
        self._bind([read.value for read in self._reads])

    def _bind(self, values: Sequence[object]) -> None:
        fixed: list[Identity] = []
        self._loose: list[Callable[[], bool]] = []
        for read, value in zip(self._reads, values, strict=True):
            found = _identities(read.owner, read.name, value)
            fixed.extend(found)
            if not found:
                self._loose.append(read.holds)
        self.identities = None if self._loose else tuple(fixed)
        self._quick = [self._one_table(*check) for check in _by_table(fixed)]
        self._quick.extend(partial(self._one_cell, each) for each in fixed if each.name is None)
        self._quick.extend(partial(self._one_gap, each) for each in fixed if each.missing)
        single = len(self._quick) == 1 and not self._loose  # nearly always: names of one module
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

    def _one_cell(self, identity: Identity) -> bool:
        try:
            return cast("CellType", identity.container).cell_contents is identity.value or self._exactly()
        except ValueError:  # it is empty now
            return self._exactly()

    def _one_gap(self, identity: Identity) -> bool:
        return identity.name not in cast("dict[str, object]", identity.container) or self._exactly()

    def _all(self) -> bool:
        return all(check() for check in self._quick) and all(check() for check in self._loose)

    def _exactly(self) -> bool:
        values = [read.now() for read in self._reads]
        if not all(read.admits(value) for read, value in zip(self._reads, values, strict=True)):
            return False
        self._bind(values)
        self.rebound = True
        return True


_Names = Callable[[Mapping[str, object]], Iterable[object]]
_Check = tuple[Mapping[str, object], _Names, tuple[object, ...]]


def _identities(owner: object, name: str, value: object) -> Sequence[Identity]:
    """What, if it holds, proves that a name outside still means `value`; empty where nothing short of a look does."""
    if not _is_fixed(value):
        return ()
    if isinstance(owner, CellType):
        return (Identity(owner, None, value),)
    table = _table(owner)
    if table is None:
        return ()
    if name in table:
        return (Identity(table, name, value),) if table[name] is value else ()
    built_in = vars(builtins)
    known = table is owner and built_in.get(name, _by_table) is value
    return (Identity(table, name, None, missing=True), Identity(built_in, name, value)) if known else ()


def _by_table(identities: Iterable[Identity]) -> Iterable[_Check]:
    tables: dict[int, tuple[Mapping[str, object], dict[str, object]]] = {}
    for each in identities:
        if each.name is not None and not each.missing:
            table = cast("Mapping[str, object]", each.container)
            tables.setdefault(id(table), (table, {}))[1][each.name] = each.value
    return [_check(table, values) for table, values in tables.values()]


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
    return callable(value) and not isinstance(value, MethodType)

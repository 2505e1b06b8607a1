"""A capture knows what it read from outside: whatever of it changes, the guards no longer hold."""

import functools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tilewright.lang.guards import guards_of

SIZE = 4
UNREAD = 1
TABLE: dict[str, list[int]] = {"rows": [1, 2]}
settings = types.ModuleType("settings")
settings.__dict__["depth"] = 3


class Options:
    def __init__(self) -> None:
        self.block = 8

    def rows(self) -> int:
        return self.block * HIDDEN


@dataclass(slots=True)
class Slotted:
    width: int


def chosen() -> int:
    return CHOSEN


HIDDEN = 2
CHOSEN = 1
CHOICES = {"first": functools.partial(chosen)}
WEIGHTS = np.zeros(3)
slotted = Slotted(3)
options = Options()


def helper() -> int:
    return deeper() + 1


def deeper() -> int:
    return DEEP


DEEP = 5


def kernel() -> object:
    sizes = [SIZE + i for i in range(2)]
    return sizes, TABLE["rows"], settings.depth, options.rows(), helper(), slotted.width, WEIGHTS, CHOICES["first"]()


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = dict(globals())
    yield
    globals().update(before)
    TABLE.update(rows=[1, 2])
    settings.__dict__["depth"] = 3
    options.block = 8
    slotted.width = 3
    WEIGHTS[:] = 0


def change(name: str, value: object) -> Callable[[], object]:
    return lambda: globals().__setitem__(name, value)


CHANGES: dict[str, Callable[[], object]] = {
    "a global": change("SIZE", 5),
    "its type": change("SIZE", 4.0),
    "a container in place": lambda: TABLE["rows"].append(3),
    "an attribute of a module": lambda: settings.__dict__.__setitem__("depth", 4),
    "an attribute of an object": lambda: setattr(options, "block", 16),
    "a helper": change("helper", deeper),
    "a global of a helper's helper": change("DEEP", 6),
    "a global of a method": change("HIDDEN", 3),
    "a slot of an object": lambda: setattr(slotted, "width", 4),
    "an array in place": lambda: WEIGHTS.__setitem__(0, 1.0),
    "a global of a function in a table": change("CHOSEN", 2),
    "a name that is gone": lambda: globals().pop("SIZE"),
    "a builtin that is hidden": change("range", enumerate),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_outside_is_seen(what: str) -> None:
    guards = guards_of(kernel)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert guards.holds()
    try:
        CHANGES[what]()
        assert not guards.holds()
    finally:
        globals().pop("range", None)


def test_what_is_not_read_may_change() -> None:
    guards = guards_of(kernel)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    globals()["UNREAD"] = 2
    globals()["SIZE"] = int("4")
    assert guards.holds()


def test_closure_variables_are_watched() -> None:
    width = 3
    nested: list[Any] = []

    def inner() -> int:
        return width + len(nested)

    guards = guards_of(inner)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert set(guards.names) >= {"width", "nested"}
    assert guards.holds()
    nested.append(1)
    assert not guards.holds()
    nested.clear()
    assert guards.holds()
    width = 4
    assert not guards.holds()

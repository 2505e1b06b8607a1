"""The quick check never says yes where the guards would say no."""

import math
from types import FunctionType, ModuleType
from typing import Any

import pytest

from tilewright.compile.watch import Watch
from tilewright.lang.guards import guards_of

PROGRAM = """
import math
number, text, table, module, kept = 1, "abc", [1, 2], math, (1, "x")

def helper():
    return number

def read():
    return number, text, table, module.pi, settings.size, helper(), len, kept
"""


class Settings:
    size = 3


class Holder:
    def __init__(self, value: int) -> None:
        self.value = value

    def get(self) -> int:
        return self.value


def program() -> tuple[dict[str, Any], Watch]:
    names: dict[str, Any] = {"settings": ModuleType("settings"), "__name__": "program"}
    names["settings"].size = 3
    exec(PROGRAM, names)
    read = names["read"]
    assert isinstance(read, FunctionType)
    return names, Watch([guards_of(read)])


def test_nothing_changed() -> None:
    assert program()[1].holds()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", 2), ("number", 1.0), ("number", True), ("text", "b"), ("table", [1, 3]), ("module", Settings),
        ("helper", lambda: 5), ("len", len.__call__), ("kept", (1, "y")), ("kept", (1.0, "x")),
    ],
)  # fmt: skip
def test_another_value(name: str, value: object) -> None:
    names, watch = program()
    names[name] = value
    assert not watch.holds()


def test_an_equal_value_in_another_object() -> None:
    names, watch = program()
    names["text"] = str(b"abc", "ascii")
    names["kept"] = tuple([1, "x"])  # noqa: C409  a new object
    assert watch.holds()


def test_a_name_that_is_gone() -> None:
    names, watch = program()
    del names["number"]
    assert not watch.holds()


def test_a_container_changed_in_place() -> None:
    names, watch = program()
    names["table"].append(3)
    assert not watch.holds()


def test_a_container_in_a_tuple() -> None:
    names, _ = program()
    names["kept"] = (1, [2])
    watch = Watch([guards_of(names["read"])])
    assert watch.holds()
    names["kept"][1].append(3)
    assert not watch.holds()


def test_the_object_of_a_bound_method() -> None:
    names, _ = program()
    exec("def read():\n    return kept(1)", names)
    names["kept"] = Holder(3).get
    watch = Watch([guards_of(names["read"])])
    assert watch.holds()
    names["kept"].__self__.value = 4
    assert not watch.holds()


def test_an_attribute_of_a_module() -> None:
    names, watch = program()
    names["settings"].size = 4
    assert not watch.holds()
    names["settings"].size = 3
    assert watch.holds()


def test_a_closure_variable() -> None:
    factor = 2.0

    def read() -> float:
        return factor * math.pi

    watch = Watch([guards_of(read)])
    assert watch.holds()
    factor = 3.0
    assert not watch.holds()


def test_equal_values_in_other_objects_are_watched_from_then_on() -> None:
    names, watch = program()
    before = watch.holds
    names["text"] = str(b"abc", "ascii")
    assert watch.holds()
    assert watch.rebound
    watch.rebound = False
    assert watch.holds()
    assert not watch.rebound
    assert before()
    names["number"] = 2
    assert not watch.holds()


def test_identities_are_what_there_is_to_compare() -> None:
    names: dict[str, Any] = {"__name__": "program", "scale": 1.5}
    exec("def read(): return scale, len, missing_until_now", {}, names)
    read = FunctionType(names["read"].__code__, names)
    assert Watch([guards_of(read)]).identities is None  # a name that is not there means nothing yet
    names["missing_until_now"] = 3
    watch = Watch([guards_of(read)])
    assert watch.identities is not None
    found = {(each.name, each.missing): each.value for each in watch.identities}
    assert found == {
        ("scale", False): 1.5, ("len", True): None, ("len", False): len, ("missing_until_now", False): 3,
    }  # fmt: skip


def test_a_closure_value_is_watched_in_its_cell() -> None:
    value = 1.5

    def read() -> float:
        return value

    watch = Watch([guards_of(read)])
    assert watch.identities is not None
    assert [(each.name, each.value) for each in watch.identities] == [(None, 1.5)]
    assert watch.holds()
    value = 2.5
    assert not watch.holds()


def test_a_change_between_capture_and_watch_is_not_taken_for_granted() -> None:
    names: dict[str, Any] = {"__name__": "program", "scale": 1.5}
    exec("def read(): return scale", {}, names)
    guards = guards_of(FunctionType(names["read"].__code__, names))
    names["scale"] = 2.5
    assert not Watch([guards]).holds()

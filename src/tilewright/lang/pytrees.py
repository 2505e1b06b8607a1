"""Staged values inside tuples and lists: what a variable of the host can hold and a region can carry."""

from collections.abc import Callable, Iterator
from typing import Any, cast

from tilewright.lang.base import StagedBase

__all__ = ["holds_staged", "leaves", "rebuilt", "same_host", "structure"]

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def leaves(value: object) -> Iterator[object]:
    """The entries of nested tuples and lists, in order; anything else is one entry."""
    if type(value) in (tuple, list):
        for item in cast("list[object]", value):
            yield from leaves(item)
    else:
        yield value


def holds_staged(value: object) -> bool:
    """Whether a staged value is in there."""
    return any(isinstance(leaf, StagedBase) for leaf in leaves(value))


def rebuilt(value: object, replace: Callable[[object], object]) -> object:
    """The same nesting with every entry replaced."""
    if type(value) in (tuple, list):
        kind = cast("Callable[[Any], object]", type(value))
        return kind([rebuilt(item, replace) for item in cast("list[object]", value)])
    return replace(value)


def structure(value: object) -> object:
    """The nesting alone, to be compared."""
    if type(value) in (tuple, list):
        return (type(value), tuple(structure(item) for item in cast("list[object]", value)))
    return None


def same_host(a: object, b: object) -> bool:
    """Whether two host values are the same object, or equal numbers or texts, or equal nestings of such."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, _PLAIN):
        return a == b
    if type(a) in (tuple, list):
        first, second = cast("list[object]", a), cast("list[object]", b)
        return len(first) == len(second) and all(map(same_host, first, second))
    return False

"""Attributes that are computed when they are first read."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["computed"]

T = TypeVar("T")


class computed(Generic[T]):  # noqa: N801  a decorator
    """As `functools.cached_property` is from Python 3.12 on: without a lock, which a forked child could find locked.

    Two threads that read at once may both compute; the later value stays.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value

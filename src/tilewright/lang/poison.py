"""What a variable is when it has no single value: every use is an error that names it."""

from typing import NoReturn

from tilewright.core.codes.capture import CLOSED_VALUE, HOST_ARMS, ONE_ARM
from tilewright.core.codes.types import ARM_TYPES
from tilewright.core.diagnostics import Label
from tilewright.core.errors import CaptureError, TileTypeError
from tilewright.core.source import Span, user_span
from tilewright.lang.refusing import NotAValue

__all__ = ["Differing", "DifferingHost", "Escaped", "OneArm", "Poison"]


class Poison(NotAValue):
    """Base of the values that cannot be used. Binding the variable anew makes it an ordinary one again."""

    def __getattr__(self, name: str) -> NoReturn:
        self.refuse()

    def __call__(self, *_: object, **__: object) -> NoReturn:
        self.refuse()

    def __getitem__(self, key: object) -> NoReturn:
        self.refuse()

    def __iter__(self) -> NoReturn:
        self.refuse()


class Escaped(Poison):
    """A variable made in a region that closed, without a value before it."""

    def __init__(self, name: str, region: str, span: Span) -> None:
        self._name = name
        self._region = region
        self._span = span

    def refuse(self) -> NoReturn:
        what = f"`{self._name}`, a variable of {self._region},"
        labels = _labels((self._span, f"`{self._name}` was made here"))
        raise CaptureError(CLOSED_VALUE.at(user_span(), what=what, labels=labels))


class OneArm(Poison):
    """A variable that one arm of a staged `if` binds, without a value before it."""

    def __init__(self, name: str, branch: str, span: Span) -> None:
        self._name = name
        self._branch = branch
        self._span = span

    def refuse(self) -> NoReturn:
        labels = _labels((self._span, f"`{self._name}` is bound here"))
        raise CaptureError(ONE_ARM.at(user_span(), name=self._name, branch=self._branch, labels=labels))


class Differing(Poison):
    """A variable that has values of two types after a staged `if`."""

    def __init__(self, name: str, branch: str, first: tuple[str, Span], second: tuple[str, Span]) -> None:
        self._name = name
        self._branch = branch
        self._pair = (first, second)

    def refuse(self) -> NoReturn:
        (first, here), (second, there) = self._pair
        labels = _labels((here, f"here it is {first}"), (there, f"here it is {second}"))
        facts = {"name": self._name, "branch": self._branch, "first": first, "second": second}
        raise TileTypeError(ARM_TYPES.at(user_span(), labels=labels, **facts))


class DifferingHost(Poison):
    """A variable that has two host values after a staged `if`."""

    def __init__(self, name: str, branch: str, first: str, second: str) -> None:
        self._name = name
        self._branch = branch
        self._pair = (first, second)

    def refuse(self) -> NoReturn:
        first, second = self._pair
        raise CaptureError(HOST_ARMS.at(user_span(), name=self._name, branch=self._branch, first=first, second=second))


def _labels(*places: tuple[Span, str]) -> list[Label]:
    """Labels of the places that are known."""
    return [Label(span, text) for span, text in places if span.line]

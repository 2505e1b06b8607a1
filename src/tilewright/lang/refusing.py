"""Objects of the language that are no values: Python's operators on them are errors that say what to write."""

from collections.abc import Callable
from typing import ClassVar, NoReturn

from tilewright.core.codes.capture import NOT_A_VALUE
from tilewright.core.errors import CaptureError
from tilewright.core.source import user_span

__all__ = ["NotAValue"]

_ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
_CONVERSIONS = ("bool", "len", "int", "float", "index", "contains")
_OTHER = ("neg", "pos", "invert", "abs", "lt", "le", "gt", "ge", "eq", "ne", *_CONVERSIONS)
_OPERATORS = (*_ARITHMETIC, *(f"r{name}" for name in _ARITHMETIC), *_OTHER)


class NotAValue:
    """Base of views, element handles, regions, handles and escaped variables. The operators are added at run time
    only, so that type checkers still refuse them.
    """

    noun: ClassVar[str] = "an object"
    reason: ClassVar[str] = "it is not a tile or scalar"
    remedy: ClassVar[str] = "use a tile or scalar"

    def refuse(self) -> NoReturn:
        """Raises the error for the use of this object as a value (CaptureError, TW117 unless overridden)."""
        raise CaptureError(NOT_A_VALUE.at(user_span(), what=self.noun, reason=self.reason, remedy=self.remedy))


def _refusal(name: str) -> Callable[..., NoReturn]:
    def operator(self: NotAValue, *_: object) -> NoReturn:
        self.refuse()

    operator.__name__ = f"__{name}__"
    return operator


for _name in _OPERATORS:
    setattr(NotAValue, f"__{_name}__", _refusal(_name))
NotAValue.__hash__ = object.__hash__

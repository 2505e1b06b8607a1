"""The exception tree. Each family owns one hundred of the codes, so that a code says which exception carries it.

TilewrightError
├─ KernelError           the program is wrong
│  ├─ CaptureError       TW1xx  Python outside the language
│  ├─ TileTypeError      TW2xx  types and shapes; also a TypeError
│  └─ EffectError        TW3xx  aliases, escapes, races, bounds
├─ UnsupportedError      TW4xx  a valid program that this route or target refuses
│  ├─ PlanError                 no legal candidate is left; has .rejections
│  └─ CapabilityError           a device, driver or optional package is missing
├─ ToolchainError        TW5xx  what we call to make code failed
├─ DispatchError         TW6xx  a buffer, argument or command is wrong
└─ InternalError         TW9xx  our bug
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar, cast

from .codes.internal import WRONG_FAMILY
from .diagnostics import Diagnostic, render
from .source import Span

__all__ = [
    "CapabilityError",
    "CaptureError",
    "DispatchError",
    "EffectError",
    "InternalError",
    "KernelError",
    "PlanError",
    "TileTypeError",
    "TilewrightError",
    "ToolchainError",
    "UnsupportedError",
    "blame",
    "during",
]


class TilewrightError(Exception):
    """Carries one or more diagnostics; its text is their rendering. Refuses a code of another family."""

    families: ClassVar[frozenset[int]] = frozenset({1, 2, 3, 4, 5, 6, 9})

    def __init__(self, diagnostic: Diagnostic, *more: Diagnostic) -> None:
        super().__init__(diagnostic, *more)
        for d in self.diagnostics:
            if d.code.family not in self.families:
                raise InternalError(WRONG_FAMILY.at(d.span, exception=type(self).__name__, code=d.code.id))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All findings, in the order in which they were made."""
        return cast("tuple[Diagnostic, ...]", self.args)

    @property
    def diagnostic(self) -> Diagnostic:
        """The first finding."""
        return self.diagnostics[0]

    def __str__(self) -> str:
        return "\n\n".join(map(render, self.diagnostics))


class KernelError(TilewrightError):
    """The program is wrong."""

    families = frozenset({1, 2, 3})


class CaptureError(KernelError):
    """Python outside the language (TW1xx)."""

    families = frozenset({1})


class TileTypeError(KernelError, TypeError):
    """Types or shapes that do not fit (TW2xx)."""

    families = frozenset({2})


class EffectError(KernelError):
    """Aliases, escapes, races and bounds (TW3xx)."""

    families = frozenset({3})


class UnsupportedError(TilewrightError):
    """A valid program that this route or target refuses (TW4xx)."""

    families = frozenset({4})


class PlanError(UnsupportedError):
    """No legal candidate is left. `rejections` holds the planner's records of what was refused and why."""

    def __init__(self, diagnostic: Diagnostic, *more: Diagnostic, rejections: Sequence[object] = ()) -> None:
        super().__init__(diagnostic, *more)
        self.rejections = tuple(rejections)


class CapabilityError(UnsupportedError):
    """A device, driver or optional package is missing."""


class ToolchainError(TilewrightError):
    """What makes machine code failed (TW5xx). `command`, `log` and `artifact` say what ran, printed and was left."""

    families = frozenset({5})

    def __init__(
        self, diagnostic: Diagnostic, *more: Diagnostic, command: str = "", log: str = "", artifact: str = ""
    ) -> None:
        super().__init__(diagnostic, *more)
        self.command, self.log, self.artifact = command, log, artifact


class DispatchError(TilewrightError):
    """A buffer, argument or command is wrong (TW6xx)."""

    families = frozenset({6})


class InternalError(TilewrightError):
    """Our bug (TW9xx). `pass_name` is the guilty pass, `reproducer` the file that shows it, when they are known."""

    families = frozenset({9})

    def __init__(self, diagnostic: Diagnostic, *more: Diagnostic, pass_name: str = "", reproducer: str = "") -> None:
        notes = [f"pass: {pass_name}"] * bool(pass_name) + [f"reproducer: {reproducer}"] * bool(reproducer)
        super().__init__(replace(diagnostic, notes=(*diagnostic.notes, *notes)), *more)
        self.pass_name, self.reproducer = pass_name, reproducer


@contextmanager
def during(what: str) -> Generator[None]:
    """Adds a "while" line to every diagnostic of a TilewrightError that escapes the block."""
    try:
        yield
    except TilewrightError as error:
        error.args = tuple(replace(d, context=(*d.context, what)) for d in error.diagnostics)
        raise


@contextmanager
def blame(span: Span) -> Generator[None]:
    """Puts `span` on those diagnostics of an escaping TilewrightError that know no place of their own."""
    try:
        yield
    except TilewrightError as error:
        error.args = tuple(d if d.span.line else replace(d, span=span) for d in error.diagnostics)
        raise

"""`if` statements. On a host value one arm runs, as in Python. On a staged one both are captured, and what they bind is
merged: loads and stores inside happen where the condition holds, and a variable is `where(condition, then, else)`.

The rewritten statement keeps both bodies where they are:

    _tw_1 = _tw.branch(test, ('x',), None)
    if _tw_1.then: ...
    _tw.turn(_tw_1)        # variables are what they were before, for the second arm
    if _tw_1.otherwise: ...
    _tw.merge(_tw_1)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from xdsl.ir import SSAValue

from tilewright.core.codes.capture import STAGED_IF
from tilewright.core.errors import CaptureError
from tilewright.core.source import Span, user_span
from tilewright.ir.types import is_tile, space_of
from tilewright.ir.verify.shapes import conflicting_dim
from tilewright.lang import operations
from tilewright.lang.base import StagedBase, use
from tilewright.lang.carry import place_of, same_values, shown
from tilewright.lang.containers import Containers
from tilewright.lang.context import Arm, Capture, current
from tilewright.lang.memory import Memory
from tilewright.lang.poison import Differing, DifferingHost, OneArm, Poison
from tilewright.lang.pytrees import leaves, rebuilt, structure
from tilewright.lang.values import wrap
from tilewright.numerics.cast import exact_literal

__all__ = ["Branch", "HostBranch", "StagedBranch", "branch_on"]

_UNBOUND = object()
_NOTHING: Mapping[str, object] = {}


class Branch(Protocol):
    """One `if` statement while it runs: which arms run, and what variables are before the second and after both."""

    @property
    def then(self) -> bool: ...
    @property
    def otherwise(self) -> bool: ...
    @property
    def restored(self) -> Mapping[str, object]: ...
    @property
    def merged(self) -> Mapping[str, object]: ...

    def turn(self, variables: Mapping[str, object]) -> None:
        """Between the arms."""
        ...

    def merge(self, variables: Mapping[str, object]) -> None:
        """After both."""
        ...


@dataclass(frozen=True, slots=True)
class HostBranch:
    """An `if` on a host value: Python's own."""

    then: bool
    restored: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    merged: Mapping[str, object] = field(default_factory=lambda: _NOTHING)

    @property
    def otherwise(self) -> bool:
        return not self.then

    def turn(self, variables: Mapping[str, object]) -> None:
        """One arm ran or runs; nothing is to be restored."""

    def merge(self, variables: Mapping[str, object]) -> None:
        """One arm ran; nothing is to be merged."""


def branch_on(
    test: object, names: Sequence[str], forbidden: str | None, variables: Mapping[str, object]
) -> "HostBranch | StagedBranch":
    """The branch of an `if` whose arms bind `names`; `forbidden` is what they hold that no arm may.

    Raises CaptureError (TW113) for that on a staged test, TileTypeError (TW217) for a test that is no truth.
    """
    if not isinstance(test, StagedBase):
        return HostBranch(bool(test))
    if forbidden is not None:
        raise CaptureError(STAGED_IF.at(user_span(), word=forbidden, what=test.describe()))
    condition = operations.condition(test, "the condition of `if`")
    return StagedBranch.open(current("`if`"), condition, names, variables)


@dataclass(slots=True)
class StagedBranch:
    """An `if` on a staged value."""

    capture: Capture
    test: SSAValue
    names: tuple[str, ...]
    before: Mapping[str, object]
    containers: Containers
    arm: Arm
    memories: Sequence[tuple[Memory, bool]]
    restored: dict[str, object] = field(default_factory=dict[str, object])
    merged: dict[str, object] = field(default_factory=dict[str, object])
    _first: dict[str, object] = field(default_factory=dict[str, object])
    _first_filled: list[bool] = field(default_factory=list[bool])

    then = otherwise = True

    @staticmethod
    def open(capture: Capture, test: SSAValue, names: Sequence[str], variables: Mapping[str, object]) -> "StagedBranch":
        """Opens the first arm."""
        before = {name: variables[name] for name in names if name in variables}
        memories = [(memory, memory.is_filled) for memory in capture.open_memories()]
        arm = capture.enter_arm(test, wanted=True)
        return StagedBranch(capture, test, tuple(names), before, Containers.of(variables), arm, memories)

    def describe(self) -> str:
        """The statement as messages name it."""
        return self.arm.describe()

    def turn(self, variables: Mapping[str, object]) -> None:
        """Closes the first arm and opens the second, where every variable is what it was before."""
        self._close()
        self._first = {name: variables.get(name, _UNBOUND) for name in self.names}
        self._first_filled = [memory.is_filled for memory, _ in self.memories]
        for memory, filled in self.memories:
            memory.is_filled = filled
        for name, value in self._first.items():
            if name in self.before:
                self.restored[name] = self.before[name]
            elif value is not _UNBOUND:
                self.restored[name] = self._one_arm(name, value)
        self.arm = self.capture.enter_arm(self.test, wanted=False)

    def merge(self, variables: Mapping[str, object]) -> None:
        """Closes the second arm, and says what every variable is."""
        self._close()
        for (memory, _), filled in zip(self.memories, self._first_filled, strict=True):
            memory.is_filled = memory.is_filled and filled
        for name in self.names:
            first, second = self._first[name], variables.get(name, _UNBOUND)
            if first is not _UNBOUND or second is not _UNBOUND:
                self.merged[name] = self._merged(name, first, second)

    def _close(self) -> None:
        self.capture.leave_arm(self.arm)
        self.containers.check(self.arm)

    def _one_arm(self, name: str, value: object) -> OneArm:
        return OneArm(name, self.describe(), self._place(value))

    def _place(self, value: object) -> Span:
        return place_of(value, self.arm.span)

    def _merged(self, name: str, first: object, second: object) -> object:
        """What one variable is after the statement."""
        if second is _UNBOUND:
            return self._one_arm(name, first)
        if first is _UNBOUND:
            return self._one_arm(name, second)
        for each in (first, second):
            if isinstance(each, Poison):
                return each
        if same_values(first, second):
            return first
        pairs = list(zip(leaves(first), leaves(second), strict=False))
        if structure(first) != structure(second) or not all(self._fit(*pair) for pair in pairs):
            return self._differing(name, first, second)
        seconds = leaves(second)
        return rebuilt(first, lambda leaf: self._choice(leaf, next(seconds)))

    def _differing(self, name: str, first: object, second: object) -> Poison:
        if not any(isinstance(leaf, StagedBase) for leaf in (*leaves(first), *leaves(second))):
            return DifferingHost(name, self.describe(), _host(first), _host(second))
        places = [(shown(value), self._place(value)) for value in (first, second)]
        return Differing(name, self.describe(), *places)

    def _choice(self, first: object, second: object) -> object:
        if same_values(first, second):
            return first
        return wrap(operations.select(StagedBase(self.test, self.capture), first, second))

    def _fit(self, first: object, second: object) -> bool:
        """Whether two entries are one value: the same, or of one type, or a number that has the type of the other."""
        if same_values(first, second):
            return True
        if not isinstance(first, StagedBase):
            first, second = second, first
        if not isinstance(first, StagedBase):
            return False
        if not isinstance(second, StagedBase):
            number = operations.as_number(second)
            return number is not None and exact_literal(number, first.dtype) and self._joins(use(first))
        pair = use(first), use(second)
        return first.dtype == second.dtype and self._same_shape(*pair) and self._joins(*pair)

    def _same_shape(self, first: SSAValue, second: SSAValue) -> bool:
        """Tiles have the same space; under a tile of conditions a scalar stands for a tile of it."""
        return first.type == second.type or (is_tile(self.test) and is_tile(first) != is_tile(second))

    def _joins(self, *values: SSAValue) -> bool:
        """Whether the values and the condition have a joint space."""
        return conflicting_dim(space_of(value) for value in (self.test, *values)) is None


def _host(value: object) -> str:
    return repr(value) if isinstance(value, bool | int | float | str) or value is None else f"a {type(value).__name__}"

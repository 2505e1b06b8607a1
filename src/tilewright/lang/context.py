"""The capture in progress: where operations go, which regions are open, which dimensions exist."""

import itertools
from collections.abc import Iterator, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from xdsl.ir import Block, Operation, SSAValue

from tilewright.core.codes.capture import NESTED_CAPTURE, NO_CAPTURE, REGION_LEFT
from tilewright.core.errors import CaptureError
from tilewright.core.source import Span, user_span
from tilewright.ir.builder import TileBuilder
from tilewright.ir.types import DimAttr

if TYPE_CHECKING:
    from tilewright.lang.memory import Memory

__all__ = ["Arm", "Capture", "Frame", "capturing", "current", "emit"]

OpT = TypeVar("OpT", bound=Operation)


@dataclass(eq=False, slots=True)
class Frame:
    """One open region (or map body, or the kernel's root): its block, its coordinates and what it owns.

    `kind` is "kernel", "parallel", "serial", "pipeline", "reduce", "map" or "scan".
    """

    kind: str
    block: Block
    span: Span
    parent: "Frame | None" = None
    coordinates: dict[DimAttr, SSAValue] = field(default_factory=dict[DimAttr, SSAValue])
    memories: "list[Memory]" = field(default_factory=list["Memory"])
    stages: list[str] = field(default_factory=list[str])
    scope: str | None = None
    is_open: bool = True

    @property
    def is_temporal(self) -> bool:
        """Whether iterations follow each other, so that variables can be carried."""
        return self.kind in ("serial", "pipeline", "reduce")

    def outward(self) -> "Iterator[Frame]":
        """This frame and the enclosing ones, innermost first."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.parent

    def describe(self) -> str:
        """The region as messages name it."""
        return "the kernel" if self.kind == "kernel" else f"the {self.kind} of line {self.span.line}"


@dataclass(eq=False, slots=True)
class Arm:
    """An open arm of a staged `if`: what happens in it does so where `test` is `wanted`, inside the `outer` arm.

    `condition` is all of that as one value, once it was needed in the region of the arm.
    """

    test: SSAValue
    wanted: bool
    frame: Frame
    span: Span
    outer: "Arm | None" = None
    condition: SSAValue | None = None

    def describe(self) -> str:
        """The statement as messages name it."""
        return f"the `if` of line {self.span.line}"


class Capture:
    """The state of one capture. Dimensions are numbered in the order in which they appear."""

    def __init__(self, name: str, block: Block, span: Span, labels: Mapping[int, str] | None = None) -> None:
        self.name = name
        self.root = Frame("kernel", block, span)
        self.frame = self.root
        self.labels = dict(labels or {})
        self.has_root_parallel = False
        self.arm: Arm | None = None
        self._numbers = itertools.count(len(self.labels))
        self._positional: dict[int, DimAttr] = {}

    def fresh_dim(self, label: str) -> DimAttr:
        """A dimension that no other space of this kernel has."""
        dim = DimAttr.of(next(self._numbers))
        self.labels[dim.number] = label
        return dim

    def positional_dim(self, distance: int) -> DimAttr:
        """The shared dimension of axes given as bare extents, by their distance from the right."""
        if distance not in self._positional:
            self._positional[distance] = self.fresh_dim(f"positional.{distance}")
        return self._positional[distance]

    def is_positional(self, dim: DimAttr) -> bool:
        """Whether the dimension stands for bare extents."""
        return dim in self._positional.values()

    def insert(self, op: OpT, span: Span | None = None) -> OpT:
        """Appends an operation to the innermost open region."""
        return TileBuilder(self.frame.block).insert(op, span or user_span())

    def enter(self, frame: Frame) -> None:
        self.frame = frame

    def leave(self, frame: Frame) -> None:
        """Closes a frame: what was made in it can no longer be used."""
        frame.is_open = False
        self.frame = frame.parent or self.root

    def enter_arm(self, test: SSAValue, *, wanted: bool) -> Arm:
        """Opens an arm: effects from here on happen where `test` is `wanted`."""
        self.arm = Arm(test, wanted, self.frame, user_span(), self.arm)
        return self.arm

    def require_arm(self, arm: Arm | None) -> None:
        """Raises CaptureError (TW125) when an arm was opened since `arm` and not closed."""
        if self.arm is not None and self.arm is not arm:
            raise CaptureError(REGION_LEFT.at(self.arm.span, region=self.arm.describe()))

    def leave_arm(self, arm: Arm) -> None:
        """Closes the innermost arm. Raises CaptureError (TW125) when that is another one, or a region is still open."""
        if self.arm is not arm or self.frame is not arm.frame:
            inner = self.frame if self.frame is not arm.frame else self.arm or arm
            raise CaptureError(REGION_LEFT.at(inner.span, region=inner.describe()))
        self.arm = arm.outer

    def open_memories(self) -> "list[Memory]":
        """Manual memories that can be used here, in the order of their declaration."""
        frames = reversed(list(self.frame.outward()))
        return [memory for frame in frames for memory in frame.memories]


_ACTIVE: ContextVar[Capture | None] = ContextVar("tilewright_capture", default=None)


def current(what: str) -> Capture:
    """The capture in progress. Raises CaptureError (TW101) when there is none; `what` says who needs it."""
    capture = _ACTIVE.get()
    if capture is None:
        raise CaptureError(NO_CAPTURE.at(user_span(), what=what))
    return capture


def emit(op: OpT, span: Span | None = None) -> OpT:
    """Appends an operation to the capture in progress."""
    return current(op.name.removeprefix("tile.")).insert(op, span)


class capturing:  # noqa: N801  a context manager reads as a verb
    """Makes `capture` the one in progress. Raises CaptureError (TW104) when another one is."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._token: Token[Capture | None] | None = None

    def __enter__(self) -> Capture:
        outer = _ACTIVE.get()
        if outer is not None:
            raise CaptureError(NESTED_CAPTURE.at(user_span(), inner=self._capture.name, outer=outer.name))
        self._token = _ACTIVE.set(self._capture)
        return self._capture

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _ACTIVE.reset(self._token)

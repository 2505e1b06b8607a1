"""Regions and their handles: what is written in a `for` header, and what its variable can do."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

from xdsl.ir import SSAValue

from tilewright.core.codes.capture import (
    CLOSED_NEST,
    INDEX_NEEDS_AXIS,
    NOT_INNERMOST,
    REGION_OUTSIDE_HEADER,
    REGION_POLICY,
    ROOT_INSIDE,
    STAGE_PLACE,
    UNKNOWN_COORDINATE,
)
from tilewright.core.codes.effects import SCOPE_REFUSED
from tilewright.core.errors import CaptureError, EffectError
from tilewright.core.source import Span, user_span
from tilewright.ir.attrs import Policy
from tilewright.ir.ops.regions import StageOp
from tilewright.ir.types import DimAttr
from tilewright.lang.context import Capture, Frame, current
from tilewright.lang.refusing import NotAValue
from tilewright.lang.spaces import Axis, Shape, counted_axes
from tilewright.lang.values import Scalar

__all__ = ["Nest", "Region", "Scope", "checked_policy", "parallel", "serial"]

_LARGEST = 2**32 - 1


class Scope(StrEnum):
    """The levels of execution a parallel can be bound to, from the outermost in."""

    DEVICE = "device"
    GROUP = "group"
    SUBGROUP = "subgroup"
    WORKER = "worker"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True, eq=False)
class Region(NotAValue):
    """A region that a `for` header will open: its kind, its domain and its policy."""

    kind: str
    domain: Shape
    span: Span
    capture: Capture
    scope: str | None = None
    window: int = 0
    interval: int = 1
    policy: Policy = Policy.UNORDERED_TREE

    noun = "a region"
    reason = "a region is a part of the program, opened by a `for`"
    remedy = "write it in the header of a `for`, as in `for nest in parallel(...)`"

    def __iter__(self) -> "Iterator[Nest]":
        raise CaptureError(REGION_OUTSIDE_HEADER.at(self.span, region=f"{self.kind}(...)"))


class Nest(NotAValue):
    """The handle of an open region: its coordinates, and the regions inside it."""

    noun = "the handle of a region"
    reason = "a handle stands for the region, not for a number"
    remedy = "write nest.index(axis), or nest.index() when the region has one axis"

    def __init__(self, capture: Capture, frame: Frame, domain: Shape) -> None:
        self._capture = capture
        self._frame = frame
        self._domain = domain

    def parallel(self, domain: Shape, *, scope: str | None = None) -> Region:
        """Independent instances inside this one, in any order."""
        return self._inside("parallel", domain, scope=_checked_scope(scope, self._frame))

    def serial(self, domain: Shape) -> Region:
        """Ordered iterations, the last axis fastest."""
        return self._inside("serial", domain)

    def reduce(self, domain: Shape, *, policy: Policy | str = Policy.UNORDERED_TREE) -> Region:
        """A fold: carried variables are accumulators, and `policy` says which regroupings are permitted."""
        return self._inside("reduce", domain, policy=checked_policy(policy))

    def pipeline(self, domain: Shape, *, window: int | None = None, interval: int = 1) -> Region:
        """Ordered iterations whose stages may overlap. `window` bounds the iterations in flight (default: the planner
        chooses), `interval` is the distance between two issues.
        """
        bound = 0 if window is None else _checked_count(window, "window")
        return self._inside("pipeline", domain, window=bound, interval=_checked_count(interval, "interval"))

    def stage(self, label: str = "") -> None:
        """Opens the next stage of this pipeline. Raises CaptureError (TW129) elsewhere, or for a label used before."""
        self._check_open()
        frame = self._capture.frame
        if frame is not self._frame or frame.kind != "pipeline":
            raise CaptureError(STAGE_PLACE.at(user_span(), what=f"stage(...) in {frame.describe()}"))
        name = label or f"stage{len(frame.stages)}"
        if name in frame.stages:
            raise CaptureError(STAGE_PLACE.at(user_span(), what=f"the second stage {name!r} of {frame.describe()}"))
        frame.stages.append(name)
        self._capture.insert(StageOp(name))

    def index(self, axis: Axis | None = None) -> Scalar:
        """The coordinate along an axis of this region or an enclosing one; without an axis, the only one of this.

        Raises CaptureError: TW126 after the region closed, TW127 for an axis without coordinate, TW128 without an axis
        when the region has another number of them.
        """
        self._check_open()
        if axis is not None:
            return Scalar(self.coordinate(axis.dim), self._capture)
        if self._domain.rank != 1:
            rank = counted_axes(self._domain.rank)
            raise CaptureError(INDEX_NEEDS_AXIS.at(user_span(), region=self._frame.describe(), rank=rank))
        return Scalar(self.coordinate(self._domain.axes[0].dim), self._capture)

    def coords(self) -> tuple[Scalar, ...]:
        """The coordinates of this region, in axis order."""
        self._check_open()
        return tuple(Scalar(self.coordinate(axis.dim), self._capture) for axis in self._domain.axes)

    def coordinate(self, dim: DimAttr) -> SSAValue:
        """The IR coordinate along a dimension: of the innermost region that has it, from this one outward."""
        self._check_open()
        for frame in self._frame.outward():
            if dim in frame.coordinates:
                return frame.coordinates[dim]
        label = self._capture.labels.get(dim.number, "?")
        raise CaptureError(UNKNOWN_COORDINATE.at(user_span(), axis=f"`{label}`"))

    def __getitem__(self, key: object) -> NoReturn:
        self.refuse()

    def _check_open(self) -> None:
        if not self._frame.is_open or current("a handle") is not self._capture:
            raise CaptureError(CLOSED_NEST.at(user_span(), region=self._frame.describe()))

    def _inside(self, kind: str, domain: Shape, **policy: object) -> Region:
        self._check_open()
        if self._capture.frame is not self._frame:
            call, region = f"{kind}(...) of {self._frame.describe()}", self._capture.frame.describe()
            raise CaptureError(NOT_INNERMOST.at(user_span(), call=call, region=region))
        return _region(kind, domain, self._capture, **policy)


def parallel(domain: Shape, *, scope: str | None = None) -> Region:
    """The root of a kernel: independent programs, one for each point of `domain`.

    Raises CaptureError (TW123) inside another region, where it is a method of that region's handle.
    """
    capture = _at_root("parallel")
    return _region("parallel", domain, capture, scope=_checked_scope(scope, capture.frame))


def serial(domain: Shape) -> Region:
    """An ordered loop at the root of a kernel, around parallels: each iteration is a launch that sees the one before.

    Raises CaptureError (TW123) inside another region, where it is a method of that region's handle.
    """
    return _region("serial", domain, _at_root("serial"))


def _at_root(kind: str) -> Capture:
    """The capture, which must be outside of every region that has parallels to itself."""
    capture = current(f"{kind}(...)")
    if capture.frame is not capture.root:
        raise CaptureError(ROOT_INSIDE.at(user_span(), kind=kind, region=capture.frame.describe(), nest="nest"))
    return capture


def _region(kind: str, domain: object, capture: Capture, **policy: object) -> Region:
    if not isinstance(domain, Shape) or domain.rank == 0:
        shown = "a shape without axes" if isinstance(domain, Shape) else f"a {type(domain).__name__}"
        raise _bad_policy(
            f"the domain of {kind} is {shown}", "a region runs over one axis or more", "write shape(...) with its axes"
        )
    return Region(kind, domain, user_span(), capture, **policy)  # pyright: ignore[reportArgumentType]


def checked_policy(policy: object) -> Policy:
    """The policy of a fold. Raises CaptureError (TW130) for a name that is none."""
    if isinstance(policy, str) and policy in list(Policy):
        return Policy(policy)
    names = ", ".join(Policy)
    reason = "a policy says which regroupings of a fold are permitted"
    raise _bad_policy(f"the policy {policy!r}", reason, f"use {names}")


def _checked_count(value: object, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST:
        return value
    raise _bad_policy(
        f"the {name} {value!r} of a pipeline",
        "window bounds the iterations in flight and interval is the distance between issues: both count from 1",
        f"use a whole number from 1 on, or leave {name} out to let the planner choose",
    )


def _checked_scope(scope: object, frame: Frame) -> str | None:
    """The scope as a string. A known one must not lie outside the known one of an enclosing parallel (TW354)."""
    if scope is None:
        return None
    if not isinstance(scope, str) or not scope:
        reason, remedy = "a scope is the name of a level of the target", "use scope='worker' or scope='group'"
        raise _bad_policy(f"the scope {scope!r}", reason, remedy)
    order = [level.value for level in Scope]
    for outer in frame.outward():
        bound = outer.scope
        if bound in order and scope in order:
            if order.index(scope) < order.index(bound):
                raise EffectError(SCOPE_REFUSED.at(user_span(), what=f"the scope {scope} inside the scope {bound}"))
            break
    return str(scope)


def _bad_policy(what: str, reason: str, remedy: str) -> CaptureError:
    return CaptureError(REGION_POLICY.at(user_span(), what=what, reason=reason, remedy=remedy))

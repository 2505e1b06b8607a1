"""The state of one interpretation: what runs, where, and in which order."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from xdsl.ir import Block, Operation

from tilewright.core.codes.internal import MALFORMED_IR
from tilewright.core.errors import InternalError
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of
from tilewright.ir.ops.regions import YieldOp
from tilewright.ir.types import DimAttr, SpaceAttr

from .frame import Frame, point_of
from .races import Tracker

__all__ = ["Checks", "EndOfIteration", "Instance", "Machine", "Meaning", "Order"]

T = TypeVar("T")
Order = int | Literal["reverse"] | None
Meaning = Callable[["Machine", Any, Frame], None]


@dataclass(frozen=True, slots=True)
class Checks:
    """What is watched besides bounds, which always are.

    `races` reports two parallel instances that touch one cell. `poison` names parameters whose contents mean nothing
    at the start: floats are filled with NaN, and reading a cell before it was written is an error.
    """

    races: bool = True
    poison: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a `parallel` that is running now. `number` counts its points in lexicographic order."""

    space: SpaceAttr
    number: int
    tracker: Tracker | None


class EndOfIteration(Exception):  # noqa: N818  a way out of a body, not an error
    """Leaves the body of the innermost region that carries; what it carries stays as it is."""


@dataclass(slots=True)
class Machine:
    """One run of one kernel. `lanes` bounds how many points of a map or fold are evaluated at once."""

    kernel: Kernel
    meanings: Mapping[type[Operation], Meaning]
    checks: Checks
    order: Order
    lanes: int
    instances: list[Instance] = field(default_factory=list[Instance])
    rng: np.random.Generator | None = None
    _facts: dict[Operation, Any] = field(default_factory=dict[Operation, Any])

    def run(self, block: Block, frame: Frame) -> tuple[object, ...]:
        """Runs a body in `frame`; the values of its yield, all read after the last operation."""
        for op in block.ops:
            if isinstance(op, YieldOp):
                return tuple(frame.lookup(value) for value in op.values)
            meaning = self.meanings.get(type(op))
            if meaning is None:
                raise InternalError(MALFORMED_IR.at(span_of(op), what=f"{op.name} has no meaning inside a kernel"))
            meaning(self, op, frame)
        return ()

    def fact(self, op: Operation, find: Callable[[Any], T]) -> T:
        """What `find` says about `op`, asked once. An operation has one such fact."""
        if op not in self._facts:
            self._facts[op] = find(op)
        return self._facts[op]

    @contextmanager
    def inside(self, instance: Instance) -> Generator[None]:
        """Runs the block as a parallel instance."""
        self.instances.append(instance)
        try:
            yield
        finally:
            self.instances.pop()

    def label(self, dim: DimAttr) -> str:
        return self.kernel.label(dim)

    def program(self) -> str:
        """The coordinates of the running instances for people, outermost first."""
        points = [pair for i in self.instances for pair in zip(i.space.dims, point_of(i.space, i.number), strict=True)]
        return self.coordinates(points)

    def coordinates(self, pairs: list[tuple[DimAttr, int]]) -> str:
        """`(m=3, n=0)` with the user's names."""
        return f"({', '.join(f'{self.label(dim)}={coordinate}' for dim, coordinate in pairs)})"

    def place(self, frame: Frame, lane: int | None) -> tuple[str, ...]:
        """Notes that say which program and which point of the open maps is meant."""
        notes = [f"in program {self.program()}"] if self.instances else []
        point = [] if lane is None else frame.lane(lane)
        return (*notes, *([f"at point {self.coordinates(point)}"] if point else []))

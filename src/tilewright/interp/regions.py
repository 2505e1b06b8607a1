"""The structured regions that run their body point by point."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np

from tilewright.ir.ops.regions import CarryingOp, ParallelOp, StageOp, WhenOp

from .frame import Frame, point_of
from .machine import EndOfIteration, Instance, Machine
from .races import Tracker
from .values import Cells

__all__ = ["iterate", "ordered", "parallel", "stage", "when"]


def parallel(machine: Machine, op: ParallelOp, frame: Frame) -> None:
    """Every instance once, with locals of its own, in the order that was asked for."""
    tracker = Tracker() if machine.checks.races else None
    for number in _instances(machine, op.space.volume):
        inner = Frame(frame)
        for value, coordinate in zip(op.indices, point_of(op.space, number), strict=True):
            inner.define(value, Cells(np.asarray(coordinate, np.int64)))
        with machine.inside(Instance(op.space, number, tracker)):
            machine.run(op.body.block, inner)


def _instances(machine: Machine, count: int) -> Iterable[int]:
    if machine.rng is not None:
        return (int(number) for number in machine.rng.permutation(count))
    return range(count - 1, -1, -1) if machine.order == "reverse" else range(count)


def ordered(machine: Machine, op: CarryingOp, frame: Frame) -> None:
    """Serial and pipeline: every iteration in lexicographic order. Stages of a pipeline keep their source order."""
    iterate(machine, op, frame, range(op.space.volume))


def iterate(machine: Machine, op: CarryingOp, frame: Frame, numbers: Sequence[int]) -> None:
    """Runs the body at these points. All yielded values are read before any is replaced; no points keep the first."""
    indices, carries, space = op.indices, op.carries, op.space
    state: tuple[object, ...] = tuple(frame.lookup(value) for value in op.inits)
    for number in numbers:
        for value, coordinate in zip(indices, point_of(space, number), strict=True):
            frame.define(value, Cells(np.asarray(coordinate, np.int64)))
        for value, meaning in zip(carries, state, strict=True):
            frame.define(value, meaning)
        with suppress(EndOfIteration):
            state = machine.run(op.body.block, frame)
    for value, meaning in zip(op.results_, state, strict=True):
        frame.define(value, meaning)


def when(_machine: Machine, op: WhenOp, frame: Frame) -> None:
    """Goes on where the condition holds."""
    if not frame.cells(op.condition).data:
        raise EndOfIteration


def stage(_machine: Machine, _op: StageOp, _frame: Frame) -> None:
    """A cut permits overlap; it has no meaning of its own."""

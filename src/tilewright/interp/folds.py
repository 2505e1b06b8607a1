"""Folds. The order written by the policy is always permitted; closed folds take a fast way to the same bits.

A fold is closed when what it folds does not depend on its states. All contributions are then computed at once, one
lane an iteration, and combined by the operation that the body applies to the state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.core.dtypes import DType, f32, f64
from tilewright.ir.attrs import Policy
from tilewright.ir.effects import tree_effect
from tilewright.ir.ops.base import Effect
from tilewright.ir.ops.elementwise import BinaryOp
from tilewright.ir.ops.regions import ParallelOp, ReduceOp, YieldOp
from tilewright.ir.types import is_element
from tilewright.numerics.elementwise import OPS

from .frame import Frame
from .machine import Machine
from .regions import iterate
from .values import Array, Cells, dtype_of_value

__all__ = ["Fold", "fold_of", "reduce", "run_fold"]

# Merging two partial results is the same operation, so contributions may be regrouped where the policy permits it.
_MERGES = frozenset({"add", "mul", "min", "max", "and", "or", "xor", "logical_and", "logical_or"})
_ROUNDING = frozenset({"add", "mul"})
# One NumPy loop with exactly the meaning of `OPS` from left to right; the tests hold both together.
_RUNNING: Mapping[tuple[str, type[DType]], np.ufunc] = MappingProxyType(
    {(name, dtype): ufunc for name, ufunc in (("add", np.add), ("mul", np.multiply)) for dtype in (f32, f64)}
)


@dataclass(frozen=True, slots=True)
class Fold:
    """`state = op(state, item)`, or `op(item, state)` when `swapped`."""

    opcode: str
    dtype: type[DType]
    item: SSAValue
    swapped: bool

    def __call__(self, state: Array, item: Array) -> Array:
        """One step, for all lanes at once."""
        first, second = (item, state) if self.swapped else (state, item)
        return OPS[self.opcode](self.dtype, first, second)

    @property
    def exact(self) -> bool:
        """Whether every grouping gives the same bits."""
        return not (self.dtype.is_float and self.opcode in _ROUNDING)


@dataclass(frozen=True, slots=True)
class _Closed:
    contributions: tuple[Operation, ...]
    folds: tuple[Fold, ...]


def reduce(machine: Machine, op: ReduceOp, frame: Frame) -> None:
    """The fold in its written order, or with an `order` one of those that its policy permits."""
    policy, count = op.policy.data, op.space.volume
    closed = machine.fact(op, _closed)
    outer = 1 if frame.width is None else frame.width
    width = machine.lanes // max(outer, 1)
    if closed is None or width < 2 or not count:
        numbers = range(count)
        iterate(machine, op, frame, numbers[::-1] if policy == Policy.FOLD_RIGHT else numbers)
        return
    states = [frame.cells(value) for value in op.inits]
    varying = frame.width is not None
    arrays = [np.broadcast_to(state.data, (outer,)) for state in states]
    if policy in (Policy.FOLD_LEFT, Policy.FOLD_RIGHT) or (machine.rng is None and machine.order is None):
        arrays = _in_order(machine, op, frame, closed, arrays, width, backwards=policy == Policy.FOLD_RIGHT)
    else:
        items = _contributions(machine, op, frame, closed, range(count))
        arrays = [_regrouped(machine, policy, f, s, x) for f, s, x in zip(closed.folds, arrays, items, strict=True)]
    for value, array in zip(op.results_, arrays, strict=True):
        frame.define(value, Cells(array if varying else array.reshape(()), varying))


def _in_order(
    machine: Machine, op: ReduceOp, frame: Frame, closed: _Closed, states: list[Array], width: int, *, backwards: bool
) -> list[Array]:
    """All contributions, `width` iterations at a time, first to last or last to first."""
    count = op.space.volume
    starts = range(0, count, width)
    for start in starts[::-1] if backwards else starts:
        numbers = range(start, min(start + width, count))
        items = _contributions(machine, op, frame, closed, numbers)
        turned = [item[:, ::-1] for item in items] if backwards else items
        states = [run_fold(f, s, x) for f, s, x in zip(closed.folds, states, turned, strict=True)]
    return states


def _contributions(machine: Machine, op: ReduceOp, frame: Frame, closed: _Closed, numbers: range) -> list[Array]:
    """What the iterations `numbers` fold into each state, as (outer lanes, iterations)."""
    inner = Frame(frame, space=op.space, start=numbers.start, repeat=len(numbers))
    inner.enter_points(op.indices, numbers)
    for contribution in closed.contributions:
        machine.meanings[type(contribution)](machine, contribution, inner)
    shape = (cast(int, inner.width) // len(numbers), len(numbers))
    return [_rows(inner.cells(fold.item), shape) for fold in closed.folds]


def _rows(cells: Cells, shape: tuple[int, int]) -> Array:
    return cells.data.reshape(shape) if cells.varying else np.broadcast_to(cells.data, shape)


def run_fold(fold: Fold, state: Array, items: Array) -> Array:
    """`items` (lanes, n) folded into `state` (lanes,) from left to right, with one rounding a step."""
    if fold.exact:
        return fold(state, _paired(fold, items))
    ufunc = _RUNNING.get((fold.opcode, fold.dtype))
    if ufunc is None:
        for column in items.T:
            state = fold(state, column)
        return state
    with np.errstate(all="ignore"):
        return ufunc.accumulate(np.concatenate([state[:, None], items], axis=1), axis=1)[:, -1]


def _paired(fold: Fold, items: Array) -> Array:
    """Neighbours combined until one is left: every grouping of these operations has the same bits."""
    while items.shape[1] > 1:
        whole = items.shape[1] // 2 * 2
        merged = fold(items[:, 0:whole:2], items[:, 1:whole:2])
        items = np.concatenate([merged, items[:, whole:]], axis=1)
    return items[:, 0]


def _regrouped(machine: Machine, policy: Policy, fold: Fold, state: Array, items: Array) -> Array:
    """Another order that the policy permits: contributions permuted if it may, then grouped at random; one seed."""
    rng = machine.rng
    if rng is None:
        return run_fold(fold, state, items[:, ::-1] if policy == Policy.UNORDERED_TREE else items)
    order = rng.permutation(items.shape[1]) if policy == Policy.UNORDERED_TREE else range(items.shape[1])
    parts = [items[:, i] for i in order]
    while len(parts) > 1:
        at = int(rng.integers(len(parts) - 1))
        parts[at : at + 2] = [fold(parts[at], parts[at + 1])]
    return fold(state, parts[0])


def _closed(op: ReduceOp) -> _Closed | None:
    """The closed form of a fold, if it has one: scalar states, one merging operation each, no writes, no early ends."""
    if tree_effect(op) & (Effect.WRITE | Effect.ALLOCATE) or not _all_scalars(op.inits) or op.when is not None:
        return None
    free: list[Operation] = []
    tied: set[SSAValue] = set(op.carries)
    steps: list[Operation] = []
    for inner in op.body.block.ops:
        if isinstance(inner, YieldOp):
            folds = [_fold(carry, value) for carry, value in zip(op.carries, inner.values, strict=True)]
            found = [fold for fold in folds if fold is not None and fold.item not in tied]
            return _Closed(tuple(free), tuple(found)) if len(found) == len(folds) == len(steps) else None
        if any(value in tied for user in inner.walk() for value in user.operands):
            tied.update(inner.results)
            steps.append(inner)
        elif any(isinstance(each, ParallelOp) or not _all_scalars(each.results) for each in inner.walk()):
            return None
        else:
            free.append(inner)
    return None


def _all_scalars(values: Sequence[SSAValue]) -> bool:
    return all(is_element(value.type) for value in values)


def _fold(carry: SSAValue, value: SSAValue) -> Fold | None:
    """The merging operation that makes the next state from `carry`, if `value` is one."""
    step: Any = value.owner
    return fold_of(step, carry) if isinstance(step, BinaryOp) else None


def fold_of(step: BinaryOp, carry: SSAValue) -> Fold | None:
    """`step` as a fold into `carry`, or None when it is not a merging operation on it."""
    if step.opcode not in _MERGES or (step.lhs is carry) == (step.rhs is carry):
        return None
    swapped = step.rhs is carry
    return Fold(step.opcode, dtype_of_value(carry), step.lhs if swapped else step.rhs, swapped)

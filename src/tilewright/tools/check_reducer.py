"""The laws of a reducer, tried on samples by the interpreter."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.core.codes.types import REDUCER_LAW
from tilewright.core.dtypes import DType
from tilewright.core.errors import TileTypeError, during
from tilewright.core.source import user_span
from tilewright.lang.reducer_laws import OPERANDS, Law, law_kernel, laws_of
from tilewright.lang.reducers import Reducer
from tilewright.lang.state_reducer import StateReducer, reducer
from tilewright.numerics.arrays import Array, numpy_dtype

__all__ = ["check_reducer"]

_DIGITS = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}
_REMEDIES = {
    "associative": "declare associative=False, and fold from the left or right",
    "commutative": "declare commutative=False, and fold with ordered_tree, fold_left or fold_right",
}


def check_reducer(
    reducer: Reducer | StateReducer[Any], *elements: type[DType], samples: int = 256, seed: int = 0,
    tolerance: float = 64.0,
) -> None:  # fmt: skip
    """Tries the laws that a reducer declares: its identity, associativity, commutativity.

    elements:  the element types that it folds; default: those of its states.
    samples:   how many drawn contributions are tried, among them many equal ones; `seed` draws others.
    tolerance: how many roundings of the largest operand the sides of a law may differ, for floats. Other types agree
               exactly, and NaN equals NaN.

    A law that passes is not proved. Raises TileTypeError: TW227 with a counterexample, TW225 for states of other types.
    """
    from tilewright.interp.run import run  # the language loads no interpreter before it is asked for

    states = _with_states(reducer, elements)
    folded = tuple(elements) or states.state
    with during(f"checking the laws of {states.name}"):
        kernel = law_kernel(states, folded, samples)
        rng = np.random.default_rng(seed)
        arrays = [_drawn(rng, p.element, samples) for p in kernel.parameters if p.const]
        results = [np.zeros(samples, numpy_dtype(p.element)) for p in kernel.parameters if not p.const]
        run(kernel, [*arrays, *results])
    width = len(states.state)
    sides = [results[start : start + width] for start in range(0, len(results), width)]
    operands, pairs = sides[: len(OPERANDS)], sides[len(OPERANDS) :]
    for law, first, second in zip(laws_of(states), pairs[::2], pairs[1::2], strict=True):
        at = _counterexample(states, first, second, tolerance)
        if at is not None:
            raise _broken(states, law, _shown(first, at), _shown(second, at), [_shown(each, at) for each in operands])


def _with_states(given: Reducer | StateReducer[Any], elements: Sequence[type[DType]]) -> StateReducer[Any]:
    if isinstance(given, StateReducer):
        return given
    (dtype,) = elements
    return reducer(state=dtype, identity=given.identity(dtype), merge=given.combine, name=given.name)


def _drawn(rng: np.random.Generator, dtype: type[DType], count: int) -> Array:
    """Half small whole numbers, so that many are equal; the others over a wider range."""
    small = rng.integers(0 if dtype.kind == "uint" else -4, 5, count)
    if dtype.kind == "bool":
        return small > 0
    wide: Array = rng.normal(0, 20, count) if dtype.is_float else rng.integers(0, 100, count)
    return np.where(rng.random(count) < 0.5, small, wide).astype(numpy_dtype(dtype))


def _counterexample(states: StateReducer[Any], first: list[Array], second: list[Array], tolerance: float) -> int | None:
    """The first sample in which a state differs."""
    wrong = np.zeros(len(first[0]), np.bool_)
    for dtype, left, right in zip(states.state, first, second, strict=True):
        wrong |= ~_equal(dtype, left, right, tolerance)
    return int(np.flatnonzero(wrong)[0]) if wrong.any() else None


def _broken(states: StateReducer[Any], law: Law, first: str, second: str, operands: list[str]) -> TileTypeError:
    remedy = _REMEDIES.get(law.name, "give the value that merge leaves alone on both sides")
    notes = [f"{name} is {value}" for name, value in zip(OPERANDS, operands, strict=True)]
    left, right = law.sides
    return TileTypeError(
        REDUCER_LAW.at(
            user_span(), notes=notes, name=states.name, law=law.name, left=left, right=right, first=first,
            second=second, remedy=remedy,
        )
    )  # fmt: skip


def _equal(dtype: type[DType], left: Array, right: Array, tolerance: float) -> Array:
    if dtype.name not in _DIGITS:
        return np.asarray(left == right)
    a, b = left.astype(np.float64), right.astype(np.float64)
    bound = tolerance * 2.0 ** -_DIGITS[dtype.name] * np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0)
    with np.errstate(invalid="ignore"):
        return (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= bound)


def _shown(arrays: list[Array], at: int) -> str:
    values = [str(array[at]) for array in arrays]
    return values[0] if len(values) == 1 else f"({', '.join(values)})"

"""The laws of reducers, tried on samples: those that hold pass, those that do not come with a counterexample."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.lang.test_state_reducers import argmax, minus, spread
from tilewright.core.dtypes import DType
from tilewright.core.errors import TileTypeError
from tilewright.tile import (
    Reducer,
    StateReducer,
    add,
    bf16,
    check_reducer,
    f32,
    f64,
    i32,
    maximum,
    minimum,
    mul,
    reducer,
)

RIGHT: list[tuple[Reducer | StateReducer[Any], tuple[type[DType], ...]]] = [
    (argmax, ()), (spread, (f32,)), (minus, ()),
    *((each, (dtype,)) for each in (add, mul, maximum, minimum) for dtype in (f32, f64, i32, bf16)),
]  # fmt: skip
both = reducer(state=(i32, f32), identity=(0, 1.0), merge=lambda a, b: (a[0] + b[0], a[1] * b[1]), name="both")


def lopsided(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1]


WRONG: list[tuple[StateReducer[Any], str]] = [
    (replace(argmax, commutative=True), "not commutative"),
    (replace(minus, associative=True), "left alone by its identity"),
    (reducer(state=i32, identity=1, merge=lambda a, b: a + b), "left alone by its identity"),
    (reducer(state=i32, identity=0, merge=lambda a, b: a + b + a * b * b), "not associative"),
    (replace(both, merge=lopsided), "left alone by its identity"),
]


@pytest.mark.parametrize(("own", "elements"), RIGHT, ids=str)
def test_laws_that_hold_pass(own: Any, elements: tuple[type[DType], ...]) -> None:
    check_reducer(own, *elements)


@pytest.mark.parametrize(("own", "law"), WRONG, ids=str)
def test_a_law_that_does_not_hold_has_a_counterexample(own: StateReducer[Any], law: str) -> None:
    with pytest.raises(TileTypeError, match=law) as caught:
        check_reducer(own)
    found = caught.value.diagnostic
    assert found.code.number == 227
    assert [note.split(" is ")[0] for note in found.notes] == ["a", "b", "c"]


def test_more_samples_and_other_seeds_are_other_samples() -> None:
    rare = reducer(state=i32, identity=0, merge=lambda a, b: a + b + (a == 97).astype(i32), commutative=False)
    check_reducer(rare, samples=2)
    with pytest.raises(TileTypeError):
        check_reducer(rare, samples=5000, seed=1)

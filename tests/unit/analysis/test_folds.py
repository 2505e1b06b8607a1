"""The contract of closed folds: what has it, and each reason for having none."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from tests.unit.analysis.finding import all_of
from tilewright import tile
from tilewright.analysis.folds import CONTRACT_VERSION, ClosedFold, NotClosed, closed_fold_of
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.regions import ReduceOp
from tilewright.ir.ops.tiles import ConstantOp, MapOp
from tilewright.tile import (
    ConstView2,
    Reducer,
    Scalar,
    View1,
    add,
    axis,
    coord,
    f32,
    i32,
    maximum,
    minimum,
    mul,
    parallel,
    shape,
    tensor_shape,
)


def row_fold(reducer: Reducer, dtype: Any = f32, policy: Any = tile.unordered_tree) -> Kernel:
    """A kernel with one fold of the rows of a matrix."""

    @tile.kernel
    def folded(X: ConstView2, Y: View1):
        r, c = axis("r", 3), axis("c", 5)
        for _ in parallel(shape(1)):
            x = X[coord(0, 0), shape(r, c)]
            Y.at(coord(0), shape(r)).store(tile.reduce(x, c, reducer, policy=policy))

    return folded.capture(tensor_shape(3, 5, dtype=dtype), tensor_shape(3, dtype=dtype))


def reducer(combine: Callable[[Scalar, Scalar], Scalar]) -> Reducer:
    return Reducer("mine", cast(Any, combine), lambda _: 0)


def found(kernel: Kernel) -> ClosedFold | NotClosed:
    """What the map around the kernel's fold is."""
    (folding,) = (op for op in all_of(kernel, MapOp) if any(isinstance(inner, ReduceOp) for inner in op.walk()))
    return closed_fold_of(folding)


def reason(kernel: Kernel) -> str:
    outcome = found(kernel)
    assert isinstance(outcome, NotClosed)
    return outcome.reason


MERGES = [
    (add, f32, "add"),
    (mul, f32, "mul"),
    (maximum, i32, "max"),
    (minimum, f32, "min"),
    (reducer(lambda s, v: s & v), i32, "and"),
    (reducer(lambda s, v: v | s), i32, "or"),
    (reducer(lambda s, v: s ^ v), i32, "xor"),
    (reducer(lambda s, v: s + v * v), f32, "add"),
]


@pytest.mark.parametrize(("combine", "dtype", "merge"), MERGES)
def test_a_fold_by_one_associative_operation(combine: Reducer, dtype: Any, merge: str) -> None:
    fold = found(row_fold(combine, dtype))
    assert isinstance(fold, ClosedFold)
    assert fold.merge == merge
    assert fold.version == CONTRACT_VERSION
    assert isinstance(fold.init.owner, ConstantOp)
    assert fold.element not in fold.reduce.carries


@pytest.mark.parametrize("policy", [tile.fold_left, tile.fold_right, tile.ordered_tree, tile.unordered_tree])
def test_only_the_unordered_policy_permits_another_order(policy: Any) -> None:
    fold = found(row_fold(add, policy=policy))
    assert isinstance(fold, ClosedFold)
    assert fold.may_permute == (policy is tile.unordered_tree)


def test_subtraction_is_not_associative() -> None:
    expected = "the carry is not updated by one associative operation"
    assert reason(row_fold(reducer(lambda s, v: s - v))) == expected
    assert reason(row_fold(reducer(lambda s, v: (s + v) * 2.0))) == "the carry is used by more than its update"


def test_a_carry_that_is_used_twice() -> None:
    expected = "the carry is used by more than its update"
    assert reason(row_fold(reducer(lambda s, v: s + s * v))) == expected
    assert reason(row_fold(reducer(lambda s, v: s + s))) == expected


def test_a_map_of_something_else_than_the_fold() -> None:
    @tile.kernel
    def turned(X: ConstView2[f32], Y: View1[f32]):
        r, c = axis("r", 3), axis("c", 5)
        for _ in parallel(shape(1)):
            x = X[coord(0, 0), shape(r, c)]
            low = tile.reduce(x, (r, c), add)
            Y.at(coord(0), shape(r)).store(tile.broadcast_to(low, shape(r)))

    plain = next(op for op in all_of(turned.capture(tensor_shape(3, 5), tensor_shape(3)), MapOp) if op.space.rank)
    assert closed_fold_of(plain) == NotClosed("the map holds 0 folds, not one")


def test_a_fold_with_an_end_of_its_own() -> None:
    doubled = tile.reducer(state=f32, identity=0, merge=lambda a, b: a + b, finish=lambda s: s * 2.0, name="doubled")
    assert reason(row_fold(cast(Any, doubled))) == "the map yields something else than the fold"


def test_a_fold_of_several_values() -> None:
    mean = tile.reducer(
        state=(f32, f32),
        identity=(0, 0),
        lift=lambda x: (x, 1.0),
        merge=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        finish=lambda s: s[0] / s[1],
        name="mean",
    )
    assert reason(row_fold(cast(Any, mean))) == "the fold carries several values"

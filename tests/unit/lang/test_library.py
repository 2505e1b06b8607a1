"""Folds, scans and library functions: each is an expansion into core operations, and each is right."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.lang.shapes import all_names, body, every, names, only
from tilewright import tile
from tilewright.core.errors import CaptureError, TileTypeError
from tilewright.interp import run
from tilewright.ir.attrs import Policy
from tilewright.ir.dialect import TILE_OPS
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.elementwise import AddOp
from tilewright.ir.ops.regions import ReduceOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp, ScanOp
from tilewright.ir.types import dtype_of, space_of
from tilewright.numerics.arrays import numpy_dtype
from tilewright.tile import (
    Axis,
    ConstView2,
    Tile,
    View2,
    add,
    axis,
    bf16,
    coord,
    f16,
    f32,
    i32,
    maximum,
    minimum,
    mul,
    parallel,
    reduce,
    scan,
    shape,
    tensor_shape,
    where,
)  # fmt: skip

Work = Callable[[Tile, Axis, Axis], Tile]
X = np.random.default_rng(7).standard_normal((3, 5)).astype(np.float32)
CORE = {op.name.removeprefix("tile.") for op in TILE_OPS} | {"builtin.module"}


def capture(work: Work, dtype: Any = f32, columns: int = 5, out: tuple[int, int] = (3, 5)) -> Kernel:
    """Stores `work(x, m, n)`, where x is a tile [m:3, n:columns], spread over an output."""

    @tile.kernel
    def one(A: ConstView2, Y: View2):
        m, n = axis("m", 3), axis("n", columns)
        for _ in parallel(shape(axis("g", 1))):
            made = work(A[coord(0, 0), shape(m, n)], m, n)
            Y.at(coord(0, 0), shape(m, axis("n2", out[1]) if n.extent != out[1] else n)).store(made)

    return one.capture(tensor_shape(3, columns, dtype=dtype), tensor_shape(*out, dtype=dtype))


def carried_dtype(kernel: Kernel) -> Any:
    """The element type of the accumulator of the one fold."""
    return dtype_of(only(kernel, ReduceOp).carries[0].type)


def result(work: Work, dtype: Any = f32) -> Any:
    Y = np.zeros((3, 5), numpy_dtype(dtype))
    run(capture(work, dtype), [X.astype(numpy_dtype(dtype)), Y])
    return Y.astype(np.float64)


def test_a_fold_is_a_map_of_folds() -> None:
    kernel = capture(lambda x, m, n: reduce(x, n, add))
    outer, fold = every(kernel, MapOp)[0], only(kernel, ReduceOp)
    assert names(body(outer)) == ["constant", "reduce", "yield"]  # pyright: ignore[reportArgumentType]
    assert names(body(fold)) == ["extract", "add", "yield"]
    addition, element = only(kernel, AddOp), every(kernel, ExtractOp)[0]
    assert (addition.lhs, addition.rhs) == (fold.carries[0], element.result)


def test_a_right_fold_has_the_element_first() -> None:
    kernel = capture(lambda x, m, n: reduce(x, n, add, policy="fold_right"))
    fold = only(kernel, ReduceOp)
    assert fold.policy.data is Policy.FOLD_RIGHT
    assert only(kernel, AddOp).rhs is fold.carries[0]


@pytest.mark.parametrize(("reducer", "expected"), [(add, np.sum), (mul, np.prod), (maximum, np.max), (minimum, np.min)])
def test_reducers_over_one_axis_and_over_all(reducer: tile.Reducer, expected: Callable[..., Any]) -> None:
    rows = result(lambda x, m, n: reduce(x, n, reducer))
    assert np.allclose(rows[:, 0], expected(X.astype(np.float64), axis=1), rtol=1e-6)
    every_one = result(lambda x, m, n: reduce(x, (m, n), reducer))
    assert np.allclose(every_one, expected(X.astype(np.float64)), rtol=1e-5)


def test_a_fold_over_no_axes_is_the_tile() -> None:
    assert np.array_equal(result(lambda x, m, n: reduce(x, (), add)), X)


def test_folds_over_nothing() -> None:
    empty = capture(lambda x, m, n: tile.sum(x, n), columns=0)
    Y = np.ones((3, 5), np.float32)
    run(empty, [np.zeros((3, 0), np.float32), Y])
    assert (Y == 0).all()
    for reducer in (maximum, minimum):
        with pytest.raises(TileTypeError, match="TW215"):
            capture(lambda x, m, n, reducer=reducer: reduce(x, n, reducer), columns=0)


@pytest.mark.parametrize("dtype", [f16, bf16])
def test_library_folds_of_half_tiles_carry_f32_and_round_once(dtype: Any) -> None:
    kernel = capture(lambda x, m, n: tile.sum(x, n), dtype)
    assert carried_dtype(kernel) is f32
    halves = X.astype(numpy_dtype(dtype)).astype(np.float64)
    expected = halves.sum(axis=1).astype(np.float32).astype(numpy_dtype(dtype)).astype(np.float64)
    assert np.array_equal(result(lambda x, m, n: tile.sum(x, n), dtype)[:, 0], expected)


def test_integer_folds_keep_their_type() -> None:
    assert carried_dtype(capture(lambda x, m, n: tile.sum(x, n), i32)) is i32


def test_a_reducer_of_ones_own() -> None:
    def larger(a: Any, b: Any) -> Tile | tile.Scalar:
        return maximum(abs(a), abs(b))

    longest = tile.Reducer("longest", larger, lambda _: 0)
    assert np.allclose(result(lambda x, m, n: reduce(x, n, longest))[:, 0], np.abs(X).max(axis=1))


@pytest.mark.parametrize("policy", ["tree", 3, None])
def test_policies_are_words_of_a_list(policy: Any) -> None:
    with pytest.raises(CaptureError, match="TW130"):
        capture(lambda x, m, n: reduce(x, n, add, policy=policy))


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_runs_along_its_axis(exclusive: bool, reverse: bool) -> None:
    def work(x: Tile, m: Axis, n: Axis) -> Tile:
        return scan(x, n, add, policy="fold_left", exclusive=exclusive, reverse=reverse)

    op = only(capture(work), ScanOp)
    assert (op.dim, op.policy.data) == (space_of(op.tiles[0]).dims[1], Policy.FOLD_LEFT)
    rows = X[:, ::-1] if reverse else X
    sums = np.cumsum(rows, axis=1, dtype=np.float32)
    if exclusive:
        sums = np.concatenate([np.zeros((3, 1), np.float32), sums[:, :-1]], axis=1)
    assert np.array_equal(result(work), sums[:, ::-1] if reverse else sums)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


erf = np.vectorize(math.erf)
W = X.astype(np.float64)
CENTRED = W - W.mean(axis=1, keepdims=True)
LIBRARY: dict[str, tuple[Work, Any]] = {
    "sum": (lambda x, m, n: tile.sum(x, n), W.sum(axis=1, keepdims=True)),
    "mean": (lambda x, m, n: tile.mean(x, n), W.mean(axis=1, keepdims=True)),
    "mean of all": (lambda x, m, n: tile.mean(x, (m, n)), W.mean()),
    "var": (lambda x, m, n: tile.var(x, n), W.var(axis=1, keepdims=True)),
    "corrected var": (lambda x, m, n: tile.var(x, n, correction=1), W.var(axis=1, ddof=1, keepdims=True)),
    "softmax": (lambda x, m, n: tile.softmax(x, n), softmax(W)),
    "logsumexp": (lambda x, m, n: tile.logsumexp(x, n), np.log(np.exp(W).sum(axis=1, keepdims=True))),
    "silu": (lambda x, m, n: tile.silu(x), W / (1 + np.exp(-W))),
    "gelu": (lambda x, m, n: tile.gelu(x), W * 0.5 * (1 + erf(W / math.sqrt(2)))),
    "gelu tanh": (
        lambda x, m, n: tile.gelu(x, "tanh"),
        W * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (W + 0.044715 * W**3))),
    ),
    "layer_norm": (
        lambda x, m, n: tile.layer_norm(x, n, tile.zeros(f32, shape(n)) + 2.0, tile.zeros(f32, shape(n)) + 1.0),
        CENTRED / np.sqrt(W.var(axis=1, keepdims=True) + 1e-5) * 2 + 1,
    ),
    "rms_norm": (
        lambda x, m, n: tile.rms_norm(x, n, eps=1e-3),
        W / np.sqrt((W * W).mean(axis=1, keepdims=True) + 1e-3),
    ),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_a_library_function_is_core_operations_and_right(name: str) -> None:
    work, expected = LIBRARY[name]
    assert set(all_names(capture(work))) <= CORE
    assert np.allclose(result(work), expected, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize("dtype", [f16, bf16])
def test_a_library_function_rounds_half_tiles_once(name: str, dtype: Any) -> None:
    """The wide operands may be narrowed halves, but no operation between them is narrow."""
    if name == "layer_norm":
        work: Work = lambda x, m, n: tile.layer_norm(x, n)  # noqa: E731
    else:
        work = LIBRARY[name][0]
    kernel = capture(work, dtype)
    narrow = {"cast", "map", "extract", "load", "store", "reduce", "yield", "parallel", "kernel"}
    computed = [
        op.name
        for op in kernel.module.walk()
        if any(dtype.name in str(value.type) for value in op.results) and op.name.removeprefix("tile.") not in narrow
    ]
    assert computed == []


def test_softmax_computes_its_exponentials_once() -> None:
    assert all_names(capture(lambda x, m, n: tile.softmax(x, n))).count("exp") == 1


def test_softmax_of_a_row_masked_entirely_is_zeros() -> None:
    def work(x: Tile, m: Axis, n: Axis) -> Tile:
        return tile.softmax(where(tile.iota(m) > 0, x, -math.inf), n)

    rows = result(work)
    assert (rows[0] == 0).all()
    assert np.allclose(rows[1:].sum(axis=1), 1)


def test_axes_and_reducers_are_not_mixed_up() -> None:
    minus = tile.reducer(state=f32, identity=0, merge=lambda a, b: a - b, associative=False, commutative=False)
    anything: Any = tile
    with pytest.raises(CaptureError, match="reduce with"):
        capture(lambda x, m, n: anything.reduce(x, tile.add, n))
    with pytest.raises(TileTypeError, match="reduce over 1, which is no axis"):
        capture(lambda x, m, n: anything.reduce(x, 1, minus))
    with pytest.raises(CaptureError, match="reduce with"):
        capture(lambda x, m, n: anything.reduce(x, n, n))
    with pytest.raises(CaptureError, match="scan with 5"):
        capture(lambda x, m, n: anything.scan(x, n, 5))


def test_gelu_knows_two_forms() -> None:
    with pytest.raises(CaptureError, match="gelu by 'sigmoid'"):
        capture(lambda x, m, n: tile.gelu(x, "sigmoid"))

"""Running folds with states of one's own: every element type, extent, end and policy, against a plain Python loop."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from examples.gallery import ordering
from tests.differential.on_device import run_on_device
from tilewright import interp, tile
from tilewright.core.dtypes import DType, bf16, boolean, f16, f32, f64, i8, i32, i64, u8
from tilewright.core.errors import EffectError, TileTypeError
from tilewright.ir.attrs import Policy
from tilewright.ir.kernel import Kernel
from tilewright.ir.text import parse_module, print_module
from tilewright.numerics.arrays import numpy_dtype
from tilewright.tile import (
    ConstView1,
    ConstView2,
    StateReducer,
    View1,
    View2,
    View3,
    axis,
    check_reducer,
    coord,
    fold_left,
    fold_right,
    iota,
    ordered_tree,
    parallel,
    reducer,
    scan,
    shape,
    tensor_shape,
    where,
)  # fmt: skip

TYPES = (f32, f16, bf16, f64, i32, i64, i8, u8)
WAYS = tuple({"exclusive": exclusive, "reverse": reverse} for exclusive in (False, True) for reverse in (False, True))


def composed(f: Any, g: Any) -> tuple[Any, Any]:
    """x -> a x + b, first f and then g."""
    return g[0] * f[0], g[0] * f[1] + g[1]


AFFINE: dict[type[DType], StateReducer[Any]] = {
    dtype: reducer(state=(dtype, dtype), identity=(1, 0), merge=composed, commutative=False) for dtype in TYPES
}


@tile.kernel
def affine_maps(
    A: ConstView2, B: ConstView2, S: View3, T: View3, *, own: StateReducer[Any], along: int, policy: Policy
):  # fmt: skip
    axes = axis("m", A.shape[0]), axis("n", A.shape[1])
    one = axis("one", 1)
    for _ in parallel(shape(1)):
        maps = A[coord(0, 0), shape(*axes)], B[coord(0, 0), shape(*axes)]
        for place, way in enumerate(WAYS):
            slope, offset = scan(maps, axes[along], own, policy=policy, **way)
            S.at(coord(place, 0, 0), shape(one, *axes)).store(slope)
            T.at(coord(place, 0, 0), shape(one, *axes)).store(offset)


def running(a: Any, b: Any, *, policy: Policy, exclusive: bool, reverse: bool) -> tuple[Any, Any]:
    """The same along the last axis, as the words say it: every prefix for itself, from the side of the policy."""
    found = np.empty_like(a), np.empty_like(b)
    count = a.shape[1]
    for i in range(count):
        places = list(range(count - 1, i - 1, -1)) if reverse else list(range(i + 1))
        places = places[:-1] if exclusive else places
        state = np.ones_like(a[:, 0]), np.zeros_like(b[:, 0])
        for place in reversed(places) if policy is fold_right else places:
            element = a[:, place], b[:, place]
            state = composed(element, state) if policy is fold_right else composed(state, element)
        found[0][:, i], found[1][:, i] = state
    return found


def agreed(kernel: Kernel, inputs: list[Any], outputs: list[Any], threads: Sequence[int] = (1,)) -> list[Any]:
    """What the interpreter leaves in the outputs, which machine code must leave, too."""
    wanted = [*inputs, *(each.copy() for each in outputs)]
    interp.run(kernel, wanted)
    for count in threads:
        got = [*inputs, *(each.copy() for each in outputs)]
        run_on_device(kernel, [each.ctypes.data for each in got], threads=count)
        assert [each.tobytes() for each in got] == [each.tobytes() for each in wanted]
    return wanted[len(inputs) :]


def check_affine(a: Any, b: Any, dtype: type[DType], along: int, policy: Policy) -> None:
    given = tensor_shape(*a.shape, dtype=dtype)
    out = tensor_shape(4, *a.shape, dtype=dtype)
    kernel = affine_maps.capture(given, given, out, out, own=AFFINE[dtype], along=along, policy=policy)
    s, t = agreed(kernel, [a, b], [np.full((4, *a.shape), 7, a.dtype) for _ in range(2)])
    for place, way in enumerate(WAYS):
        turned = (a, b) if along else (a.T.copy(), b.T.copy())
        want = [each if along else each.T for each in running(*turned, policy=policy, **way)]
        for got, right in zip((s[place], t[place]), want, strict=True):
            np.testing.assert_array_equal(got.astype("f8"), right.astype("f8"), err_msg=str(way))


def drawn(extents: tuple[int, int], dtype: type[DType]) -> tuple[Any, Any]:
    """Slopes of -1, 0 and 1 and whole offsets: exact in every type, so that only the order of the maps can show."""
    rng = np.random.default_rng([*extents, dtype.bits])
    low = 0 if dtype.kind == "uint" else -1
    a, b = rng.integers(low, 2, extents), rng.integers(3 * low, 4, extents)
    return a.astype(numpy_dtype(dtype)), b.astype(numpy_dtype(dtype))


@pytest.mark.parametrize("policy", [ordered_tree, fold_right])
@pytest.mark.parametrize("dtype", TYPES, ids=repr)
def test_maps_compose_in_every_type(dtype: type[DType], policy: Policy) -> None:
    check_affine(*drawn((3, 19), dtype), dtype, 1, policy)


@pytest.mark.parametrize("policy", [ordered_tree, fold_right])
@pytest.mark.parametrize("extents", [(3, 0), (0, 5), (4, 1), (1, 33), (17, 2)])
@pytest.mark.parametrize("along", [0, 1])
def test_maps_compose_over_any_extent(extents: tuple[int, int], along: int, policy: Policy) -> None:
    check_affine(*drawn(extents, f32), f32, along, policy)


@pytest.mark.parametrize("policy", [fold_left, fold_right])
@pytest.mark.parametrize("dtype", [f32, f16, bf16], ids=repr)
def test_folds_from_a_side_round_as_they_are_written(dtype: type[DType], policy: Policy) -> None:
    """Each state is rounded in its own type at every step."""
    a, b = (each.astype(numpy_dtype(dtype)) for each in np.random.default_rng(dtype.bits).standard_normal((2, 3, 19)))
    check_affine(a, b, dtype, 1, policy)


def test_nothing_but_the_maps_before_it_reaches_an_element() -> None:
    """NaN, infinity and the sign of zero come through, from their place on."""
    a, b = np.ones((3, 9), "f4"), np.ones((3, 9), "f4")
    a[0, 4], b[1, 4], a[2, 4], b[2, 4] = np.nan, np.inf, -np.inf, np.nan
    for policy in (ordered_tree, fold_left, fold_right):
        check_affine(a, b, f32, 1, policy)


@pytest.mark.parametrize("count", [1, 3, 37, 64])
@pytest.mark.parametrize("block", [1, 2, 3, 16, 48])
def test_a_recurrence_in_blocks_of_any_size(block: int, count: int) -> None:
    """With ragged last blocks, in rows that are not shared out evenly either."""
    a, x = drawn((5, count), f32)
    kernel = ordering.recurrence.capture(*[tensor_shape(5, count)] * 3, block=block)
    (h,) = agreed(kernel, [a, x], [np.full((5, count), 7, "f4")], threads=(1, 8))
    np.testing.assert_array_equal(h, running(a, x, policy=fold_left, exclusive=False, reverse=False)[1])


@tile.kernel
def in_place(A: ConstView1[f32], X: View1[f32], *, reverse: bool):
    n = axis("n", X.shape[0])
    for _ in parallel(shape(1)):
        _, h = scan((A[coord(0), shape(n)], X[coord(0), shape(n)]), n, AFFINE[f32], policy=fold_left, reverse=reverse)
        X.at(coord(0), shape(n)).store(h)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_may_overwrite_what_it_reads(reverse: bool) -> None:
    a, x = drawn((1, 37), f32)
    kernel = in_place.capture(tensor_shape(37), tensor_shape(37), reverse=reverse)
    (h,) = agreed(kernel, [a[0]], [x[0]])
    np.testing.assert_array_equal(h, running(a, x, policy=fold_left, exclusive=False, reverse=reverse)[1][0])


def seen(a: Any, b: Any) -> tuple[Any, ...]:
    """How many, whether any was large, the place of the last large one, a half sum."""
    choose: Any = where  # its overloads cannot choose among operands of any type
    return a[0] + b[0], a[1] | b[1], choose(b[1], b[2], a[2]), a[3] + b[3]


def divided_up(s: Any) -> Any:
    choose: Any = where
    return choose(s[1] == 0.0, -1.0, s[0] / choose(s[1] == 0.0, 1.0, s[1]))


last_large = reducer(
    state=(f64, boolean, i64, f16), identity=(0, False, -1, 0), merge=seen, commutative=False,
    lift=lambda x, place: (1.0, x > 2.0, where(x > 2.0, place, -1), tile.cast(f16, x)),
)  # fmt: skip


@tile.kernel
def mixed(X: ConstView2[f32], N: View2[f64], L: View2[boolean], P: View2[i64], H: View2[f16], *, policy: Policy):
    m, n = axis("m", X.shape[0]), axis("n", X.shape[1])
    for _ in parallel(shape(1)):
        found = scan((X[coord(0, 0), shape(m, n)], iota(n)), n, last_large, policy=policy)
        for view, state in zip((N, L, P, H), found, strict=True):
            view.at(coord(0, 0), shape(m, n)).store(state)


@pytest.mark.parametrize("policy", [ordered_tree, fold_right])
def test_states_of_four_types_and_a_tile_of_fewer_axes(policy: Policy) -> None:
    x = np.random.default_rng(1).integers(-3, 4, (4, 21)).astype("f4")
    kernel = mixed.capture(*[tensor_shape(4, 21)] * 5, policy=policy)
    n, large, place, half = agreed(kernel, [x], [np.zeros((4, 21), kind) for kind in ("f8", "?", "i8", "f2")])
    above = np.where(x > 2, np.arange(21), -1)
    assert (n == np.arange(1, 22)).all()
    assert (large == (np.maximum.accumulate(above, 1) >= 0)).all()
    assert (place == np.maximum.accumulate(above, 1)).all()
    assert (half == x.cumsum(1)).all()


@tile.kernel
def mean_so_far(X: ConstView1[f32], Y: View1[f32], *, exclusive: bool):
    mean = reducer(
        state=(f32, f32), identity=(0, 0), lift=lambda x: (x, 1.0), merge=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        finish=divided_up,
    )  # fmt: skip
    n = axis("n", X.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(0), shape(n)).store(scan(X[coord(0), shape(n)], n, mean, exclusive=exclusive))


def test_an_end_is_made_of_every_running_state() -> None:
    x = np.array([4, 2, 6, 8], "f4")
    for exclusive, want in ((False, [4, 3, 4, 5]), (True, [-1, 4, 3, 4])):
        kernel = mean_so_far.capture(tensor_shape(4), tensor_shape(4), exclusive=exclusive)
        (y,) = agreed(kernel, [x], [np.zeros(4, "f4")])
        assert y.tolist() == want


def test_the_text_of_a_scan_with_several_states_is_the_scan() -> None:
    given, out = tensor_shape(3, 7, dtype=f32), tensor_shape(4, 3, 7, dtype=f32)
    kernel = affine_maps.capture(given, given, out, out, own=AFFINE[f32], along=1, policy=fold_right)
    again = Kernel(parse_module(print_module(kernel.module)), kernel.name)
    assert print_module(again.module) == print_module(kernel.module)
    a, b = drawn((3, 7), f32)
    first, second = [[a, b, np.zeros((4, 3, 7), "f4"), np.zeros((4, 3, 7), "f4")] for _ in range(2)]
    interp.run(kernel, first)
    interp.run(again, second)
    assert [each.tobytes() for each in first] == [each.tobytes() for each in second]


def test_debug_mode_looks_into_a_merge() -> None:
    @tile.kernel
    def divided(X: ConstView1[i32], Y: View1[i32]):
        n = axis("n", X.shape[0])
        ratio = reducer(
            state=(i32, i32), identity=(1, 0), lift=lambda x: (x, 0), merge=lambda a, b: (b[0], a[0] // b[0]),
            associative=False, commutative=False,
        )  # fmt: skip
        for _ in parallel(shape(1)):
            Y.at(coord(0), shape(n)).store(scan(X[coord(0), shape(n)], n, ratio, policy=fold_left)[1])

    y = np.zeros(3, "i4")
    divided.with_options(debug=True)(np.array([5, 2, 1], "i4"), y)
    assert y.tolist() == [0, 2, 2]
    with pytest.raises(EffectError, match="TW343") as caught:
        divided.with_options(debug=True)(np.array([5, 0, 1], "i4"), y)
    assert "a[0] // b[0]" in str(caught.value)


def test_the_laws_of_a_scanned_reducer_are_tried_on_samples() -> None:
    check_reducer(AFFINE[f32])
    check_reducer(last_large, f32, i64)
    with pytest.raises(TileTypeError, match="TW227"):
        check_reducer(reducer(state=(f32, f32), identity=(1, 0), merge=composed))  # said to commute


def captured(own: StateReducer[Any], policy: Policy | str, *, foreign: bool = False) -> Kernel:
    @tile.kernel
    def k(X: ConstView1[f32]):
        n, other = axis("n", 3), axis("other", 3)
        for _ in parallel(shape(1)):
            scan((X[coord(0), shape(n)], iota(n)), other if foreign else n, own, policy=policy)

    return k.capture(tensor_shape(3))


@pytest.mark.parametrize(
    ("own", "policy", "code"),
    [
        (reducer(state=(f32, i64), identity=(0, 0), merge=lambda a, _: a, commutative=False), "unordered_tree", 226),
        (reducer(state=(f32, i64), identity=(0, 0), merge=lambda a, _: a, associative=False), "ordered_tree", 226),
        (reducer(state=f32, identity=0, merge=lambda a, _: a), "fold_left", 225),
        (reducer(state=(f32, i64), identity=(0, 0), merge=lambda a, _: (a[0], a[0])), "fold_left", 225),
    ],
)
def test_a_scan_is_refused_what_a_fold_is(own: StateReducer[Any], policy: str, code: int) -> None:
    with pytest.raises(TileTypeError) as caught:
        captured(own, policy)
    assert caught.value.diagnostic.code.number == code


def test_a_scan_runs_along_an_axis_of_one_of_its_tiles() -> None:
    own = reducer(state=(f32, i64), identity=(0, 0), merge=lambda a, _: a)
    with pytest.raises(TileTypeError) as caught:
        captured(own, fold_left, foreign=True)
    assert caught.value.diagnostic.code.number == 214

"""Reductions and scans: what each policy fixes, and that the fast ways are the written way."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.interp.hand import Hand, View, space
from tilewright import interp
from tilewright.core.dtypes import bf16, boolean, f16, f32, f64, i8, i32, i64
from tilewright.core.errors import EffectError
from tilewright.ir.attrs import Policy
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import from_numpy, numpy_dtype

POLICIES = list(Policy)


def _region_fold(op: str, x: np.ndarray, seed: float, policy: Policy, *, swapped: bool, **how: Any) -> Any:
    """A region fold of `x` in the kernel's own loop: state op element, or element op state."""
    dtype = from_numpy(x.dtype)
    h = Hand(x=View(dtype, x.shape, const=True), y=View(dtype, (1,)))
    with h.parallel(space(p=1)) as p:
        with h.reduce(space(k=len(x)), h.const(seed, dtype), policy=policy) as fold:
            state, item = fold.carries[0], h.get(h.x, fold.indices[0])
            fold.yields(h.do(op, *((item, state) if swapped else (state, item))))
        h.set(h.y, p.indices, fold.results[0])
    y = np.zeros(1, x.dtype)
    interp.run(h.kernel(), [x, y], **how)
    return y[0]


def test_fold_right_reverses_the_visit_never_the_operands() -> None:
    x = np.asarray([1, 2, 3], "f4")
    assert _region_fold("sub", x, 0, Policy.FOLD_LEFT, swapped=False) == -6
    assert _region_fold("sub", x, 0, Policy.FOLD_RIGHT, swapped=True) == 2
    assert _region_fold("sub", x, 0, Policy.FOLD_LEFT, swapped=True) == 2
    y = np.asarray([1, 2, 3, 10], "f4")
    assert _region_fold("sub", y, 0, Policy.FOLD_RIGHT, swapped=True) == -8
    assert _region_fold("sub", y, 0, Policy.FOLD_LEFT, swapped=True) == 8


def test_float_folds_round_after_every_step_in_order() -> None:
    x = np.asarray([1e8, 1, -1e8, 1], "f4")
    assert _region_fold("add", x, 0, Policy.FOLD_LEFT, swapped=False) == 1
    assert _region_fold("add", x, 0, Policy.FOLD_RIGHT, swapped=False) == 0


@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
def test_a_fold_in_pieces_goes_through_them_in_its_order(lanes: int) -> None:
    x = np.asarray([1, 1, 1e8, -1e8], "f4")
    assert _region_fold("add", x, 0, Policy.FOLD_LEFT, swapped=False, lanes=lanes) == 0
    assert _region_fold("add", x, 0, Policy.FOLD_RIGHT, swapped=False, lanes=lanes) == 2


def test_a_region_fold_of_halves_stays_in_halves() -> None:
    assert _region_fold("add", np.ones(4096, "f2"), 0, Policy.FOLD_LEFT, swapped=False) == 2048


@pytest.mark.parametrize("policy", [Policy.FOLD_LEFT, Policy.FOLD_RIGHT])
def test_an_order_never_changes_an_ordered_fold(policy: Policy) -> None:
    x = np.random.default_rng(0).standard_normal(257).astype("f4")
    results = {_region_fold("add", x, 1, policy, swapped=False, order=order) for order in (None, "reverse", 1, 2, 3)}
    assert len(results) == 1


@pytest.mark.parametrize("policy", [Policy.UNORDERED_TREE, Policy.ORDERED_TREE])
def test_a_seed_shows_that_trees_may_regroup_and_counts_the_initial_value_once(policy: Policy) -> None:
    x = np.random.default_rng(0).standard_normal(257).astype("f4")
    results = {_region_fold("add", x, 1, policy, swapped=False, order=order) for order in range(8)}
    assert len(results) > 1
    assert np.allclose([*results], 1 + x.astype("f8").sum(), atol=1e-3)
    ones = np.ones(100, "i4")
    assert {_region_fold("add", ones, 5, policy, swapped=False, order=order) for order in range(4)} == {105}


def test_an_ordered_tree_keeps_the_order_of_leaves() -> None:
    x = np.asarray([1e30, -1e30, 1, 2], "f4")  # only neighbours may meet: the sum is 3, 2 or 0, never 1
    results = {_region_fold("add", x, 0, Policy.ORDERED_TREE, swapped=False, order=order) for order in range(40)}
    assert results <= {3, 2, 0}


def test_from_the_other_end_only_an_unordered_tree_changes() -> None:
    x = np.asarray([2, 1e30, -1e30], "f4")  # after a first 1, neighbours make 0, 1 or 3; from the other end 2
    assert _region_fold("add", x, 1, Policy.UNORDERED_TREE, swapped=False, order="reverse") == 2
    assert _region_fold("add", x, 1, Policy.ORDERED_TREE, swapped=False, order="reverse") in {0, 1, 3}


def test_a_fold_that_is_not_closed_keeps_its_order() -> None:
    x = np.arange(1, 5, dtype="f4")
    results = {_region_fold("sub", x, 0, Policy.UNORDERED_TREE, swapped=False, order=order) for order in range(8)}
    assert results == {-10}


def test_two_states_of_one_fold() -> None:
    h = Hand(x=View(f32, (5,), const=True), y=View(f32, (2,)))
    with h.parallel(space(p=1)):
        with h.reduce(space(k=5), h.const(0), h.const(-np.inf)) as fold:
            item = h.get(h.x, fold.indices[0])
            fold.yields(h.do("add", fold.carries[0], h.do("mul", item, item)), h.do("max", item, fold.carries[1]))
        for i in range(2):
            h.set(h.y, [h.index(i)], fold.results[i])
    y = np.zeros(2, "f4")
    interp.run(h.kernel(), [np.asarray([1, -2, 3, -4, 2], "f4"), y])
    assert y.tolist() == [34, 3]


def test_a_fold_with_coupled_states() -> None:
    h = Hand(x=View(i32, (4,), const=True), y=View(i32, (2,)))
    with h.parallel(space(p=1)):
        with h.reduce(space(k=4), h.const(0, i32), h.const(0, i32)) as fold:
            total = h.do("add", fold.carries[0], h.get(h.x, fold.indices[0]))
            fold.yields(total, h.do("add", fold.carries[1], total))
        for i in range(2):
            h.set(h.y, [h.index(i)], fold.results[i])
    y = np.zeros(2, "i4")
    interp.run(h.kernel(), [np.asarray([1, 2, 3, 4], "i4"), y])
    assert y.tolist() == [10, 1 + 3 + 6 + 10]


def test_a_fold_that_writes_as_it_goes() -> None:
    h = Hand(x=View(i32, (4,), const=True), y=View(i32, (4,)), z=View(i32, (1,)))
    with h.parallel(space(p=1)) as p:
        with h.reduce(space(k=4), h.const(0, i32)) as fold:
            item = h.get(h.x, fold.indices[0])
            h.set(h.y, fold.indices, h.do("mul", item, item))
            fold.yields(h.do("add", fold.carries[0], item))
        h.set(h.z, p.indices, fold.results[0])
    y, z = np.zeros(4, "i4"), np.zeros(1, "i4")
    interp.run(h.kernel(), [np.asarray([1, 2, 3, 4], "i4"), y, z])
    assert (y.tolist(), z.tolist()) == ([1, 4, 9, 16], [10])


def test_a_fold_that_loads_tiles() -> None:
    h = Hand(x=View(i32, (6,), const=True), z=View(i32, (1,)))
    with h.parallel(space(p=1)) as p:
        with h.reduce(space(k=3), h.const(0, i32)) as fold:
            tile = h.load(h.x, [h.do("mul", fold.indices[0], h.index(2))], space(m=2))
            fold.yields(h.do("add", fold.carries[0], h.extract(tile, h.index(1))))
        h.set(h.z, p.indices, fold.results[0])
    z = np.zeros(1, "i4")
    interp.run(h.kernel(), [np.arange(6, dtype="i4"), z])
    assert z[0] == 1 + 3 + 5


def test_what_a_fold_computes_in_vain_is_still_checked() -> None:
    h = Hand(x=View(i32, (3,), const=True), z=View(i32, (1,)))
    with h.parallel(space(p=1)) as p:
        with h.reduce(space(k=3), h.const(0, i32)) as fold:
            h.do("floor_div", fold.indices[0], h.cast(fold.carries[0], i64))
            fold.yields(h.do("add", fold.carries[0], h.get(h.x, fold.indices[0])))
        h.set(h.z, p.indices, fold.results[0])
    with pytest.raises(EffectError, match="divides an integer by zero"):
        interp.run(h.kernel(), [np.ones(3, "i4"), np.zeros(1, "i4")])


def _library_fold(dtype: type, rows: int, columns: int, op: str, policy: Policy, seed: int = 1) -> Kernel:
    h = Hand(x=View(dtype, (rows, columns), const=True), y=View(dtype, (rows,)))
    with h.parallel(space(p=1)) as p:
        o = p.indices[0]
        x = h.load(h.x, [o, o], space(r=rows, c=columns))
        h.store(h.y, [o], h.fold(x, "c", op, seed, policy))
    return h.kernel()


@given(
    dtype=st.sampled_from([f16, bf16, f32, f64, i8, i32]),
    op=st.sampled_from(["add", "mul", "min", "max", "sub"]),
    policy=st.sampled_from(POLICIES),
    rows=st.integers(0, 3),
    columns=st.integers(0, 9),
    lanes=st.integers(1, 9),
    seed=st.integers(0, 2**16),
)
def test_whole_arrays_and_single_points_agree_bit_for_bit(
    dtype: type, op: str, policy: Policy, rows: int, columns: int, lanes: int, seed: int
) -> None:
    kernel = _library_fold(dtype, rows, columns, op, policy)
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((rows, columns)) * 10).astype("f4").astype(numpy_dtype(dtype))
    x.flat[rng.permutation(x.size)[:4]] = np.asarray([0, -0.0, -0.0, 0], x.dtype)[: min(x.size, 4)]
    fast, slow, some = (np.zeros(rows, numpy_dtype(dtype)) for _ in range(3))
    interp.run(kernel, [x, fast])
    interp.run(kernel, [x, slow], lanes=1)
    interp.run(kernel, [x, some], lanes=lanes)
    assert fast.tobytes() == slow.tobytes() == some.tobytes()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("x", [[0.0, -0.0], [-0.0, 0.0], [0.0, -0.0, 0.0], [-0.0, 0.0, -0.0]])
def test_which_zero_a_maximum_keeps_does_not_depend_on_the_way(x: list[float], policy: Policy) -> None:
    kernel = _library_fold(f32, 1, len(x), "max", policy, seed=-1)
    fast, slow = np.zeros(1, "f4"), np.zeros(1, "f4")
    interp.run(kernel, [np.asarray([x], "f4"), fast])
    interp.run(kernel, [np.asarray([x], "f4"), slow], lanes=1)
    assert np.signbit(fast[0]) == np.signbit(slow[0])


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("x", [[np.nan, 1, 2], [1, np.nan, 2], [1, 2, np.nan]])
def test_minimum_and_maximum_keep_nan(op: str, x: list[float]) -> None:
    y = np.zeros(1, "f4")
    interp.run(_library_fold(f32, 1, 3, op, Policy.UNORDERED_TREE), [np.asarray([x], "f4"), y])
    assert np.isnan(y[0])


def _scan(x: np.ndarray, dim: str, op: str = "add", policy: Policy = Policy.UNORDERED_TREE, **how: Any) -> np.ndarray:
    dtype = from_numpy(x.dtype)
    lanes = how.pop("lanes", 1 << 20)
    h = Hand(x=View(dtype, x.shape, const=True), y=View(dtype, x.shape))
    with h.parallel(space(p=1)) as p:
        o = [p.indices[0]] * 2
        tile = h.load(h.x, o, space(r=x.shape[0], c=x.shape[1]))
        with h.scan([tile], [h.const(how.pop("seed", 0), dtype)], dim, policy, **how) as body:
            body.yields(h.do(op, h.builder.block.args[0], h.builder.block.args[1]))
        h.store(h.y, o, body.results[0])
    y = np.zeros_like(x)
    interp.run(h.kernel(), [x, y], lanes=lanes)
    return y


def test_scans_inclusive_exclusive_and_reverse() -> None:
    x = np.arange(1, 13, dtype="i4").reshape(3, 4)
    assert (_scan(x, "c") == x.cumsum(1)).all()
    assert (_scan(x, "r") == x.cumsum(0)).all()
    assert (_scan(x, "c", exclusive=True, seed=5) == x.cumsum(1) - x + 5).all()
    assert (_scan(x, "r", reverse=True) == x[::-1].cumsum(0)[::-1]).all()
    assert (_scan(x, "r", reverse=True, lanes=1) == x[::-1].cumsum(0)[::-1]).all()
    assert _scan(x[:, :0], "c").shape == (3, 0)


def test_a_fold_right_scan_folds_every_prefix_from_its_end() -> None:
    x = np.asarray([[1, 2, 10]], "i4")
    assert _scan(x, "c", "sub", Policy.FOLD_RIGHT).tolist() == [[-1, -3, -13]]
    mixed = np.asarray([[1e8, -1e8, 1]], "f4")
    assert _scan(mixed, "c", "add", Policy.FOLD_LEFT).tolist() == [[1e8, 0, 1]]
    assert _scan(mixed, "c", "add", Policy.FOLD_RIGHT).tolist() == [[1e8, 0, 0]]
    assert _scan(mixed[:, ::-1].copy(), "c", "add", Policy.FOLD_RIGHT, reverse=True).tolist() == [[0, 0, 1e8]]
    assert _scan(mixed, "c", "add", Policy.FOLD_RIGHT, exclusive=True).tolist() == [[0, 1e8, 0]]


def test_a_scan_of_two_states() -> None:
    h = Hand(x=View(i32, (8,)), y=View(i32, (8,)), z=View(i32, (8,)))
    with h.parallel(space(p=1)) as p:
        a, b = h.load(h.x, p.indices, space(k=8)), h.load(h.y, p.indices, space(k=8))
        with h.scan([a, b], [h.const(1, i32), h.const(0, i32)], "k") as body:
            slope, offset, by, plus = h.builder.block.args  # x -> slope * x + offset, then by * x + plus
            body.yields(h.do("mul", slope, by), h.do("add", h.do("mul", offset, by), plus))
        h.store(h.z, p.indices, body.results[1])
    z = np.zeros(8, "i4")
    interp.run(h.kernel(), [np.full(8, 2, "i4"), np.ones(8, "i4"), z])
    assert z.tolist() == [1, 3, 7, 15, 31, 63, 127, 255]


def test_a_tile_inside_a_loop_inside_a_fold_is_no_closed_form() -> None:
    """The loop has no results, so only its inside shows that iterations cannot be taken at once."""
    h = Hand(x=View(f32, (4,), const=True), y=View(f32, (1,)))
    with h.parallel(space(p=1)) as p:
        with h.reduce(space(k=3), h.const(0)) as fold:
            with h.serial(space(s=2)):
                row = space(m=4)
                with h.map(boolean, row) as mask:
                    mask.yields(h.do("lt", mask.indices[0], h.index(3)))
                h.load(h.x, [h.index(0)], row, mask=mask.results[0])
            fold.yields(h.do("add", fold.carries[0], h.const(2)))
        h.set(h.y, p.indices, fold.results[0])
    y = np.zeros(1, "f4")
    interp.run(h.kernel(), [np.ones(4, "f4"), y])
    assert y[0] == 6

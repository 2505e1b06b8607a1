"""Loads, stores, updates: bounds, fills, masks, snapshots, poison."""

from typing import Any

import numpy as np
import pytest
from xdsl.ir import SSAValue

from tests.unit.interp.hand import Hand, View, space
from tilewright import interp
from tilewright.core.dtypes import bf16, boolean, f16, f32, float8_e5m2, i8, i32, i64
from tilewright.core.errors import EffectError, InternalError
from tilewright.ir.attrs import Bounds, UpdateKind
from tilewright.numerics.arrays import numpy_dtype


def _copy(n: int, at: int, to: int, *, fill: float | None = None, bounds: Bounds = Bounds.ZERO) -> Hand:
    """Loads a tile of 4 at one origin and stores it at another."""
    h = Hand(x=View(f32, (n,)), y=View(f32, (n,)))
    with h.parallel(space(p=1)):
        value = None if fill is None else h.const(fill)
        tile = h.load(h.x, [h.index(at)], space(m=4), fill=value, bounds=bounds)
        h.store(h.y, [h.index(to)], tile, bounds=bounds)
    return h


@pytest.mark.parametrize(
    ("at", "expected"),
    [(0, [1, 2, 3, 4]), (-2, [9, 9, 1, 2]), (4, [5, 6, 9, 9]), (6, [9] * 4), (-4, [9] * 4), (2**62, [9] * 4)],
)
def test_a_load_fills_outside(at: int, expected: list[int]) -> None:
    y = np.zeros(6, "f4")
    interp.run(_copy(6, at, 0, fill=9).kernel(), [np.arange(1, 7, dtype="f4"), y])
    assert y.tolist() == [*expected, 0, 0]


def test_the_default_fill_is_zero() -> None:
    y = np.full(6, 8, "f4")
    interp.run(_copy(6, -2, 0).kernel(), [np.arange(1, 7, dtype="f4"), y])
    assert y.tolist() == [0, 0, 1, 2, 8, 8]


@pytest.mark.parametrize(
    ("to", "expected"), [(-3, [4, 0, 0, 0, 0, 0]), (4, [0, 0, 0, 0, 1, 2]), (6, [0] * 6), (-9, [0] * 6)]
)
def test_a_store_leaves_out_what_lies_outside(to: int, expected: list[int]) -> None:
    y = np.zeros(6, "f4")
    interp.run(_copy(6, 0, to).kernel(), [np.arange(1, 7, dtype="f4"), y])
    assert y.tolist() == expected


@pytest.mark.parametrize(("at", "to", "access"), [(3, 0, "load"), (-1, 0, "load"), (0, 3, "store")])
def test_assumed_bounds_are_checked(at: int, to: int, access: str) -> None:
    x, y = np.arange(6, dtype="f4"), np.zeros(6, "f4")
    with pytest.raises(EffectError, match=rf"(?s){access} at index .* of axis ..0 of ., which has 6.*\(p=0\)"):
        interp.run(_copy(6, at, to, bounds=Bounds.ASSUME).kernel(), [x, y])
    assert not y.any()


def test_a_mask_excuses_elements_outside_assumed_bounds() -> None:
    h = Hand(x=View(f32, (3,)), y=View(f32, (3,)))
    with h.parallel(space(p=1)) as p:
        with h.map(boolean, space(m=4)) as live:
            live.yields(h.do("lt", live.indices[0], h.index(3)))
        mask = live.results[0]
        tile = h.load(h.x, p.indices, space(m=4), mask=mask, fill=h.const(7), bounds=Bounds.ASSUME)
        h.store(h.y, p.indices, tile, mask=mask, bounds=Bounds.ASSUME)
    y = np.zeros(3, "f4")
    interp.run(h.kernel(), [np.asarray([1, 2, 3], "f4"), y])
    assert y.tolist() == [1, 2, 3]


def test_masks_meet_tiles_by_dimension() -> None:
    h = Hand(x=View(i32, (2, 2)), m=View(boolean, (2,)), y=View(i32, (2, 2)))
    with h.parallel(space(p=1)) as p:
        o = p.indices[0]
        mask = h.load(h.m, [o], space(b=2))
        tile = h.load(h.x, [o, o], space(a=2, b=2), mask=mask, fill=h.const(-1, i32))
        h.store(h.y, [o, o], tile, mask=h.do("logical_not", h.load(h.m, [o], space(a=2))))
    y = np.zeros((2, 2), "i4")
    interp.run(h.kernel(), [np.asarray([[1, 2], [3, 4]], "i4"), np.asarray([True, False]), y])
    assert y.tolist() == [[0, 0], [3, -1]]


def test_a_load_is_a_snapshot_also_through_an_alias() -> None:
    h = Hand(x=View(f32, (3,)), y=View(f32, (3,)), z=View(f32, (3,)))
    with h.parallel(space(p=1)) as p:
        before = h.load(h.x, p.indices, space(m=3))
        h.store(h.y, p.indices, h.const(7, f32, space(m=3)))
        h.store(h.z, p.indices, before)
    memory, z = np.asarray([1, 2, 3, 4], "f4"), np.zeros(3, "f4")
    interp.run(h.kernel(), [memory[:3], memory[1:], z])
    assert z.tolist() == [1, 2, 3]
    assert memory.tolist() == [1, 7, 7, 7]


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[::-1], np.s_[1:9:3]])
def test_views_have_any_strides(view: slice) -> None:
    base = np.arange(10, dtype="f4")
    x = base[view][:3]
    out = np.zeros((3, 5), "f4")
    h = Hand(x=View(f32, (3,), const=True), y=View(f32, (3,)))
    with h.parallel(space(p=3)) as p:
        h.store(h.y, p.indices, h.load(h.x, p.indices, space(m=1)))
    interp.run(h.kernel(), [x, out[::-1, 2]])
    assert out[::-1, 2].tolist() == x.tolist()
    assert np.count_nonzero(out) <= 3


def test_element_access_and_its_predicate() -> None:
    h = Hand(x=View(i32, (2,)), y=View(i32, (2,)))
    with h.parallel(space(p=1)):
        no, yes = h.const(False, boolean), h.const(True, boolean)
        h.set(h.y, [h.index(0)], h.get(h.x, h.index(9), where=no, fill=h.const(5, i32)), where=yes)
        h.set(h.y, [h.index(99)], h.const(1, i32), where=no)
        h.set(h.y, [h.index(1)], h.get(h.x, h.index(1), where=yes, fill=h.const(5, i32)))
    y = np.zeros(2, "i4")
    interp.run(h.kernel(), [np.asarray([7, 8], "i4"), y])
    assert y.tolist() == [5, 8]


@pytest.mark.parametrize("lanes", [1, 100])
def test_an_element_outside_is_an_error_in_a_fold_too(lanes: int) -> None:
    h = Hand(x=View(i32, (2,), const=True), y=View(i32, (1,)))
    with h.parallel(space(p=1)) as p:
        with h.reduce(space(k=4), h.const(0, i32)) as fold:
            fold.yields(h.do("add", fold.carries[0], h.get(h.x, fold.indices[0])))
        h.set(h.y, p.indices, fold.results[0])
    with pytest.raises(EffectError, match=r"load element at index 2 of axis x\.0 of x, which has 2"):
        interp.run(h.kernel(), [np.zeros(2, "i4"), np.zeros(1, "i4")], lanes=lanes)


def test_a_fold_reads_elements_where_its_predicate_holds() -> None:
    h = Hand(x=View(i32, (2,), const=True), y=View(i32, (1,)))
    with h.parallel(space(p=1)) as p:
        with h.reduce(space(k=4), h.const(0, i32)) as fold:
            inside = h.do("lt", fold.indices[0], h.index(2))
            item = h.get(h.x, fold.indices[0], where=inside, fill=h.const(10, i32))
            fold.yields(h.do("add", fold.carries[0], item))
        h.set(h.y, p.indices, fold.results[0])
    y = np.zeros(1, "i4")
    interp.run(h.kernel(), [np.asarray([1, 2], "i4"), y], check=interp.Checks(poison=()))
    assert y[0] == 23


def test_reading_a_poisoned_output_is_an_error_where_it_was_not_written() -> None:
    h = Hand(y=View(i32, (4,)), z=View(i32, (4,)))
    with h.parallel(space(p=1)) as p:
        h.store(h.y, p.indices, h.const(1, i32, space(m=2)))
        h.store(h.z, p.indices, h.load(h.y, [h.index(0)], space(m=2)))
        h.store(h.z, p.indices, h.load(h.y, [h.index(1)], space(m=2)))
    arrays = [np.zeros(4, "i4"), np.zeros(4, "i4")]
    kernel = h.kernel()
    interp.run(kernel, arrays)
    with pytest.raises(EffectError, match=r"(?s)y\[2\] is read before anything was written.*\(p=0\)"):
        interp.run(kernel, arrays, check=interp.Checks(poison=("y",)))


def test_a_poisoned_read_names_every_level_of_the_program() -> None:
    h = Hand(y=View(f32, (2,)))
    with h.parallel(space(a=2)), h.parallel(space(b=2)) as inner:
        h.load(h.y, inner.indices, space(m=1))
    with pytest.raises(EffectError, match=r"in program \(a=0, b=0\)"):
        interp.run(h.kernel(), [np.zeros(2, "f4")], check=interp.Checks(poison=("y",)))


def test_a_masked_store_leaves_poison() -> None:
    h = Hand(x=View(f32, (1,)), y=View(f32, (2,)))
    with h.parallel(space(p=1)) as p:
        with h.map(boolean, space(m=2)) as first:
            first.yields(h.do("eq", first.indices[0], h.index(0)))
        h.store(h.y, p.indices, h.const(1, f32, space(m=2)), mask=first.results[0])
        h.load(h.y, p.indices, space(m=2), mask=first.results[0])
        h.set(h.x, p.indices, h.const(1))  # got past the masked load
        h.load(h.y, p.indices, space(m=2))
    x, y = np.zeros(1, "f4"), np.zeros(2, "f4")
    with pytest.raises(EffectError, match=r"y\[1\] is read before"):
        interp.run(h.kernel(), [x, y], check=interp.Checks(poison=("y",)))
    assert x[0] == 1
    assert y[0] == 1
    assert np.isnan(y[1])


def _update(cells: np.ndarray, at: Any, values: np.ndarray, kind: UpdateKind = UpdateKind.ADD) -> np.ndarray:
    dtype = {np.dtype("f4"): f32, np.dtype("i4"): i32, np.dtype("f2"): f16, np.dtype("i1"): i8}[cells.dtype]
    n = len(values)
    h = Hand(c=View(dtype, cells.shape), i=View(i64, (n,)), v=View(dtype, (n,)))
    with h.parallel(space(p=1)) as p:
        index, value = h.load(h.i, p.indices, space(m=n)), h.load(h.v, p.indices, space(m=n))
        h.update(h.c, [index], value, kind)
    out = cells.copy()
    interp.run(h.kernel(), [out, np.asarray(at, "i8"), values])
    return out


def test_an_update_counts_every_duplicate_and_skips_what_lies_outside() -> None:
    assert _update(np.zeros(4, "i4"), [0, 1, 1, -1, 4], np.ones(5, "i4")).tolist() == [1, 2, 0, 0]
    assert _update(np.zeros(1, "i1"), [0] * 200, np.ones(200, "i1")).tolist() == [-56]


def test_an_update_rounds_once_a_contribution() -> None:
    assert _update(np.asarray([2048], "f2"), [0, 0], np.ones(2, "f2"))[0] == 2048


def test_an_update_takes_the_points_in_order() -> None:
    rng = np.random.default_rng(0)
    at, values = rng.integers(0, 3, 500), rng.standard_normal(500).astype("f4")
    expected = [np.add.accumulate(values[at == cell])[-1] for cell in range(3)]
    assert _update(np.zeros(3, "f4"), at, values).tolist() == [float(x) for x in expected]


def test_minimum_and_maximum_updates_keep_nan() -> None:
    values = np.asarray([3, np.nan, 1], "f4")
    assert np.isnan(_update(np.zeros(1, "f4"), [0] * 3, values, UpdateKind.MAXIMUM)[0])
    cells, values = np.asarray([5, 0], "f4"), np.asarray([4, 7, 2], "f4")
    assert _update(cells, [0, 1, 0], values, UpdateKind.MINIMUM).tolist() == [2, 0]


def test_an_update_covers_the_joint_space_of_its_operands() -> None:
    h = Hand(c=View(i32, (2, 3)), r=View(i64, (2,)), s=View(i64, (3,)))
    with h.parallel(space(p=1)) as p:
        rows, columns = h.load(h.r, p.indices, space(a=2)), h.load(h.s, p.indices, space(b=3))
        h.update(h.c, [rows, columns], h.const(1, i32), mask=h.do("lt", rows, columns))
    c = np.zeros((2, 3), "i4")
    interp.run(h.kernel(), [c, np.asarray([0, 1], "i8"), np.asarray([0, 1, 2], "i8")])
    assert c.tolist() == [[0, 1, 1], [0, 0, 1]]


def test_an_update_of_float8_is_refused() -> None:
    h = Hand(c=View(float8_e5m2, (1,)))
    with h.parallel(space(p=1)) as p:
        h.update(h.c, p.indices, h.get(h.c, h.index(0)))
    with pytest.raises(InternalError, match="add is not defined for float8_e5m2"):
        interp.run(h.unverified(), [np.zeros(1, numpy_dtype(float8_e5m2))])


def test_rank_zero_views() -> None:
    h = Hand(x=View(bf16, ()), y=View(bf16, ()), z=View(bf16, ()))

    def twice(value: SSAValue) -> SSAValue:
        return h.do("add", value, value)

    with h.parallel(space(p=1)):
        h.store(h.y, [], twice(h.load(h.x, [], space())))
        h.set(h.z, [], twice(h.get(h.y)))
        h.set(h.z, [], h.get(h.x), h.const(False, boolean))
        h.update(h.z, [], h.get(h.x))
    x, y, z = (np.full((), value, numpy_dtype(bf16)) for value in (3, 0, 0))
    interp.run(h.kernel(), [x, y, z])
    assert float(z) == 15

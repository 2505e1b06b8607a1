"""Two instances that touch one cell, seen by address."""

import numpy as np
import pytest

from tests.unit.interp.hand import Hand, View, space
from tilewright import interp
from tilewright.core.dtypes import boolean, f32, i8, i32
from tilewright.core.errors import EffectError


def _message(h: Hand, *arrays: np.ndarray, order: int | None = None) -> str:
    with pytest.raises(EffectError) as caught:
        interp.run(h.unverified(), arrays, order=order)
    assert caught.value.diagnostic.code.id == "TW341"
    return str(caught.value)


def test_two_writes_of_one_cell() -> None:
    h = Hand(x=View(i32, (2, 2)))
    with h.parallel(space(a=2, b=2)) as p:
        h.set(h.x, [h.index(1), p.indices[0]], h.const(1, i32))
    message = _message(h, np.zeros((2, 2), "i4"))
    assert "programs (a=0, b=0) and (a=0, b=1) both touch x[1, 0]" in message
    assert "h.set(h.x, [h.index(1), p.indices[0]], h.const(1, i32))" in message


def test_tiles_that_overlap_by_one_element() -> None:
    h = Hand(x=View(f32, (9,)))
    with h.parallel(space(a=2)) as p:
        h.store(h.x, [h.do("mul", p.indices[0], h.index(4))], h.const(1, f32, space(m=5)))
    assert "x[4]" in _message(h, np.zeros(9, "f4"))


@pytest.mark.parametrize("by", [-1, 1])
def test_a_read_of_what_another_instance_writes_names_the_store(by: int) -> None:
    h = Hand(x=View(f32, (6,)))
    with h.parallel(space(a=4)) as p:
        here = h.do("add", p.indices[0], h.index(1))
        value = h.get(h.x, h.do("add", here, h.index(by)))
        h.set(h.x, [here], value)
    message = _message(h, np.zeros(6, "f4"))
    assert "--> " in message
    headline = message.split("|")[1]
    assert "h.set(h.x, [here], value)" in headline


def test_an_instance_may_read_and_write_its_own_cells_and_all_may_read_one() -> None:
    h = Hand(x=View(f32, (4,)), y=View(f32, (1,)))
    with h.parallel(space(a=4)) as p:
        h.set(h.x, p.indices, h.do("add", h.get(h.x, *p.indices), h.get(h.y, h.index(0))))
        h.set(h.x, p.indices, h.get(h.x, *p.indices))
    x = np.zeros(4, "f4")
    interp.run(h.kernel(), [x, np.ones(1, "f4")])
    assert (x == 1).all()


def test_elements_left_out_by_a_mask_are_not_touched() -> None:
    h = Hand(x=View(f32, (4,)))
    with h.parallel(space(a=4)) as p:
        with h.map(boolean, space(m=4)) as mine:
            mine.yields(h.do("eq", mine.indices[0], p.indices[0]))
        tile = h.load(h.x, [h.index(0)], space(m=4), mask=mine.results[0])
        h.store(h.x, [h.index(0)], h.do("add", tile, h.const(1)), mask=mine.results[0])
    x = np.zeros(4, "f4")
    interp.run(h.kernel(), [x], order=1)
    assert (x == 1).all()


def test_updates_may_meet_updates_but_nothing_else() -> None:
    h = Hand(x=View(i32, (2,)))
    with h.parallel(space(a=3)):
        h.update(h.x, [h.index(1)], h.const(1, i32))
    x = np.zeros(2, "i4")
    interp.run(h.kernel(), [x])
    assert x.tolist() == [0, 3]

    h = Hand(x=View(i32, (2,)), y=View(i32, (3,)))
    with h.parallel(space(a=3)) as p:
        h.update(h.x, [h.index(1)], h.const(1, i32))
        h.set(h.y, p.indices, h.get(h.x, h.index(1)))
    message = _message(h, np.zeros(2, "i4"), np.zeros(3, "i4"))
    assert "updates it" in message
    assert "reads it" in message


@pytest.mark.parametrize("order", [None, 3])
def test_races_through_overlapping_arrays_are_seen(order: int | None) -> None:
    h = Hand(x=View(f32, (4,)), y=View(f32, (4,)))
    with h.parallel(space(a=4)) as p:
        h.set(h.y, p.indices, h.get(h.x, *p.indices))
    memory = np.zeros(5, "f4")
    kernel = h.kernel()
    interp.run(kernel, [memory[:4], memory[:4]])  # the same cell in the same instance
    with pytest.raises(EffectError, match=r"`.` and `.` overlap in memory"):
        interp.run(kernel, [memory[:4], memory[1:]], order=order)


@pytest.mark.parametrize("first", ["x", "y"])
def test_races_between_different_element_types_are_seen_by_the_byte(first: str) -> None:
    views = {"x": View(i32, (2,)), "y": View(i8, (8,))}
    h = Hand(**dict(sorted(views.items(), reverse=first == "y")))
    with h.parallel(space(a=2)) as p:
        h.set(h.x, p.indices, h.const(1, i32))
        h.set(h.y, [h.do("add", p.indices[0], h.index(4))], h.const(1, i8))
    memory = np.zeros(2, "i4")
    arrays = [memory, memory.view("i1")]
    assert "overlap in memory" in _message(h, *(arrays if first == "x" else arrays[::-1]))


@pytest.mark.parametrize("first", ["x", "y"])
def test_bytes_of_ones_own_cells_are_no_race(first: str) -> None:
    views = {"x": View(i32, (2,)), "y": View(i8, (8,))}
    h = Hand(**dict(sorted(views.items(), reverse=first == "y")))
    with h.parallel(space(a=2)) as p:
        h.set(h.x, p.indices, h.const(1, i32))
        h.set(h.y, [h.do("add", h.do("mul", p.indices[0], h.index(4)), h.index(1))], h.const(1, i8))
    memory = np.zeros(2, "i4")
    arrays = [memory, memory.view("i1")]
    interp.run(h.kernel(), arrays if first == "x" else arrays[::-1])
    assert memory.tolist() == [257, 257]


def test_a_later_parallel_may_touch_what_an_earlier_one_wrote() -> None:
    h = Hand(x=View(i32, (4,)))
    with h.parallel(space(a=2)) as outer:
        base = h.do("mul", outer.indices[0], h.index(2))
        for by in (0, 1):
            with h.parallel(space(b=2)) as inner:
                crossed = h.do("xor", inner.indices[0], h.index(by))
                h.set(h.x, [h.do("add", base, crossed)], h.cast(inner.indices[0], i32))
    x = np.zeros(4, "i4")
    interp.run(h.kernel(), [x])
    assert x.tolist() == [1, 0, 1, 0]


def test_a_race_inside_a_nested_parallel_names_both_levels() -> None:
    h = Hand(x=View(i32, (2,)))
    with h.parallel(space(a=2)) as outer, h.parallel(space(b=2)):
        h.set(h.x, outer.indices, h.const(1, i32))
    assert "(a=0, b=0) and (a=0, b=1)" in _message(h, np.zeros(2, "i4"))


def test_watching_can_be_left_out() -> None:
    h = Hand(x=View(i32, (1,)))
    with h.parallel(space(a=2)) as p:
        h.set(h.x, [h.index(0)], h.cast(p.indices[0], i32))
    x = np.zeros(1, "i4")
    interp.run(h.unverified(), [x], check=interp.Checks(races=False))
    assert x[0] == 1

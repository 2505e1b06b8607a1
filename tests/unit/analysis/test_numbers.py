"""Affine forms and intervals of i64 values: exact where they say something, silent where they cannot know."""

import pytest
from xdsl.ir import SSAValue

from tests.unit.analysis.finding import all_of, one_of, stored_scalars
from tilewright import tile
from tilewright.analysis.affine import Affine, affine_of, constant_of
from tilewright.analysis.ranges import Interval, interval_of
from tilewright.ir.ops.access import StoreOp
from tilewright.ir.ops.regions import ParallelOp, SerialOp
from tilewright.tile import ConstView1, View1, axis, cast, coord, i32, i64, iota, ite, parallel, shape, tensor_shape

BIG = 1 << 62


@tile.kernel
def numbers(X: ConstView1[i64], Y: View1[i64]):
    e = axis("e", 7)
    for nest in parallel(shape(10)):
        i = nest.index()
        loaded = X[i].load()
        for step in nest.serial(shape(axis("s", 5), axis("none", 0))):
            s, never = step.coords()
            Y[i].store(i * 4 + s - 3)
            Y[i].store(3 - (2 * i + s) * 2)
            Y[i].store(-i)
            Y[i].store(i * s)
            Y[i].store(loaded + i)
            Y[i].store(cast(i64, cast(i32, i)))
            Y[i].store(i // 3)
            Y[i].store(i % 4)
            Y[i].store((i + 4) % 16)
            Y[i].store(tile.minimum(i, 3) + tile.maximum(s, 2))
            Y[i].store(ite(loaded > 0, i, s - 8))
            Y[i].store(never * 5 - 1)
            Y[i].store(iota(e).at(coord(s)))
            Y[i].store(i * BIG)
            Y[i].store(i - i + 2)
            Y.at(coord(0), shape(e)).store(iota(e) * 2 + i)


KERNEL = numbers.capture(tensor_shape(10), tensor_shape(10))
VALUES = stored_scalars(KERNEL)
(I,) = one_of(KERNEL, ParallelOp).indices
S, NEVER = one_of(KERNEL, SerialOp).indices

FORMS = [
    Affine({I: 4, S: 1}, -3),
    Affine({I: -4, S: -2}, 3),
    Affine({I: -1}),
    None,
    None,
    None,
    None,
    None,
    None,
    None,
    None,
    Affine({NEVER: 5}, -1),
    None,
    Affine({I: BIG}),
    Affine({}, 2),
]
INTERVALS = [
    Interval(-3, 37),
    Interval(-41, 3),
    Interval(-9, 0),
    Interval(0, 36),
    None,
    None,
    Interval(0, 3),
    Interval(0, 3),
    Interval(4, 13),
    Interval(2, 7),
    Interval(-8, 9),
    Interval(-6, -1),
    None,
    None,
    Interval(-7, 11),
]


@pytest.mark.parametrize(("value", "form"), list(zip(VALUES, FORMS, strict=True)))
def test_the_form_of(value: SSAValue, form: Affine | None) -> None:
    assert affine_of(value) == form


@pytest.mark.parametrize(("value", "interval"), list(zip(VALUES, INTERVALS, strict=True)))
def test_the_interval_of(value: SSAValue, interval: Interval | None) -> None:
    assert interval_of(value) == interval


def test_an_interval_of_a_tile_holds_all_its_elements() -> None:
    (store,) = all_of(KERNEL, StoreOp)
    assert interval_of(store.value) == Interval(0, 21)
    assert affine_of(store.value) is None


def test_a_constant_is_read_with_its_sign() -> None:
    @tile.kernel
    def stored(Y: View1[i64]):
        for nest in parallel(shape(1)):
            Y[nest.index()].store(-5)

    (value,) = stored_scalars(stored.capture(tensor_shape(1)))
    assert constant_of(value) == -5
    assert interval_of(value) == Interval(-5, -5)


def test_what_may_overflow_is_unknown() -> None:
    lowest, highest = Interval(-(1 << 63), 0), Interval(0, (1 << 63) - 1)
    assert interval_of(VALUES[13]) is None
    assert not highest.may_subtract(Interval(-1, 0))
    assert not lowest.may_subtract(Interval(0, 0))
    assert Interval(-3, 3).may_subtract(Interval(-4, 4))


def test_an_empty_interval_is_inside_everything() -> None:
    assert Interval(0, -1).within(0)
    assert not Interval(0, 0).within(0)
    assert not Interval(-1, 0).within(1)
    assert Interval(0, 7).within(8)


def test_forty_doublings_take_forty_steps() -> None:
    @tile.kernel
    def doubled(Y: View1[i64]):
        for nest in parallel(shape(3)):
            n = nest.index()
            for _ in range(40):
                n = n + n
            Y[nest.index()].store(n)

    (value,) = stored_scalars(doubled.capture(tensor_shape(3)))
    assert interval_of(value) == Interval(0, 2 << 40)
    form = affine_of(value)
    assert form is not None
    assert list(form.terms.values()) == [1 << 40]


def test_beyond_the_depth_nothing_is_known() -> None:
    @tile.kernel
    def deep(Y: View1[i64]):
        for nest in parallel(shape(3)):
            n = nest.index()
            for _ in range(70):
                n = n + 1
            Y[nest.index()].store(n)

    (value,) = stored_scalars(deep.capture(tensor_shape(3)))
    assert interval_of(value) is None
    assert affine_of(value) is None

"""Where tiles live: each reason for keeping one, once, and each reason against computing a carry where it lives."""

import pytest

from tests.unit.bridge.xir.planning import places_of, planned, staged_of
from tilewright import tile
from tilewright.bridge.xir.options import XirOptions, element
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    axis,
    coord,
    f32,
    mma,
    parallel,
    scalar,
    scan,
    shape,
    tensor_shape,
    zeros,
)

ELEMENT = XirOptions(lanes=element())
INLINE = "recomputed where it is used"


def reason(kernel: Kernel, line: int, *, may_alias: bool = False) -> str:
    """Why the tile made on a line of the kernel (its decorator is line 0) lives where it does."""
    (place, *_) = places_of(kernel, planned(kernel, ELEMENT, may_alias=may_alias))[line]
    return place.reason


# ---- loads


@tile.kernel
def loads(X: View1[f32], Y: View1[f32], *, case: str):
    e = axis("e", 8)
    for nest in parallel(shape(1)):
        at = coord(scalar(tile.i64, 0))
        x = X[at, shape(e)]
        if case == "pointwise":
            X.at(at, shape(e)).store(x + 1.0)
        if case == "constants":
            X.at(coord(0), shape(e)).store(x + 1.0)
        if case == "elsewhere":
            X.at(coord(1), shape(e)).store(x)
        if case == "turned":
            X.at(at, shape(e)).store(tile.map(f32, shape(e), lambda p: x.at(coord(7 - p.index(e)))))
        if case == "masked":
            y = Y.at(at, shape(e)).load(where=x > 0.0)
            X.at(at, shape(e)).store(tile.map(f32, shape(e), lambda p: y.at(coord(7 - p.index(e)))))
        if case == "overtaken":
            X.at(at, shape(e)).store(2.0)
            Y.at(at, shape(e)).store(x)
        if case == "in a loop":
            for _ in nest.serial(shape(2)):
                X.at(at, shape(e)).store(x + 1.0)
        if case == "other argument":
            Y.at(at, shape(e)).store(x)


@pytest.mark.parametrize(
    ("case", "expected", "aliased"),
    [
        ("pointwise", INLINE, INLINE),
        ("constants", INLINE, INLINE),
        ("elsewhere", "the store writes what the load reads at other points", None),
        ("turned", "the store writes what the load reads at other points", None),
        ("masked", "the store writes what the load reads at other points", INLINE),
        ("overtaken", "a store may overtake the load", None),
        ("in a loop", "the store writes what the load reads again in its loop", None),
        ("other argument", INLINE, "the store may write what the load reads"),
    ],
)
def test_a_load_is_deferred_only_to_where_nothing_changed(case: str, expected: str, aliased: str | None) -> None:
    kernel = loads.capture(tensor_shape(9), tensor_shape(9), case=case)
    assert reason(kernel, 5) == expected
    assert reason(kernel, 5, may_alias=True) == (expected if aliased is None else aliased)


def test_a_deferred_load_says_which_arguments_must_not_overlap() -> None:
    kernel = loads.capture(tensor_shape(9), tensor_shape(9), case="other argument")
    assert planned(kernel, ELEMENT).decisions.disjoint == {(0, 1)}
    assert not planned(kernel, ELEMENT, may_alias=True).decisions.disjoint


# ---- costly tiles


@tile.kernel
def costly(X: ConstView1[f32], Y: View2[f32], *, case: str):
    e, r = axis("e", 256), axis("r", 2)
    for nest in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        y = x / 3.0 if case != "cheap" else x * 3.0
        if case == "once":
            Y.at(coord(0, 0), shape(axis("one", 1), e)).store(y)
        if case in ("twice", "cheap"):
            Y.at(coord(0, 0), shape(axis("one", 1), e)).store(y)
            Y.at(coord(1, 0), shape(axis("one", 1), e)).store(y)
        if case == "broadcast":
            Y.at(coord(0, 0), shape(r, e)).store(y + tile.zeros(f32, shape(r)))
        if case == "in a loop":
            for step in nest.serial(shape(2)):
                Y.at(coord(step.index(), 0), shape(axis("one", 1), e)).store(y)
        if case == "long":
            for _ in range(70):
                y = y + x
            Y.at(coord(0, 0), shape(axis("one", 1), e)).store(y)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("once", INLINE),
        ("cheap", INLINE),
        ("twice", "cheaper to keep, read in 2 places"),
        ("broadcast", "cheaper to keep, read in 1 place"),
        ("in a loop", "cheaper to keep, read in 1 place"),
    ],
)
def test_a_costly_tile_is_computed_once(case: str, expected: str) -> None:
    assert reason(costly.capture(tensor_shape(256), tensor_shape(2, 256), case=case), 5) == expected


def test_what_reads_a_broadcast_costly_tile_is_cheap_itself() -> None:
    @tile.kernel
    def centred(X: ConstView2[f32], Y: View2[f32]):
        r, c = axis("r", 4), axis("c", 8)
        for _ in parallel(shape(1)):
            x = X[coord(0, 0), shape(r, c)]
            mean = tile.reduce(x, c, tile.add) / 3.0
            d = x - mean
            Y.at(coord(0, 0), shape(r, c)).store(d * tile.reduce(d * d, c, tile.add))

    kernel = centred.capture(tensor_shape(4, 8), tensor_shape(4, 8))
    mean = [place.reason for place in places_of(kernel, planned(kernel, ELEMENT))[5]]
    assert mean == ["holds a fold", "cheaper to keep, read in 2 places"]
    assert reason(kernel, 6) == INLINE


def test_what_takes_many_operations_is_kept_on_the_way() -> None:
    kernel = costly.capture(tensor_shape(256), tensor_shape(2, 256), case="long")
    reasons = [place.reason for place in places_of(kernel, planned(kernel, ELEMENT))[18]]
    assert reasons.count("recomputing it takes more than 64 operations") == 1


def test_maps_that_read_two_points_are_kept_before_they_double_again() -> None:
    @tile.kernel
    def stencils(X: ConstView1[f32], Y: View1[f32]):
        e = axis("e", 8)
        for _ in parallel(shape(1)):
            x = X[coord(0), shape(e)]
            for _ in range(12):
                old = x
                x = tile.map(f32, shape(e), lambda p: old.at(coord(p.index(e))) - old.at(coord(7 - p.index(e))))
            Y.at(coord(0), shape(e)).store(x)

    kernel = stencils.capture(tensor_shape(8), tensor_shape(8))
    kept = [place.storage is not None for place in places_of(kernel, planned(kernel, ELEMENT))[7]]
    assert len(kept) == 12
    assert 2 <= sum(kept) <= 6


@tile.kernel
def others(X: ConstView2[f32], Y: View2[f32]):
    r, c, n = axis("r", 8), axis("c", 8), axis("n", 8)
    for nest in parallel(shape(1)):
        x = X[coord(0, 0), shape(r, c)]
        running = scan(x, c, tile.add)
        top = tile.reduce(x, c, tile.maximum)
        left = running + 1.0
        product = mma(left, tile.relabel(x, shape(c, n)), zeros(f32, shape(r, n)))
        total = top
        for _ in nest.serial(shape(2)):
            total = total + top
        Y.at(coord(0, 0), shape(r, n)).store(product + total, where=product > 0.0)


@pytest.mark.parametrize(
    ("line", "expected"),
    [(5, "accumulates"), (6, "holds a fold"), (7, "operand of a contraction: it is computed")],
)
def test_what_always_has_a_buffer(line: int, expected: str) -> None:
    assert reason(others.capture(tensor_shape(8, 8), tensor_shape(8, 8)), line) == expected


def test_a_product_with_two_readers_has_a_buffer_and_a_carry_has_a_home() -> None:
    kernel = others.capture(tensor_shape(8, 8), tensor_shape(8, 8))
    found = [place.reason for places in places_of(kernel, planned(kernel, ELEMENT)).values() for place in places]
    assert {"accumulates", "carried", "result of a carry"} <= set(found)


# ---- carries


@tile.kernel
def carries(X: ConstView1[f32], A: ConstView2[f32], Y: View1[f32], *, case: str):  # noqa: C901, PLR0912  a branch a case
    e, k = axis("e", 8), axis("k", 8)
    for nest in parallel(shape(1)):
        x = X[coord(0), shape(e)]
        a, b = x, x * 2.0
        for step in nest.serial(shape(3)):
            old = a
            if case == "in place":
                a = old + x
            if case == "unchanged":
                b = b + a
            if case == "outside":
                a = x
            if case == "swapped":
                a, b = b, a
            if case == "twice":
                a = b = old + x
            if case == "turned":
                a = tile.map(f32, shape(e), lambda p: old.at(coord(7 - p.index(e))))
            if case == "turned, then added":
                a = tile.map(f32, shape(e), lambda p: old.at(coord(7 - p.index(e)))) + x
            if case == "masked":
                y = X.at(coord(step.index()), shape(e)).load(where=old > 0.0)
                a = tile.map(f32, shape(e), lambda p: y.at(coord(7 - p.index(e))))
            if case == "read later":
                a = (old + x) / 3.0
                b = b + old + a
            if case == "scanned":
                a = scan(old, e, tile.add)
            if case == "from an inner loop":
                inner = x
                for _ in step.serial(shape(2)):
                    inner = inner + old
                a = inner
            if case == "accumulated":
                a = mma(A[coord(0, 0), shape(e, k)], tile.relabel(x, shape(k)), old)
            if case == "multiplied":
                weights = mma(A[coord(0, 0), shape(e, k)], tile.relabel(old, shape(k)), old)
                a = weights
        Y.at(coord(0), shape(e)).store(a + b)


@pytest.mark.parametrize(
    ("case", "staged"),
    [
        ("in place", []),
        ("unchanged", []),
        ("outside", [0]),
        ("swapped", [0, 1]),
        ("twice", [0, 1]),
        ("turned", [0]),
        ("turned, then added", [0]),
        ("masked", [0]),
        ("read later", [0]),
        ("scanned", [0]),
        ("accumulated", []),
        ("multiplied", []),
    ],
)
def test_a_yield_is_computed_into_the_home_only_when_nobody_needs_the_old_value(case: str, staged: list[int]) -> None:
    kernel = carries.capture(tensor_shape(8), tensor_shape(8, 8), tensor_shape(8), case=case)
    assert staged_of(kernel, planned(kernel, ELEMENT)) == staged


def test_a_staged_carry_has_a_second_buffer_that_counts_as_scratch() -> None:
    sizes: dict[str, int] = {}
    for case in ("in place", "swapped"):
        kernel = carries.capture(tensor_shape(8), tensor_shape(8, 8), tensor_shape(8), case=case)
        decisions = planned(kernel, ELEMENT).decisions
        sizes[case] = decisions.scratch_bytes
        assert sum(owner < 0 for owner in decisions.storages) == len(decisions.staged)
    assert sizes["swapped"] > sizes["in place"]

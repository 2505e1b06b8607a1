"""Set-valued layouts: places of replicated data, and the native form over hardware axes."""

import itertools
from collections.abc import Callable

import pytest

from tests.unit.ir.making import space
from tilewright.core.errors import TileTypeError
from tilewright.ir.index_expr import coordinate
from tilewright.ir.layout import (
    IndexExpr,
    IndexMap,
    Iter,
    Point,
    Relation,
    ShardLayout,
    analyze_relation,
    export_shards,
    relation_of,
    relation_of_shards,
    strided,
)
from tilewright.ir.types import DimAttr

I, R, S = (DimAttr.of(number) for number in (0, 1, 2))
i, r = coordinate(I), coordinate(R)
FIBRE = space((0, 4), (1, 3))
LOGICAL = space((3, 4))


def replicated(place: IndexExpr, cells: int) -> Relation:
    """Four logical points with three replicas."""
    return Relation(IndexMap(FIBRE, LOGICAL, (i,)), IndexMap(FIBRE, space((2, cells)), (place,)))


def test_coincident_replicas_are_one_place() -> None:
    facts = analyze_relation(replicated(i, 4))
    assert (facts.fewest, facts.most) == (1, 1)
    assert (facts.fibre_points, facts.logical_points) == (12, 4)
    assert facts.covers_logical
    assert facts.covers_places


def test_spread_replicas_are_three_places() -> None:
    relation = replicated(i * 3 + r, 12)
    facts = analyze_relation(relation)
    assert (facts.fewest, facts.most) == (3, 3)
    assert relation.places((2,)) == {(6,), (7,), (8,)}
    assert relation.places((4,)) == relation.places((0, 0)) == frozenset()


def test_the_converse_leads_back() -> None:
    relation = replicated(i * 3 + r, 12)
    converse = relation.converse()
    assert converse.fault() == ""
    assert converse.places((7,)) == {(2,)}
    assert (analyze_relation(converse).fewest, analyze_relation(converse).most) == (1, 1)
    again = converse.converse()
    assert (again.logical, again.place) == (relation.logical, relation.place)


def test_a_place_may_hold_several_points_and_a_point_may_have_none() -> None:
    halved = relation_of(IndexMap(space((0, 4)), space((2, 3)), (i // 2,)))
    assert halved.converse().places((1,)) == {(2,), (3,)}
    assert halved.converse().places((2,)) == frozenset()
    facts = analyze_relation(halved.converse())
    assert (facts.covers_logical, facts.fewest, facts.most) == (False, 0, 2)


def test_a_layout_is_a_relation_with_one_place() -> None:
    relation = relation_of(strided(space((0, 2), (1, 3)), S, (3, 1)))
    assert relation.places((1, 2)) == {(5,)}
    assert relation.converse().places((5,)) == {(1, 2)}


# ---------------------------------------------------------------------------------------------------------- native form

LANE, WARP, SLOT = (DimAttr.of(number) for number in (5, 6, 7))
TILE = space((3, 8), (4, 16))
PLACES = space((5, 32), (6, 16), (7, 2))
BINDINGS = ((LANE, "lane"), (WARP, "warp"), (SLOT, "slot"))
AXES = ("lane", "warp", "slot")
NATIVE = ShardLayout(
    (Iter(8, 4, "lane"), Iter(2, 1, "warp"), Iter(4, 1, "lane"), Iter(2, 1, "slot")),
    (Iter(2, 4, "warp"),),
    {"warp": 5},
)
"""Rows over lanes, halves of a row over warps, and every element in two warps."""


def published() -> Relation:
    return relation_of_shards(NATIVE, TILE, PLACES, BINDINGS)


def test_the_published_layout_has_two_places_for_each_of_128_elements() -> None:
    facts = analyze_relation(published())
    assert (facts.fibre_points, facts.logical_points) == (256, 128)
    assert (facts.fewest, facts.most) == (2, 2)


@pytest.mark.parametrize(
    ("point", "places"),
    [((0, 0), {(0, 5, 0), (0, 9, 0)}), ((7, 15), {(31, 6, 1), (31, 10, 1)})],
)
def test_the_corners_of_the_published_layout(point: Point, places: set[Point]) -> None:
    assert published().places(point) == places


def test_the_exported_layout_gives_the_same_places() -> None:
    relation = published()
    exported = export_shards(relation, BINDINGS)
    assert exported == NATIVE
    for row, column in itertools.product(range(8), range(16)):
        assert exported.places(row * 16 + column, AXES) == relation.places((row, column))


def test_a_layout_written_by_hand_is_exported_by_its_meaning() -> None:
    """Digits in another order, the logical leg by sums, and a replica that moves nowhere."""
    fibre = space((0, 4), (1, 2), (2, 3), (8, 1))
    low, high = coordinate(DimAttr.of(0)), coordinate(DimAttr.of(1))
    logical = IndexMap(fibre, space((3, 8)), (high * 4 + low,))
    place = IndexMap(fibre, space((5, 8), (6, 9)), (low * 2, high * 3 + 1))
    exported = export_shards(Relation(logical, place), BINDINGS[:2])
    assert exported == ShardLayout((Iter(2, 3, "warp"), Iter(4, 2, "lane")), (Iter(3, 0, "lane"),), {"warp": 1})
    assert exported.places(6, AXES[:2]) == {(4, 4)} == Relation(logical, place).places((6,))


def test_shards_may_cut_across_the_axes_of_the_points() -> None:
    across = ShardLayout((Iter(3, 1, "warp"), Iter(4, 1, "lane")))
    relation = relation_of_shards(across, space((0, 4), (1, 3)), PLACES, BINDINGS)
    assert relation.places((1, 2)) == {(1, 1, 0)} == across.places(5, AXES)
    assert export_shards(relation, BINDINGS) == across


Make = Callable[[], object]
HALF = space((3, 2))
BINDS = ((S, "m"),)


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda: export_shards(published(), BINDINGS[:2]), "TW283", "d7 is bound to none"),
        (lambda: export_shards(published(), (*BINDINGS, (SLOT, "m"))), "TW283", "d7 is bound twice"),
        (lambda: export_shards(published(), (*BINDINGS[:2], (SLOT, "warp"))), "TW283", "both bound to warp"),
        (lambda: export_shards(published(), (*BINDINGS, (I, "m"))), "TW283", "d0, which the places lack"),
        (
            lambda: relation_of_shards(NATIVE, TILE, space((5, 32), (6, 16)), BINDINGS[:2]),
            "TW283",
            "moves along slot",
        ),
        (lambda: relation_of_shards(NATIVE, space((3, 8), (4, 15)), PLACES, BINDINGS), "TW282", "128 points for 120"),
        (
            lambda: relation_of_shards(NATIVE, TILE, space((5, 32), (6, 10), (7, 2)), BINDINGS),
            "TW282",
            "place leg has no value",
        ),
        (lambda: replicated(i * 3 + r, 11).places((0,)), "TW282", r"fibre point \(3, 2\)"),
        (lambda: replicated(i, 4).places((0,), max_points=11), "TW282", "budget of 11"),
        (lambda: replicated(i, 1 << 63).places((0,)), "TW282", r"2\*\*63 - 1"),
        (
            lambda: analyze_relation(Relation(IndexMap(FIBRE, LOGICAL, (i,)), IndexMap(LOGICAL, LOGICAL, ()))),
            "TW282",
            "place leg has 0 expressions",
        ),
        (
            lambda: analyze_relation(Relation(IndexMap(FIBRE, LOGICAL, (i,)), strided(LOGICAL, S, (1,)))),
            "TW282",
            "different fibre spaces",
        ),
        (lambda: export_shards(replicated(i ^ r, 4), ((S, "m"),)), "TW282", "no sum"),
        (
            lambda: export_shards(relation_of(IndexMap(HALF, PLACES, (coordinate(DimAttr.of(3)),) * 3)), BINDINGS),
            "TW282",
            "lane and warp at once",
        ),
        (
            lambda: export_shards(Relation(IndexMap(FIBRE, LOGICAL, ((i + r) % 4,)), replicated(i, 4).place), BINDS),
            "TW282",
            "no digits",
        ),
        (
            lambda: export_shards(Relation(IndexMap(FIBRE, space((3, 5)), (i,)), replicated(i, 4).place), BINDS),
            "TW282",
            "no digits",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make: Make, code: str, words: str) -> None:
    with pytest.raises(TileTypeError, match=f"{code}.*{words}"):
        make()

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.parser import Parser

from tests.unit.ir.making import Make, space, view
from tilewright.core.errors import TileTypeError
from tilewright.ir.index_expr import INT64_MAX, INT64_MIN, evaluate
from tilewright.ir.layout import (
    ExprKind,
    IndexExpr,
    IndexMap,
    LayoutProof,
    Truth,
    analyze_finite,
    compose,
    constant,
    coordinate,
    identity,
    permute,
    prove,
    reshape,
    strided,
)
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.layout_bits import analyze_bits
from tilewright.ir.text import tile_context
from tilewright.ir.types import DimAttr, SpaceAttr, view_type

I, J, S, T = (DimAttr.of(number) for number in range(4))
i, j = coordinate(I), coordinate(J)


def one(*extents: int, to: tuple[int, ...], by: tuple[IndexExpr, ...]) -> IndexMap:
    domain = space(*enumerate(extents))
    return IndexMap(domain, space(*((2 + k, extent) for k, extent in enumerate(to))), by)


def truths(proof: LayoutProof) -> tuple[Truth, Truth, Truth, Truth]:
    return proof.total, proof.in_bounds, proof.injective, proof.surjective


def agree(index_map: IndexMap, proof: LayoutProof) -> None:
    """What a proof claims holds when every point is looked at."""
    facts = analyze_finite(index_map)
    for claim, fact in zip(
        truths(proof), (facts.total, facts.in_bounds, facts.injective, facts.surjective), strict=True
    ):
        # A disproof of the map as a whole disproves all four; only then may a part be true by itself.
        assert claim is not Truth.PROVEN or fact
        assert claim is not Truth.DISPROVEN or not fact or not facts.in_bounds
    if proof.collision is not None:
        a, b = proof.collision
        assert a != b
        assert index_map.apply(a) == index_map.apply(b) is not None


# ---------------------------------------------------------------------------------------------------------- expressions


def value(expr: IndexExpr, x: int = 0, y: int = 0) -> int | None:
    result = evaluate([expr], {I: np.array([x], np.int64), J: np.array([y], np.int64)}, 1)[0]
    return int(result.values[0]) if result.defined[0] else None


@pytest.mark.parametrize(
    ("expr", "x", "expected"),
    [
        (i // 3, -7, -3),
        (i % 3, -7, 2),
        (i // -3, 7, -3),
        (i % -3, 7, -2),
        (i ^ 5, 6, 3),
        (i & 5, 6, 4),
        (i << 60, 15, -(1 << 60)),
        ((i << 60) >> 60, 15, 15),
        (i >> 63, -1, 1),
        (i << 64, 1, None),
        (i << -1, 1, None),
        (i // 0, 1, None),
        (i % 0, 1, None),
        (i // -1, INT64_MIN, None),
        (i + 1, INT64_MAX, None),
        (i - 1, INT64_MIN, None),
        (i * 2, 1 << 62, None),
        (i * -1, INT64_MIN, None),
        (i * INT64_MIN, -1, None),
        (i * INT64_MIN, 1, INT64_MIN),
        (i * 3, -5, -15),
    ],
)
def test_arithmetic_is_checked_and_floors(expr: IndexExpr, x: int, expected: int | None):
    assert value(expr, x) == expected


def test_a_shift_to_the_left_and_back_is_a_bijection():
    index_map = one(16, to=(16,), by=((i << 60) >> 60,))
    assert [index_map.apply((x,)) for x in range(16)] == [(x,) for x in range(16)]
    assert truths(prove(index_map)) == (Truth.PROVEN,) * 4


def test_a_failure_below_is_a_failure_above():
    assert value((i // 0) * 0) is None


def test_a_constant_fits_into_64_bits():
    with pytest.raises(ValueError, match="64 bits"):
        constant(1 << 63)


def test_nodes_are_inspectable():
    expr = i + 4
    assert (expr.kind, expr.lhs, expr.rhs and expr.rhs.value) == (ExprKind.ADD, i, 4)


def test_dimensions_of_one_label_are_different():
    """A label is no part of a dimension: two axes called `m` stay two, and a map of one is not one of the other."""
    m = Make(view((0, 4), (1, 4)), labels={0: "m", 1: "m"})
    first, second = view_type(m.args[0]).space.dims
    assert first != second
    assert IndexMap(space((0, 4)), space((2, 4)), (coordinate(second),)).fault().endswith("which the domain lacks")


def test_a_point_of_another_rank_has_no_image():
    assert identity(space((0, 4))).apply(()) is None
    assert identity(space((0, 4))).apply((1, 0)) is None


def test_shared_graphs_are_walked_once():
    expr = i
    for _ in range(200):  # as a tree this has 2**200 nodes
        expr = expr ^ expr
    assert value(expr, 5) == 0


# ----------------------------------------------------------------------------------------------------------------- maps


def test_row_major_strides():
    index_map = strided(space((0, 2), (1, 3)), S, (3, 1))
    assert index_map.apply((1, 2)) == (5,)
    assert truths(prove(index_map)) == (Truth.PROVEN,) * 4


def test_a_broadcast_stride_is_surjective_and_not_injective():
    proof = prove(strided(space((0, 2), (1, 3)), S, (0, 1)))
    assert (proof.injective, proof.surjective) == (Truth.DISPROVEN, Truth.PROVEN)
    assert proof.collision == ((0, 0), (1, 0))


def test_transpose_then_stride_is_the_direct_map():
    domain = space((0, 2), (1, 3))
    turned = permute(domain, (J, I))
    direct = strided(domain, S, (1, 2))
    composed = compose(strided(turned.codomain, S, (2, 1)), turned)
    points = itertools.product(range(2), range(3))
    assert all(composed.apply(point) == direct.apply(point) for point in points)


def test_reshape_keeps_the_row_major_order():
    assert reshape(space((0, 2), (1, 3)), space((2, 3), (3, 2))).apply((1, 2)) == (2, 1)


def test_identity_of_rank_zero():
    assert identity(space()).apply(()) == ()
    assert prove(identity(space())).is_storage_safe


@pytest.mark.parametrize(
    "make",
    [
        lambda: compose(identity(space((0, 2))), identity(space((1, 2)))),
        lambda: permute(space((0, 2), (1, 3)), (I, I)),
        lambda: reshape(space((0, 2)), space((1, 3))),
        lambda: reshape(space((0, 0)), space((1, 0))),
        lambda: strided(space((0, 2)), S, (-1,)),
        lambda: strided(space((0, 3)), S, (INT64_MAX,)),
        lambda: LayoutAttr.of(IndexMap(space((0, 2)), space((1, 2)), (coordinate(T),))),
    ],
)
def test_what_is_no_map_is_refused(make: Callable[[], object]):
    with pytest.raises(TileTypeError, match="TW281"):
        make()


def test_padding_is_not_surjective():
    index_map = strided(space((0, 4), (1, 3)), S, (5, 1))
    assert index_map.codomain.extents == (18,)
    assert truths(prove(index_map)) == (Truth.PROVEN, Truth.PROVEN, Truth.PROVEN, Truth.DISPROVEN)


# --------------------------------------------------------------------------------------------------------------- proofs


def test_a_diagonal_names_two_elements_that_collide():  # C71
    proof = prove(one(4, 4, to=(8,), by=(i + j,)))
    assert proof.is_storage_invalid
    assert proof.collision == ((0, 1), (1, 0))
    assert "not injective" in proof.reason


@pytest.mark.parametrize("size", [1, 31, 32, 257, 1024])
def test_gray_codes_are_injective(size: int):
    storage = 1 << max(size - 1, 0).bit_length()
    proof = prove(one(size, to=(storage,), by=(i ^ (i >> 1),)), max_points=0)
    assert proof.is_storage_safe


def test_a_gray_code_of_eight_is_a_bijection():
    index_map = one(8, to=(8,), by=(i ^ (i >> 1),))
    assert index_map.apply((7,)) == (4,)
    assert truths(prove(index_map)) == (Truth.PROVEN,) * 4


@pytest.mark.parametrize(
    "index_map",
    [
        one(1 << 21, to=(1 << 21,), by=(i ^ (i >> 1),)),
        strided(space((0, 513), (1, 2047)), S, (2047, 1)),
        strided(space((0, 513), (1, 2047)), S, (1, 513)),
    ],
)
def test_large_layouts_are_proved_without_looking_at_points(index_map: IndexMap):
    proof = prove(index_map, max_points=0)
    assert truths(proof) == (Truth.PROVEN,) * 4
    assert not proof.enumerated


def test_an_empty_domain_proves_everything_and_evaluates_nothing():
    assert truths(prove(one(0, to=(4,), by=(i // 0,)))) == (Truth.PROVEN,) * 3 + (Truth.DISPROVEN,)
    assert truths(prove(one(0, to=(0,), by=(i,)))) == (Truth.PROVEN,) * 4


def test_a_division_by_zero_in_a_product_with_zero_is_seen():
    assert prove(one(4, to=(1,), by=((i // 0) * 0,))).total is Truth.DISPROVEN


def test_a_cancelled_overflow_is_no_affine_proof():
    big = i * INT64_MAX
    proof = prove(one(3, to=(1,), by=(big - big,)), max_points=0)
    assert proof.is_storage_invalid  # the far corner overflows


def test_out_of_bounds_in_the_middle_is_found_by_looking():
    proof = prove(one(5, to=(4,), by=((i * 3) % 5,)))
    assert proof.enumerated
    assert (proof.total, proof.in_bounds) == (Truth.PROVEN, Truth.DISPROVEN)
    assert "(3,)" in proof.reason


def test_more_elements_than_cells_collide():
    proof = prove(one(3, 3, to=(2, 3), by=(i % 2, j)))
    assert proof.injective is Truth.DISPROVEN
    assert proof.collision is not None


def test_what_cannot_be_seen_is_unknown_without_a_budget():
    proof = prove(one(7, to=(7,), by=((i * 3) % 7,)), max_points=0)
    assert proof.injective is Truth.UNKNOWN
    assert not proof.is_storage_safe
    assert not proof.is_storage_invalid
    assert prove(one(7, to=(7,), by=((i * 3) % 7,))).is_storage_safe


def test_a_map_without_its_expressions_proves_nothing():
    assert truths(prove(one(4, to=(4,), by=()))) == (Truth.DISPROVEN,) * 4


def combined(kind: ExprKind, a: IndexExpr, b: IndexExpr) -> IndexExpr:
    return IndexExpr(kind, lhs=a, rhs=b)


def expressions(leaves: st.SearchStrategy[IndexExpr]) -> st.SearchStrategy[IndexExpr]:
    def grow(inner: st.SearchStrategy[IndexExpr]) -> st.SearchStrategy[IndexExpr]:
        kinds = st.sampled_from([kind for kind in ExprKind if kind not in (ExprKind.CONSTANT, ExprKind.COORDINATE)])
        return st.builds(combined, kinds, inner, inner)

    return st.recursive(leaves, grow, max_leaves=6)


LEAVES = st.one_of(st.sampled_from([i, j]), st.integers(-3, 9).map(constant))


@settings(max_examples=300)
@given(
    st.tuples(st.integers(0, 5), st.integers(1, 5)), st.integers(1, 30), expressions(LEAVES), st.sampled_from([0, 64])
)
def test_proofs_agree_with_every_point(extents: tuple[int, int], cells: int, expr: IndexExpr, budget: int):
    index_map = one(*extents, to=(cells,), by=(expr,))
    agree(index_map, prove(index_map, max_points=budget))


@settings(max_examples=200)
@given(
    st.lists(st.integers(1, 5), min_size=3, max_size=3),
    st.lists(st.lists(st.integers(-4, 6), min_size=3, max_size=3), min_size=1, max_size=2),
)
def test_affine_proofs_agree_with_every_point(extents: list[int], rows: list[list[int]]):
    dims = [DimAttr.of(k) for k in range(3)]
    outputs: list[IndexExpr] = []
    for row in rows:
        shift = sum(-c * (n - 1) for c, n in zip(row, extents, strict=True) if c < 0)
        total = constant(shift)
        for dim, c in zip(dims, row, strict=True):
            total = total + coordinate(dim) * c
        outputs.append(total)
    reach = [1 + sum(abs(c) * (n - 1) for c, n in zip(row, extents, strict=True)) for row in rows]
    codomain = space(*((5 + k, extent) for k, extent in enumerate(reach)))
    index_map = IndexMap(space(*enumerate(extents)), codomain, tuple(outputs))
    proof = prove(index_map, max_points=0)
    assert proof.total is proof.in_bounds is Truth.PROVEN
    agree(index_map, proof)


@pytest.mark.parametrize("extents", [(8, 8, 8), (5, 8, 3), (7, 6, 5)])
def test_binary_matrices_on_full_and_ragged_boxes(extents: tuple[int, int, int]):
    """Every 3x3 matrix over the two-element field, as a map from one bit of each axis, with a constant added."""
    chance = random.Random(0)
    for matrix in itertools.product(range(8), repeat=3):
        outputs = constant(chance.randrange(8))
        for axis, column in enumerate(matrix):
            outputs = outputs ^ ((coordinate(DimAttr.of(axis)) & 1) * column)
        index_map = IndexMap(space(*((k, min(n, 2)) for k, n in enumerate(extents))), space((9, 8)), (outputs,))
        facts = analyze_bits(index_map)
        assert facts is not None
        found = analyze_finite(index_map)
        assert facts.injective == found.injective
        if facts.surjective is not None:
            assert facts.surjective == found.surjective


@settings(max_examples=100)
@given(st.integers(1, 40), st.lists(st.integers(0, 63), min_size=6, max_size=6), st.integers(0, 63))
def test_bit_linear_proofs_on_ragged_axes(size: int, columns: list[int], offset: int):
    expr = constant(offset)
    for bit, column in enumerate(columns):
        expr = expr ^ (((i >> bit) & 1) * column)
    index_map = one(size, to=(64,), by=(expr,))
    proof = prove(index_map, max_points=0)
    assert proof.injective is Truth.of(analyze_finite(index_map).injective)
    agree(index_map, proof)


# ------------------------------------------------------------------------------------------------------------ attribute


def parse_attr(text: str) -> LayoutAttr:
    attr = Parser(tile_context(), text).parse_attribute()
    assert isinstance(attr, LayoutAttr)
    return attr


@settings(max_examples=50)
@given(expressions(LEAVES))
def test_a_layout_prints_parses_and_maps_the_same(expr: IndexExpr):
    index_map = one(3, 4, to=(50,), by=(expr,))
    attr = LayoutAttr.of(index_map)
    assert parse_attr(str(attr)) == attr
    points = itertools.product(range(3), range(4))
    assert all(attr.map.apply(point) == index_map.apply(point) for point in points)


def test_equal_layouts_are_equal_attributes():
    domain = space((0, 2), (1, 3))
    assert LayoutAttr.of(strided(domain, S, (3, 1))) == LayoutAttr.of(strided(domain, S, (3, 1)))
    assert LayoutAttr.of(strided(domain, S, (3, 1))) != LayoutAttr.of(strided(domain, S, (4, 1)))


def test_the_text_of_a_layout():
    attr = LayoutAttr.of(IndexMap(space((0, 4)), SpaceAttr.of(space((2, 4)).axes), (i ^ (i >> 1),)))
    assert str(attr) == "#tile.layout<[0:4] -> [2:4], [axis 0, constant 1, shr 0 1, xor 0 2] gives [3]>"


def test_an_axis_that_only_equals_the_others_together_is_not_settled_by_them():
    """(1, 0, 0) and (0, 1, 1) share the cell 4; no two axes alone cancel, and the storage is wide enough for all."""
    flat = coordinate(I) * 4 + coordinate(J) + coordinate(S) * 3
    index_map = IndexMap(space((0, 2), (1, 2), (2, 2)), space((9, 100)), (flat,))
    assert prove(index_map, max_points=0).injective is Truth.UNKNOWN
    assert prove(index_map).injective is Truth.DISPROVEN

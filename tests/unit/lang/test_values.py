"""Operators: element types agree, literals are exact, axes meet by identity."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.lang.shapes import all_names, every, only
from tilewright import tile
from tilewright.core.errors import CaptureError, KernelError, TileTypeError
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.elementwise import AddOp, BinaryOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.ir.types import tile_type
from tilewright.tile import (
    ConstView2,
    Tile,
    View1,
    axis,
    bf16,
    boolean,
    coord,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    parallel,
    shape,
    tensor_shape,
    u8,
    u64,
    where,
    zeros,
)  # fmt: skip

Body = Callable[[Any], Any]
untyped: Any = tile  # the cases work on Any


def bodies(*each: Body) -> list[Body]:
    """The cases of a parametrised test, typed."""
    return list(each)


def named(*each: tuple[str, Body]) -> list[tuple[str, Body]]:
    """The same, with the operation that each makes."""
    return list(each)


def typed(*each: tuple[Body, Any]) -> list[tuple[Body, Any]]:
    """The same, with the element type that each is for."""
    return list(each)


def capture(work: Body, dtype: Any = f32) -> Kernel:
    """A kernel that does `work` to one tile [m:4, n:8] of `dtype`."""

    @tile.kernel
    def one(A: ConstView2):
        for _ in parallel(shape(axis("g", 1))):
            work(A[coord(0, 0), shape(axis("m", 4), axis("n", 8))])

    return one.capture(tensor_shape(8, 8, dtype=dtype))


BINARY: list[tuple[str, Callable[[Any, Any], Any], Any]] = [
    ("add", lambda a, b: a + b, f32),
    ("sub", lambda a, b: a - b, f32),
    ("mul", lambda a, b: a * b, f32),
    ("div", lambda a, b: a / b, f32),
    ("pow", lambda a, b: a**b, f32),
    ("floor_div", lambda a, b: a // b, i32),
    ("floor_mod", lambda a, b: a % b, i32),
    ("and", lambda a, b: a & b, i32),
    ("or", lambda a, b: a | b, i32),
    ("xor", lambda a, b: a ^ b, i32),
    ("shl", lambda a, b: a << b, i32),
    ("shr", lambda a, b: a >> b, i32),
]


@pytest.mark.parametrize(("name", "apply", "dtype"), BINARY)
def test_an_operator_is_one_operation_and_keeps_its_sides(
    name: str, apply: Callable[[Any, Any], Any], dtype: Any
) -> None:
    kernel = capture(lambda a: (apply(a, a), apply(a, 2), apply(2, a)), dtype)
    found = [op for op in every(kernel, BinaryOp) if op.name == f"tile.{name}"]
    assert len(found) == 3
    constants = [[isinstance(side.owner, ConstantOp) for side in (op.lhs, op.rhs)] for op in found]
    assert constants == [[False, False], [False, True], [True, False]]


@pytest.mark.parametrize(
    ("name", "apply"),
    named(
        ("eq", lambda a: a == 1.0),
        ("ne", lambda a: a != 1.0),
        ("lt", lambda a: a < 1.0),
        ("le", lambda a: a <= 1.0),
        ("gt", lambda a: a > 1.0),
        ("ge", lambda a: a >= 1.0),
        ("neg", lambda a: -a),
        ("abs", abs),
        ("not", lambda a: ~(a > 0.0)),
        ("exp", tile.exp),
        ("exp2", tile.exp2),
        ("log", tile.log),
        ("log2", tile.log2),
        ("sqrt", tile.sqrt),
        ("rsqrt", tile.rsqrt),
        ("sin", tile.sin),
        ("cos", tile.cos),
        ("tanh", tile.tanh),
        ("erf", tile.erf),
        ("sigmoid", tile.sigmoid),
        ("floor", tile.floor),
        ("ceil", tile.ceil),
        ("round", tile.round),
        ("trunc", tile.trunc),
        ("isnan", tile.isnan),
        ("isinf", tile.isinf),
        ("logical_not", lambda a: untyped.logical_not(a > 0.0)),
        ("logical_and", lambda a: untyped.logical_and(a > 0.0, a < 1.0)),
        ("logical_or", lambda a: untyped.logical_or(a > 0.0, a < 1.0)),
        ("max", lambda a: untyped.maximum(a, 0.0)),
        ("min", lambda a: untyped.minimum(0.0, a)),
        ("trunc_div", lambda a: untyped.trunc_div(untyped.cast(i32, a), 2)),
        ("trunc_mod", lambda a: untyped.trunc_mod(untyped.cast(i32, a), 2)),
        ("select", lambda a: untyped.where(a > 0.0, a, 0.0)),
        ("cast", lambda a: a.astype(f64)),
        ("bitcast", lambda a: untyped.bitcast(i32, a)),
    ),
)
def test_a_function_is_one_operation(name: str, apply: Body) -> None:
    assert all_names(capture(apply)).count(name) == 1


def test_comparisons_are_boolean() -> None:
    seen: list[Any] = []
    capture(lambda a: seen.append((a < 1.0).dtype))
    assert seen == [boolean]


def test_an_operand_that_is_the_result_makes_no_operation() -> None:
    seen: list[bool] = []
    kernel = capture(lambda a: seen.extend([a.astype(f32).ssa is a.ssa, (+a) is a]))
    assert seen == [True, True]
    assert "cast" not in all_names(kernel)


@pytest.mark.parametrize(
    ("dtype", "literal", "bits"),
    [
        (f32, 1, 0x3F800000),
        (f32, 0.1, 0x3DCCCCCD),
        (f32, -0.0, 0x80000000),
        (f32, math.inf, 0x7F800000),
        (f16, 0.1, 0x2E66),
        (bf16, 0.1, 0x3DCD),
        (f64, 0.1, 0x3FB999999999999A),
        (i8, -1, 0xFF),
        (u64, 2**64 - 1, 2**64 - 1),
        (f32, np.float32(0.1), 0x3DCCCCCD),
        (i32, np.int64(5), 5),
    ],
)
def test_a_literal_is_the_exact_bits_of_the_other_side(dtype: Any, literal: Any, bits: int) -> None:
    constant = only(capture(lambda a: a + literal, dtype), ConstantOp, last=True)
    assert constant.value.data == bits


@pytest.mark.parametrize(
    ("dtype", "literal"),
    [(i32, 0.5), (i32, 1.0), (f32, 2**24 + 1), (f16, 2049), (f16, 1e6), (u8, -1), (i8, 128), (f32, True), (boolean, 1)],
)
def test_a_literal_that_would_change_is_refused(dtype: Any, literal: Any) -> None:
    with pytest.raises(TileTypeError, match="TW206"):
        capture(lambda a: a == literal, dtype)


def test_element_types_are_never_promoted() -> None:
    with pytest.raises(TileTypeError, match="TW205"):
        capture(lambda a: a + a.astype(f64))
    with pytest.raises(TileTypeError, match="TW205"):
        capture(lambda a: untyped.where(a > 0.0, a, a.astype(f16)))


@pytest.mark.parametrize(
    ("work", "dtype"),
    typed(
        (lambda a: a / a, i32),
        (lambda a: a // a, f32),
        (lambda a: a & a, f32),
        (tile.exp, i32),
        (lambda a: a + a, boolean),
        (lambda a: a + a, tile.float8_e4m3fn),
        (lambda a: a << a, boolean),
    ),
)
def test_operations_that_a_type_lacks(work: Body, dtype: Any) -> None:
    with pytest.raises(TileTypeError, match="TW208"):
        capture(work, dtype)


@pytest.mark.parametrize(
    "use",
    bodies(
        bool,
        len,
        iter,
        list,
        range,
        np.asarray,
        int,
        float,
        hash,
        lambda a: "ab"[a],
        lambda a: a in {1, 2},
        lambda a: a in (1, 2),
        lambda a: a[0],
        lambda a: f"{a:.2f}" and None,
    ),
)
def test_python_cannot_have_the_value_now(use: Body) -> None:
    with pytest.raises((CaptureError, TypeError)) as caught:
        capture(use)
    if not isinstance(caught.value, KernelError):
        assert "format" in str(caught.value)


def test_items_of_a_tile_are_not_assigned() -> None:
    def assign(a: Any) -> None:
        a[0] = 1.0

    with pytest.raises(CaptureError, match="TW118"):
        capture(assign)


def result_axes(kernel: Kernel) -> tuple[tuple[str, int], ...]:
    space = tile_type(only(kernel, AddOp).result).space
    return tuple((kernel.label(axis.dim), axis.extent) for axis in space.axes)


def test_the_higher_rank_gives_the_order_and_the_first_wins_ties() -> None:
    def work(a: Tile) -> None:
        _, n = a.shape.axes
        row = zeros(f32, shape(n))
        assert [axis.label for axis in (row + a).shape.axes] == ["m", "n"]

    assert result_axes(capture(work)) == (("m", 4), ("n", 8))

    def tie(a: Tile) -> None:
        m, n = a.shape.axes
        zeros(f32, shape(n, m)) + a

    assert result_axes(capture(tie)) == (("n", 8), ("m", 4))


def test_missing_axes_are_appended_and_single_ones_give_way() -> None:
    def append(a: Tile) -> None:
        a + zeros(f32, shape(axis("k", 3)))

    assert result_axes(capture(append)) == (("m", 4), ("n", 8), ("k", 3))

    def positional(_: Tile) -> None:
        zeros(f32, shape(3, 1)) + zeros(f32, shape(1, 4))

    assert [extent for _, extent in result_axes(capture(positional))] == [3, 4]


def test_positions_count_from_the_right() -> None:
    for other in ((4,), (1, 4), (3, 1)):

        def work(_: Tile, other: tuple[int, ...] = other) -> None:
            zeros(f32, shape(3, 4)) + zeros(f32, shape(*other))

        assert [extent for _, extent in result_axes(capture(work))] == [3, 4]
    with pytest.raises(TileTypeError, match="TW209"):
        capture(lambda _: zeros(f32, shape(3, 4)) + zeros(f32, shape(3, 5)))


def test_a_select_takes_its_shape_from_the_values_first() -> None:
    seen: list[list[str]] = []

    def work(a: Tile) -> None:
        m, n = a.shape.axes
        mask = zeros(boolean, shape(n, m))
        seen.append([axis.label for axis in where(mask, a, 0.0).shape.axes])
        seen.append([axis.label for axis in where(mask, tile.reduce(a, n, tile.add), 0.0).shape.axes])

    capture(work)
    assert seen == [["m", "n"], ["n", "m"]]


def test_scalars_mix_with_tiles_in_both_orders() -> None:
    def work(a: Tile) -> None:
        s = a.at(coord(0, 0))
        assert isinstance(s + a, Tile)
        assert isinstance(a - s, Tile)
        assert (s * 2.0).dtype is f32

    capture(work)


def test_coordinates_are_signed_words() -> None:
    seen: list[Any] = []

    @tile.kernel
    def indices(C: View1[f32]):
        for nest in parallel(shape(4)):
            seen.append(nest.index().dtype)
            C[tile.cast(i32, nest.index())].store(0.0)

    assert all_names(indices.capture(tensor_shape(4))).count("cast") == 2
    assert seen == [i64]

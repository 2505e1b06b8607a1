"""Layouts as a kernel spells them: where each element lies, and what is refused."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from tests.unit.lang.shapes import every
from tilewright import tile
from tilewright.core.errors import KernelError
from tilewright.ir.ops.memory import MemoryAllocOp
from tilewright.lang.kernel import KernelDefinition
from tilewright.tile import (
    Axis,
    Layout,
    LayoutIndex,
    Shape,
    View1,
    axis,
    blocked,
    f32,
    layout,
    memory,
    padded,
    parallel,
    permuted,
    shape,
    swizzled,
    tensor_shape,
    zeros,
)  # fmt: skip

Making = Callable[[Axis, Axis], Shape | Layout]


def laid_out(making: Making, rows: int = 4, columns: int = 6) -> Layout:
    """The layout that a kernel makes, once a memory has taken it and the kernel was verified."""
    made: list[Shape | Layout] = []

    @tile.kernel
    def one(C: View1[f32]):
        m, n = axis("m", rows), axis("n", columns)
        for _ in parallel(shape(1)):
            made.append(making(m, n))
            scratch = memory(f32, made[0])
            scratch.store(zeros(f32, scratch.shape))

    kernel = one.capture(tensor_shape(4))
    (alloc,) = every(kernel, MemoryAllocOp)
    assert isinstance(made[0], Layout)
    assert alloc.layout is not None
    assert alloc.layout.map.codomain == made[0].map.codomain
    return made[0]


Cells = tuple[int, ...]


def placed(*each: tuple[Making, Cells, Cells]) -> list[tuple[Making, Cells, Cells]]:
    """The cases of a parametrised test, typed: a layout, the extents of its storage, and the cell of (3, 4)."""
    return list(each)


@pytest.mark.parametrize(
    ("making", "extents", "place"),
    placed(
        (lambda m, n: layout(shape(m, n), strides=(1, 5)), (29,), (3 + 5 * 4,)),
        (lambda m, n: layout(shape(m, n), lambda i, j: (j, i)), (6, 4), (4, 3)),
        (lambda m, n: layout(shape(m, n), lambda i, j: 7 * i + j), (27,), (25,)),
        (lambda m, n: layout(shape(m, n), lambda i, j: i * 8 + (j ^ i), extents=40), (40,), (24 + 7,)),
        (lambda m, n: layout(shape(m, n), lambda i, j: (3 - i, -j + 5)), (4, 6), (0, 1)),
        (lambda m, n: layout(shape(m, n), lambda i, j: (i, j, 0), extents=(4, 6, 2)), (4, 6, 2), (3, 4, 0)),
        (lambda m, n: padded(shape(m, n), 3), (3 * 9 + 6,), (31,)),
        (lambda m, n: padded(shape(m, n), 0), (24,), (22,)),
        (lambda m, n: permuted(shape(m, n), n, m), (6, 4), (4, 3)),
        (lambda m, n: swizzled(shape(m, n)), (4, 8), (3, 7)),
        (lambda m, n: padded(swizzled(shape(m, n)), 1), (3 * 9 + 8,), (27 + 7,)),
        (lambda m, n: swizzled(permuted(shape(m, n), n, m)), (6, 4), (4, 3)),
        (lambda m, n: permuted(swizzled(shape(m, n)), n, m), (8, 4), (7, 3)),
        (lambda m, n: blocked(shape(m, n), 2, 4), (2, 2, 2, 4), (1, 1, 1, 0)),
        (lambda m, n: layout(blocked(shape(m, n), 2, 4), lambda a, b, c, d: (c, d, a, b)), (2, 4, 2, 2), (1, 0, 1, 1)),
        (lambda m, n: layout(padded(shape(m, n), 1), lambda cell: cell + 2), (29,), (27,)),
    ),
)
def test_an_element_lies_where_the_layout_says(
    making: Making, extents: tuple[int, ...], place: tuple[int, ...]
) -> None:
    made = laid_out(making)
    assert made.extents == extents
    assert made.map.apply((3, 4)) == place


def test_a_swizzle_spreads_a_column_and_keeps_the_rows() -> None:
    made = laid_out(lambda m, n: swizzled(shape(m, n)), rows=16, columns=8)
    cells = [made.map.apply((i, 0)) for i in range(16)]
    assert cells == [(i, i % 8) for i in range(16)]


def test_the_operators_of_a_coordinate_floor_and_act_on_bits() -> None:
    def computed(i: LayoutIndex, j: LayoutIndex) -> tuple[LayoutIndex, ...]:
        return (i - 9) // -2, (j - 9) % 4, (1 << j) >> 2, (7 & i) ^ (8 >> j), 100 // (i + 1), 100 % (j + 2)

    made = laid_out(lambda m, n: layout(shape(m, n), computed), rows=4, columns=6)
    assert made.map.apply((3, 4)) == (3, 3, 4, 3, 25, 4)


def test_nothing_is_evaluated_for_no_elements() -> None:
    made = laid_out(lambda m, n: layout(shape(m, n), lambda i, j: i // (j - j)), rows=0)
    assert made.extents == (0,)


def test_the_storage_of_an_affine_layout_is_known_without_looking() -> None:
    made = laid_out(lambda m, n: layout(shape(m, n), lambda i, j: j * 3000 + i), rows=3000, columns=2000)
    assert made.extents == (6_000_000,)


Wrong = Callable[[Axis, Axis], object]


def coded(*each: tuple[Wrong, str]) -> list[tuple[Wrong, str]]:
    """The cases of a parametrised test, typed, with the error of each."""
    return list(each)


@pytest.mark.parametrize(
    ("making", "code"),
    coded(
        (lambda m, n: layout(shape(m, n), lambda i, j: i + j), "TW281.*not injective"),
        (lambda m, n: layout(shape(m, n), lambda i, j: (i, j), extents=(4, 5)), "TW281"),
        (lambda m, n: layout(shape(m, n), lambda i, j: (i, j - 1)), "TW281"),
        (lambda m, n: permuted(shape(m, n), n), "TW281.*every dimension"),
        (lambda m, n: permuted(padded(shape(m, n), 1), n), "TW214"),
        (lambda m, n: layout(shape(m, n), lambda i: i), "TW285.*does not take 2 axes"),
        (lambda m, n: layout(shape(m, n), lambda i, j: cast(Any, (i, 1.5))), r"TW285.*1\.5 is no coordinate"),
        (lambda m, n: layout(shape(m, n), lambda i, j: cast(Any, None)), "TW285.*NoneType is no coordinate"),
        (lambda m, n: layout(shape(m, n), lambda i, j: i + cast(Any, "a")), "TW285.*'a' is an operand"),
        (lambda m, n: layout(shape(m, n), lambda i, j: i * True), "TW285.*True is an operand"),
        (lambda m, n: layout(shape(m, n), lambda i, j: i + (1 << 63)), "TW285.*9223372036854775808"),
        (lambda m, n: layout(shape(m, n), lambda i, j: cast(Any, i) / 2), "TW117.*a coordinate of a layout"),
        (lambda m, n: layout(shape(m, n), lambda i, j: i if cast(Any, i) < 2 else j), "TW117"),
        (lambda m, n: layout(shape(m, n), cast(Any, 3)), "TW285.*int is no function"),
        (lambda m, n: layout(shape(m, n), lambda i, j: (i, j), extents=4), "TW285.*2 axes of cells"),
        (lambda m, n: layout(shape(m, n), lambda i, j: (i, j), extents=(4, -1)), "TW131"),
        (lambda m, n: cast(Any, layout)(shape(m, n), repr, strides=(6, 1)), "TW285.*neither"),
        (lambda m, n: cast(Any, layout)(shape(m, n)), "TW285.*neither"),
        (lambda m, n: layout(cast(Any, m), strides=(1,)), "TW285.*Axis has no cells"),
        (lambda m, n: layout(shape(m, n), strides=cast(Any, (6, 1.0))), r"TW285.*strides is 1\.0"),
        (lambda m, n: layout(shape(m, n), strides=cast(Any, 6)), "TW285.*strides are a int"),
        (lambda m, n: layout(shape(m, n), strides=(6, -1)), "TW281"),
        (lambda m, n: permuted(shape(m, n), n, cast(Any, 0)), "TW214.*over 0"),
        (lambda m, n: padded(shape(m, n), -1), "TW131"),
        (lambda m, n: swizzled(shape(n)), "TW285.*1 axis"),
        (lambda m, n: blocked(shape(m, n), 2), "TW285.*blocks of"),
        (lambda m, n: blocked(shape(m, n), 2, 0), "TW285.*blocks of"),
        (
            lambda m, n: layout(shape(axis("big", (1 << 20) + 1)), lambda i: i ^ (i >> 1)),
            "TW285.*extents=n",
        ),
    ),
)
def test_what_is_no_layout_is_refused(making: Wrong, code: str) -> None:
    @tile.kernel
    def one(C: View1[f32]):
        m, n = axis("m", 4), axis("n", 6)
        for _ in parallel(shape(1)):
            making(m, n)

    with pytest.raises(KernelError, match=f"(?s){code}"):
        one.capture(tensor_shape(4))


def test_a_layout_belongs_to_its_kernel() -> None:
    made = laid_out(lambda m, n: padded(shape(m, n), 1))

    def again(*, padding: bool) -> KernelDefinition:
        @tile.kernel
        def other(C: View1[f32]):
            for _ in parallel(shape(1)):
                padded(made, 1) if padding else memory(f32, made)

        return other

    for padding in (False, True):
        with pytest.raises(KernelError, match=r"TW102.*axis m"):
            again(padding=padding).capture(tensor_shape(4))
    with pytest.raises(KernelError, match="TW101"):
        padded(made, 1)

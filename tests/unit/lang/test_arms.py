"""`if` on staged values: both arms are captured, effects happen where the condition holds, variables are merged."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.lang.shapes import all_names, every, only
from tilewright import tile
from tilewright.core.errors import CaptureError, EffectError, TileTypeError
from tilewright.interp.run import run
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp, UpdateOp
from tilewright.ir.ops.convert import SelectOp
from tilewright.ir.ops.elementwise import FloorDivOp
from tilewright.ir.ops.memory import MemoryLoadOp, MemoryStoreOp
from tilewright.ir.ops.regions import SerialOp
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View1,
    View2,
    add,
    axis,
    cast,
    coord,
    f32,
    i32,
    i64,
    memory,
    parallel,
    scalar,
    shape,
    tensor_shape,
    zeros,
)  # fmt: skip

Body = Callable[..., None]


def values(kernel: Any, *arrays: Any) -> list[Any]:
    """The arrays after the kernel ran in the interpreter, captured for their shapes."""
    run(kernel.capture(*(tensor_shape(*array.shape) for array in arrays)), arrays)
    return [array.tolist() for array in arrays]


def test_an_if_on_a_host_value_is_pythons() -> None:
    seen: list[str] = []

    @tile.kernel
    def host(C: View1[f32], *, wide: int = 1):
        if wide > 3:
            seen.append("then")
        elif wide:
            seen.append("elif")
        else:
            seen.append("else")
        for i in range(4):
            if i == 1:
                continue
            if i == 3:
                break
            seen.append(str(i))
        for nest in parallel(shape(4)):
            C[nest.index()].store(0.0)

    kernel = host.capture(tensor_shape(4), wide=2)
    assert seen == ["elif", "0", "2"]
    assert "select" not in all_names(kernel)


def test_both_arms_are_merged_and_stores_are_masked() -> None:
    @tile.kernel
    def k(A: ConstView1[f32], C: View1[f32]):
        n = axis("n", 2)
        for nest in parallel(shape(4)):
            i = nest.index()
            x = A[coord(i * 2), shape(n)]
            if i == 0:
                y = x + 100.0
            elif i == 1:
                y = x * 2.0
            else:
                y = x
                if i == 3:
                    y = -y
            if i < 3:
                C.at(coord(i * 2), shape(n)).store(y)
            else:
                C[i * 2].store(y.at(coord(1)))

    a = np.arange(8, dtype=np.float32)
    assert values(k, a, np.zeros(8, np.float32))[1] == [100, 101, 4, 6, 4, 5, -7, 0]


def test_masks_of_nested_arms_are_joined_with_where() -> None:
    @tile.kernel
    def k(C: View1[f32]):
        for nest in parallel(shape(8)):
            i = nest.index()
            if i > 1:
                if i < 6:
                    C[i].store(1.0, where=i != 3)
                else:
                    C[i].store(2.0)

    assert values(k, np.zeros(8, np.float32)) == [[0, 0, 1, 0, 1, 1, 2, 2]]


def test_loads_in_an_arm_read_only_where_it_is_taken() -> None:
    @tile.kernel
    def k(A: ConstView1[f32], C: View1[f32]):
        n = axis("n", 2)
        for nest in parallel(shape(4)):
            i = nest.index()
            left = scalar(f32, -1.0)
            if i > 0:
                left = A[i - 1].load()
                pair = A.at(coord(i - 1), shape(n), tile.bounds.assume).load()
                left = left + pair.at(coord(1))
            C[i].store(left)

    kernel = k.capture(tensor_shape(4), tensor_shape(4))
    assert only(kernel, LoadElementOp).predicate is not None
    assert only(kernel, LoadOp).mask is not None
    assert values(k, np.arange(4, dtype=np.float32), np.zeros(4, np.float32))[1] == [-1, 1, 3, 5]


def test_updates_in_an_arm_are_masked() -> None:
    @tile.kernel
    def k(C: View1[i32]):
        n = axis("n", 2)
        for nest in parallel(shape(4)):
            i = nest.index()
            if i > 1:
                C.update(coord(0), 1, reducer=add)
                C.at(coord(2), shape(n)).update(10, reducer=add)

    kernel = k.capture(tensor_shape(4))
    assert all(op.mask is not None for op in every(kernel, UpdateOp))
    assert values(k, np.zeros(4, np.int32)) == [[2, 0, 20, 20]]


def test_divisions_and_elements_in_an_arm_do_not_fail_where_it_is_not_taken() -> None:
    @tile.kernel
    def k(D: ConstView1[i32], C: View1[i32]):
        n = axis("n", 4)
        for nest in parallel(shape(4)):
            i = nest.index()
            x = D[coord(0), shape(n)]
            d, out = D[i].load(), scalar(i32, -1)
            if d != 0:
                out = 12 // d + 12 % d
            if i < 3:
                out = out + x.at(coord(i + 1))
            C[i].store(out)

    assert values(k, np.array([0, 5, 0, 3], np.int32), np.zeros(4, np.int32))[1] == [4, 4, 2, 4]


def test_a_divisor_that_cannot_be_zero_is_left_alone() -> None:
    @tile.kernel
    def k(C: View1[i64]):
        for nest in parallel(shape(4)):
            i, q = nest.index(), scalar(i64, 0)
            if i > 1:
                q = i // 3 + i % 4
            C[i].store(q)

    kernel = k.capture(tensor_shape(4))
    assert not isinstance(only(kernel, FloorDivOp).rhs.owner, SelectOp)


def test_a_tile_of_conditions_merges_point_by_point() -> None:
    @tile.kernel
    def k(A: ConstView2[f32], C: View2[f32], R: View2[f32]):
        m, n = axis("m", 2), axis("n", 3)
        for _ in parallel(shape(1)):
            x = A[coord(0, 0), shape(m, n)]
            y = scalar(f32, 7.0)
            if x > 2.0:
                b = A[coord(1, 0), shape(axis("one", 1), n)]
                y = x * 10.0
                C.at(coord(0, 0), shape(m, n)).store(y)
                if x < 5.0:
                    C.at(coord(0, 0), shape(m, n)).store(b.at(coord(0, 2)))
            R.at(coord(0, 0), shape(m, n)).store(y)

    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    _, c, r = values(k, a, np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32))
    assert c == [[0, 0, 0], [5, 5, 50]]
    assert r == [[7, 7, 7], [30, 40, 50]]


def test_a_region_under_an_if_runs_always_with_masked_effects() -> None:
    @tile.kernel
    def k(A: ConstView1[f32], C: View1[f32], T: View1[f32]):
        for nest in parallel(shape(3)):
            i = nest.index()
            total = scalar(f32, 0.0)
            if i != 1:
                for step in nest.serial(shape(4)):
                    if step.index() != 2:
                        total = total + A[step.index()].load()
                    C[i * 4 + step.index()].store(total)
            T[i].store(total)

    kernel = k.capture(tensor_shape(4), tensor_shape(12), tensor_shape(3))
    inside = list(only(kernel, SerialOp).walk())
    assert all(op.predicate is not None for op in inside if isinstance(op, StoreElementOp | LoadElementOp))
    _, c, t = values(k, np.array([1, 2, 4, 8], np.float32), np.zeros(12, np.float32), np.zeros(3, np.float32))
    assert c == [1, 3, 3, 11, 0, 0, 0, 0, 1, 3, 3, 11]
    assert t == [11, 0, 11]


def test_an_if_in_a_region_merges_what_is_carried() -> None:
    @tile.kernel
    def k(A: ConstView1[f32], C: View1[f32]):
        for _ in parallel(shape(1)):
            best, where = scalar(f32, -1.0), scalar(i64, -1)
            for step in _.serial(shape(5)):
                x = A[step.index()].load()
                if x > best:
                    best, where = x, step.index()
            C[0].store(best)
            C[1].store(cast(f32, where))

    assert values(k, np.array([1, 5, 2, 5, 4], np.float32), np.zeros(2, np.float32))[1] == [5, 1]


def test_numbers_take_the_type_of_the_other_arm() -> None:
    @tile.kernel
    def k(C: View1[f32]):
        for nest in parallel(shape(3)):
            pair: Any = (scalar(f32, 1.0), 2.5)
            if nest.index() > 1:
                pair = (4.0, scalar(f32, 3.0))
            C[nest.index()].store(pair[0] + pair[1])

    assert values(k, np.zeros(3, np.float32)) == [[3.5, 3.5, 7]]


def test_a_variable_of_one_arm_may_be_bound_anew() -> None:
    @tile.kernel
    def k(C: View1[f32]):
        for nest in parallel(shape(3)):
            if nest.index() > 1:
                local = 1.0
                C[nest.index()].store(local)
            local = 2.0
            C[nest.index()].store(local, where=nest.index() == 0)

    assert values(k, np.zeros(3, np.float32)) == [[2, 0, 1]]


def test_variables_of_two_types_are_an_error_only_where_they_are_used() -> None:
    @tile.kernel
    def k(C: View1[f32], *, used: bool):
        for nest in parallel(shape(3)):
            if nest.index() > 1:
                v: Any = zeros(f32, shape(8))
            else:
                v = zeros(f32, shape(16))
            if used:
                C[0].store(v.at(coord(0)))
            C[nest.index()].store(1.0)

    k.capture(tensor_shape(3), used=False)
    with pytest.raises(TileTypeError) as caught:
        k.capture(tensor_shape(3), used=True)
    assert caught.value.diagnostic.code.number == 223
    assert len(caught.value.diagnostic.labels) == 2


def test_the_second_arm_does_not_see_what_the_first_bound() -> None:
    @tile.kernel
    def k(C: View1[f32]):
        for nest in parallel(shape(3)):
            if nest.index() > 1:
                local: Any = scalar(f32, 1.0)
            else:
                C[0].store(local)  # pyright: ignore[reportPossiblyUnboundVariable]

    with pytest.raises(CaptureError) as caught:
        k.capture(tensor_shape(3))
    assert caught.value.diagnostic.code.number == 133


def test_memory_stores_merge_contents() -> None:
    @tile.kernel
    def k(C: View2[f32]):
        n = axis("n", 2)
        for nest in parallel(shape(axis("g", 4))):
            i = nest.index()
            held = memory(f32, shape(n))
            if i == 0:
                held.store(zeros(f32, shape(n)) + 1.0)
            else:
                held.store(zeros(f32, shape(n)) + 2.0)
                if i == 3:
                    held.store(held.load() * 10.0)
            C.at(coord(i, 0), shape(axis("one", 1), n)).store(held.load())

    kernel = k.capture(tensor_shape(4, 2))
    assert (len(every(kernel, MemoryStoreOp)), len(every(kernel, MemoryLoadOp))) == (3, 4)
    assert values(k, np.zeros((4, 2), np.float32)) == [[[1, 1], [2, 2], [2, 2], [20, 20]]]


def test_memory_that_one_arm_filled_is_not_loaded() -> None:
    @tile.kernel
    def k(C: View1[f32]):
        n = axis("n", 2)
        for nest in parallel(shape(4)):
            held = memory(f32, shape(n))
            if nest.index() == 0:
                held.store(zeros(f32, shape(n)))
            C[nest.index()].store(held.load().at(coord(0)))

    with pytest.raises(EffectError) as caught:
        k.capture(tensor_shape(4))
    assert caught.value.diagnostic.code.number == 353


def test_memory_of_an_arm_is_its_own() -> None:
    @tile.kernel
    def k(C: View1[f32]):
        n = axis("n", 2)
        for nest in parallel(shape(4)):
            if nest.index() == 0:
                held = memory(f32, shape(n))
                held.store(zeros(f32, shape(n)) + 1.0)
                held.store(zeros(f32, shape(n)) + 2.0)
                C[nest.index()].store(held.load().at(coord(0)))

    assert "select" not in all_names(k.capture(tensor_shape(4)))
    assert values(k, np.zeros(4, np.float32)) == [[2, 0, 0, 0]]


def test_expressions_guard_what_they_do_not_take() -> None:
    @tile.kernel
    def k(A: ConstView1[f32], C: View1[f32]):
        for nest in parallel(shape(4)):
            i = nest.index()
            left = A[i - 1].load() if i > 0 else A[i + 3].load()
            both = i > 0 and A[i - 1].load() > 0.0
            either = i < 1 or A[i - 1].load() > 1.0
            C[i].store((left if both else -left) + (0.5 if either else scalar(f32, 0.0)))

    kernel = k.capture(tensor_shape(4), tensor_shape(4))
    assert all(op.predicate is not None for op in every(kernel, LoadElementOp))
    assert values(k, np.array([0, 1, 2, 3], np.float32), np.zeros(4, np.float32))[1] == [-2.5, 0, 1, 2.5]


def test_loads_under_a_tile_of_conditions_read_where_it_holds_anywhere() -> None:
    @tile.kernel
    def k(A: ConstView1[f32], C: View1[f32], *, above: float):
        n = axis("n", 4)
        for nest in parallel(shape(1)):
            x, y = A[coord(0), shape(n)], scalar(f32, 0.0)
            if x > above:
                y = A[nest.index() + 9].load()
            C.at(coord(0), shape(n)).store(y)

    arrays = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    run(k.capture(tensor_shape(4), tensor_shape(4), above=3.0), arrays)
    assert arrays[1].tolist() == [0, 0, 0, 0]
    with pytest.raises(EffectError):
        run(k.capture(tensor_shape(4), tensor_shape(4), above=2.0), arrays)


def test_a_mask_of_other_axes_is_matched_by_position_as_the_value_is() -> None:
    @tile.kernel
    def k(A: ConstView1[f32], C: View1[f32]):
        for _ in parallel(shape(1)):
            x = A[coord(0), shape(axis("n", 4))]
            if x > 1.0:
                C.at(coord(0), shape(axis("other", 4))).store(x)

    kernel = k.capture(tensor_shape(4), tensor_shape(4))
    assert only(kernel, StoreOp).mask is not None
    assert values(k, np.arange(4, dtype=np.float32), np.zeros(4, np.float32))[1] == [0, 0, 2, 3]


def test_a_helper_branches_inline() -> None:
    @tile.inline
    def clipped(x: Any) -> Any:
        if x > 2.0:
            x = scalar(f32, 2.0)
        return x

    @tile.kernel
    def k(A: ConstView1[f32], C: View1[f32]):
        for nest in parallel(shape(4)):
            C[nest.index()].store(clipped(A[nest.index()].load()))

    assert values(k, np.arange(4, dtype=np.float32), np.zeros(4, np.float32))[1] == [0, 1, 2, 2]

"""Which variables a region carries, and what they are after it."""

from typing import Any

import numpy as np
import pytest

from tests.unit.lang.shapes import body, every, names, only, root
from tilewright import tile
from tilewright.core.errors import CaptureError, EffectError, TileTypeError
from tilewright.interp import run
from tilewright.ir.ops.access import StoreElementOp
from tilewright.ir.ops.elementwise import AddOp
from tilewright.ir.ops.regions import ReduceOp, SerialOp, YieldOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.lang.kernel import KernelDefinition
from tilewright.tile import (
    ConstView1,
    Scalar,
    View1,
    axis,
    coord,
    f32,
    full,
    parallel,
    scalar,
    shape,
    tensor_shape,
    zeros,
)  # fmt: skip


def run_on(kernel: KernelDefinition, size: int, *inputs: list[float], **config: Any) -> list[float]:
    """The contents of the output (the last view, of `size` elements) after a run on the interpreter."""
    arrays = [np.array(values, np.float32) for values in inputs]
    out = np.full(size, np.nan, np.float32)
    shapes = [tensor_shape(len(array)) for array in [*arrays, out]]
    run(kernel.capture(*shapes, **config), [*arrays, out])
    return out.tolist()


@tile.kernel
def fibonacci(C: View1[f32], *, steps: int):
    for nest in parallel(shape(axis("g", 1))):
        a, b = scalar(f32, 0.0), scalar(f32, 1.0)
        for _ in nest.serial(shape(axis("k", steps))):
            a, b = b, a + b
        C[0].store(a)
        C[1].store(b)


def test_a_swap_yields_the_other_argument() -> None:
    loop = only(fibonacci.capture(tensor_shape(2), steps=3), SerialOp)
    a, b = loop.carries
    ends = loop.body.block.last_op
    assert isinstance(ends, YieldOp)
    assert ends.values[0] is b
    assert isinstance(ends.values[1].owner, AddOp)
    assert list(ends.values[1].owner.operands) == [a, b]


@pytest.mark.parametrize(("steps", "expected"), [(0, [0.0, 1.0]), (1, [1.0, 1.0]), (3, [2.0, 3.0]), (7, [13.0, 21.0])])
def test_carries_are_simultaneous_and_zero_trips_keep_the_start(steps: int, expected: list[float]) -> None:
    assert run_on(fibonacci, 2, steps=steps) == expected


def test_a_pure_swap_is_two_carries_in_the_order_of_their_creation() -> None:
    @tile.kernel
    def swap(C: View1[f32]):
        for nest in parallel(shape(axis("g", 1))):
            a, b = scalar(f32, 1.0), scalar(f32, 2.0)
            for _ in nest.serial(shape(axis("k", 3))):
                b, a = a, b
            C[0].store(a - b)

    loop = only(swap.capture(tensor_shape(1)), SerialOp)
    ends = loop.body.block.last_op
    assert isinstance(ends, YieldOp)
    assert list(ends.values) == [loop.carries[1], loop.carries[0]]
    assert [init.owner.value.data for init in loop.inits if isinstance(init.owner, ConstantOp)] == [
        0x3F800000,
        0x40000000,
    ]


def test_three_names_of_one_value_are_two_recurrences_and_a_snapshot() -> None:
    @tile.kernel
    def three(C: View1[f32]):
        for nest in parallel(shape(axis("g", 1))):
            a = b = kept = full(f32, shape(axis("m", 4)), 1.0)
            for _ in nest.serial(shape(axis("k", 3))):
                a = a + 1.0
                b = b * 2.0
            C.at(coord(0), shape(4)).store(a * b + kept)

    kernel = three.capture(tensor_shape(4))
    loop = only(kernel, SerialOp)
    assert len(loop.carries) == 2
    assert len({id(init) for init in loop.inits}) == 1
    out = np.zeros(4, np.float32)
    run(kernel, [out])
    assert out.tolist() == [33.0] * 4


def test_a_snapshot_before_the_region_is_the_value_before_it() -> None:
    @tile.kernel
    def snapshots(C: View1[f32]):
        for nest in parallel(shape(axis("g", 1))):
            a = b = c = scalar(f32, 1.0)
            old = a
            for _ in nest.serial(shape(axis("k", 3))):
                at_start = a
                a = a + 1.0
                b = old
                c = at_start
            C[0].store(a)
            C[1].store(b)
            C[2].store(c)

    kernel = snapshots.capture(tensor_shape(3))
    loop = only(kernel, SerialOp)
    ends = loop.body.block.last_op
    assert isinstance(ends, YieldOp)
    assert ends.values[1] is loop.inits[0]
    assert ends.values[2] is loop.carries[0]
    out = np.zeros(3, np.float32)
    run(kernel, [out])
    assert out.tolist() == [4.0, 1.0, 3.0]


def test_variables_that_do_not_change_are_not_carried() -> None:
    @tile.kernel
    def reading(C: View1[f32]):
        for nest in parallel(shape(axis("g", 1))):
            total, a = scalar(f32, 5.0), scalar(f32, 1.0)
            for _ in nest.serial(shape(axis("k", 3))):
                b = a + 1.0
                a = a  # noqa: PLW0127
                total = total + b
            C[0].store(total + a)

    assert len(only(reading.capture(tensor_shape(1)), SerialOp).carries) == 1
    assert run_on(reading, 1) == [12.0]


def test_nested_regions_carry_through_each_other() -> None:
    @tile.kernel
    def nested(C: View1[f32], *, n: int, m: int):
        for nest in parallel(shape(axis("g", 1))):
            total = scalar(f32, 0.0)
            for outer in nest.serial(shape(axis("i", n))):
                row = scalar(f32, 0.0)
                for inner in outer.reduce(shape(axis("j", m)), policy="fold_left"):
                    row = row + 1.0
                    total = total + tile.cast(f32, inner.index())
                total = total + row * 100.0
            C[0].store(total)

    assert run_on(nested, 1, n=3, m=4) == [3 * (6 + 400)]
    assert run_on(nested, 1, n=0, m=4) == [0.0]


def test_a_list_of_tiles_bound_to_a_new_list_is_carried_item_by_item() -> None:
    @tile.kernel
    def lists(C: View1[f32]):
        for nest in parallel(shape(axis("g", 1))):
            sums = [scalar(f32, float(i)) for i in range(3)]
            for _ in nest.serial(shape(axis("k", 4))):
                sums = [sums[0] + 1.0, sums[1], sums[2] * 2.0]
            for i, value in enumerate(sums):
                C[i].store(value)

    kernel = lists.capture(tensor_shape(3))
    assert len(only(kernel, SerialOp).carries) == 2
    assert run_on(lists, 3) == [4.0, 1.0, 32.0]


def test_host_work_inside_a_region_may_change_its_own_containers() -> None:
    @tile.kernel
    def own(X: ConstView1[f32], C: View1[f32]):
        for nest in parallel(shape(axis("g", 1))):
            total = scalar(f32, 0.0)
            for step in nest.serial(shape(axis("k", 4))):
                terms: dict[str, Scalar] = {}
                terms["x"] = X[step.index()].load()
                for name in ("x", "x"):
                    total = total + terms[name]
            C[0].store(total)

    assert run_on(own, 1, [1.0, 2.0, 3.0, 4.0]) == [20.0]


def test_a_host_loop_of_regions_is_unrolled() -> None:
    @tile.kernel
    def unrolled(C: View1[f32]):
        for nest in parallel(shape(axis("g", 1))):
            total = scalar(f32, 0.0)
            for times in (2, 3):
                for _ in nest.serial(shape(axis("k", times))):
                    total = total + 1.0
                if times > 2:
                    break
            C[0].store(total)

    assert len(every(unrolled.capture(tensor_shape(1)), SerialOp)) == 2
    assert run_on(unrolled, 1) == [5.0]


def test_equal_host_values_may_be_bound_again() -> None:
    @tile.kernel
    def equal(C: View1[f32]):
        size = 4
        for nest in parallel(shape(axis("g", 1))):
            size = 2 + 2
            for step in nest.serial(shape(axis("k", size))):
                size = 4
                C[step.index()].store(0.0)

    assert names(body(root(equal.capture(tensor_shape(4))))) == ["serial", "yield"]


def test_a_carried_host_start_is_refused_and_names_both() -> None:
    @tile.kernel
    def truncating(X: ConstView1[f32], C: View1[f32]):
        for nest in parallel(shape(axis("g", 1))):
            acc = 0
            for step in nest.serial(shape(axis("k", 4))):
                acc = acc + 0.5 * X[step.index()].load()
            C[0].store(acc)  # pyright: ignore[reportArgumentType]

    with pytest.raises(CaptureError, match="`acc` is bound to another value"):
        truncating.capture(tensor_shape(4), tensor_shape(1))


def test_halving_in_a_parallel_is_refused_and_in_a_serial_is_ordered() -> None:
    @tile.kernel
    def halved(C: View1[f32], *, ordered: bool):
        for nest in parallel(shape(axis("g", 1))):
            acc = scalar(tile.i32, 1024)
            if ordered:
                for _ in nest.serial(shape(axis("k", 5))):
                    acc //= 2
            else:
                for _ in nest.parallel(shape(axis("k", 5))):
                    acc //= 2
            C[0].store(tile.cast(f32, acc))

    assert run_on(halved, 1, ordered=True) == [32.0]
    with pytest.raises(EffectError, match="`acc` is changed inside the parallel"):
        halved.capture(tensor_shape(1), ordered=False)


def test_a_carried_shape_must_stay() -> None:
    @tile.kernel
    def growing(C: View1[f32]):
        for nest in parallel(shape(axis("g", 1))):
            v = zeros(f32, shape(8))
            for _ in nest.serial(shape(axis("k", 2))):
                v = zeros(f32, shape(16))
            C.at(coord(0), shape(8)).store(v)

    with pytest.raises(TileTypeError, match="`v` enters the serial") as caught:
        growing.capture(tensor_shape(8))
    assert "positional.0:8" in str(caught.value)
    assert "positional.0:16" in str(caught.value)


def test_a_coordinate_can_start_a_carried_index() -> None:
    @tile.kernel
    def position(C: View1[f32]):
        for nest in parallel(shape(axis("g", 4))):
            i = nest.index()
            for step in nest.serial(shape(axis("k", 0))):
                i = i + step.index()
            C[i].store(1.0)

    assert run_on(position, 4) == [1.0] * 4


def test_a_fold_may_carry_several_accumulators() -> None:
    @tile.kernel
    def moments(X: ConstView1[f32], C: View1[f32]):
        k = axis("k", X.shape[0])
        for nest in parallel(shape(axis("g", 1))):
            total = squares = scalar(f32, 0.0)
            for step in nest.reduce(shape(k)):
                x = X[step.index()].load()
                total += x
                squares += x * x
            C[0].store(total)
            C[1].store(squares)

    assert len(only(moments.capture(tensor_shape(4), tensor_shape(2)), ReduceOp).carries) == 2
    assert run_on(moments, 2, [1.0, 2.0, 3.0, 4.0]) == [10.0, 30.0]


def test_policies_fold_from_their_end() -> None:
    @tile.kernel
    def folds(X: ConstView1[f32], C: View1[f32]):
        k = axis("k", X.shape[0])
        for nest in parallel(shape(axis("g", 1))):
            x = X[coord(0), shape(k)]
            left = right = scalar(f32, 0.0)
            for step in nest.reduce(shape(k), policy=tile.fold_left):
                left = left - x.at(step)
            for step in nest.reduce(shape(k), policy=tile.fold_right):
                right = x.at(step) - right
            C[0].store(left)
            C[1].store(right)

    assert run_on(folds, 2, [1.0, 2.0, 3.0]) == [-6.0, 2.0]


def test_the_variable_of_a_store_is_the_result_of_the_region() -> None:
    kernel = fibonacci.capture(tensor_shape(2), steps=3)
    loop = only(kernel, SerialOp)
    assert [store.value for store in every(kernel, StoreElementOp)] == list(loop.results)


def test_a_helper_variable_of_the_host_begins_anew_in_each_loop() -> None:
    """Coordinates and axes that a body makes and uses are no state, however many loops give them the same name."""

    @tile.kernel
    def twice(A: ConstView1[f32], C: View1[f32]):
        for nest in parallel(shape(1)):
            for step in nest.serial(shape(2)):
                part = axis("part", 4)
                at = coord(step.index() * 4)
                C.at(at, shape(part)).store(A[at, shape(part)])
            for step in nest.serial(shape(2)):
                part = axis("part", 4)
                at = coord(step.index() * 4)
                C.at(at, shape(part)).store(A[at, shape(part)] + C[at, shape(part)])

    assert run_on(twice, 8, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]) == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0]


def test_a_helper_variable_read_before_it_is_renewed_is_state() -> None:
    @tile.kernel
    def read_first(A: ConstView1[f32], C: View1[f32]):
        for nest in parallel(shape(1)):
            at = 0
            for step in nest.serial(shape(2)):
                C[at].store(A[step.index()].load())
                at = at + 1

    with pytest.raises(CaptureError, match="TW116"):
        read_first.capture(tensor_shape(8), tensor_shape(8))


def test_a_function_inside_may_read_a_variable_at_any_time() -> None:
    @tile.kernel
    def through_a_function(A: ConstView1[f32], C: View1[f32]):
        for nest in parallel(shape(1)):
            at = 0

            def place() -> int:
                return at

            for step in nest.serial(shape(2)):
                C[place()].store(A[step.index()].load())
                at = 1

    with pytest.raises(CaptureError, match="TW116"):
        through_a_function.capture(tensor_shape(8), tensor_shape(8))


def test_what_a_renewed_variable_is_after_the_loop_is_refused() -> None:
    @tile.kernel
    def read_after(A: ConstView1[f32], C: View1[f32]):
        for nest in parallel(shape(1)):
            at = 0
            for step in nest.serial(shape(2)):
                at = 1
                C[at].store(A[step.index()].load())
            C[at].store(0.0)

    with pytest.raises(CaptureError, match="TW103"):
        read_after.capture(tensor_shape(8), tensor_shape(8))

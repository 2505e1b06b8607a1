"""Parameters that are numbers: arguments of the kernel, known when it runs."""

from typing import Any

import numpy as np
import pytest

from tests.unit.lang.shapes import views
from tilewright import tile
from tilewright.core.errors import CaptureError, DispatchError, TileTypeError
from tilewright.interp.run import run
from tilewright.tile import (
    ConstView1,
    Scalar,
    View1,
    axis,
    boolean,
    cast,
    coord,
    f32,
    f64,
    i32,
    i64,
    iota,
    parallel,
    scalar_shape,
    shape,
    tensor_shape,
)

WRONG: Any = 6


@tile.kernel
def scaled(n: Scalar[i64], A: ConstView1[f32], alpha: Scalar[f32], C: View1[f32], flip: Scalar[boolean]):
    e = axis("e", 4)
    for nest in parallel(shape(2)):
        i = nest.index() * 4
        x = A[coord(i), shape(e)]
        if flip:
            x = -x
        C.at(coord(i), shape(e)).store(x * alpha, where=iota(e) + i < n)


def test_a_number_is_an_argument_in_its_place() -> None:
    kernel = scaled.capture(scalar_shape(), tensor_shape(8), scalar_shape(f32), tensor_shape(8), scalar_shape())
    assert [(p.name, p.element, p.shape, p.const) for p in kernel.parameters] == [
        ("n", i64, (), True), ("A", f32, (8,), True), ("alpha", f32, (), True), ("C", f32, (8,), False),
        ("flip", boolean, (), True),
    ]  # fmt: skip
    assert len(views(kernel)) == 2
    c = np.zeros(8, np.float32)
    run(kernel, [6, np.arange(8, dtype=np.float32), 0.5, c, True])
    assert c.tolist() == [0, -0.5, -1, -1.5, -2, -2.5, 0, 0]


def test_a_number_without_a_type_takes_that_of_the_capture() -> None:
    @tile.kernel
    def k(alpha: Scalar, C: View1):
        for nest in parallel(shape(2)):
            C[nest.index()].store(alpha)

    for dtype in (i32, f64):
        kernel = k.capture(scalar_shape(dtype), tensor_shape(2, dtype=dtype))
        assert kernel.parameters[0].element is dtype
    with pytest.raises(CaptureError, match="needs dtype"):
        k.capture(scalar_shape(), tensor_shape(2, dtype=i32))


def test_a_number_may_be_absent() -> None:
    @tile.kernel
    def k(C: View1[f32], alpha: Scalar[f32] | None = None):
        for nest in parallel(shape(2)):
            C[nest.index()].store(1.0 if alpha is None else alpha)

    c = np.zeros(2, np.float32)
    run(k.capture(tensor_shape(2)), [c])
    assert c.tolist() == [1, 1]
    run(k.capture(tensor_shape(2), scalar_shape()), [c, 3])
    assert c.tolist() == [3, 3]


def test_a_number_is_an_index_a_bound_and_an_operand() -> None:
    @tile.kernel
    def k(first: Scalar[i32], A: ConstView1[f32], C: View1[f32]):
        for nest in parallel(shape(4)):
            i = nest.index() + cast(i64, first)
            C[nest.index()].store(A[i].load(where=i < 6, fill=-1.0))

    c = np.zeros(4, np.float32)
    run(k.capture(scalar_shape(), tensor_shape(8), tensor_shape(4)), [4, np.arange(8, dtype=np.float32), c])
    assert c.tolist() == [4, 5, -1, -1]


def test_the_root_may_stand_under_a_number() -> None:
    @tile.kernel
    def k(on: Scalar[boolean], C: View1[f32]):
        if on:
            for nest in parallel(shape(4)):
                C[nest.index()].store(1.0)

    kernel = k.capture(scalar_shape(), tensor_shape(4))
    for on, expected in ((False, 0.0), (True, 1.0)):
        c = np.zeros(4, np.float32)
        run(kernel, [on, c])
        assert c.tolist() == [expected] * 4


def test_a_shape_with_axes_is_no_number() -> None:
    with pytest.raises(TileTypeError) as caught:
        scaled.capture(tensor_shape(1), tensor_shape(8), scalar_shape(), tensor_shape(8), scalar_shape())
    assert caught.value.diagnostic.code.number == 218


def test_a_number_where_a_shape_belongs_is_refused() -> None:
    with pytest.raises(CaptureError, match="is a int, not a scalar_shape"):
        scaled.capture(WRONG, tensor_shape(8), scalar_shape(), tensor_shape(8), scalar_shape())


def test_an_element_type_alone_is_no_annotation() -> None:
    with pytest.raises(CaptureError, match=r"`alpha: Scalar\[f32\]`"):

        @tile.kernel
        def k(alpha: f32):  # pyright: ignore[reportUnusedFunction]
            pass


@pytest.mark.parametrize(("value", "number"), [("x", 637), (2.5, 638), (2**70, 638), (True, 638), (None, 637)])
def test_the_interpreter_refuses_what_is_no_value(value: object, number: int) -> None:
    kernel = scaled.capture(scalar_shape(), tensor_shape(8), scalar_shape(), tensor_shape(8), scalar_shape())
    with pytest.raises(DispatchError) as caught:
        run(kernel, [value, np.zeros(8, np.float32), 0.5, np.zeros(8, np.float32), True])
    assert caught.value.diagnostic.code.number == number

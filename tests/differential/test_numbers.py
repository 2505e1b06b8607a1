"""Numbers in direct calls and on streams: passed by value, checked, and no part of what is compiled."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tilewright as tw
from tilewright import tile
from tilewright.compile import calls
from tilewright.core.errors import DispatchError
from tilewright.tile import ConstView1, Scalar, View1, axis, coord, f32, i64, iota, parallel, scalar_shape, shape

X = np.arange(20, dtype=np.float32)


def definition() -> tile.TileKernel:
    """A kernel of its own, with nothing compiled."""

    @tile.kernel
    def scaled(n: Scalar[i64], x: ConstView1[f32], factor: Scalar, y: View1[f32]):
        e = axis("e", 8)
        for nest in parallel(shape(3)):
            at = nest.index() * 8
            y.at(coord(at), shape(e)).store(x[coord(at), shape(e)] * factor, where=iota(e) + at < n)

    return scaled


def wanted(n: int, factor: float) -> Any:
    return np.where(np.arange(20) < n, X * np.float32(factor), 0)


def test_numbers_change_without_compiling_again() -> None:
    kernel = definition()
    with patch.object(calls, "compile_with", wraps=calls.compile_with) as compiled:
        for n, factor in ((20, 0.5), (7, -3), (0, 1), (13, 0.1)):
            y = np.zeros(20, np.float32)
            kernel(n, X, np.float32(factor), y)
            np.testing.assert_array_equal(y, wanted(n, factor))
            y[:] = 0
            kernel(np.int64(n), X, np.array(factor, np.float32), y)
            np.testing.assert_array_equal(y, wanted(n, factor))
    assert compiled.call_count == 1


def test_another_element_type_of_a_number_is_another_kernel() -> None:
    kernel, y = definition(), np.zeros(20, np.float32)
    kernel(20, X, np.float32(2), y)
    with pytest.raises(tw.TilewrightError) as caught:
        kernel(20, X, np.float64(2), y)
    assert caught.value.diagnostic.code.number == 205


def test_a_number_without_a_type_needs_one_where_the_parameter_has_none() -> None:
    with pytest.raises(DispatchError, match=r"numpy.float32\(x\)"):
        definition()(20, X, 2.0, np.zeros(20, np.float32))


def test_a_number_is_taken_when_the_call_is_made() -> None:
    kernel, y = definition(), np.zeros(20, np.float32)
    y[3] = 2.0
    kernel(20, X, y[3:4].reshape(()), y)  # the kernel overwrites the memory that the number came from
    np.testing.assert_array_equal(y, wanted(20, 2.0))


@pytest.mark.parametrize(("n", "number"), [("20", 637), (None, 637), (2.0, 638), (1 << 63, 638)])
def test_a_wrong_number_is_refused_before_and_after_a_right_one(n: Any, number: int) -> None:
    kernel, y = definition(), np.zeros(20, np.float32)
    for _ in range(2):
        with pytest.raises(DispatchError) as caught:
            kernel(n, X, np.float32(1), y)
        assert caught.value.diagnostic.code.number == number
        assert not y.any()
        kernel(0, X, np.float32(1), y)


@pytest.mark.parametrize("validate", [True, False])
def test_a_shader_takes_numbers_and_buffers_of_one(validate: bool) -> None:
    device = tw.create_device("simd", validate=validate)
    size = tile.tensor_shape(20)
    shader = tile.compile(device, definition().capture(scalar_shape(), size, scalar_shape(f32), size))
    x, y, factor = device.create_buffer(f32, 20), device.create_buffer(f32, 20), device.create_buffer(f32, 1)
    results = [np.zeros(20, np.float32) for _ in range(3)]
    zeros, half = np.zeros(20, np.float32), np.array([0.25], np.float32)
    first = shader(9, x, 0.5, y).dispatch()
    stream = device.create_stream()
    stream << x.copy_from(X) << y.copy_from(zeros) << first << y.copy_to(results[0])
    stream << y.copy_from(zeros) << shader(20, x, -1, y).dispatch() << y.copy_to(results[1])
    stream << factor.copy_from(half) << y.copy_from(zeros)
    stream << shader(9, x, factor, y).dispatch() << y.copy_to(results[2])
    stream << first << tw.synchronize()
    for result, want in zip(results, (wanted(9, 0.5), wanted(20, -1), wanted(9, 0.25)), strict=True):
        np.testing.assert_array_equal(result, want)
    with pytest.raises(DispatchError) as caught:
        shader(9, x, 1e60, y)
    assert caught.value.diagnostic.code.number == 638

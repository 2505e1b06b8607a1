"""What the arms of a staged `if` cannot hold, because both of them run at capture."""

import pytest

from tilewright import tile
from tilewright.core.errors import CaptureError, TileTypeError
from tilewright.tile import Scalar, View1, f32, parallel, shape, tensor_shape


def refused(kernel: tile.TileKernel, number: int) -> str:
    with pytest.raises((CaptureError, TileTypeError)) as caught:
        kernel.capture(tensor_shape(4))
    assert caught.value.diagnostic.code.number == number, str(caught.value)
    return str(caught.value)


def test_a_container_changed_in_an_arm_is_refused() -> None:
    @tile.kernel
    def k(C: View1[f32]):
        counts: list[int] = []
        for nest in parallel(shape(4)):
            if nest.index() > 1:
                counts += [1]
                counts.clear()
                counts.append(2)

    assert "whichever arm" in refused(k, 120)


def test_an_attribute_assigned_in_an_arm_is_refused() -> None:
    class Held:
        width = 0

    @tile.kernel
    def k(C: View1[f32]):
        for nest in parallel(shape(4)):
            if nest.index() > 1:
                Held.width = 1

    assert "a host value" in refused(k, 119)


def test_an_attribute_assigned_in_an_arm_of_the_host_is_pythons() -> None:
    class Held:
        width = 0

    @tile.kernel
    def k(C: View1[f32]):
        if C.shape[0] == 4:
            Held.width = 1
        for nest in parallel(shape(4)):
            C[nest.index()].store(0.0)

    k.capture(tensor_shape(4))
    assert Held.width == 1


def test_an_early_return_of_a_helper_is_refused() -> None:
    @tile.inline
    def early(x: Scalar) -> Scalar:
        if x > 1:
            return x
        return x + 1

    @tile.kernel
    def k(C: View1[f32]):
        for nest in parallel(shape(4)):
            C[early(nest.index())].store(0.0)

    assert "`return`" in refused(k, 113)


def test_a_raise_in_an_arm_is_refused() -> None:
    @tile.kernel
    def k(C: View1[f32]):
        for nest in parallel(shape(4)):
            if nest.index() > 1:
                raise ValueError

    assert "`raise`" in refused(k, 113)


def test_a_host_check_in_an_arm_may_raise() -> None:
    @tile.kernel
    def k(C: View1[f32], *, wide: int = 4):
        for nest in parallel(shape(4)):
            if nest.index() > 1:
                if wide > 8:
                    raise ValueError
                C[nest.index()].store(1.0)

    k.capture(tensor_shape(4))


def test_an_arm_left_by_an_exception_is_found() -> None:
    @tile.kernel
    def k(C: View1[f32]):
        for nest in parallel(shape(4)):
            try:
                if nest.index() > 1:
                    C[0].store(float("x"))
            except ValueError:
                pass
            C[nest.index()].store(1.0)

    refused(k, 125)


def test_a_number_is_no_condition() -> None:
    @tile.kernel
    def k(C: View1[f32]):
        for nest in parallel(shape(4)):
            if nest.index():
                C[nest.index()].store(1.0)

    refused(k, 217)

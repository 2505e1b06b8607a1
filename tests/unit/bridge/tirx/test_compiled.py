"""Machine code that stands alone: memory it is given, and what it refuses."""

from typing import Any

import numpy as np
import pytest

from tests.unit.bridge.tirx.building import captured, compiled, shared
from tilewright import tile
from tilewright.bridge.tirx import compile
from tilewright.core.errors import CapabilityError, DispatchError, ToolchainError
from tilewright.tile import ConstView1, View1, axis, coord, f32, parallel, shape, tensor_shape


def test_any_element_boundary_will_do() -> None:
    found = compiled(shared.capture(*captured(40)))
    memory = np.zeros(200, "f4")
    for start in range(8):
        x, y = memory[start : start + 40], memory[start + 60 : start + 100]
        x[:] = np.linspace(-1, 1, 40)
        found(x, y)
        assert np.allclose(y, np.exp(2 * x))


def test_a_view_between_elements_is_refused_before_the_call() -> None:
    found = compiled(shared.capture(*captured(40)))
    torn = np.zeros(161, "u1")[1:].view("f4")
    with pytest.raises(DispatchError) as caught:
        found(torn, np.zeros(40, "f4"))
    assert caught.value.diagnostic.code.id == "TW654"


def test_arguments_without_elements_are_never_read() -> None:
    @tile.kernel
    def nothing(X: ConstView1[f32], Y: View1[f32]):
        e = axis("e", 4)
        for _ in parallel(shape(1)):
            Y.at(coord(0), shape(e)).store(X[coord(0), shape(e)])

    y = np.ones(4, "f4")
    compile(nothing.capture(tensor_shape(0), tensor_shape(4)))(np.zeros(0, "f4"), y)
    assert (y == 0).all()


def test_a_missing_function_is_found_before_the_code_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.bridge.tirx.door._process", object)
    with pytest.raises(CapabilityError, match="shared calls functions that this process does not have: expf"):
        compile(shared.capture(*captured(40)))


def test_what_tvm_rejects_is_a_coded_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function whose body reads a name that nothing defines."""

    def broken(nodes: Any, buffer: object, value: object, _indices: object) -> object:
        return nodes.door.tirx.BufferStore(buffer, value, [nodes.var("nowhere", "int64")])

    monkeypatch.setattr("tilewright.bridge.tirx.nodes.Nodes.store", broken)
    with pytest.raises(ToolchainError, match="TVM refused the module of shared") as caught:
        compile(shared.capture(*captured(3)))
    assert caught.value.diagnostic.code.id == "TW520"

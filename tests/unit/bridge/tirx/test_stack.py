"""Temporary storage: a budget in bytes, charged in steps of 16, read back from the LLVM."""

import numpy as np
import pytest

from tests.unit.bridge.tirx.building import captured, compiled, staged
from tilewright import tile
from tilewright.bridge.tirx import TirxOptions, TirxPlanner, compile
from tilewright.tile import ConstView1, View1, axis, coord, f32, memory, parallel, shape

WORKSPACE = "TVMBackendAllocWorkspace"


def budget(size: int) -> TirxOptions:
    return TirxOptions(planner=TirxPlanner(max_cpu_stack_bytes=size))


@pytest.mark.parametrize(
    ("buffers", "size", "used"), [(1, 0, 0), (1, 79, 0), (1, 80, 80), (2, 80, 80), (2, 159, 80), (2, 160, 160)]
)
def test_68_bytes_cost_80_and_two_buffers_cost_160(buffers: int, size: int, used: int) -> None:
    found = compiled(staged.capture(*captured(17 * buffers), buffers=buffers), budget(size))
    assert found.stack.used == used
    assert (WORKSPACE in found.source) == (used < 80 * buffers)
    x, y = np.arange(17 * buffers, dtype="f4"), np.zeros(17 * buffers, "f4")
    found(x, y)
    assert (y == x + 1).all()


def test_manual_memory_stays_where_it_is() -> None:
    @tile.kernel
    def kept(X: ConstView1[f32], Y: View1[f32]):
        e = axis("e", 4)
        for _ in parallel(shape(1)):
            place = memory(f32, shape(e))
            place.store(X[coord(0), shape(e)])
            Y.at(coord(0), shape(e)).store(place.load())

    found = compile(kept.capture(*captured(4)), budget(65536))
    assert found.stack.counts == {"left in the workspace: manual memory": 1, "on the stack": 2}
    assert WORKSPACE in found.source


def test_what_did_not_fit_is_counted() -> None:
    found = compiled(staged.capture(*captured(17)), budget(79))
    assert found.stack.counts == {"left in the workspace: no budget": 1}
    assert found.refusals == ("left in the workspace: no budget",)
    assert "temporary storage left in the workspace: no budget: 1" in found.render()
    assert compiled(staged.capture(*captured(17))).refusals == ()  # nothing was asked for

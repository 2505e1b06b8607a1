"""When a root runs on the pool: read from the LLVM, where a launch is a call of TVM's."""

import numpy as np
import pytest

from tests.unit.bridge.tirx.building import captured, programs
from tilewright import tile
from tilewright.bridge.tirx import TirxOptions, TirxPlanner, compile, lower
from tilewright.core.errors import UnsupportedError
from tilewright.tile import ConstView1, View1, add, axis, coord, f32, parallel, shape, tensor_shape

LAUNCH = "TVMBackendParallelLaunch"
OFF = TirxOptions(planner=TirxPlanner(enabled=False))


@pytest.mark.parametrize(
    ("extent", "kernel_options", "options", "launched"),
    [
        (64, {}, TirxOptions(), True),
        (63, {}, TirxOptions(), False),
        (63, {}, TirxOptions(planner=TirxPlanner(min_cpu_parallel_tasks=63)), True),
        (3, {"transcendental": True}, TirxOptions(), True),
        (3, {"scope": "worker"}, TirxOptions(), True),
        (3, {}, OFF, True),
    ],
)
def test_a_root_is_launched_where_it_is_worth_it(
    extent: int, kernel_options: dict[str, bool], options: TirxOptions, launched: bool
) -> None:
    found = compile(programs.capture(*captured(extent), **kernel_options), options)
    assert (LAUNCH in found.source) == launched
    assert found.lowered.plan.counters["launches"] == int(launched)
    x, y = np.arange(extent, dtype="f4"), np.zeros(extent, "f4")
    found(x, y)
    assert np.allclose(y, np.exp(x) if "transcendental" in kernel_options else x + 1)


def test_each_parallel_region_has_its_reason() -> None:
    (reason,) = lower(programs.capture(*captured(64))).plan.execution
    assert reason == "parallel region of 64 programs on the pool: at least 64 programs"


@tile.kernel
def counted(X: ConstView1[f32], Y: View1[f32], *, scope: str = "auto"):
    for nest in parallel(shape(axis("i", X.shape[0])), scope=scope):
        Y.update(coord(tile.cast(tile.i64, X[nest.index()].load())), 1.0, reducer=add)


def test_updates_keep_their_root_in_order() -> None:
    found = compile(counted.capture(tensor_shape(300), tensor_shape(2)))
    assert LAUNCH not in found.source
    assert "an update is a plain read and write" in found.lowered.plan.render()
    y = np.zeros(2, "f4")
    found((np.arange(300) % 3 != 0).astype("f4"), y)
    assert y.tolist() == [100.0, 200.0]


@pytest.mark.parametrize("scope", ["worker", "group"])
def test_a_scope_that_cannot_hold_is_refused(scope: str) -> None:
    kernel = (counted if scope == "worker" else programs).capture(*captured(4), scope=scope)
    with pytest.raises(UnsupportedError) as caught:
        lower(kernel)
    assert caught.value.diagnostic.code.id == "TW422"


def test_a_region_inside_another_runs_in_order() -> None:
    @tile.kernel
    def nested(X: ConstView1[f32], Y: View1[f32]):
        for nest in parallel(shape(axis("i", 64))):
            for inner in nest.parallel(shape(axis("j", 4))):
                at = nest.index() * 4 + inner.index()
                Y[at].store(X[at].load())

    reasons = lower(nested.capture(*captured(256))).plan.execution
    assert [reason.rpartition(": ")[2] for reason in reasons] == [
        "at least 64 programs",
        "it stands inside another parallel region",
    ]

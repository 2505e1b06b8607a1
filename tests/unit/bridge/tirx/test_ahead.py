"""Pipelines with a window: what is asked for ahead, read from the LLVM, and every reason to ask for nothing."""

from typing import Any

import numpy as np
import pytest

from tilewright import tile
from tilewright.bridge.tirx import TirxOptions, TirxPlanner, compile, lower
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.tile import ConstView2, View2, axis, coord, f32, parallel, shape, tensor_shape, zeros

NOALIAS = TirxOptions(noalias=True)
OFF = TirxOptions(planner=TirxPlanner(enabled=False))
PREFETCH = "call void @llvm.prefetch"


@tile.kernel
def streamed(
    X: ConstView2[f32], Y: View2[f32],
    *, window: int | None = 2, interval: int = 1, staged: bool = True, trips: int = 3, columns: int = 20,
    writes: bool = False, same: bool = False, fresh: bool = False, indirect: bool = False,
):  # fmt: skip
    """Sums of blocks of three rows of X, whose last one reaches out of it."""
    r, c = axis("r", 3), axis("c", columns)
    for nest in parallel(shape(1)):
        total = zeros(f32, shape(r, c))
        for step in nest.pipeline(shape(axis("t", trips)), window=window, interval=interval):
            row = 0 if same else step.index() * 3
            if staged:
                step.stage("load")
            if indirect:
                row = tile.cast(tile.i64, X[step.index(), 0].load())
            x = zeros(f32, shape(r, c)) if fresh else X[coord(row, 0), shape(r, c)]
            if staged:
                step.stage("compute")
            total = total + x
            if writes:
                Y.at(coord(row, 0), shape(r, c)).store(total)
        Y.at(coord(0, 0), shape(r, c)).store(total)


def captured(strides: tuple[int, int] = (20, 1), **options: Any) -> Kernel:
    return streamed.capture(tensor_shape(8, 20, strides=strides), tensor_shape(9, 20), **options)


def same_bits(kernel: Kernel, options: TirxOptions) -> str:
    """The LLVM, after its answer was found to be the interpreter's."""
    x = np.random.default_rng(1).standard_normal((8, 20)).astype("f4")
    want, got = np.zeros((2, 9, 20), "f4")
    interpret(kernel, [x, want])
    found = compile(kernel, options)
    found(x, got)
    assert want.tobytes() == got.tobytes()
    return found.source


def reasons(kernel: Kernel, options: TirxOptions = NOALIAS) -> str:
    plan = lower(kernel, options).plan
    assert plan.counters["tiles asked for ahead"] == 0
    return " ".join(plan.declined)


@pytest.mark.parametrize("writes", [False, True])
def test_a_window_asks_for_what_later_trips_copy_and_changes_no_number(writes: bool) -> None:
    kernel = captured(writes=writes)
    assert PREFETCH in same_bits(kernel, NOALIAS)
    assert lower(kernel, NOALIAS).plan.counters["tiles asked for ahead"] == 1


def test_without_a_window_or_a_plan_nothing_is_asked_for() -> None:
    for kernel, options in ((captured(window=1), NOALIAS), (captured(window=None), NOALIAS), (captured(), OFF)):
        assert PREFETCH not in same_bits(kernel, options)
        assert "tiles asked for ahead" not in lower(kernel, options).plan.counters


@pytest.mark.parametrize("window", [2, 3])
def test_a_request_is_for_a_trip_that_there_is_and_an_address_inside(window: int) -> None:
    text = lower(captured(window=window), NOALIAS).text()
    later = f"s5 + T.int64({window - 1})"
    assert f"if {later} < T.int64(3):" in text
    before, _, after = text.partition("llvm.prefetch")
    assert f"if ({later}) * T.int64(3) + " in before.splitlines()[-2]  # the guard of the copy, so many trips further on
    assert f"address_of(X[({later}) * T.int64(3) + " in after


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"interval": 2}, "its interval is 2"),
        ({"staged": False}, "it has fewer than two stages"),
        ({"trips": 1}, "it has no more trips than its window"),
        ({"window": 4}, "it has no more trips than its window"),
        ({"fresh": True}, "nothing goes across a cut"),
        ({"same": True}, "no copy of an argument moves with its trips"),
        ({"strides": (40, 2)}, "its elements lie apart"),
        ({"indirect": True}, "its place is read from"),
        ({"columns": 30000}, "its window holds more than 256 KiB"),
    ],
)
def test_nothing_is_asked_for_and_why(options: dict[str, Any], reason: str) -> None:
    assert reason in reasons(captured(**options))


def test_what_is_stored_may_be_what_is_copied_unless_that_is_promised() -> None:
    assert "Y is stored to, and may be another argument" in reasons(captured(writes=True), TirxOptions())
    assert "no copy of an argument moves with its trips" in reasons(
        captured(), TirxOptions(noalias=True, forward_readonly_tile_loads=True)
    )


@tile.kernel
def running(X: View2[f32]):
    """Each row of X becomes the sum of itself and the one before."""
    c = axis("c", 20)
    for nest in parallel(shape(1)):
        for step in nest.pipeline(shape(axis("t", 7)), window=2):
            step.stage("load")
            x = X[coord(step.index(), 0), shape(axis("r", 1), c)]
            step.stage("compute")
            X.at(coord(step.index() + 1, 0), shape(axis("r", 1), c)).store(x + 1.0)


def test_a_trip_that_copies_what_the_one_before_stored_may_not_run_ahead() -> None:
    assert "both sides of a cut touch X, or trips do" in reasons(running.capture(tensor_shape(8, 20)))


@tile.kernel
def nested(X: ConstView2[f32], Y: View2[f32]):
    """A pipeline in a pipeline, each with a copy of its own."""
    r, c = axis("r", 1), axis("c", 20)
    for nest in parallel(shape(1)):
        total = zeros(f32, shape(r, c))
        for outer in nest.pipeline(shape(axis("t", 4)), window=2):
            outer.stage("load")
            x = X[coord(outer.index(), 0), shape(r, c)]
            outer.stage("compute")
            total = total * x
            for inner in outer.pipeline(shape(axis("u", 3)), window=2):
                inner.stage("load")
                y = X[coord(inner.index() + 4, 0), shape(r, c)]
                inner.stage("compute")
                total = total + y
        Y.at(coord(0, 0), shape(r, c)).store(total)


def test_a_pipeline_inside_another_asks_too() -> None:
    kernel = nested.capture(tensor_shape(8, 20), tensor_shape(9, 20))
    assert lower(kernel, NOALIAS).plan.counters["tiles asked for ahead"] == 2
    same_bits(kernel, NOALIAS)

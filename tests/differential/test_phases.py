"""Sibling root parallels run in order: what one wrote, the next one reads, on every thread count."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import tile
from tilewright.interp.run import run as interpret
from tilewright.passes.split_phases import Launch, Repeat, steps_of
from tilewright.tile import ConstView2, View1, View2, add, axis, cdiv, coord, f32, parallel, serial, shape, tensor_shape


@tile.kernel
def centred(X: ConstView2[f32], M: View1[f32], Y: View2[f32]):
    r, c = axis("r", 4), axis("c", X.shape[1])
    for nest in parallel(shape(axis("g", cdiv(X.shape[0], 4)))):
        at = nest.index() * 4
        M.at(coord(at), shape(r)).store(tile.reduce(X[coord(at, 0), shape(r, c)], c, add) / float(X.shape[1]))
    e = axis("e", 8)
    for nest in parallel(shape(axis("row", X.shape[0]), axis("part", cdiv(X.shape[1], 8)))):
        row, part = nest.coords()
        one = axis("one", 1)
        at = coord(X.shape[0] - 1 - row, part * 8)
        mean = M[X.shape[0] - 1 - row].load()
        Y.at(at, shape(one, e)).store(X[at, shape(one, e)] - mean)


def test_phases_are_kernels_with_the_same_parameters() -> None:
    kernel = centred.capture(tensor_shape(10, 21), tensor_shape(10), tensor_shape(10, 21))
    steps = [step for step in steps_of(kernel) if isinstance(step, Launch)]
    first, second = [step.kernel for step in steps]
    assert [p.name for p in first.parameters] == [p.name for p in second.parameters] == ["X", "M", "Y"]
    assert first.hash != second.hash


@pytest.mark.parametrize("shape_", [(10, 21), (1, 1), (0, 5), (33, 64)])
def test_the_second_phase_sees_what_the_first_one_wrote(shape_: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape_).astype("f4")
    mean, y = np.full(shape_[0], np.nan, "f4"), np.full(shape_, np.nan, "f4")
    kernel = centred.capture(tensor_shape(*shape_), tensor_shape(shape_[0]), tensor_shape(*shape_))
    want = [x.copy(), mean.copy(), y.copy()]
    interpret(kernel, want)
    centred(x, mean, y)
    bound = 64 * 2.0**-23 * np.abs(x).max(initial=0.0)
    assert np.all(np.abs(y - want[2]) <= bound)


def test_the_report_counts_launches() -> None:
    kernel = centred.capture(tensor_shape(10, 21), tensor_shape(10), tensor_shape(10, 21))
    shader = tile.compile(tw.create_device("simd"), kernel)
    assert shader.metadata.realization["launches"] == 2
    assert "phase 1 of 2" in shader.explain()
    assert [argument.usage for argument in shader.metadata.arguments] == [
        tw.Usage.READ,
        tw.Usage.READ_WRITE,
        tw.Usage.WRITE,
    ]


@tile.kernel
def diffused(A: View1[f32], B: View1[f32], Trace: View2[f32]):
    """Row t of `Trace` is the state in the second half of step t."""
    e = axis("e", 16)
    tasks = shape(axis("g", cdiv(A.shape[0], 16)))
    for loop in serial(shape(axis("t", Trace.shape[0]), axis("half", 2))):
        step, half = loop.coords()
        for nest in loop.parallel(tasks):
            at = nest.index() * 16
            state = A[coord(at), shape(e)]
            Trace.at(coord(step, at), shape(axis("one", 1), e)).store(state)
            B.at(coord(at), shape(e)).store((A[coord(at - 1), shape(e)] + state) * 0.5)
        for nest in loop.parallel(tasks):
            at = nest.index() * 16
            A.at(coord(at), shape(e)).store(B[coord(at), shape(e)] + tile.cast(f32, half))


def reference(state: np.ndarray, steps: int) -> np.ndarray:
    trace = np.zeros((steps, len(state)), "f4")
    for step in range(steps):
        for half in range(2):
            trace[step] = state
            before = np.concatenate([np.zeros(1, "f4"), state])[: len(state)]
            state = (before + state) * np.float32(0.5) + np.float32(half)
    return trace


@pytest.mark.parametrize(("n", "steps"), [(40, 3), (16, 1), (5, 7), (40, 0), (0, 2)])
def test_a_loop_around_launches_runs_them_in_order(n: int, steps: int) -> None:
    a = np.random.default_rng(1).standard_normal(n).astype("f4")
    want = reference(a.copy(), steps)
    shapes = tensor_shape(n), tensor_shape(n), tensor_shape(steps, n)
    interpreted = [a.copy(), np.zeros(n, "f4"), np.zeros((steps, n), "f4")]
    interpret(diffused.capture(*shapes), interpreted)
    np.testing.assert_array_equal(interpreted[2], want)
    b, trace = np.zeros(n, "f4"), np.zeros((steps, n), "f4")
    diffused(a, b, trace)
    np.testing.assert_array_equal(trace, want)


def test_a_loop_of_launches_is_a_repeat_of_kernels_with_its_indices() -> None:
    kernel = diffused.capture(tensor_shape(40), tensor_shape(40), tensor_shape(3, 40))
    (loop,) = steps_of(kernel)
    assert isinstance(loop, Repeat)
    assert loop.extents == (3, 2)
    launches = [step for step in loop.steps if isinstance(step, Launch)]
    names = [[each.name for each in launch.kernel.parameters] for launch in launches]
    assert names == [["A", "B", "Trace", "loop index 0", "loop index 1"]] * 2
    shader = tile.compile(tw.create_device("simd"), kernel)
    assert [argument.name for argument in shader.metadata.arguments] == ["A", "B", "Trace"]

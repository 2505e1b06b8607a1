"""A short fold of maxima runs in several chains, and masks of lanes come from either side of a comparison."""

from typing import Any

import numpy as np
import pytest

from tests.differential.on_device import run_on_device
from tilewright import tile
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.core.machine import GENERIC_AVX512
from tilewright.interp.run import run as interpret
from tilewright.tile import (
    ConstView2,
    View1,
    View2,
    axis,
    coord,
    f32,
    iota,
    maximum,
    minimum,
    parallel,
    reduce,
    shape,
    tensor_shape,
    where,
)
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline


@tile.kernel
def extremes(A: ConstView2[f32], H: View1[f32], L: View1[f32]):
    k, n = axis("k", A.shape[0]), axis("n", A.shape[1])
    for _ in parallel(shape(1)):
        x = A[coord(0, 0), shape(k, n)]
        H.at(coord(0), shape(n)).store(reduce(x, k, maximum))
        L.at(coord(0), shape(n)).store(reduce(x, k, minimum))


def results(kernel: Any, arrays: list[Any]) -> list[list[Any]]:
    """By the interpreter, the one of XIR and machine code."""
    ways = [[array.copy() for array in arrays] for _ in range(3)]
    interpret(kernel, ways[0])
    lowered = lower(kernel, plan(kernel, GENERIC_AVX512, threads=1))
    run_pipeline(lowered.module, CPU_PIPELINE)
    run_xir(lowered.module, [ways[1][i].reshape(-1) for i in lowered.argument_order])
    run_on_device(kernel, [array.ctypes.data for array in ways[2]], threads=1)
    return ways


@pytest.mark.parametrize("steps", [1, 3, 4, 7, 8, 12])
@pytest.mark.parametrize("special", [None, np.nan, np.inf, -np.inf])
def test_every_chain_meets_every_value(steps: int, special: float | None) -> None:
    """In each column the special value, or the extreme, stands in another place."""
    data = np.random.default_rng(steps).standard_normal((steps, 48)).astype(np.float32)
    data[np.arange(48) % steps, np.arange(48)] = special if special is not None else 9.0
    kernel = extremes.capture(tensor_shape(steps, 48), tensor_shape(48), tensor_shape(48))
    first, *others = results(kernel, [data, np.zeros(48, np.float32), np.zeros(48, np.float32)])
    for other in others:
        for want, got in zip(first, other, strict=True):
            assert np.array_equal(want, got, equal_nan=True)


@tile.kernel
def triangles(A: ConstView2[f32], C: View2[f32], *, case: str):
    m, n = axis("m", 5), axis("n", 37)
    for nest in parallel(shape(6)):
        row = iota(m) + nest.index() * 5
        x = A[coord(nest.index() * 5, 0), shape(m, n)]
        if case == "lt":
            seen = row < iota(n)
        elif case == "le":
            seen = row <= iota(n)
        elif case == "gt":
            seen = row > iota(n)
        else:
            seen = row >= iota(n)
        C.at(coord(nest.index() * 5, 0), shape(m, n)).store(where(seen, x, 0.0))


@pytest.mark.parametrize("case", ["lt", "le", "gt", "ge"])
def test_lanes_may_stand_on_the_right(case: str) -> None:
    data = np.random.default_rng(1).standard_normal((30, 37)).astype(np.float32)
    kernel = triangles.capture(tensor_shape(30, 37), tensor_shape(30, 37), case=case)
    first, *others = results(kernel, [data, np.zeros((30, 37), np.float32)])
    assert (first[1] == 0).any()
    for other in others:
        assert np.array_equal(first[1], other[1])

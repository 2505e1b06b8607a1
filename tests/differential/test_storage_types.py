"""Types that are stored in fewer bits than they are computed in, and booleans, wherever a tile may be."""

from functools import cache

import numpy as np
import pytest

from tests.differential.memory_kernels import swizzled
from tests.differential.on_device import run_on_device
from tests.differential.strided import LAYOUTS, Memory, lay_out, restrided
from tests.differential.test_xir_route import WAYS
from tilewright import tile
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.core.dtypes import DType, bf16, boolean, f16, float8_e4m3fn, float8_e5m2, i8, u16
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.tile import (
    Axis,
    ConstView2,
    Tile,
    View1,
    View2,
    axis,
    cast,
    coord,
    f32,
    full,
    iota,
    ite,
    memory,
    parallel,
    shape,
    tensor_shape,
)
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

STORED = [boolean, float8_e4m3fn, float8_e5m2, f16, bf16, i8, u16]


def mirrored_columns(t: Tile, r: Axis, c: Axis) -> Tile:
    """The columns in reverse, read element by element."""
    return tile.map(t.dtype, shape(r, c), lambda p: t.at(coord(p.index(r), c.extent - 1 - p.index(c))))


@tile.kernel
def everywhere(X: ConstView2, Y: View2, S: View1, *, dtype: type[DType], one: bool | float):
    """Fills, masks, carries, selects, maps, manual memory, elements: the values only move."""
    rows, columns = 5, X.shape[1] + 3
    r, c = axis("r", rows), axis("c", columns)
    for nest in parallel(shape(3)):
        g = nest.index()
        at = coord(g * rows - 1, -2)
        a = X.at(at, shape(r, c)).load(fill=one)
        b = full(dtype, shape(r, c), one)
        chosen = cast(f32, a) > 0.25
        scratch = memory(dtype, swizzled(shape(r, c)))
        scratch.store(a)
        last = X[g, 0].load()
        for step in nest.serial(shape(3)):
            a, b = b, ite(chosen, a, scratch.load())
            scratch.store(mirrored_columns(a, r, c))
            last = X[g, step.index()].load(where=step.index() < 2, fill=last)
        Y.at(coord(g * rows, 0), shape(r, c)).store(a, where=chosen)
        Y.at(coord(g * rows, columns), shape(r, c)).store(b)
        Y.at(coord(g * rows, 2 * columns), shape(r, c)).store(scratch.load())
        S[g].store(last)


@cache
def captured(dtype: type[DType]) -> Kernel:
    shapes = tensor_shape(13, 17, dtype=dtype), tensor_shape(15, 60, dtype=dtype), tensor_shape(3, dtype=dtype)
    return everywhere.capture(*shapes, dtype=dtype, one=True if dtype == boolean else 1)


@cache
def expected(dtype: type[DType], layout: str) -> tuple[Kernel, list[Memory]]:
    kernel = restrided(captured(dtype), LAYOUTS[layout]) if layout else captured(dtype)
    memories = lay_out(kernel.parameters)
    interpret(kernel, [memory.array for memory in memories])
    return kernel, memories


@pytest.mark.parametrize("layout", ["", "columns first, every other"])
@pytest.mark.parametrize("dtype", STORED, ids=repr)
def test_on_the_device(dtype: type[DType], layout: str) -> None:
    kernel, want = expected(dtype, layout)
    got = lay_out(kernel.parameters)
    run_on_device(kernel, [memory.address for memory in got], threads=2)
    assert all(a.same_bytes(b) for a, b in zip(want, got, strict=True))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [boolean, float8_e5m2, bf16], ids=repr)
def test_in_xir(dtype: type[DType], way: str) -> None:
    kernel, want = expected(dtype, "")
    machine, options, may_alias = WAYS[way]
    lowered = lower(kernel, plan(kernel, machine, options, threads=2, may_alias=may_alias))
    run_pipeline(lowered.module, CPU_PIPELINE)
    got = lay_out(kernel.parameters)
    run_xir(lowered.module, [got[i].flat for i in lowered.argument_order])
    assert all(a.same_bytes(b) for a, b in zip(want, got, strict=True))


@tile.kernel
def one_lane(X: View1, Y: View1, *, lane: int):
    a = axis("a", X.shape[0])
    for _ in parallel(shape(1)):
        Y.at(coord(2), shape(a)).store(X[coord(0), shape(a)] + 1.0, where=iota(a) == lane)


@pytest.mark.parametrize(("size", "lane"), [(16, 0), (16, 8), (16, 15), (17, 3), (17, 16)])
def test_a_store_of_one_lane_that_the_code_may_know_leaves_the_next_element(size: int, lane: int) -> None:
    """The comparison is one of constants, which LLVM finds out only when it has chosen the store."""
    kernel = one_lane.capture(tensor_shape(size, dtype=bf16), tensor_shape(size + 2, dtype=bf16), lane=lane)
    given = np.zeros(size, np.uint16)
    memory = np.full(size + 20, 0x5555, np.uint16)
    run_on_device(kernel, [given.ctypes.data, memory.ctypes.data], threads=1)
    assert list(np.flatnonzero(memory != 0x5555)) == [2 + lane]

"""Stores past the caches: which ones the plan takes, and that a row may begin and end anywhere."""

import numpy as np
import pytest

from examples.gallery.elementwise import bias_gelu_residual
from examples.gallery.rows import layer_norm, rms_norm, rope, softmax
from tilewright import tile
from tilewright.backends.llvm.machine import host_machine
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.records import Caching
from tilewright.bridge.xir.retile import retile
from tilewright.compile.kernel import TileKernel
from tilewright.core.machine import GENERIC_AVX512
from tilewright.ir.kernel import Kernel
from tilewright.ir.rewrite import run_pipeline
from tilewright.numerics.arrays import Array
from tilewright.passes.pipelines import CANONICAL
from tilewright.tile import ConstView1, View1, axis, cdiv, coord, f32, parallel, shape, tensor_shape


def caching(kernel: Kernel) -> Caching | None:
    """How the last nest of the plan that the device would make, a store, treats the caches."""
    run_pipeline(kernel.module, CANONICAL)
    cut, _ = retile(kernel, 1, GENERIC_AVX512)
    *_, last = plan(cut, GENERIC_AVX512, threads=1).decisions.nests.values()
    return last.caching


def norm(rows: int, columns: int) -> Kernel:
    return rms_norm.capture(tensor_shape(rows, columns), tensor_shape(columns), tensor_shape(rows, columns))


GELU = bias_gelu_residual.capture(
    tensor_shape(4096, 4096), tensor_shape(4096), *[tensor_shape(4096, 4096)] * 2, approximate="erf"
)


def test_what_no_cache_could_hold_goes_past_them() -> None:
    assert caching(norm(4096, 4096)) is Caching.PAST
    assert caching(softmax.capture(*[tensor_shape(4096, 4096)] * 2)) is Caching.PAST


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        pytest.param(norm(1024, 1024), Caching.SMALL, id="small"),
        pytest.param(norm(1 << 20, 64), Caching.SHORT, id="short rows"),
        pytest.param(GELU, Caching.ARITHMETIC, id="it waits for erf"),
    ],
)
def test_other_stores_do_not(kernel: Kernel, why: Caching) -> None:
    assert caching(kernel) is why


def within(array: Array, rows: int, columns: int, start: int) -> Array:
    """A row-major window on a flat array, from an element on."""
    return array[start : start + rows * columns].reshape(rows, columns)


ROWS = host_machine().l3_bytes // (2 * 4 * 1024) + 64  # of 1024 elements: more than half of the last cache


@pytest.mark.parametrize(("start", "columns"), [(0, 1024), (1, 1024), (15, 1024), (16, 1025), (7, 1039)])
def test_rows_may_begin_and_end_anywhere(start: int, columns: int) -> None:
    """What lies around them stays."""
    rows = ROWS
    rng = np.random.default_rng(columns + start)
    x, weight = rng.standard_normal((rows, columns), np.float32), rng.standard_normal(columns, np.float32)
    memory = np.full(rows * columns + 64, np.nan, np.float32)
    y = within(memory, rows, columns, start)
    rms_norm(x, weight, y)
    assert ", past the caches" in rms_norm.explain()
    exact = x.astype(float)
    exact = exact / np.sqrt((exact * exact).mean(1, keepdims=True) + 1e-5) * weight
    assert np.abs(y - exact).max() < 1e-5
    assert np.isnan(memory[:start]).all()
    assert np.isnan(memory[start + rows * columns :]).all()


@pytest.mark.parametrize("kernel", [rope, layer_norm], ids=lambda kernel: kernel.name)
def test_the_same_bits_as_through_the_caches(kernel: TileKernel) -> None:
    """Rows of a large array and the same rows of a small one, which is stored through the caches."""
    rows, columns = ROWS, 1024
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, columns), np.float32)
    others = [rng.standard_normal((rows, columns // 2), np.float32) for _ in range(2)]
    if kernel is layer_norm:
        others = [rng.standard_normal(columns, np.float32) for _ in range(2)]
    large, small = np.empty_like(x), np.empty_like(x[:64])
    kernel(x, *others, large)
    kernel(x[:64], *(other[:64] if other.ndim == 2 else other for other in others), small)
    assert np.array_equal(large[:64], small)


@tile.kernel
def doubled(X: ConstView1[f32], Y: View1[f32], *, block: int = 256):
    e = axis("e", block)
    for nest in parallel(shape(axis("g", cdiv(Y.shape[0], block)))):
        at = coord(nest.index() * block)
        Y.at(at, shape(e)).store(X[at, shape(e)] * 2.0)


@pytest.mark.parametrize("rest", [1, 3])
def test_a_last_row_may_end_before_its_first_line(rest: int) -> None:
    """A few elements are left for the last program, whatever lies up to the next line."""
    count = ROWS * 1024 + rest
    x = np.arange(count, dtype=np.float32)
    for start in range(0, 16, 3):
        memory = np.full(count + 64, np.nan, np.float32)
        doubled(x, memory[start : start + count])
        assert np.array_equal(memory[start : start + count], 2 * x)
        assert np.isnan(memory[start + count :]).all()
    assert ", past the caches" in doubled.explain()

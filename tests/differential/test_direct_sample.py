"""The kernel of the README by call and by stream, with operands in any order of axes, at any offset, of any extent."""

import numpy as np
import pytest

import tilewright as tw
from examples.gallery.gemm import gemm, gemm_at, gemm_atbt, gemm_bt
from tilewright import tile
from tilewright.compile import TileKernel
from tilewright.interp import run
from tilewright.numerics.arrays import Array
from tilewright.tile import f32

ROUNDOFF = 2.0**-24


def require_product(C: Array, A: Array, B: Array) -> None:
    """Within the bound of a chain of K fused multiply-adds, in any order."""
    K = A.shape[1]
    bound = K * ROUNDOFF / (1 - K * ROUNDOFF) * (abs(A).astype(float) @ abs(B).astype(float))
    assert (abs(C - A.astype(float) @ B.astype(float)) <= bound).all()


def test_the_sample_of_the_readme() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.random((1000, 999), "f4"), rng.random((999, 1001), "f4")
    C = np.empty((1000, 1001), "f4")
    gemm(A, B, C)
    require_product(C, A, B)
    called = C.copy()
    C[:] = np.nan

    device = tw.create_device("simd")
    kernel = gemm.capture(
        tile.tensor_shape(1000, 999), tile.tensor_shape(999, 1001), tile.tensor_shape(1000, 1001), bm=32
    )
    shader = tile.compile(device, kernel)
    a, b, c = (device.create_buffer(f32, x.size) for x in (A, B, C))
    stream = device.create_stream()
    stream << a.copy_from(A) << b.copy_from(B) << shader(a, b, c).dispatch() << c.copy_to(C) << tw.synchronize()
    assert "mapping: " in shader.explain()
    assert "vfmadd" in shader.assembly() or "fmla" in shader.assembly()
    assert np.array_equal(C, called)  # the order of each sum is kept, whatever the tiles


LAYOUTS = [(gemm, False, False), (gemm_at, True, False), (gemm_bt, False, True), (gemm_atbt, True, True)]


@pytest.mark.parametrize(("kernel", "a_stored", "b_stored"), LAYOUTS)
@pytest.mark.parametrize("sizes", [(70, 33, 65), (1, 7, 5), (7, 1, 5), (7, 5, 1), (0, 5, 5), (5, 0, 5), (5, 5, 0)])
def test_operands_in_any_order_of_axes_and_any_extent(
    kernel: TileKernel, a_stored: bool, b_stored: bool, sizes: tuple[int, int, int]
) -> None:
    """A[k, m] and B[n, k] are arrays of that shape; an extent of 0 leaves zeros, or nothing to do."""
    M, K, N = sizes
    rng = np.random.default_rng(M + K + N)
    A, B = rng.standard_normal((M, K), np.float32), rng.standard_normal((K, N), np.float32)
    C, expected = np.full((M, N), np.nan, np.float32), np.full((M, N), np.nan, np.float32)
    arrays = [np.ascontiguousarray(x.T if stored else x) for x, stored in ((A, a_stored), (B, b_stored))]
    kernel(*arrays, C, bm=16, bn=32, bk=8)
    shapes = [tile.tensor_shape(*x.shape) for x in (*arrays, C)]
    run(kernel.capture(*shapes, bm=16, bn=32, bk=8), [*arrays, expected])
    assert np.array_equal(C, expected)


def test_views_at_an_offset_leave_the_bytes_around_them() -> None:
    """Calls on parts of arrays, and views of buffers, inside bands that must keep their contents."""
    A, B = np.ones((9, 5), np.float32), np.ones((5, 8), np.float32)
    around = np.full(100, 7, np.float32)
    gemm(A[1:8], B, around[11:67].reshape(7, 8))
    assert (around[11:67] == 5).all()
    assert (np.delete(around, np.s_[11:67]) == 7).all()

    device = tw.create_device("simd")
    shader = tile.compile(device, gemm.capture(*(tile.tensor_shape(*x) for x in [(7, 5), (5, 8), (7, 8)])))
    memory, stream = device.create_buffer(f32, 200), device.create_stream()
    stream << memory.copy_from(np.full(200, 7, np.float32))
    stream << memory[3:38].copy_from(np.ones(35, np.float32)) << memory[41:81].copy_from(np.ones(40, np.float32))
    stream << shader(memory[3:38], memory[41:81], memory[90:146]).dispatch()
    after = np.zeros(200, np.float32)
    stream << memory.copy_to(after) << tw.synchronize()
    assert (after[90:146] == 5).all()
    assert (np.delete(after, [*range(3, 38), *range(41, 81), *range(90, 146)]) == 7).all()

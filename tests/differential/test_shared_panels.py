"""Panels that all programs share change no bit, whatever the number of threads, and whoever else launches meanwhile."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import tilewright as tw
from examples.gallery import gemm as gallery
from tests.differential.test_xir_route import arguments, same_bits
from tilewright import tile
from tilewright.backends.llvm.kernel import compile_kernel
from tilewright.backends.simd.shader import SIMDShader
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.options import Packing, Use, XirOptions, element
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.records import Shared
from tilewright.core.abi import CompileOptions
from tilewright.core.machine import GENERIC_AVX512
from tilewright.interp.run import run as interpret
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import Array
from tilewright.tile import (
    ConstView1,
    ConstView2,
    View2,
    axis,
    cdiv,
    coord,
    f32,
    mma,
    parallel,
    shape,
    tensor_shape,
    zeros,
)
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

SHARED = XirOptions(lanes=element(), packing=Packing.BOTH, sharing=Use.WHEREVER_LEGAL, fusion=Use.WHEREVER_LEGAL)
BLOCKS = replace(SHARED, k_block=7, row_block=16)


@tile.kernel
def grid(A: ConstView2[f32], B: ConstView2[f32], S: ConstView1[f32], C: View2[f32], *, scaled: bool, across: bool):
    """Blocks of 16 x 40 over all of k, the last ones partial."""
    m, n, k = axis("m", 16), axis("n", 40), axis("k", S.shape[0])
    gm, gn = axis("gm", cdiv(C.shape[0], 16)), axis("gn", cdiv(C.shape[1], 40))
    for nest in parallel(shape(gm, gn)):
        row, column = nest.index(gm) * 16, nest.index(gn) * 40
        a = A[coord(row, 0), shape(m, k)]
        b = B[coord(column, 0), shape(n, k)] if across else B[coord(0, column), shape(k, n)]
        s = S[coord(0), shape(k)]
        made = mma(a * s, b + s, zeros(f32, shape(m, n))) if scaled else mma(a, b, zeros(f32, shape(m, n)))
        C.at(coord(row, column), shape(m, n)).store(made)


@cache
def captured(m: int, n: int, k: int, scaled: bool, across: bool) -> Kernel:
    shapes = (m, k), (n, k) if across else (k, n), (k,), (m, n)
    return grid.capture(*[tensor_shape(*each) for each in shapes], scaled=scaled, across=across)


@cache
def expected(kernel: Kernel) -> list[Array]:
    arrays = arguments(kernel.parameters)
    interpret(kernel, arrays)
    return arrays


@pytest.mark.parametrize("options", [SHARED, BLOCKS])
@pytest.mark.parametrize("size", [(32, 80, 17), (37, 93, 20), (16, 41, 16)])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("across", [False, True])
def test_the_bits_are_those_of_the_interpreter(
    size: tuple[int, int, int], options: XirOptions, *, scaled: bool, across: bool
) -> None:
    kernel = captured(*size, scaled, across)
    lowered = lower(kernel, plan(kernel, GENERIC_AVX512, options, threads=4))
    (item,) = lowered.plan.decisions.contracts.values()
    assert isinstance(item.a_shared, Shared), item.a_shared
    run_pipeline(lowered.module, CPU_PIPELINE)
    arrays = arguments(kernel.parameters)
    run_xir(lowered.module, [arrays[i].reshape(-1) for i in lowered.argument_order], reversed(range(lowered.tasks)))
    assert same_bits(expected(kernel)[-1], arrays[-1])


def compiled(threads: int, m: int, n: int, k: int, sharing: Use) -> SIMDShader:
    shapes = [tensor_shape(*each) for each in ((m, k), (k, n), (m, n))]
    options = CompileOptions(xir=XirOptions(packing=Packing.BOTH, sharing=sharing), cache=False)

    def careful() -> SIMDShader:
        raise AssertionError("the arguments lie apart")

    return SIMDShader(compile_kernel(gallery.gemm.capture(*shapes), options, threads=threads), careful)


@pytest.mark.parametrize("threads", [2, 5, 8])
def test_any_number_of_threads_gives_the_same_bits(threads: int) -> None:
    m, n, k = 203, 170, 131
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(size).astype(np.float32) for size in ((m, k), (k, n)))
    results: list[bytes] = []
    for sharing in Use:
        shader, c = compiled(threads, m, n, k, sharing), np.full((m, n), np.nan, np.float32)
        assert ("launch_bytes" in shader.metadata.realization) == (sharing is Use.WHEREVER_LEGAL)
        for _ in range(3):
            shader.launch_addresses([each.ctypes.data for each in (a, b, c)])
        results.append(c.tobytes())
        shader.close()
    assert results[0] == results[1]


def test_launches_of_several_threads_have_panels_of_their_own() -> None:
    m, n, k = 64, 96, 40
    shader = compiled(4, m, n, k, Use.WHEREVER_LEGAL)
    rng = np.random.default_rng(2)
    b = rng.standard_normal((k, n)).astype(np.float32)

    def launched(seed: int) -> bool:
        a, c = np.full((m, k), np.float32(seed)), np.empty((m, n), np.float32)
        own = b * np.float32(seed)
        for _ in range(20):
            c[:] = np.nan
            shader.launch_addresses([each.ctypes.data for each in (a, own, c)])
            if not np.allclose(c, a @ own, rtol=1e-4):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(launched, range(1, 9)))
    shader.close()


def test_arguments_that_overlap_take_the_version_without_them() -> None:
    device = tw.create_device("simd")
    shapes = [tensor_shape(64, 64)] * 3
    shader = tile.compile(device, gallery.gemm.capture(*shapes), xir=SHARED)
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    first, second = (device.create_buffer(f32, 64 * 64) for _ in range(2))
    stream = device.create_stream()
    result = np.empty((64, 64), np.float32)
    stream << first.copy_from(a) << second.copy_from(b) << shader(first, second, second).dispatch()
    stream << second.copy_to(result) << tw.synchronize()
    assert np.allclose(result, a @ b, rtol=1e-4)

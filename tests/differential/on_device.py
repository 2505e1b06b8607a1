"""Kernels in machine code on this CPU, at any number of threads, on memory of the test's own."""

from collections.abc import Sequence
from functools import cache
from unittest.mock import patch

from tilewright.backends.llvm.kernel import compile_kernel
from tilewright.backends.simd import shader as shaders
from tilewright.backends.simd.pool import WorkerPool
from tilewright.bridge.xir.options import XirOptions
from tilewright.core.abi import CompileOptions
from tilewright.ir.kernel import Kernel

__all__ = ["MOST_THREADS", "run_on_device"]

MOST_THREADS = 8


@cache
def _pool() -> WorkerPool:
    """Larger than this machine, so that every number of threads can be asked for."""
    return WorkerPool(MOST_THREADS)


def run_on_device(
    kernel: Kernel,
    addresses: Sequence[int],
    *,
    threads: int = 2,
    options: XirOptions | None = None,
    fast_math: bool = False,
) -> None:
    """Compiles the kernel for at most `threads` workers and runs it on the memory at the addresses of its arguments."""
    asked = CompileOptions(xir=options, fast_math=fast_math)
    compiled = compile_kernel(kernel, asked, threads=threads)

    def careful() -> shaders.SIMDShader:
        return shaders.SIMDShader(compile_kernel(kernel, asked, threads=threads, may_alias=True), careful)

    with patch.object(shaders, "worker_pool", _pool):
        shader = shaders.SIMDShader(compiled, careful)
        try:
            shader.launch_addresses(addresses)
        finally:
            shader.close()

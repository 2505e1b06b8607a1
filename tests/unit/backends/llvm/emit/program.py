"""Small XIR kernels, run by the XIR interpreter and by machine code."""

import ctypes
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from tilewright.backends.llvm.emit.module import LAUNCH, POOL_RUN, emit_module, kernel_symbol
from tilewright.backends.llvm.emit.schedule import Schedule, schedule
from tilewright.backends.llvm.jit import compile_and_load
from tilewright.numerics.arrays import Array
from tilewright.xir.builder import XirBuilder
from tilewright.xir.interp import run
from tilewright.xir.ops import KernelOp
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline
from tilewright.xir.types import BufferType

GUARD = 64  # bytes on both sides of every array that must not change


class Program:
    """A kernel under construction: `p.b` writes it, `p.machine` and `p.interpreted` run it."""

    def __init__(self, *buffers: tuple[Attribute, int], tasks: int = 1, scales: bool = False) -> None:
        self.scales = scales
        self.kernel = KernelOp("k", [BufferType.of(element, extent) for element, extent in buffers], tasks)
        self.module = ModuleOp([self.kernel])
        self.b = XirBuilder(self.kernel.body.block)
        *self.buffers, self.task = self.kernel.body.block.args
        self._schedule: Schedule | None = None

    def scheduled(self) -> Schedule:
        """The schedule of the finished kernel; nothing may be added after it."""
        if self._schedule is None:
            self.b.return_()
            run_pipeline(self.module, CPU_PIPELINE)
            self._schedule = schedule(self.module)
        return self._schedule

    def text(self) -> str:
        return emit_module(self.module, self.scheduled(), scales=self.scales)

    def interpreted(self, *arrays: Array) -> list[Array]:
        self.scheduled()
        copies = [array.copy() for array in arrays]
        run(self.module, copies)
        return copies

    def machine(self, *arrays: Array) -> list[Array]:
        """Task by task, as worker 0, on copies inside guard bands."""
        text, scratch = self.text(), self.scheduled().scratch_bytes
        symbol = kernel_symbol("k")
        library = compile_and_load(text, [symbol, LAUNCH], imports={POOL_RUN: 1})
        guarded = [_guarded(array) for array in arrays]
        block = np.full(scratch + GUARD, 0xFF, np.uint8)
        first = -block.ctypes.data % GUARD
        words = [array.ctypes.data for _, array in guarded] + [block.ctypes.data + first, scratch, 1]
        context = (ctypes.c_int64 * len(words))(*words)
        entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(library.address(symbol))
        for task in range(self.kernel.tasks.data):
            entry(ctypes.addressof(context), task, 0)
        library.close()
        assert all(_intact(whole) for whole, _ in guarded)
        return [array for _, array in guarded]


def _guarded(array: Array) -> tuple[Array, Array]:
    whole = np.full(array.nbytes + 2 * GUARD, 0xA5, np.uint8)
    inner = whole[GUARD : GUARD + array.nbytes].view(array.dtype)
    inner[:] = array
    return whole, inner


def _intact(whole: Array) -> bool:
    return bool((whole[:GUARD] == 0xA5).all() and (whole[-GUARD:] == 0xA5).all())


def agree(program: Program, arrays: Sequence[Array], *, ignore_zero_sign: bool = False) -> list[Array]:
    """Runs both ways and compares all memory bit for bit, NaN equal to NaN. Gives the machine's arrays."""
    wanted, given = program.interpreted(*arrays), program.machine(*arrays)
    for a, b in zip(wanted, given, strict=True):
        x, y = (_canonical(each, ignore_zero_sign=ignore_zero_sign) for each in (a, b))
        assert x.tobytes() == y.tobytes(), (a[x != y], b[x != y], program.text())
    return given


def _canonical(array: Array, *, ignore_zero_sign: bool) -> Array:
    if array.dtype.kind not in "fV" or array.dtype.itemsize == 0:
        return array
    result = array.copy()
    result[np.isnan(result.astype(np.float64))] = np.asarray(np.nan).astype(array.dtype)
    if ignore_zero_sign:
        result[result == 0] = 0
    return result

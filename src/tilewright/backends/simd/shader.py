"""A kernel in machine code, launched over the worker pool."""

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, cast

from tilewright.backends.llvm.emit.module import LAUNCH, POOL_RUN
from tilewright.backends.llvm.jit import Library, load
from tilewright.backends.llvm.kernel import CompiledKernel, overlapping
from tilewright.backends.simd.pool import WorkerPool, worker_pool
from tilewright.backends.simd.pool_state import GENTLY
from tilewright.backends.simd.scratch import ARENA
from tilewright.core.abi import KernelMetadata, Report
from tilewright.core.locks import ChildLock
from tilewright.runtime.inline import CodeCall
from tilewright.runtime.interface import Binding

__all__ = ["DirectCode", "SIMDShader"]


@dataclass(frozen=True, slots=True)
class DirectCode:
    """A launch for callers that fill the argument block themselves: addresses of buffers, which are the arguments in
    `argument_order`, then scratch, bytes of scratch a worker, threads. Valid while the shader is not closed.

    `threads` may carry GENTLY. `disjoint` pairs of arguments, of these `sizes` in bytes, must not overlap.
    """

    address: int
    argument_order: tuple[int, ...]
    sizes: tuple[int, ...]
    disjoint: frozenset[tuple[int, int]]
    scratch_bytes: int
    worker_bytes: int
    threads: int


class SIMDShader:
    """A native shader of the `simd` device.

    Code may expect that some arguments do not overlap (see `CompiledKernel.disjoint`). Where they do, a second version
    without that expectation is compiled at the first such launch and kept.
    """

    def __init__(self, compiled: CompiledKernel, careful: Callable[[], "SIMDShader"]) -> None:
        """`careful` makes the version for arguments that overlap."""
        self._compiled = compiled
        self._code = _Code(compiled, worker_pool())
        self._sizes = tuple(argument.minimum_size_bytes for argument in compiled.metadata.arguments)
        self._make_careful = careful
        self._careful: SIMDShader | None = None
        self._lock = ChildLock()

    @property
    def metadata(self) -> KernelMetadata:
        return self._compiled.metadata

    @property
    def report(self) -> Report:
        return self._compiled.report

    def launch(self, bindings: Sequence[Binding], /) -> None:
        """Runs all tasks and returns when they are done."""
        self.launch_addresses([cast("int", each.buffer.address) + each.byte_offset for each in bindings])

    def launch_addresses(self, addresses: Sequence[int], /) -> None:
        """The same on the memory that begins at each address, in the order of the arguments. Threads may overlap."""
        pairs = self._compiled.disjoint
        if pairs and overlapping(pairs, list(zip(addresses, self._sizes, strict=True))):
            self._careful_version().launch_addresses(addresses)
        else:
            self._code.run(addresses)

    def prepare(self, addresses: Sequence[int], /) -> Callable[[], object]:
        """A launch on these arguments, as short as it can be: without Python where the code needs no scratch."""
        pairs = self._compiled.disjoint
        if pairs and overlapping(pairs, list(zip(addresses, self._sizes, strict=True))):
            return partial(self.launch_addresses, tuple(addresses))
        return self._code.prepare(addresses)

    def _careful_version(self) -> "SIMDShader":
        with self._lock:
            if self._careful is None:
                self._careful = self._make_careful()
            return self._careful

    def direct_code(self) -> DirectCode:
        """What a launch without Python needs."""
        compiled, code = self._compiled, self._code
        pairs = frozenset(pair for pair in compiled.disjoint if all(self._sizes[each] for each in pair))
        sizes, total = self._sizes, code.scratch_bytes
        order, each = compiled.argument_order, compiled.scratch_bytes
        return DirectCode(code.address, order, sizes, pairs, total, each, code.launch_word)

    def assembly(self) -> str:
        return self._compiled.assembly()

    def close(self) -> None:
        with self._lock:
            if self._careful is not None:
                self._careful.close()
            self._code.close()


class _Code:
    """Loaded code with its argument block: addresses of buffers, scratch, threads. One block a calling thread."""

    def __init__(self, compiled: CompiledKernel, pool: WorkerPool) -> None:
        name = compiled.metadata.name
        self._library: Library = load(compiled.object(), [LAUNCH], imports={POOL_RUN: pool.entry}, name=name)
        self.address = self._library.address(LAUNCH)
        # What is too short to wake workers for is shorter than handing the interpreter's lock to another thread, too.
        self._call: type[partial[object]] = partial if compiled.wakes else CodeCall
        # Its argument, a reference to a block, has no declared type: checking that takes as long as the call.
        self._entry = (ctypes.CFUNCTYPE if compiled.wakes else ctypes.PYFUNCTYPE)(None)(self.address)
        self.threads = threads = min(compiled.threads, pool.threads, max(1, compiled.tasks))
        self._buffers = len(compiled.argument_order)
        self._in_order = _picker(compiled.argument_order)
        self.scratch_bytes = compiled.scratch_bytes * threads + compiled.launch_bytes
        self.launch_word = threads if compiled.wakes else threads | GENTLY
        self._blocks = _Blocks(partial(_block, self._buffers, (compiled.scratch_bytes, self.launch_word)))

    def run(self, addresses: Sequence[int]) -> None:
        block, count = self._blocks, self._buffers
        block.words[:count] = self._in_order(addresses)
        if self.scratch_bytes:
            block.words[count] = ARENA.reserve(self.scratch_bytes)
        self._entry(block.reference)

    def prepare(self, addresses: Sequence[int]) -> Callable[[], object]:
        if self.scratch_bytes:
            return partial(self.run, tuple(addresses))
        block = self._blocks.make()
        block[: self._buffers] = self._in_order(addresses)
        return self._call(self._entry, ctypes.byref(block))

    def close(self) -> None:
        self._library.close()


def _picker(order: Sequence[int]) -> Callable[[Sequence[int]], Sequence[int]]:
    """Takes the entries at these positions, without a Python loop where there are several."""
    if len(order) > 1:
        return cast("Callable[[Sequence[int]], Sequence[int]]", itemgetter(*order))
    return lambda given: [given[position] for position in order]


def _block(buffers: int, tail: tuple[int, int]) -> Any:
    return (ctypes.c_int64 * (buffers + 3))(*(0,) * (buffers + 1), *tail)


class _Blocks(threading.local):
    """The argument block of the calling thread."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self.words = make()
        self.reference = ctypes.byref(self.words)

"""Compiled kernels by what they are made from: looked up in memory, then on disk, then made."""

from collections import OrderedDict
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from tilewright.backends.llvm.cache import CodeCache, StoredKernel, code_cache
from tilewright.backends.llvm.kernel import CompiledKernel, compile_kernel
from tilewright.backends.llvm.machine import host_machine
from tilewright.backends.llvm.target import toolchain_version
from tilewright.bridge.xir.options import XirOptions
from tilewright.core.abi import CompileOptions
from tilewright.core.config import config
from tilewright.core.digest import compiler_digest, digest
from tilewright.core.locks import ChildLock
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of

__all__ = ["TextReport", "cache_key", "stored_kernel"]

_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class TextReport:
    """An explanation that was written when the kernel was compiled."""

    text: str

    def render(self) -> str:
        """The explanation."""
        return f"{self.text}\nmachine code from the cache"


class _Memory:
    """The kernels that this process used last, by key."""

    def __init__(self) -> None:
        self._kernels: OrderedDict[str, CompiledKernel] = OrderedDict()
        self._lock = ChildLock()

    def get(self, key: str) -> CompiledKernel | None:
        with self._lock:
            found = self._kernels.get(key)
            if found is not None:
                self._kernels.move_to_end(key)
            return found

    def put(self, key: str, kernel: CompiledKernel) -> None:
        with self._lock:
            self._kernels[key] = kernel
            while len(self._kernels) > _REMEMBERED:
                self._kernels.popitem(last=False)


_MEMORY = _Memory()


def cache_key(kernel: Kernel, options: CompileOptions, *, may_alias: bool) -> str:
    """Everything that machine code, metadata and report depend on, as one digest.

    The plan is not part of it: it follows from what is. Names and the place of the kernel are, since the metadata
    shows them.
    """
    machine = host_machine()
    return digest(
        kernel.hash,
        kernel.name,
        options.name,
        str(span_of(kernel.op)),
        [parameter.name for parameter in kernel.parameters],
        options.xir if isinstance(options.xir, XirOptions) else None,
        options.threads_per_group,
        options.fast_math,
        may_alias,
        config().num_threads,
        machine,
        toolchain_version(),
        [library.__version__ for library in (ml_dtypes, np)],  # constants are folded with them
        compiler_digest(),
    )


def stored_kernel(kernel: Kernel, options: CompileOptions, *, may_alias: bool) -> CompiledKernel:
    """The compiled kernel for this machine. With `cache=False` it is always made anew and never kept."""
    if not options.cache:
        return compile_kernel(kernel, options, may_alias=may_alias)
    key = cache_key(kernel, options, may_alias=may_alias)
    known = _MEMORY.get(key)
    if known is not None:
        return known
    disk = code_cache()
    stored = disk.load(key)
    found = _made(kernel, options, key, disk, may_alias=may_alias) if stored is None else _from(stored)
    _MEMORY.put(key, found)
    return found


def _made(kernel: Kernel, options: CompileOptions, key: str, disk: CodeCache, *, may_alias: bool) -> CompiledKernel:
    compiled = compile_kernel(kernel, options, may_alias=may_alias)
    compiled = replace(compiled, code=compiled.object())
    disk.store(key, _stored(compiled))
    return compiled


def _stored(compiled: CompiledKernel) -> StoredKernel:
    return StoredKernel(
        compiled.metadata,
        compiled.report.render(),
        compiled.tasks,
        compiled.threads,
        compiled.argument_order,
        compiled.scratch_bytes,
        compiled.disjoint,
        compiled.wakes,
        compiled.object(),
        compiled.launch_bytes,
    )


def _from(stored: StoredKernel) -> CompiledKernel:
    return CompiledKernel(
        metadata=stored.metadata,
        report=TextReport(stored.report),
        tasks=stored.tasks,
        threads=stored.threads,
        argument_order=stored.argument_order,
        scratch_bytes=stored.scratch_bytes,
        disjoint=stored.disjoint,
        wakes=stored.wakes,
        code=stored.code,
        launch_bytes=stored.launch_bytes,
    )

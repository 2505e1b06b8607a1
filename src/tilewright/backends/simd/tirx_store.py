"""Code through TVM in the cache of native kernels: one file a kernel, with the same checks and the same limit."""

from dataclasses import dataclass
from types import MappingProxyType

import ml_dtypes
import numpy as np

from tilewright.backends.llvm.cache import StoredKernel, code_cache
from tilewright.backends.llvm.store import TextReport
from tilewright.backends.llvm.target import host
from tilewright.bridge.tirx.compiled import Built, build
from tilewright.bridge.tirx.door import PINNED, open_door, require_functions
from tilewright.bridge.tirx.options import TirxOptions
from tilewright.bridge.tirx.providers.choices import functions_of
from tilewright.bridge.tirx.providers.provided import provider_lines
from tilewright.core.abi import CompileOptions, KernelMetadata, Report
from tilewright.core.digest import compiler_digest, digest
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of
from tilewright.ir.ops.regions import ParallelOp

__all__ = ["MadeKernel", "tirx_key", "tirx_kernel"]


@dataclass(frozen=True, slots=True)
class MadeKernel:
    """Machine code, what it is, and how it became so."""

    metadata: KernelMetadata
    report: Report
    code: bytes


def tirx_kernel(kernel: Kernel, options: CompileOptions, chosen: TirxOptions) -> MadeKernel:
    """From the disk, or made and kept there; with `cache=False` always made and never kept.

    Raises what `build` raises, and CapabilityError (TW474) where a function that stored code calls is not registered.
    """
    name = options.name or kernel.name
    if not options.cache:
        return _made(build(kernel, chosen), name)
    key, disk = tirx_key(kernel, options, chosen), code_cache()
    stored = disk.load(key)
    if stored is not None:
        require_functions(open_door(), functions_of(chosen.cpu_matrix_backend, chosen.cpu_math_backend), needed_by=name)
        return MadeKernel(stored.metadata, TextReport(stored.report), stored.code)
    made = _made(build(kernel, chosen), name)
    disk.store(key, _stored(made))
    return made


def tirx_key(kernel: Kernel, options: CompileOptions, chosen: TirxOptions) -> str:
    """Everything that machine code, metadata and report depend on, as one digest. The versions of TVM are the pinned
    ones, since no other is let in.
    """
    return digest(
        "tirx",
        kernel.hash,
        kernel.name,
        options.name,
        str(span_of(kernel.op)),
        [parameter.name for parameter in kernel.parameters],
        chosen,
        host(),
        PINNED,
        [library.__version__ for library in (ml_dtypes, np)],  # constants are folded with them
        compiler_digest(),
    )


def _made(built: Built, name: str) -> MadeKernel:
    lowered = built.lowered
    roots = [op for op in lowered.kernel.op.body.block.ops if isinstance(op, ParallelOp)]
    metadata = KernelMetadata(
        name=name,
        dispatch_size=(sum(op.space.volume for op in roots), 1, 1),
        arguments=lowered.arguments,
        disjoint_writes=lowered.options.noalias,
        source=built.source,
        realization=MappingProxyType({**lowered.plan.counters, "stack_bytes": built.stack.used}),
        providers=tuple(provider_lines(lowered.plan.calls)),
        refusals=built.refusals,
    )
    return MadeKernel(metadata, built, built.object())


def _stored(made: MadeKernel) -> StoredKernel:
    """How many threads there are, and who is disjoint, is known when the code is launched."""
    tasks, order = made.metadata.dispatch_size[0], tuple(range(len(made.metadata.arguments)))
    return StoredKernel(
        made.metadata, made.report.render(), tasks, 0, order, 0, frozenset(), wakes=True, code=made.code
    )  # fmt: skip

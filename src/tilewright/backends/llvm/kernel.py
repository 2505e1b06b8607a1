"""From a captured kernel to LLVM text for a CPU, every stage kept. What a device needs to run it, and what to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tilewright.backends.llvm.emit.module import emit_module
from tilewright.backends.llvm.emit.schedule import Schedule, schedule
from tilewright.backends.llvm.jit import assembly, compile_object
from tilewright.backends.llvm.machine import host_machine
from tilewright.bridge.xir.lower.kernel import Lowered, lower
from tilewright.bridge.xir.options import XirOptions
from tilewright.bridge.xir.plan import Plan, plan
from tilewright.bridge.xir.retile import assumed_disjoint, keeps_tiles, retile
from tilewright.core.abi import CompileOptions, KernelMetadata, Report
from tilewright.core.codes.unsupported import NO_DEBUG_CODE
from tilewright.core.config import config
from tilewright.core.errors import UnsupportedError, during
from tilewright.core.machine import Machine
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import span_of
from tilewright.ir.rewrite import Trace
from tilewright.ir.rewrite import run_pipeline as run_tile_passes
from tilewright.passes.pipelines import CANONICAL
from tilewright.xir.passes.pipelines import CPU_PIPELINE, FAST_MATH, FAST_MATH_PIPELINE, PassRecord, run_pipeline
from tilewright.xir.text import print_module

_SCALING_BITS = 512  # vectors of this size are AVX-512's, which scales them by powers of two

__all__ = ["CompiledKernel", "CpuReport", "compile_kernel", "overlapping"]


@dataclass(frozen=True, slots=True)
class CpuReport:
    """How a kernel became code, stage by stage."""

    passes: Trace
    plan: Plan
    xir_passes: tuple[PassRecord, ...]
    schedule: Schedule

    @property
    def uses_fast_math(self) -> bool:
        """Whether functions were expanded in the fast tier."""
        return self.plan.fast_math and any(each.changed for each in self.xir_passes if each.name == FAST_MATH.name)

    def render(self) -> str:
        """All stages as text."""
        expanded = [
            f"{each.name:<28} {each.changed:>5} changes  {each.milliseconds:8.2f} ms  {each.operations} operations"
            for each in self.xir_passes
        ]
        return "\n".join([self.passes.render(), self.plan.render(), *expanded, self.schedule.render()])


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """LLVM text and everything that stands beside it.

    argument_order: for each buffer of the entry, the argument it is; unused arguments have no buffer.
    disjoint:       pairs of arguments whose overlap the code does not expect.
    wakes:          whether a launch is worth waking workers that sleep.
    launch_bytes:   memory that all workers of a launch share, before their scratch.
    """

    metadata: KernelMetadata
    report: Report
    tasks: int
    threads: int
    argument_order: tuple[int, ...]
    scratch_bytes: int
    disjoint: frozenset[tuple[int, int]]
    wakes: bool = True
    code: bytes | None = None
    launch_bytes: int = 0

    def object(self) -> bytes:
        """Machine code for the host. Raises ToolchainError (TW510)."""
        return self.code if self.code is not None else compile_object(self.metadata.source, name=self.metadata.name)

    def assembly(self) -> str:
        """The same as text."""
        return assembly(self.metadata.source, name=self.metadata.name)


def compile_kernel(
    kernel: Kernel,
    options: CompileOptions,
    *,
    machine: Machine | None = None,
    threads: int | None = None,
    may_alias: bool = False,
) -> CompiledKernel:
    """The LLVM text of a kernel for `machine` (default: this one) and at most `threads` workers (default: the setting).

    With `may_alias` the code is right for arguments that overlap in any way. The module of `kernel` is not changed.
    Raises UnsupportedError (TW442) for `debug`, and what planning, lowering and emission raise: UnsupportedError,
    PlanError.
    """
    if options.debug:
        raise UnsupportedError(NO_DEBUG_CODE.at(span_of(kernel.op)))
    module = kernel.module.clone()
    trace = run_tile_passes(module, CANONICAL, original=kernel)
    tiles = kernel.rewritten(module, trace.digest)
    constraints = options.xir if isinstance(options.xir, XirOptions) else XirOptions()
    target, workers = machine or host_machine(), threads or config().num_threads
    assumed = frozenset[tuple[int, int]]()
    if not may_alias and not keeps_tiles(constraints, options.threads_per_group):
        with during("choosing tiles"):
            tiles, chosen = retile(tiles, workers, target, without=constraints.without)
        trace, assumed = Trace((*trace.records, *chosen.records)), assumed_disjoint(tiles, chosen)
    with during("planning for the CPU"):
        decided = plan(
            tiles,
            target,
            constraints,
            threads=workers,
            threads_per_group=options.threads_per_group,
            fast_math=options.fast_math,
            may_alias=may_alias,
        )
    with during("lowering to XIR"):
        lowered = lower(tiles, decided)
    records = run_pipeline(lowered.module, FAST_MATH_PIPELINE if options.fast_math else CPU_PIPELINE)
    with during("emitting LLVM"):
        scheduled = schedule(lowered.module)
        source = emit_module(lowered.module, scheduled, scales=target.vector_bits == _SCALING_BITS)
    report = CpuReport(trace, decided, records, scheduled)
    _dump(options.name or kernel.name, tiles, lowered, source)
    return _compiled(lowered, report, source, options.name or kernel.name, assumed)


def _compiled(
    lowered: Lowered, report: CpuReport, source: str, name: str, assumed: frozenset[tuple[int, int]]
) -> CompiledKernel:
    chosen = report.plan
    realization: Mapping[str, int | str] = {
        "lanes": str(chosen.chosen.lanes),
        "width": chosen.width,
        "tasks": lowered.tasks,
        "threads": min(chosen.threads, max(1, lowered.tasks)),
        "scratch_bytes": report.schedule.scratch_bytes,
        **({"launch_bytes": report.schedule.launch_bytes} if report.schedule.launch_bytes else {}),
        **({"vector_math": "fast"} if report.uses_fast_math else {}),
        **report.schedule.counters,
    }
    metadata = KernelMetadata(
        name=name,
        dispatch_size=(lowered.tasks, 1, 1),
        arguments=lowered.arguments,
        disjoint_writes=False,
        source=source,
        realization=MappingProxyType(realization),
        refusals=tuple(dict.fromkeys(rejection.reason for rejection in chosen.rejected)),
    )
    return CompiledKernel(
        metadata=metadata,
        report=report,
        tasks=lowered.tasks,
        threads=chosen.threads,
        argument_order=lowered.argument_order,
        scratch_bytes=report.schedule.scratch_bytes,
        disjoint=chosen.decisions.disjoint | assumed,
        wakes=chosen.wakes,
        launch_bytes=report.schedule.launch_bytes,
    )


def _dump(name: str, tiles: Kernel, lowered: Lowered, source: str) -> None:
    """Every stage as a file, where the settings name a folder."""
    folder = config().dump_dir
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    stages = {"tile": tiles.text(), "xir": print_module(lowered.module), "ll": source}
    for suffix, text in stages.items():
        (folder / f"{name}.{suffix}").write_text(text, encoding="utf-8")


def overlapping(pairs: frozenset[tuple[int, int]], ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether the memory (first byte, bytes) of two arguments of a pair meets."""
    for a, b in pairs:
        (start_a, size_a), (start_b, size_b) = ranges[a], ranges[b]
        if start_a < start_b + size_b and start_b < start_a + size_a and size_a and size_b:
            return True
    return False

"""`lower()`: a captured kernel as a module of TIRx, with what was decided on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tilewright.bridge.tirx.admission import admit
from tilewright.bridge.tirx.ahead import ask_ahead
from tilewright.bridge.tirx.door import Door, open_door
from tilewright.bridge.tirx.execution import map_execution
from tilewright.bridge.tirx.export.kernel import ENTRY, export
from tilewright.bridge.tirx.forwarding import forward_loads
from tilewright.bridge.tirx.merging import mergeable
from tilewright.bridge.tirx.nodes import Nodes
from tilewright.bridge.tirx.options import TirxOptions
from tilewright.bridge.tirx.packs import pack
from tilewright.bridge.tirx.providers.provided import provide, provider_lines
from tilewright.bridge.tirx.realised import Realised
from tilewright.bridge.tirx.sharing import Sharing, sharing_of
from tilewright.core.abi import KernelArgument
from tilewright.core.errors import during
from tilewright.ir.effects import usage
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import UpdateOp
from tilewright.ir.rewrite import Trace, run_pipeline
from tilewright.ir.types import footprint
from tilewright.passes.pipelines import CANONICAL

__all__ = ["Lowered", "Plan", "lower"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What was decided about a kernel. `declined` has a reason a place where a pass or a provider left it as it was,
    `calls` the call sites of outside functions by name.
    """

    passes: Trace
    sharing: Sharing
    execution: tuple[str, ...]
    launches: int
    counters: Mapping[str, int]
    declined: tuple[str, ...] = ()
    calls: Mapping[str, int] = field(default_factory=lambda: MappingProxyType(dict[str, int]()))

    def render(self) -> str:
        """One decision a line."""
        shared = [f"buffer: {reason}" for reason in self.sharing.reasons.values()]
        counted = [f"{name}: {count}" for name, count in self.counters.items()]
        policy = f"shared tiles: {self.sharing.policy.value}"
        lines = [self.passes.render(), policy, *shared, *self.execution, *self.declined, *counted]
        lines += provider_lines(self.calls)
        return "\n".join(line for line in lines if line)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A module with one function, `entry`, whose parameters are the arguments in order.

    `kernel` is what was exported: the captured one in canonical form. `symbols` are the C functions that it calls.
    """

    module: Any
    entry: str
    kernel: Kernel
    arguments: tuple[KernelArgument, ...]
    symbols: frozenset[str]
    options: TirxOptions
    plan: Plan

    def text(self) -> str:
        """The module as TVM prints it."""
        return str(self.module)


def lower(kernel: Kernel, options: TirxOptions | None = None) -> Lowered:
    """The TIRx of a captured kernel, whose module is not changed. Needs neither runtime nor device.

    Raises CapabilityError (TW403, TW470, TW471) when TVM cannot be used, and UnsupportedError with every reason for
    which this route does not take the kernel.
    """
    chosen = options or TirxOptions()
    door = open_door()
    own = Kernel(kernel.module.clone(), kernel.name, kernel.rewritten_source)
    trace = run_pipeline(own.module, CANONICAL)
    with during("lowering to TIRx"):
        admit(own)
        sharing = sharing_of(own, chosen.shared_ssa)
        exported = export(own, Nodes(door), sharing, {"tirx.noalias": True} if chosen.noalias else {})
        provided = provide(door, own, exported, chosen)
        forwarded = _forwarded(door, provided.function, chosen)
        ahead = _ahead(door, forwarded.function, chosen)
        mapped = map_execution(door, ahead.function, chosen.planner, in_order=_why_in_order(own))
        packed = _packed(door, mapped.function, chosen)
        merged = _merged(door, packed.function, chosen)
    module = door.tvm.IRModule({ENTRY: merged.function})
    counted = {
        **exported.counters,
        **forwarded.counters,
        **ahead.counters,
        "launches": mapped.launches,
        **packed.counters,
    }
    declined = (*provided.declined, *forwarded.declined, *ahead.declined, *packed.declined, *merged.declined)
    counters = MappingProxyType(counted)
    plan = Plan(trace, sharing, mapped.reasons, mapped.launches, counters, declined, provided.sites)
    return Lowered(module, ENTRY, own, _arguments(own), provided.symbols, chosen, plan)


def _why_in_order(kernel: Kernel) -> str:
    updates = any(isinstance(op, UpdateOp) for op in kernel.op.walk())
    return "an update is a plain read and write, which TVM cannot make atomic" if updates else ""


def _forwarded(door: Door, function: Any, options: TirxOptions) -> Realised:
    return forward_loads(door, function) if options.forward_readonly_tile_loads else Realised(function)


def _ahead(door: Door, function: Any, options: TirxOptions) -> Realised:
    return ask_ahead(door, function, noalias=options.noalias) if options.planner.enabled else Realised(function)


def _packed(door: Door, function: Any, options: TirxOptions) -> Realised:
    if not options.auto_vectorize:
        return Realised(function)
    return pack(door, function, noalias=options.noalias, budget=options.planner.max_cpu_vector_lanes)


def _merged(door: Door, function: Any, options: TirxOptions) -> Realised:
    return mergeable(door, function) if options.eliminate_common_subexpressions else Realised(function)


def _arguments(kernel: Kernel) -> tuple[KernelArgument, ...]:
    return tuple(
        KernelArgument(
            p.name, p.element, p.shape, p.strides, footprint(p.shape, p.strides) * p.element.itemsize, use, p.const
        )
        for p, use in zip(kernel.parameters, usage(kernel.op), strict=True)
    )

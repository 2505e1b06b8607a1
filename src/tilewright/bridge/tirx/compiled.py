"""`compile()`: a captured kernel as machine code through TVM, callable on memory of the host."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.bridge.tirx.door import open_door, require_functions, require_symbols
from tilewright.bridge.tirx.lowered import Lowered, lower
from tilewright.bridge.tirx.options import TirxOptions
from tilewright.bridge.tirx.packed import PackedEntry, packed_entry
from tilewright.bridge.tirx.pipeline import pipeline_of
from tilewright.bridge.tirx.providers.choices import C_FUNCTIONS
from tilewright.bridge.tirx.providers.provided import require_target
from tilewright.bridge.tirx.stack import StackPlan
from tilewright.core.codes.toolchain import TVM_REJECTED
from tilewright.core.errors import ToolchainError, during
from tilewright.core.source import UNKNOWN
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import Array

__all__ = ["Built", "Compiled", "build", "compile"]


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel in machine code that is not loaded. `source` is its LLVM after TVM's optimisation."""

    lowered: Lowered
    module: Any
    stack: StackPlan

    @property
    def source(self) -> str:
        return str(self.module.inspect_source("ll"))

    @property
    def refusals(self) -> tuple[str, ...]:
        """What was asked for and declined: places of passes, buffers beyond the stack budget, calls that were
        not proved.
        """
        left = [reason for reason in self.stack.counts if reason.startswith("left")] if self.stack.budget else []
        return (*self.lowered.plan.declined, *left)

    def render(self) -> str:
        """The plan, and what became of temporary storage: one decision a line."""
        stack = [f"temporary storage {where}: {count}" for where, count in sorted(self.stack.counts.items())]
        return "\n".join(["lowering: TIRx", self.lowered.plan.render(), *stack])

    def assembly(self) -> str:
        """The machine code as text."""
        return str(self.module.inspect_source("asm"))

    def object(self) -> bytes:
        """The machine code as an object file, which TVM writes into files only."""
        with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
            path = Path(folder) / "kernel.o"
            self.module.write_to_file(str(path), "o")
            return path.read_bytes()


@dataclass(frozen=True, slots=True)
class Compiled(Built):
    """The same, loaded by TVM."""

    entry: PackedEntry

    def launch_addresses(self, addresses: Sequence[int]) -> None:
        """Runs the kernel on the memory that begins at each address, in the order of the arguments.

        Raises DispatchError (TW654) for an address that is no multiple of the element's size.
        """
        self.entry.launch_addresses(addresses)

    def prepare(self, addresses: Sequence[int]) -> Callable[[], object]:
        """A launch on this memory that comes again and again. Raises what `launch_addresses` raises."""
        return self.entry.prepare(addresses)

    def __call__(self, *arrays: Array) -> None:
        """Runs the kernel on NumPy arrays of the captured shapes and strides, which the caller has checked."""
        self.entry.launch_addresses([int(array.__array_interface__["data"][0]) for array in arrays])


def compile(kernel: Kernel, options: TirxOptions | None = None) -> Compiled:  # noqa: A001  the word of both bridges
    """A captured kernel in machine code for this processor. Needs neither runtime nor device.

    Raises what `build` raises.
    """
    built = build(kernel, options)
    with during("loading what TVM compiled"):
        function = _guarded(built.lowered, lambda: built.module[built.lowered.entry])
    return Compiled(built.lowered, built.module, built.stack, packed_entry(built.lowered.kernel, function))


def build(kernel: Kernel, options: TirxOptions | None = None) -> Built:
    """The same without loading it.

    Raises what `lower` raises, CapabilityError for a choice of another system (TW476), for C functions that the process
    lacks (TW472) or the registry does (TW474), and ToolchainError (TW520) when TVM rejects the module.
    """
    require_target(options or TirxOptions())
    lowered = lower(kernel, options)
    door, plan = open_door(), StackPlan(lowered.options.planner.max_cpu_stack_bytes)
    require_symbols(lowered.symbols, needed_by=kernel.name)
    require_functions(door, lowered.plan.calls.keys() - C_FUNCTIONS, needed_by=kernel.name)
    target = door.tvm.target.Target({"kind": "llvm", "mcpu": door.cpu()})
    with during("compiling TIRx"), pipeline_of(door, plan) as pipeline:
        module = _guarded(lowered, lambda: door.tirx.build(lowered.module, target=target, pipeline=pipeline))
    return Built(lowered, module, plan)


def _guarded(lowered: Lowered, act: Callable[[], Any]) -> Any:
    """What TVM says of an act that it does not finish, as a coded error."""
    try:
        return act()
    except (open_door().tvm.error.InternalError, RuntimeError, TypeError, ValueError) as error:
        name = lowered.kernel.name
        raise ToolchainError(TVM_REJECTED.at(UNKNOWN, name=name, reason=str(error)), log=str(error)) from error

"""`compile()`: a captured kernel as machine code through TVM, callable on memory of the host."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tilewright.bridge.tirx.door import open_door, require_functions, require_symbols
from tilewright.bridge.tirx.export.kernel import buffer_shape
from tilewright.bridge.tirx.export.representation import in_memory
from tilewright.bridge.tirx.lowered import Lowered, lower
from tilewright.bridge.tirx.options import TirxOptions
from tilewright.bridge.tirx.pipeline import pipeline_of
from tilewright.bridge.tirx.stack import StackPlan
from tilewright.core.codes.dispatch import ARRAY_ALIGNMENT
from tilewright.core.codes.toolchain import TVM_REJECTED
from tilewright.core.errors import DispatchError, ToolchainError, during
from tilewright.core.source import UNKNOWN, user_span
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.numerics.arrays import Array

__all__ = ["Compiled", "compile"]


@dataclass(frozen=True, slots=True)
class _Slot:
    """How the memory of one argument is handed to TVM, which takes arrays."""

    index: int
    parameter: Parameter
    kind: np.dtype[Any]
    shape: tuple[int, ...]
    memory: Any

    def array(self, address: int, kernel: str) -> Array:
        """The memory that begins there; of an argument without elements, some other memory."""
        element, size, name = self.parameter.element, self.kind.itemsize, self.parameter.name
        if address % size:
            where = ARRAY_ALIGNMENT.at(
                user_span(), kernel=kernel, index=self.index, name=name, dtype=element, itemsize=size
            )
            raise DispatchError(where)
        if self.memory is None:
            return np.zeros(self.shape, self.kind)
        return np.ndarray(self.shape, self.kind, buffer=self.memory.from_address(address))


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel in machine code. `source` is its LLVM after TVM's optimisation."""

    lowered: Lowered
    module: Any
    function: Any
    stack: StackPlan
    slots: tuple[_Slot, ...]

    @property
    def source(self) -> str:
        return str(self.module.inspect_source("ll"))

    @property
    def refusals(self) -> tuple[str, ...]:
        """What was asked for and declined: places of passes, buffers beyond the stack budget, calls that were
        not proved.
        """
        left = [reason for reason in self.stack.counts if reason.startswith("left")] if self.stack.budget else []
        plan = self.lowered.plan
        return (*plan.declined, *left, *plan.providers.declined)

    def render(self) -> str:
        """The plan, and what became of temporary storage: one decision a line."""
        stack = [f"temporary storage {where}: {count}" for where, count in sorted(self.stack.counts.items())]
        return "\n".join(["lowering: TIRx", self.lowered.plan.render(), *stack])

    def assembly(self) -> str:
        """The machine code as text."""
        return str(self.module.inspect_source("asm"))

    def launch_addresses(self, addresses: Sequence[int]) -> None:
        """Runs the kernel on the memory that begins at each address, in the order of the arguments.

        Raises DispatchError (TW654) for an address that is no multiple of the element's size.
        """
        self.function(*self._arrays(addresses))

    def prepare(self, addresses: Sequence[int]) -> Callable[[], object]:
        """A launch on this memory that comes again and again: the packed entry on arguments that TVM knows already.

        Raises what `launch_addresses` raises.
        """
        tensor = open_door().ffi.from_dlpack
        return partial(self.function, *map(tensor, self._arrays(addresses)))

    def _arrays(self, addresses: Sequence[int]) -> list[Array]:
        name = self.lowered.kernel.name
        return [slot.array(address, name) for slot, address in zip(self.slots, addresses, strict=True)]

    def __call__(self, *arrays: Array) -> None:
        """Runs the kernel on NumPy arrays of the captured shapes and strides, which the caller has checked."""
        self.launch_addresses([int(array.__array_interface__["data"][0]) for array in arrays])


def _slot(index: int, parameter: Parameter) -> _Slot:
    kind, shape = np.dtype(in_memory(parameter.element)), buffer_shape(parameter)
    memory = None if 0 in parameter.shape else ctypes.c_char * (prod(shape) * kind.itemsize)
    return _Slot(index, parameter, kind, shape, memory)


def compile(kernel: Kernel, options: TirxOptions | None = None) -> Compiled:  # noqa: A001  the word of both bridges
    """A captured kernel in machine code for this processor. Needs neither runtime nor device.

    Raises what `lower` raises, CapabilityError (TW472) for C functions that the process lacks, and ToolchainError
    (TW520) when TVM rejects the module.
    """
    lowered = lower(kernel, options)
    require_symbols(lowered.symbols, needed_by=kernel.name)
    require_functions(open_door(), lowered.plan.providers.sites, needed_by=kernel.name)
    with during("compiling TIRx"):
        return _built(lowered)


def _built(lowered: Lowered) -> Compiled:
    door = open_door()
    plan = StackPlan(lowered.options.planner.max_cpu_stack_bytes)
    target = door.tvm.target.Target({"kind": "llvm", "mcpu": door.cpu()})
    try:
        with pipeline_of(door, plan) as pipeline:
            module = door.tirx.build(lowered.module, target=target, pipeline=pipeline)
        function = module[lowered.entry]
    except (door.tvm.error.InternalError, RuntimeError, TypeError, ValueError) as error:
        name = lowered.kernel.name
        raise ToolchainError(TVM_REJECTED.at(UNKNOWN, name=name, reason=str(error)), log=str(error)) from error
    slots = tuple(_slot(index, parameter) for index, parameter in enumerate(lowered.kernel.parameters))
    return Compiled(lowered, module, function, plan, slots)

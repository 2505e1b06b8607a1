"""A kernel of several phases: its launches in order, each one done before the next begins."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import cast

from tilewright.backends.simd.shader import SIMDShader
from tilewright.core.abi import KernelArgument, KernelMetadata, Usage
from tilewright.ir.kernel import Kernel
from tilewright.passes.split_phases import Launch, Step
from tilewright.runtime.interface import Binding

__all__ = ["PhasedShader"]


@dataclass(frozen=True, slots=True)
class _PhasesReport:
    """The reports of all phases."""

    phases: Sequence[SIMDShader]

    def render(self) -> str:
        """Phase by phase."""
        count = len(self.phases)
        return "\n".join(f"phase {i + 1} of {count}\n{phase.report.render()}" for i, phase in enumerate(self.phases))


class PhasedShader:
    """A native shader that runs others one after the other on the same arguments, in loops where the kernel says so."""

    def __init__(self, arguments: int, steps: Sequence[Step], make: Callable[[Kernel], SIMDShader]) -> None:
        """A kernel of so many arguments, as its steps. `make` compiles the kernel of one launch."""
        self._steps = tuple(steps)
        self._shaders = {id(launch): make(launch.kernel) for launch in _launches(steps)}
        self._phases = tuple(self._shaders.values())
        self._metadata = _merged([phase.metadata for phase in self._phases], arguments)

    @property
    def metadata(self) -> KernelMetadata:
        return self._metadata

    @property
    def report(self) -> _PhasesReport:
        return _PhasesReport(self._phases)

    def launch(self, bindings: Sequence[Binding], /) -> None:
        """Runs every phase and returns when the last is done."""
        self.launch_addresses([cast("int", each.buffer.address) + each.byte_offset for each in bindings])

    def launch_addresses(self, addresses: Sequence[int], /) -> None:
        """The same on the memory that begins at each address, in the order of the arguments."""
        self._run(self._steps, list(addresses), ())

    def _run(self, steps: Sequence[Step], addresses: list[int], indices: tuple[int, ...]) -> None:
        """`indices` are the values of the loops around."""
        for step in steps:
            if isinstance(step, Launch):
                cells = (ctypes.c_int64 * max(1, len(indices)))(*indices)
                start = ctypes.addressof(cells)
                numbers = [start + 8 * place for place in range(len(indices))]
                self._shaders[id(step)].launch_addresses([*addresses, *numbers])
                continue
            for point in product(*map(range, step.extents)):
                self._run(step.steps, addresses, (*indices, *point))

    def assembly(self) -> str:
        return "\n".join(phase.assembly() for phase in self._phases)

    def close(self) -> None:
        for phase in self._phases:
            phase.close()


def _launches(steps: Sequence[Step]) -> Iterator[Launch]:
    for step in steps:
        if isinstance(step, Launch):
            yield step
        else:
            yield from _launches(step.steps)


def _merged(parts: Sequence[KernelMetadata], count: int) -> KernelMetadata:
    """What the phases do together to the kernel's own arguments: every use, all tasks, all sources."""
    usages = [_together([part.arguments[place].usage for part in parts]) for place in range(count)]
    arguments: list[KernelArgument] = [
        replace(argument, usage=use) for argument, use in zip(parts[0].arguments[:count], usages, strict=True)
    ]
    counters = {
        f"phase {i + 1} {name}": value for i, part in enumerate(parts) for name, value in part.realization.items()
    }
    return replace(
        parts[0],
        dispatch_size=(sum(part.dispatch_size[0] for part in parts), 1, 1),
        arguments=tuple(arguments),
        source="\n".join(part.source for part in parts),
        realization=MappingProxyType({"launches": len(parts), **counters}),
        refusals=tuple(dict.fromkeys(reason for part in parts for reason in part.refusals)),
    )


def _together(uses: Sequence[Usage]) -> Usage:
    found = Usage.NONE
    for use in uses:
        found |= use
    return found

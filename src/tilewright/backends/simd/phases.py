"""A kernel of several phases: its launches in order, each one done before the next begins."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tilewright.backends.simd.shader import SIMDShader
from tilewright.core.abi import KernelArgument, KernelMetadata, Usage
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
    """A native shader that runs others one after the other on the same arguments."""

    def __init__(self, phases: Sequence[SIMDShader]) -> None:
        self._phases = tuple(phases)
        self._metadata = _merged([phase.metadata for phase in phases])

    @property
    def metadata(self) -> KernelMetadata:
        return self._metadata

    @property
    def report(self) -> _PhasesReport:
        return _PhasesReport(self._phases)

    def launch(self, bindings: Sequence[Binding], /) -> None:
        """Runs every phase and returns when the last is done."""
        for phase in self._phases:
            phase.launch(bindings)

    def launch_addresses(self, addresses: Sequence[int], /) -> None:
        """The same on the memory that begins at each address, in the order of the arguments."""
        for phase in self._phases:
            phase.launch_addresses(addresses)

    def assembly(self) -> str:
        return "\n".join(phase.assembly() for phase in self._phases)

    def close(self) -> None:
        for phase in self._phases:
            phase.close()


def _merged(parts: Sequence[KernelMetadata]) -> KernelMetadata:
    """What the phases do together: every use of an argument, all tasks, all sources."""
    usages = [_together(uses) for uses in zip(*([a.usage for a in part.arguments] for part in parts), strict=True)]
    arguments: list[KernelArgument] = [
        replace(argument, usage=use) for argument, use in zip(parts[0].arguments, usages, strict=True)
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

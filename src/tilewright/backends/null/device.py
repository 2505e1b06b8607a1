"""The null device: real memory, real compilation, no execution. For machines that only look at the code."""

from collections.abc import Callable, Sequence
from typing import Protocol

from tilewright.core.abi import CompileOptions, KernelMetadata, Lowering, Report
from tilewright.core.codes.dispatch import NOT_DISPATCHABLE
from tilewright.core.codes.unsupported import NO_TILE_COMPILER
from tilewright.core.errors import CapabilityError, DispatchError
from tilewright.core.source import user_span
from tilewright.runtime.hostmemory import HostMemory
from tilewright.runtime.interface import Binding, NativeShader

__all__ = ["CompileStep", "Compiled", "NullDevice", "NullShader", "compile_for_simd"]


class Compiled(Protocol):
    """Code that is not loaded."""

    @property
    def metadata(self) -> KernelMetadata: ...
    @property
    def report(self) -> Report: ...
    def assembly(self) -> str: ...


CompileStep = Callable[[object, CompileOptions], Compiled]


def compile_for_simd(kernel: object, options: CompileOptions, /) -> Compiled:
    """The compilation of the `simd` device. The one place that connects the null device to a compiler.

    Raises CapabilityError (TW401) for what is no kernel or another lowering, else what the native route raises.
    """
    # Late, because memory and copies need no compiler.
    from tilewright.backends.llvm.kernel import compile_kernel
    from tilewright.ir.kernel import Kernel

    if not isinstance(kernel, Kernel):
        raise CapabilityError(NO_TILE_COMPILER.at(user_span(), device=f"null, given {type(kernel).__name__},"))
    if options.lowering is not Lowering.NATIVE:
        what = f"null with lowering {options.lowering.name}"
        raise CapabilityError(NO_TILE_COMPILER.at(user_span(), device=what))
    return compile_kernel(kernel, options)


class NullShader:
    """A compiled kernel whose launch refuses (DispatchError, TW635)."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled

    @property
    def metadata(self) -> KernelMetadata:
        return self._compiled.metadata

    @property
    def report(self) -> Report:
        return self._compiled.report

    def launch(self, _bindings: Sequence[Binding], /) -> None:
        raise DispatchError(NOT_DISPATCHABLE.at(user_span(), kernel=self.metadata.name, device="null"))

    def assembly(self) -> str:
        return self._compiled.assembly()

    def close(self) -> None:
        """Nothing was loaded."""


class NullDevice(HostMemory):
    """Compiles for the `simd` device and copies host memory; dispatches nothing."""

    name = "null"

    def __init__(self, compile_step: CompileStep = compile_for_simd) -> None:
        super().__init__(self.name)
        self._compile_step = compile_step

    def create_tile_kernel(self, kernel: object, options: CompileOptions, /) -> NativeShader:
        """Raises what the compilation raises."""
        return NullShader(self._compile_step(kernel, options))

"""The null device: real memory, real compilation, no execution. For machines that only look at the code."""

from collections.abc import Callable, Sequence

from tilewright.core.abi import CompileOptions, KernelMetadata, Report
from tilewright.core.codes.dispatch import NOT_DISPATCHABLE
from tilewright.core.codes.unsupported import NO_TILE_COMPILER
from tilewright.core.errors import CapabilityError, DispatchError
from tilewright.core.source import user_span
from tilewright.runtime.hostmemory import HostMemory
from tilewright.runtime.interface import Binding, NativeShader

__all__ = ["NullDevice", "NullShader", "compile_for_simd"]

CompileStep = Callable[[object, CompileOptions], NativeShader]


def compile_for_simd(_kernel: object, _options: CompileOptions, /) -> NativeShader:
    """The compilation that the `simd` device does, from what lies below both devices: `bridge.xir`, `backends.llvm`.

    The one place that connects the null device to a compiler. Raises CapabilityError (TW401).
    """
    raise CapabilityError(NO_TILE_COMPILER.at(user_span(), device="null"))


class NullShader:
    """A compiled kernel whose launch refuses (DispatchError, TW635)."""

    def __init__(self, compiled: NativeShader) -> None:
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
        self._compiled.close()


class NullDevice(HostMemory):
    """Compiles for the `simd` device and copies host memory; dispatches nothing."""

    name = "null"

    def __init__(self, compile_step: CompileStep = compile_for_simd) -> None:
        super().__init__(self.name)
        self._compile_step = compile_step

    def create_tile_kernel(self, kernel: object, options: CompileOptions, /) -> NativeShader:
        """Raises what the compilation raises."""
        return NullShader(self._compile_step(kernel, options))

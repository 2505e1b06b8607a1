"""The `simd` device: the CPU this process runs on, through the native route."""

from functools import partial

from tilewright.backends.llvm.store import stored_kernel
from tilewright.backends.simd.debug import DebugShader
from tilewright.backends.simd.direct import ArrayCalls, array_calls
from tilewright.backends.simd.phases import PhasedShader
from tilewright.backends.simd.shader import SIMDShader
from tilewright.core.abi import CompileOptions, Lowering
from tilewright.core.codes.unsupported import NO_TILE_COMPILER
from tilewright.core.errors import CapabilityError
from tilewright.core.source import user_span
from tilewright.ir.kernel import Kernel
from tilewright.passes.split_phases import Launch, steps_of
from tilewright.runtime.hostmemory import HostMemory
from tilewright.runtime.interface import AddressableShader

__all__ = ["SIMDDevice"]


class SIMDDevice(HostMemory):
    """Host memory, and kernels in machine code on all cores."""

    name = "simd"

    def __init__(self) -> None:
        super().__init__(self.name)

    def create_tile_kernel(self, kernel: object, options: CompileOptions, /) -> AddressableShader:
        """Raises what the lowering raises: UnsupportedError, PlanError, CapabilityError, ToolchainError."""
        if not isinstance(kernel, Kernel):
            raise CapabilityError(
                NO_TILE_COMPILER.at(user_span(), device=f"{self.name}, given {type(kernel).__name__},")
            )
        if options.debug:
            return DebugShader(kernel, options.name or kernel.name)
        if options.lowering is Lowering.TIRX:
            from tilewright.backends.simd.tirx import tirx_shader  # optional, and slow to import

            return tirx_shader(kernel, options)
        steps = steps_of(kernel)
        make = partial(_shader, options=options, may_alias=False)
        return make(kernel) if steps == (Launch(kernel),) else PhasedShader(len(kernel.parameters), steps, make)

    def create_direct_table(self) -> ArrayCalls | None:
        """A table of direct calls, served by generated code."""
        return array_calls()


def _shader(kernel: Kernel, options: CompileOptions, *, may_alias: bool) -> SIMDShader:
    compiled = stored_kernel(kernel, options, may_alias=may_alias)
    return SIMDShader(compiled, partial(_shader, kernel, options, may_alias=True))

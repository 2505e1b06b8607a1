"""`compile`: a captured kernel and a device give a shader, or one coded refusal."""

from typing import Unpack

from tilewright.core.abi import CompileOptions, KernelArgument, KernelMetadata, Usage
from tilewright.core.codes.unsupported import COMPILE_ONLY, NOT_COMPILABLE
from tilewright.core.diagnostics import render
from tilewright.core.errors import PlanError, TilewrightError, UnsupportedError, during
from tilewright.core.source import user_span
from tilewright.ir.effects import usage
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.ir.types import footprint
from tilewright.lang.kernel import KernelDefinition
from tilewright.runtime.device import Device
from tilewright.runtime.interface import NativeShader
from tilewright.runtime.shader import RefusedShader, Shader

from .options import OptionFields, read_options, require_route

__all__ = ["compile", "compile_with"]


def compile(device: Device, kernel: Kernel, **options: Unpack[OptionFields]) -> Shader:  # noqa: A001  the user's word
    """The shader of a captured kernel on a device. The keywords are the fields of CompileOptions.

    With `check=False` a kernel that cannot be compiled gives a falsy shader whose `metadata.error` says why. What is
    wrong with the request itself is raised all the same: TW404 to TW407.

    Raises, in the order of the checks: KernelError for a module that breaks a rule of TileIR, UnsupportedError
    (TW402) for `compile_only`, CapabilityError (TW403, TW470, TW471) for a lowering that is not installed,
    CapabilityError (TW401) for a device without a compiler, and what that compiler raises.
    """
    _require_operands(device, kernel)
    return compile_with(device, kernel, read_options(options))


def compile_with(device: Device, kernel: Kernel, options: CompileOptions) -> Shader:
    """The same with options that are read already."""
    try:
        return Shader(device, _native(device, kernel, options))
    except TilewrightError as error:
        if options.check:
            raise
        return Shader(device, _refused(kernel, options, error))


def _require_operands(device: object, kernel: object) -> None:
    if not isinstance(device, Device):
        remedy = 'make one with create_device("simd")'
        raise _wrong("a device first", device, remedy)
    if isinstance(kernel, KernelDefinition):
        remedy = f"capture it for the shapes of its arguments first, as in {kernel.name}.capture(...)"
        raise _wrong("a captured kernel", kernel, remedy)
    if not isinstance(kernel, Kernel):
        remedy = "capture one from a function decorated with @tile.kernel"
        raise _wrong("a captured kernel", kernel, remedy)


def _wrong(expected: str, got: object, remedy: str) -> UnsupportedError:
    shown = repr(got) if isinstance(got, KernelDefinition) else f"a {type(got).__name__}"
    return UnsupportedError(NOT_COMPILABLE.at(user_span(), expected=expected, got=shown, remedy=remedy))


def _native(device: Device, kernel: Kernel, options: CompileOptions) -> NativeShader:
    with during(f"compiling {options.name or kernel.name} for device {device.name}"):
        kernel.require_sound()
        if options.compile_only:
            raise UnsupportedError(COMPILE_ONLY.at(user_span(), kernel=kernel.name))
        require_route(options)
        return device.create_tile_kernel(kernel, options)


def _refused(kernel: Kernel, options: CompileOptions, error: TilewrightError) -> RefusedShader:
    rejections = [str(each) for each in error.rejections] if isinstance(error, PlanError) else []
    metadata = KernelMetadata(
        name=options.name or kernel.name,
        dispatch_size=(0, 0, 0),
        arguments=_arguments(kernel),
        disjoint_writes=False,
        source="",
        realization={},
        refusals=(*map(render, error.diagnostics[1:]), *rejections),
        error=error.diagnostic,
    )
    return RefusedShader(metadata, error.diagnostic)


def _arguments(kernel: Kernel) -> tuple[KernelArgument, ...]:
    return tuple(map(_argument, kernel.parameters, usage(kernel.op)))


def _argument(parameter: Parameter, used: Usage) -> KernelArgument:
    size = footprint(parameter.shape, parameter.strides) * parameter.element.itemsize
    facts = parameter.element, parameter.shape, parameter.strides, size, used, parameter.const
    return KernelArgument(parameter.name, *facts)

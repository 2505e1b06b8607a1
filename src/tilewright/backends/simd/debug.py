"""`debug=True`: the kernel runs in the interpreter, on the caller's memory, with every check it knows.

An access outside its array, a read of what was never written, a division by zero and two programs that touch one cell
end in an error that names array, dimension, index, extent and program.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import numpy as np

from tilewright.core.abi import KernelArgument, KernelMetadata
from tilewright.interp.machine import Checks
from tilewright.interp.run import run
from tilewright.ir.effects import usage
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.numerics.arrays import Array, numpy_dtype
from tilewright.runtime.interface import Binding

__all__ = ["DebugShader"]


@dataclass(frozen=True, slots=True)
class _DebugReport:
    """What there is to say of a kernel that is not compiled."""

    kernel: Kernel

    def render(self) -> str:
        """The program that the interpreter runs."""
        return f"debug: interpreted with checks of bounds, races and unwritten reads\n{self.kernel.text(short=True)}"


class DebugShader:
    """A native shader that interprets. Programs run one after the other, in order."""

    def __init__(self, kernel: Kernel, name: str) -> None:
        self._kernel = kernel
        uses = usage(kernel.op)
        arguments = tuple(
            KernelArgument(p.name, p.element, p.shape, p.strides, _footprint(p), use, p.const)
            for p, use in zip(kernel.parameters, uses, strict=True)
        )
        self._metadata = KernelMetadata(
            name=name,
            dispatch_size=(1, 1, 1),
            arguments=arguments,
            disjoint_writes=False,
            source=kernel.text(),
            realization=MappingProxyType({"interpreted": 1}),
        )

    @property
    def metadata(self) -> KernelMetadata:
        return self._metadata

    @property
    def report(self) -> _DebugReport:
        return _DebugReport(self._kernel)

    def launch(self, bindings: Sequence[Binding], /) -> None:
        """Runs the kernel. Raises EffectError (TW340-TW343) at the first violation; what was written before stays."""
        self.launch_addresses([cast("int", each.buffer.address) + each.byte_offset for each in bindings])

    def launch_addresses(self, addresses: Sequence[int], /) -> None:
        """The same on the memory that begins at each address, in the order of the arguments."""
        arrays = [_array(p, address) for p, address in zip(self._kernel.parameters, addresses, strict=True)]
        run(self._kernel, arrays, check=Checks(races=True))

    def assembly(self) -> str:
        return ""

    def close(self) -> None:
        """Nothing is held."""


def _footprint(parameter: Parameter) -> int:
    """Bytes from the first element to the end of the last."""
    if 0 in parameter.shape:
        return 0
    reach = sum((n - 1) * step for n, step in zip(parameter.shape, parameter.strides, strict=True))
    return (reach + 1) * parameter.element.itemsize


def _array(parameter: Parameter, address: int) -> Array:
    dtype, size = numpy_dtype(parameter.element), _footprint(parameter)
    if not size:
        return np.empty(parameter.shape, dtype)
    memory = (ctypes.c_char * size).from_address(address)
    strides = tuple(step * parameter.element.itemsize for step in parameter.strides)
    return np.ndarray(parameter.shape, dtype, buffer=memoryview(memory), strides=strides)

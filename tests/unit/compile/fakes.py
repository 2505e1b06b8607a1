"""A device that plans like the `simd` device and then interprets, so that calls are tested without machine code."""

from collections.abc import Sequence
from ctypes import c_char
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tilewright.bridge.xir.options import XirOptions
from tilewright.bridge.xir.plan import Plan, plan
from tilewright.core.abi import CompileOptions, KernelArgument, KernelMetadata
from tilewright.core.machine import GENERIC_AVX512
from tilewright.interp import run
from tilewright.ir.effects import usage
from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import Array, numpy_dtype
from tilewright.runtime.hostmemory import HostMemory
from tilewright.runtime.interface import Binding


@dataclass
class InterpretedShader:
    kernel: Kernel
    metadata: KernelMetadata
    report: Plan

    def launch(self, bindings: Sequence[Binding], /) -> None:
        self.launch_addresses([(binding.buffer.address or 0) + binding.byte_offset for binding in bindings])

    def launch_addresses(self, addresses: Sequence[int], /) -> None:
        run(self.kernel, [_array(*pair) for pair in zip(self.metadata.arguments, addresses, strict=True)])

    def assembly(self) -> str:
        return "interpreted"

    def close(self) -> None:
        pass


def _array(argument: KernelArgument, address: int) -> Array:
    dtype = numpy_dtype(argument.element)
    if not prod(argument.shape):
        return np.empty(argument.shape, dtype)
    last = sum((extent - 1) * step for extent, step in zip(argument.shape, argument.strides, strict=True))
    memory = (c_char * ((last + 1) * dtype.itemsize)).from_address(address)
    steps = [step * dtype.itemsize for step in argument.strides]
    return np.ndarray(argument.shape, dtype, memoryview(memory), strides=steps)


@dataclass
class InterpretingDevice(HostMemory):
    """Remembers what it compiled, with which options."""

    name: str = "interpreting"
    compiled: list[tuple[Kernel, CompileOptions]] = field(default_factory=list[tuple[Kernel, CompileOptions]])

    def __post_init__(self) -> None:
        super().__init__(self.name)

    def create_tile_kernel(self, kernel: object, options: CompileOptions, /) -> InterpretedShader:
        assert isinstance(kernel, Kernel)
        xir: Any = options.xir or XirOptions()
        report = plan(kernel, GENERIC_AVX512, xir, threads=2, threads_per_group=options.threads_per_group)
        self.compiled.append((kernel, options))
        facts: dict[str, Any] = {"disjoint_writes": False, "source": "", "realization": {}}
        metadata = KernelMetadata(options.name or kernel.name, (1, 1, 1), _arguments(kernel), **facts)
        return InterpretedShader(kernel, metadata, report)


def _arguments(kernel: Kernel) -> tuple[KernelArgument, ...]:
    return tuple(
        KernelArgument(p.name, p.element, p.shape, p.strides, prod(p.shape) * p.element.itemsize, used, p.const)
        for p, used in zip(kernel.parameters, usage(kernel.op), strict=True)
    )

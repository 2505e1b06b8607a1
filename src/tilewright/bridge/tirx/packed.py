"""The packed entry of machine code: a function of TVM's registry that takes arrays, fed with memory of the host."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tilewright.bridge.tirx.door import open_door
from tilewright.bridge.tirx.export.kernel import buffer_shape
from tilewright.bridge.tirx.export.representation import in_memory
from tilewright.core.codes.dispatch import ARRAY_ALIGNMENT
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span
from tilewright.ir.kernel import Kernel, Parameter
from tilewright.numerics.arrays import Array

__all__ = ["PackedEntry", "packed_entry"]


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
class PackedEntry:
    """A function of the registry, and the arguments that it takes."""

    kernel: str
    function: Any
    slots: tuple[_Slot, ...]

    def launch_addresses(self, addresses: Sequence[int]) -> None:
        """Runs the kernel on the memory that begins at each address, in the order of the arguments.

        Raises DispatchError (TW654) for an address that is no multiple of the element's size.
        """
        self.function(*self._arrays(addresses))

    def prepare(self, addresses: Sequence[int]) -> Callable[[], object]:
        """A launch on this memory that comes again and again, on arguments that TVM knows already.

        Raises what `launch_addresses` raises.
        """
        return partial(self.function, *map(open_door().ffi.from_dlpack, self._arrays(addresses)))

    def _arrays(self, addresses: Sequence[int]) -> list[Array]:
        return [slot.array(address, self.kernel) for slot, address in zip(self.slots, addresses, strict=True)]


def packed_entry(kernel: Kernel, function: Any) -> PackedEntry:
    """The entry of a kernel; `function` was made of it."""
    return PackedEntry(kernel.name, function, tuple(_slot(*each) for each in enumerate(kernel.parameters)))


def _slot(index: int, parameter: Parameter) -> _Slot:
    kind, shape = np.dtype(in_memory(parameter.element)), buffer_shape(parameter)
    memory = None if 0 in parameter.shape else ctypes.c_char * (prod(shape) * kind.itemsize)
    return _Slot(index, parameter, kind, shape, memory)

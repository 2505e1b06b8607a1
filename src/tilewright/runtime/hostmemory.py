"""Buffers in host memory, for the devices that work there."""

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.core.codes.dispatch import OUT_OF_MEMORY
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span

from .interface import NativeBuffer

__all__ = ["ALIGNMENT_BYTES", "HostBuffer", "HostMemory"]

ALIGNMENT_BYTES = 64  # a cache line, and the widest vector load


@dataclass(frozen=True, slots=True, eq=False)
class HostBuffer:
    """A native buffer in host memory. Its address is a multiple of ALIGNMENT_BYTES, also for 0 bytes."""

    handle: int
    address: int
    size_bytes: int
    data: npt.NDArray[np.uint8]


class HostMemory:
    """The buffer half of a DeviceInterface: allocation, and copies that release the interpreter's lock."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._handles = itertools.count(1)
        self._living: dict[int, HostBuffer] = {}

    def create_buffer(self, size_bytes: int, /) -> HostBuffer:
        """Raises DispatchError (TW636) when there is not enough memory."""
        try:
            data = np.empty(size_bytes + ALIGNMENT_BYTES, np.uint8)
        except (MemoryError, ValueError, OverflowError) as error:
            raise DispatchError(
                OUT_OF_MEMORY.at(user_span(), device=f"device {self._device}", size_bytes=size_bytes)
            ) from error
        skip = -data.ctypes.data % ALIGNMENT_BYTES
        aligned = data[skip : skip + size_bytes]
        buffer = HostBuffer(next(self._handles), data.ctypes.data + skip, size_bytes, aligned)
        self._living[buffer.handle] = buffer
        return buffer

    def destroy_buffer(self, buffer: NativeBuffer, /) -> None:
        del self._living[buffer.handle]

    def upload(self, buffer: NativeBuffer, offset: int, source: memoryview, /) -> None:
        np.copyto(self._bytes(buffer, offset, source.nbytes), _array(source))

    def download(self, buffer: NativeBuffer, offset: int, destination: memoryview, /) -> None:
        np.copyto(_array(destination), self._bytes(buffer, offset, destination.nbytes))

    def copy(
        self, source: NativeBuffer, source_offset: int, destination: NativeBuffer, offset: int, size_bytes: int, /
    ) -> None:
        np.copyto(self._bytes(destination, offset, size_bytes), self._bytes(source, source_offset, size_bytes))

    def close(self) -> None:
        self._living.clear()

    def _bytes(self, buffer: NativeBuffer, offset: int, size_bytes: int) -> npt.NDArray[np.uint8]:
        return self._living[buffer.handle].data[offset : offset + size_bytes]


def _array(memory: memoryview) -> npt.NDArray[np.uint8]:
    return np.asarray(memory, np.uint8)

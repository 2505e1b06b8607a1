"""What a backend gives the runtime: native buffers, native shaders, a device, and an optional compiler.

Everything here is synchronous. Order, threads, lifetimes and checks are the runtime's; a backend does one thing at a
time on whatever thread it is called from. Two rules bind every backend:

- `destroy_buffer` and `NativeShader.close` may be called by Python's garbage collection in the middle of any other
  call on the same thread, so locks inside a backend are reentrant;
- after `close` a device is never called again: the runtime keeps it open until the last buffer, shader and stream is
  gone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tilewright.core.abi import CompileOptions, KernelMetadata, Report

__all__ = [
    "AddressableShader", "Binding", "DeviceInterface", "NativeBuffer", "NativeShader", "PreparedShader",
    "TileKernelFactory",
]  # fmt: skip


class NativeBuffer(Protocol):
    """Memory of one device. `handle` is unique on the device; `address` is the host address where there is one."""

    @property
    def handle(self) -> int: ...
    @property
    def address(self) -> int | None: ...
    @property
    def size_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Binding:
    """One argument of a launch: `size_bytes` bytes of `buffer` from `byte_offset` on, aligned to the element only."""

    buffer: NativeBuffer
    byte_offset: int
    size_bytes: int


class NativeShader(Protocol):
    """A compiled kernel."""

    @property
    def metadata(self) -> KernelMetadata: ...
    @property
    def report(self) -> Report: ...

    def launch(self, bindings: Sequence[Binding], /) -> None:
        """Runs to completion. `bindings` follow `metadata.arguments` and were checked. Raises TilewrightError."""
        ...

    def assembly(self) -> str:
        """The machine code as text."""
        ...

    def close(self) -> None:
        """Frees the code. Called once, never during a launch."""
        ...


class AddressableShader(NativeShader, Protocol):
    """The optional ability of a shader to run on host memory that no buffer owns, for direct calls."""

    def launch_addresses(self, addresses: Sequence[int], /) -> None:
        """As `launch`, on the argument that begins at each address, in the order of `metadata.arguments`.

        Called by many threads at once. Whoever calls keeps the memory alive; it was checked against the metadata, but
        arguments may overlap.
        """
        ...


@runtime_checkable
class PreparedShader(Protocol):
    """The optional ability of a shader to prepare a launch that comes again and again."""

    def prepare(self, addresses: Sequence[int], /) -> Callable[[], object]:
        """`launch` on arguments that begin at these addresses, as a function without arguments; as a CodeCall (see
        `inline`) where it is that.

        Called while the shader and the memory are alive, by any number of threads at once; keeps neither alive.
        """
        ...


class DeviceInterface(Protocol):
    """A device. Ranges are in bytes, in bounds, and may be empty; a buffer may have 0 bytes."""

    @property
    def name(self) -> str: ...

    def create_buffer(self, size_bytes: int, /) -> NativeBuffer: ...
    def destroy_buffer(self, buffer: NativeBuffer, /) -> None: ...
    def upload(self, buffer: NativeBuffer, offset: int, source: memoryview, /) -> None: ...
    def download(self, buffer: NativeBuffer, offset: int, destination: memoryview, /) -> None: ...

    def copy(
        self, source: NativeBuffer, source_offset: int, destination: NativeBuffer, offset: int, size_bytes: int, /
    ) -> None:
        """Copies between ranges that do not overlap."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class TileKernelFactory(Protocol):
    """The optional ability of a device to compile tile kernels."""

    def create_tile_kernel(self, kernel: object, options: CompileOptions, /) -> NativeShader:
        """Compiles for this device or raises UnsupportedError, PlanError or ToolchainError; never another route."""
        ...

"""A device whose memory can be seen, and shaders that are Python functions on that memory."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.backends.null.device import NullShader
from tilewright.core.abi import KernelArgument, KernelMetadata, Usage
from tilewright.core.diagnostics import Diagnostic
from tilewright.core.dtypes import DType, f32
from tilewright.core.errors import TilewrightError
from tilewright.runtime.device import Device
from tilewright.runtime.hostmemory import HostBuffer, HostMemory
from tilewright.runtime.interface import Binding
from tilewright.runtime.shader import Shader
from tilewright.runtime.stream import Stream

Bytes = npt.NDArray[np.uint8]
Body = Callable[[list[Bytes]], object]


class FakeDevice(HostMemory):
    """Host memory that counts what is alive; destroyed memory is overwritten, so that a late use shows."""

    name = "fake"

    def __init__(self) -> None:
        super().__init__(self.name)
        self.alive: dict[int, HostBuffer] = {}
        self.destroyed: list[int] = []
        self.closed = 0

    def create_buffer(self, size_bytes: int, /) -> HostBuffer:
        buffer = super().create_buffer(size_bytes)
        self.alive[buffer.handle] = buffer
        return buffer

    def destroy_buffer(self, buffer: object, /) -> None:
        assert isinstance(buffer, HostBuffer)
        del self.alive[buffer.handle]
        self.destroyed.append(buffer.handle)
        buffer.data[:] = 0xDD
        super().destroy_buffer(buffer)

    def close(self) -> None:
        assert not self.alive
        self.closed += 1
        super().close()


class FakeReport:
    def render(self) -> str:
        return "a fake report"


@dataclass
class FakeShader:
    """Calls `body` with the bytes of every binding. `launches` records the bindings."""

    metadata: KernelMetadata
    body: Body
    report: FakeReport = field(default_factory=FakeReport)
    launches: list[Sequence[Binding]] = field(default_factory=list[Sequence[Binding]])
    closed: int = 0

    def launch(self, bindings: Sequence[Binding], /) -> None:
        assert not self.closed
        self.launches.append(bindings)
        self.body([seen(binding) for binding in bindings])

    def assembly(self) -> str:
        return "fake assembly"

    def close(self) -> None:
        self.closed += 1


def seen(binding: Binding) -> Bytes:
    assert isinstance(binding.buffer, HostBuffer)
    return binding.buffer.data[binding.byte_offset : binding.byte_offset + binding.size_bytes]


def argument(
    name: str, count: int, usage: Usage = Usage.READ_WRITE, element: type[DType] = f32, const: bool = False
) -> KernelArgument:
    return KernelArgument(name, element, (count,), (1,), count * element.itemsize, usage, const)


def metadata(
    *arguments: KernelArgument, name: str = "fake", disjoint_writes: bool = False, error: Diagnostic | None = None
) -> KernelMetadata:
    return KernelMetadata(name, (1, 1, 1), arguments, disjoint_writes, "", {}, error=error)


def nothing(arguments: list[Bytes]) -> None:
    """A body that touches nothing."""


def make_shader(
    device: Device, *arguments: KernelArgument, body: Body = nothing, name: str = "fake", disjoint_writes: bool = False
) -> Shader:
    return Shader(device, FakeShader(metadata(*arguments, name=name, disjoint_writes=disjoint_writes), body))


def add_one(arguments: list[Bytes]) -> None:
    """x += 1 over the whole f32 binding."""
    arguments[0].view(np.float32)[:] += 1


def null_shader(device: Device) -> Shader:
    """What the null device makes of a compiled kernel."""
    return Shader(device, NullShader(FakeShader(metadata(name="gemm"), nothing)))


class Gate:
    """Holds the stream that runs `wait` until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened = threading.Event()

    def wait(self) -> None:
        self.reached.set()
        assert self._opened.wait(30)

    def open(self) -> None:
        self._opened.set()


def waited_for(stream: Stream) -> bool:
    """Whether somebody waits inside `synchronize`."""
    queue: Any = stream
    for name in ("_queue", "_inner"):
        queue = getattr(queue, name, queue)
    return bool(queue._waiting)


def synchronizing(stream: Stream, errors: list[str] | None = None) -> threading.Thread:
    """A thread inside `stream.synchronize()` or through it, which puts the code that comes out into `errors`."""

    def wait() -> None:
        try:
            stream.synchronize()
        except TilewrightError as error:
            (errors if errors is not None else []).append(error.diagnostic.code.id)

    thread = threading.Thread(target=wait)
    thread.start()
    while thread.is_alive() and not waited_for(stream):
        pass
    return thread

"""Devices: where everything else is made."""

from types import TracebackType
from typing import Self

from tilewright.core.abi import CompileOptions
from tilewright.core.codes.dispatch import USE_AFTER_CLOSE
from tilewright.core.codes.unsupported import NO_TILE_COMPILER
from tilewright.core.dtypes import DType
from tilewright.core.errors import CapabilityError, DispatchError
from tilewright.core.source import user_span

from .buffer import Buffer
from .capability import StreamTag
from .context import DeviceContext
from .event import Event, TimelineEvent
from .interface import DeviceInterface, NativeShader, TileKernelFactory
from .registry import open_device
from .stream import Stream

__all__ = ["Device", "create_device"]


class Device:
    """A handle to one device. What it makes keeps the device itself open, so the handle may be dropped or closed."""

    def __init__(self, native: DeviceInterface, *, validate: bool = True) -> None:
        self._context: DeviceContext | None = DeviceContext(native, validate=validate)
        self.name = native.name

    def __repr__(self) -> str:
        return f"<{'closed ' * self.closed}device {self.name}>"

    @property
    def context(self) -> DeviceContext:
        """What everything of the device shares. Raises DispatchError (TW602) when the handle is closed."""
        if self._context is None:
            raise DispatchError(USE_AFTER_CLOSE.at(user_span(), what=f"device {self.name}"))
        return self._context

    @property
    def closed(self) -> bool:
        return self._context is None

    def create_buffer(self, dtype: type[DType], size: int) -> Buffer:
        """A buffer of `size` elements of `dtype`, its contents unspecified; 0 elements are allowed.

        Raises DispatchError: TW602 closed, TW604 not a count, TW605 not an element type, TW636 out of memory.
        """
        return Buffer(self.context, dtype, size)

    def create_stream(self, tag: StreamTag = StreamTag.COMPUTE) -> Stream:
        """A stream for commands of this tag or a lesser one. Raises DispatchError (TW602) when closed."""
        return Stream(self.context, tag)

    def create_event(self) -> Event:
        """An event that counts its own signals. Raises DispatchError (TW602) when closed."""
        return Event(self.context)

    def create_timeline(self) -> TimelineEvent:
        """An event with explicit values. Raises DispatchError (TW602) when closed."""
        return TimelineEvent(self.context)

    def create_tile_kernel(self, kernel: object, options: CompileOptions) -> NativeShader:
        """Compiles a tile kernel with this device's own compiler, if it has one.

        Raises DispatchError (TW602) when closed, CapabilityError (TW401) without a compiler, and whatever the
        compiler raises.
        """
        factory = self.context.native
        if not isinstance(factory, TileKernelFactory):
            raise CapabilityError(NO_TILE_COMPILER.at(user_span(), device=self.name))
        return factory.create_tile_kernel(kernel, options)

    def close(self) -> None:
        """Closes the handle. Buffers, streams and shaders stay usable; the device is closed with the last of them."""
        self._context = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def create_device(name: str, *, validate: bool = True) -> Device:
    """The device called `name`, behind the validation layer unless `validate=False`.

    Raises DispatchError (TW601) for an unknown name and CapabilityError for a device that this machine lacks.
    """
    return Device(open_device(name), validate=validate)

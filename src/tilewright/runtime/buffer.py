"""Typed device memory and the views into it."""

import weakref
from types import TracebackType
from typing import Any, Self, SupportsIndex, cast

from tilewright.core.abi import Usage
from tilewright.core.codes.dispatch import (
    BAD_EXTENT,
    NOT_AN_ELEMENT_TYPE,
    REINTERPRETATION,
    SLICE_FORM,
    VIEW_OUT_OF_BOUNDS,
)
from tilewright.core.dtypes import DType, DTypeMeta
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span

from .command import Access
from .context import DeviceContext
from .interface import Binding, NativeBuffer
from .lifetime import Lifetime
from .transfer import CopyCommand, DownloadCommand, UploadCommand, copy, download, upload

__all__ = ["Buffer", "BufferView"]


class BufferView:
    """`size` elements of `dtype` from `byte_offset` of a buffer on. A view keeps its buffer."""

    __slots__ = ("_buffer", "byte_offset", "dtype", "size", "size_bytes")

    def __init__(self, buffer: "Buffer", dtype: type[DType], byte_offset: int, size: int) -> None:
        self._buffer = buffer
        self._cover(dtype, byte_offset, size)

    def _cover(self, dtype: type[DType], byte_offset: int, size: int) -> None:
        self.dtype = dtype
        self.byte_offset = byte_offset
        self.size = size
        self.size_bytes = size * dtype.itemsize

    @property
    def buffer(self) -> "Buffer":
        return self._buffer

    def __repr__(self) -> str:
        return f"<{self.label}>"

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: slice) -> "BufferView":
        """The view of `[begin:end]`. Negative ends count from the back, as in Python; nothing is clipped.

        Raises DispatchError: TW602 closed, TW606 out of bounds, TW607 another form of index.
        """
        self.buffer.lifetime.require_open()
        if not _is_contiguous_slice(index):
            raise DispatchError(SLICE_FORM.at(user_span(), what=self.label, given=repr(index)))
        begin = self._end(index.start, 0)
        return self.subview(begin, max(0, self._end(index.stop, self.size) - begin))

    @property
    def stride(self) -> int:
        """Bytes from one element to the next."""
        return self.dtype.itemsize

    @property
    def handle(self) -> int:
        """The number of the native buffer, unique on its device."""
        return self.buffer.handle

    @property
    def address(self) -> int | None:
        """The host address of the first element, where there is one. Raises DispatchError (TW602) when closed."""
        base = self.buffer.address
        return None if base is None else base + self.byte_offset

    @property
    def byte_range(self) -> str:
        """The bytes of the buffer that are seen, for people."""
        return f"{self.byte_offset}:{self.byte_offset + self.size_bytes}"

    @property
    def label(self) -> str:
        """The view in words, for errors."""
        if (self.dtype, self.byte_offset, self.size) == (self.buffer.dtype, 0, self.buffer.size):
            return self.buffer.label
        return f"a view ({self.size} x {self.dtype.name} at byte {self.byte_offset}) of {self.buffer.label}"

    def subview(self, offset: int, count: int | None = None) -> "BufferView":
        """`count` elements from `offset` on; by default all that follow.

        Raises DispatchError: TW602 closed, TW604 not a count, TW606 out of bounds.
        """
        self.buffer.lifetime.require_open()
        begin = checked_count(offset)
        size = max(0, self.size - begin) if count is None else checked_count(count)
        if begin + size > self.size:
            raise DispatchError(
                VIEW_OUT_OF_BOUNDS.at(user_span(), begin=begin, end=begin + size, what=self.label, size=self.size)
            )
        return BufferView(self.buffer, self.dtype, self.byte_offset + begin * self.dtype.itemsize, size)

    def as_type(self, dtype: type[DType]) -> "BufferView":
        """The same bytes as elements of `dtype`.

        Raises DispatchError: TW602 closed, TW605 not an element type, TW608 offset or size no multiple of the new
        element size.
        """
        self.buffer.lifetime.require_open()
        itemsize = checked_dtype(dtype).itemsize
        size_bytes, byte_offset = self.size_bytes, self.byte_offset
        if size_bytes % itemsize or byte_offset % itemsize:
            raise DispatchError(
                REINTERPRETATION.at(
                    user_span(), size_bytes=size_bytes, byte_offset=byte_offset, dtype=dtype.name, itemsize=itemsize
                )
            )
        return BufferView(self.buffer, dtype, byte_offset, size_bytes // itemsize)

    def copy_from(self, source: "object | BufferView") -> UploadCommand | CopyCommand:
        """The command that fills this view from a host array or from another view.

        A host array has the same number of elements and the same element type, in any shape, contiguous in row-major
        order; it is read when the command runs and must not change before. Raises DispatchError, here and not later:
        TW602 closed, TW609 to TW612 the array, TW614 to TW617 the other view.
        """
        return copy(source, self) if isinstance(source, BufferView) else upload(self, source)

    def copy_to(self, destination: "object | BufferView") -> DownloadCommand | CopyCommand:
        """The command that copies this view to a host array or to another view.

        A host array is written when the command runs: read it after `synchronize`. Raises DispatchError, here and
        not later: TW602 closed, TW609 to TW613 the array, TW614 to TW617 the other view.
        """
        return copy(self, destination) if isinstance(destination, BufferView) else download(self, destination)

    def access(self, usage: Usage, size_bytes: int | None = None) -> Access:
        """A record of touching the first `size_bytes` bytes, by default all."""
        end = self.byte_offset + (self.size_bytes if size_bytes is None else size_bytes)
        return Access(self.buffer.handle, self.byte_offset, end, usage, self.buffer.label)

    def binding(self) -> Binding:
        """The view as a shader's launch takes it."""
        return Binding(self.buffer.native, self.byte_offset, self.size_bytes)

    def overlaps(self, other: "BufferView") -> bool:
        """Whether the two share a byte."""
        ends = min(self.byte_offset + self.size_bytes, other.byte_offset + other.size_bytes)
        return self.buffer is other.buffer and max(self.byte_offset, other.byte_offset) < ends

    def _end(self, index: SupportsIndex | None, default: int) -> int:
        if index is None:
            return default
        position = index.__index__()
        end = position + self.size if position < 0 else position
        if not 0 <= end <= self.size:
            raise DispatchError(
                VIEW_OUT_OF_BOUNDS.at(user_span(), begin=position, end="", what=self.label, size=self.size)
            )
        return end


class Buffer(BufferView):
    """`size` elements of `dtype` on one device, one-dimensional; 0 elements are a buffer too. It is the
    view of all of itself.

    Made by `Device.create_buffer`. The memory is given back by `close`, by leaving a `with` block, or when the last
    reference (views and pending commands count) is gone.
    """

    def __init__(self, context: DeviceContext, dtype: type[DType], size: int) -> None:
        self.context = context
        self._cover(checked_dtype(dtype), 0, checked_count(size))
        interface = context.interface
        native = interface.create_buffer(self.size_bytes)
        self.native: NativeBuffer = native
        label = f"buffer {native.handle} ({size} x {dtype.name})"
        self.lifetime = Lifetime(context.monitor, label, lambda: interface.destroy_buffer(native), keeps=context)
        weakref.finalize(self, self.lifetime.drop)

    def __repr__(self) -> str:
        return f"<{'closed ' * self.closed}{self.label} on {self.context.label}>"

    @property
    def buffer(self) -> "Buffer":
        return self

    @property
    def label(self) -> str:
        return self.lifetime.label

    @property
    def handle(self) -> int:
        """The number of the native buffer, unique on its device."""
        return self.native.handle

    @property
    def address(self) -> int | None:
        """The host address on devices that have one. Raises DispatchError (TW602) when closed."""
        self.lifetime.require_open()
        return self.native.address

    @property
    def closed(self) -> bool:
        return self.lifetime.closed

    def view(self, offset: int = 0, count: int | None = None) -> "BufferView":
        """`count` elements from `offset` on; by default all that follow.

        Raises DispatchError: TW602 closed, TW604 not a count, TW606 out of bounds.
        """
        if offset == 0 and count is None:
            self.lifetime.require_open()
            return self
        return self.subview(offset, count)

    def close(self) -> None:
        """Gives the memory back. Harmless when repeated.

        While commands are pending this is an error with validation on (DispatchError, TW603), and without it the
        memory is given back after the last of them.
        """
        self.context.layer.closing(self.lifetime)
        self.lifetime.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An error on its way out must not be replaced by one about a command that it left pending.
        if error is None:
            self.close()
        else:
            self.lifetime.close()


def _is_contiguous_slice(index: Any) -> bool:
    return isinstance(index, slice) and cast("Any", index).step in (None, 1)


def checked_count(value: object) -> int:
    """`value` as a number of elements. Raises DispatchError (TW604) for anything but a non-negative integer."""
    count = value if type(value) is int else _index(value)
    if count < 0:
        raise DispatchError(BAD_EXTENT.at(user_span(), value=value))
    return count


def _index(value: object) -> int:
    """`value` as an int, when it is a whole number of another type (NumPy's); -1 when it is none."""
    return value.__index__() if isinstance(value, SupportsIndex) and not isinstance(value, bool) else -1


def checked_dtype(value: object) -> type[DType]:
    """`value` as an element type. Raises DispatchError (TW605) for anything else."""
    if not isinstance(value, DTypeMeta) or not hasattr(value, "itemsize"):
        raise DispatchError(NOT_AN_ELEMENT_TYPE.at(user_span(), value=value))
    return cast("type[DType]", value)

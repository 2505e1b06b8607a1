"""Copies between host and device and within a device, as commands."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilewright.core.abi import Usage
from tilewright.core.codes.dispatch import COPY_DTYPE, COPY_OVERLAP, COPY_SIZE, OTHER_DEVICE
from tilewright.core.errors import DispatchError
from tilewright.core.source import user_span, user_trace

from .capability import Capability
from .command import Access, Command
from .hostarray import readable_bytes, writable_bytes
from .lifetime import Lifetime

if TYPE_CHECKING:
    from .buffer import BufferView
    from .context import DeviceContext

__all__ = ["CopyCommand", "DownloadCommand", "UploadCommand", "copy", "download", "upload"]


@dataclass(slots=True, eq=False)
class UploadCommand(Command):
    """Host bytes to a view. They are read when the command runs."""

    view: "BufferView"
    source: memoryview = field(repr=False)
    needs = Capability.COPY

    @property
    def context(self) -> "DeviceContext":
        return self.view.buffer.context

    @property
    def resources(self) -> Sequence[Lifetime]:
        return (self.view.buffer.lifetime,)

    @property
    def accesses(self) -> Sequence[Access]:
        return (self.view.access(Usage.WRITE),)

    def describe(self) -> str:
        return f"the upload to {self.view.label}"

    def execute(self) -> None:
        self.context.interface.upload(self.view.buffer.native, self.view.byte_offset, self.source)


@dataclass(slots=True, eq=False)
class DownloadCommand(Command):
    """A view to host bytes. They are written when the command runs."""

    view: "BufferView"
    destination: memoryview = field(repr=False)
    needs = Capability.COPY

    @property
    def context(self) -> "DeviceContext":
        return self.view.buffer.context

    @property
    def resources(self) -> Sequence[Lifetime]:
        return (self.view.buffer.lifetime,)

    @property
    def accesses(self) -> Sequence[Access]:
        return (self.view.access(Usage.READ),)

    def describe(self) -> str:
        return f"the download from {self.view.label}"

    def execute(self) -> None:
        self.context.interface.download(self.view.buffer.native, self.view.byte_offset, self.destination)


@dataclass(slots=True, eq=False)
class CopyCommand(Command):
    """One view to another of the same size, element type and device."""

    source: "BufferView"
    destination: "BufferView"
    needs = Capability.COPY

    @property
    def context(self) -> "DeviceContext":
        return self.destination.buffer.context

    @property
    def resources(self) -> Sequence[Lifetime]:
        return self.source.buffer.lifetime, self.destination.buffer.lifetime

    @property
    def accesses(self) -> Sequence[Access]:
        return self.source.access(Usage.READ), self.destination.access(Usage.WRITE)

    def describe(self) -> str:
        return f"the copy from {self.source.label} to {self.destination.label}"

    def execute(self) -> None:
        source, destination = self.source, self.destination
        self.context.interface.copy(
            source.buffer.native,
            source.byte_offset,
            destination.buffer.native,
            destination.byte_offset,
            source.size_bytes,
        )


def upload(view: "BufferView", array: object) -> UploadCommand:
    """The command that fills `view` from a host array. Raises DispatchError (TW602, TW609 to TW612)."""
    view.buffer.lifetime.require_open()
    return UploadCommand(user_trace(), view, readable_bytes(array, view.dtype, view.size, view.label))


def download(view: "BufferView", array: object) -> DownloadCommand:
    """The command that fills a host array from `view`. Raises DispatchError (TW602, TW609 to TW613)."""
    view.buffer.lifetime.require_open()
    return DownloadCommand(user_trace(), view, writable_bytes(array, view.dtype, view.size, view.label))


def copy(source: "BufferView", destination: "BufferView") -> CopyCommand:
    """The command that copies between views. Raises DispatchError.

    TW602 a side is closed, TW614 sizes differ, TW615 element types differ, TW616 the ranges overlap, TW617 devices
    differ.
    """
    for view in (source, destination):
        view.buffer.lifetime.require_open()
    ours, theirs = destination.buffer.context, source.buffer.context
    if ours is not theirs:
        got, expected = theirs.label, ours.label
        raise DispatchError(
            OTHER_DEVICE.at(user_span(), what=source.label, got=got, owner=destination.label, expected=expected)
        )
    if source.dtype != destination.dtype:
        got, expected = source.dtype.name, destination.dtype.name
        raise DispatchError(
            COPY_DTYPE.at(user_span(), source=source.label, destination=destination.label, got=got, expected=expected)
        )
    if source.size != destination.size:
        got, expected = source.size, destination.size
        raise DispatchError(
            COPY_SIZE.at(user_span(), source=source.label, destination=destination.label, got=got, expected=expected)
        )
    if source.overlaps(destination):
        first, second = source.byte_range, destination.byte_range
        raise DispatchError(COPY_OVERLAP.at(user_span(), what=source.buffer.label, source=first, destination=second))
    return CopyCommand(user_trace(), source, destination)

"""Devices, buffers, streams, commands and shaders."""

from .buffer import Buffer, BufferView
from .capability import Capability, StreamTag
from .command import Command, HostCallback, host_callback
from .commandlist import CommandList
from .device import Device, create_device
from .event import Event, TimelineEvent
from .invocation import Invocation
from .shader import Shader
from .stream import Stream, Synchronize, synchronize

__all__ = [
    "Buffer",
    "BufferView",
    "Capability",
    "Command",
    "CommandList",
    "Device",
    "Event",
    "HostCallback",
    "Invocation",
    "Shader",
    "Stream",
    "StreamTag",
    "Synchronize",
    "TimelineEvent",
    "create_device",
    "host_callback",
    "synchronize",
]

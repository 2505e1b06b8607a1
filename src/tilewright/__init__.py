"""Tile kernels in Python: captured, interpreted, compiled to native code.

This module has the runtime: devices, buffers, streams, events and shaders. The language is `tilewright.tile`.
"""

from tilewright.core.abi import KernelArgument, KernelMetadata, Usage
from tilewright.core.errors import (
    CapabilityError,
    CaptureError,
    DispatchError,
    EffectError,
    InternalError,
    KernelError,
    PlanError,
    TileTypeError,
    TilewrightError,
    ToolchainError,
    UnsupportedError,
)
from tilewright.runtime import (
    Buffer,
    BufferView,
    Command,
    CommandList,
    Device,
    Event,
    Shader,
    Stream,
    StreamTag,
    TimelineEvent,
    create_device,
    host_callback,
    synchronize,
)

__all__ = [
    "Buffer", "BufferView", "CapabilityError", "CaptureError", "Command", "CommandList", "Device", "DispatchError",
    "EffectError", "Event", "InternalError", "KernelArgument", "KernelError", "KernelMetadata", "PlanError", "Shader",
    "Stream", "StreamTag", "TileTypeError", "TilewrightError", "TimelineEvent", "ToolchainError", "UnsupportedError",
    "Usage", "create_device", "host_callback", "synchronize",
]  # fmt: skip

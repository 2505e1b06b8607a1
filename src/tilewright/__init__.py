"""Tile kernels in Python: captured, interpreted, compiled to native code.

This module has the runtime: devices, buffers, streams, events and shaders. The language is `tilewright.tile`.
"""

import typing as _typing

from tilewright.core.late import late_names as _late_names

if _typing.TYPE_CHECKING:
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
else:  # devices, buffers and errors bring NumPy along; importing the package, as each of its modules does, should not
    __getattr__ = _late_names(__name__, ("tilewright.core.abi", "tilewright.core.errors", "tilewright.runtime"))

__all__ = [
    "Buffer", "BufferView", "CapabilityError", "CaptureError", "Command", "CommandList", "Device", "DispatchError",
    "EffectError", "Event", "InternalError", "KernelArgument", "KernelError", "KernelMetadata", "PlanError", "Shader",
    "Stream", "StreamTag", "TileTypeError", "TilewrightError", "TimelineEvent", "ToolchainError", "UnsupportedError",
    "Usage", "create_device", "host_callback", "synchronize",
]  # fmt: skip

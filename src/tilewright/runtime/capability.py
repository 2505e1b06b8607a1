"""What commands need and what streams offer."""

import enum
from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["CAPABILITIES", "Capability", "StreamTag"]


class Capability(enum.Flag):
    """One thing that a command can ask of its stream."""

    COPY = enum.auto()
    COMPUTE = enum.auto()
    CALLBACK = enum.auto()
    SIGNAL = enum.auto()
    WAIT = enum.auto()


class StreamTag(enum.Enum):
    """What a stream is for. A device may map the tags to different queues; every tag can do what lies below it."""

    COPY = "copy"
    COMPUTE = "compute"


_ORDERING = Capability.CALLBACK | Capability.SIGNAL | Capability.WAIT

CAPABILITIES: Mapping[StreamTag, Capability] = MappingProxyType(
    {
        StreamTag.COPY: _ORDERING | Capability.COPY,
        StreamTag.COMPUTE: _ORDERING | Capability.COPY | Capability.COMPUTE,
    }
)

"""What everything made by one device shares."""

import itertools
import weakref

from .interface import DeviceInterface
from .monitor import Monitor
from .validation import Layer, Unchecked, Validation

__all__ = ["DeviceContext"]


class DeviceContext:
    """One open native device: kept by its buffers, shaders, streams and events, closed when the last of them is gone.

    `native` is the backend's device, `interface` the same behind the validation layer, if there is one.
    """

    def __init__(self, native: DeviceInterface, *, validate: bool) -> None:
        self.native = native
        self.label = f"device {native.name}"
        self.monitor = Monitor()
        self.layer: Layer = Validation(self.monitor) if validate else Unchecked()
        self.interface = self.layer.device(native)
        self.stream_numbers = itertools.count(1)
        weakref.finalize(self, native.close)

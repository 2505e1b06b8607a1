"""Which devices exist. The table holds strings, so that knowing a device loads nothing of it."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import cast

from tilewright.core.codes.dispatch import UNKNOWN_DEVICE
from tilewright.core.errors import DispatchError
from tilewright.core.locks import LATE_IMPORTS
from tilewright.core.source import user_span

from .interface import DeviceInterface

__all__ = ["DEVICES", "open_device"]

DEVICES: Mapping[str, str] = MappingProxyType(
    {
        "simd": "tilewright.backends.simd.device:SIMDDevice",
        "null": "tilewright.backends.null.device:NullDevice",
    }
)


def open_device(name: str) -> DeviceInterface:
    """A new native device. Raises DispatchError (TW601) for a name that is not in the table."""
    if name not in DEVICES:
        raise DispatchError(UNKNOWN_DEVICE.at(user_span(), name=name, known=", ".join(DEVICES)))
    module, _, constructor = DEVICES[name].partition(":")
    with LATE_IMPORTS:
        make = getattr(import_module(module), constructor)
    return cast("DeviceInterface", make())

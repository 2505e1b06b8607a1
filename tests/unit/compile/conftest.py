"""Direct calls of these tests run on a device that interprets."""

import pytest

from tests.unit.compile.fakes import InterpretingDevice
from tilewright.compile import calls
from tilewright.runtime.device import Device


@pytest.fixture
def interpreting(monkeypatch: pytest.MonkeyPatch) -> InterpretingDevice:
    native = InterpretingDevice()
    device = Device(native, validate=False)
    monkeypatch.setattr(calls, "_device", lambda: device)
    return native

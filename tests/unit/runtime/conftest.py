"""Devices of the runtime tests. Streams end with the test; nothing stays alive on the native device."""

from collections.abc import Generator

import pytest

from tests.unit.runtime.fakes import FakeDevice
from tilewright.runtime import Device, Stream


@pytest.fixture
def native() -> FakeDevice:
    return FakeDevice()


@pytest.fixture(params=[True, False], ids=["validated", "unchecked"])
def device(request: pytest.FixtureRequest, native: FakeDevice) -> Device:
    """Laws that hold with and without the validation layer."""
    return Device(native, validate=request.param)


@pytest.fixture
def validated(native: FakeDevice) -> Device:
    return Device(native)


@pytest.fixture
def unchecked(native: FakeDevice) -> Device:
    return Device(native, validate=False)


@pytest.fixture
def stream(device: Device) -> Generator[Stream]:
    with device.create_stream() as stream:
        yield stream

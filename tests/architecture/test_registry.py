"""The registry holds strings, which no import linter reads: each must lead to a class of its own device package."""

import importlib

import pytest

from tilewright.runtime.registry import DEVICES


@pytest.mark.parametrize("name", DEVICES)
def test_the_entry_leads_to_its_class(name: str) -> None:
    module, _, attribute = DEVICES[name].partition(":")
    assert module == f"tilewright.backends.{name}.device"
    assert isinstance(getattr(importlib.import_module(module), attribute), type)

"""What a direct call looks like to a device, and which configurations are the same."""

from typing import Any

import numpy as np
import pytest

from tests.unit.compile.test_calls import biased
from tilewright.compile.direct import configuration_key, looks_of
from tilewright.runtime.direct import DirectArgument

WRITABLE = 0x0400


def values() -> Any:
    return np.zeros((6,), np.float32)[::2]


def test_arrays_look_as_they_lie() -> None:
    x, y = values(), np.zeros(3, np.float32)
    looks = looks_of([x, None, y], biased.signature)
    assert looks is not None
    read, absent, written = looks
    assert absent is None
    assert read == DirectArgument(x.dtype, (3,), (8,), 0, 0, 4)
    assert written is not None
    assert (written.strides, written.flags_mask & WRITABLE, written.flags) == ((4,), WRITABLE, WRITABLE)


@pytest.mark.parametrize("other", [1.0, [0.0], np.float32(1), np.ma.masked_array([1.0]), values().view(np.memmap)])
def test_anything_else_has_no_look(other: object) -> None:
    assert looks_of([values(), None, other], biased.signature) is None


SAME: list[dict[str, Any]] = [{}, {"a": 1}, {"a": 1, "b": "x"}, {"a": None, "b": True}]
OTHER: list[dict[str, Any]] = [{"a": True}, {"a": 2}, {"b": 1}, {"a": "1"}, {"a": 1, "b": 1}]


@pytest.mark.parametrize("config", SAME)
def test_equal_configurations_have_one_key(config: dict[str, Any]) -> None:
    assert configuration_key(config) == configuration_key(dict(config)) is not None


def test_other_configurations_have_other_keys() -> None:
    keys = [configuration_key(config) for config in SAME + OTHER]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("value", [1.0, (1,), [1], np.int64(1), len])
def test_a_value_whose_equality_is_not_identity_has_no_key(value: object) -> None:
    assert configuration_key({"a": value}) is None

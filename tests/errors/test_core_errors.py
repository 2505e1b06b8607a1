"""The causes that the shared vocabulary itself knows, and the harness that compares them."""

from pathlib import Path

import numpy as np
import pytest

from tests.errors.harness import check_case, check_golden, normalise
from tilewright.core.codes.internal import NOT_DIGESTIBLE
from tilewright.core.codes.types import DTYPE_CALLED
from tilewright.core.config import Config
from tilewright.core.digest import digest
from tilewright.core.dtypes import by_name, f32
from tilewright.core.errors import DispatchError, InternalError, ToolchainError
from tilewright.core.source import UNKNOWN, user_span
from tilewright.numerics.arrays import from_numpy


def test_an_element_type_is_not_callable(tmp_path: Path) -> None:
    check_case("TW201", "half = f32(0.5)\n", tmp_path, f32=f32)


def test_an_element_type_has_one_spelling(tmp_path: Path) -> None:
    check_case("TW202", "dtype = by_name('float32')\n", tmp_path, by_name=by_name)


def test_a_numpy_type_without_an_element_type(tmp_path: Path) -> None:
    check_case("TW204", "dtype = from_numpy(x.dtype)\n", tmp_path, from_numpy=from_numpy, x=np.zeros(1, ">f4"))


def test_a_setting_that_makes_no_sense() -> None:
    with pytest.raises(ToolchainError) as caught:
        Config.from_environment({"TILEWRIGHT_NUM_THREADS": "many"})
    check_golden("TW501", str(caught.value))


def test_an_exception_refuses_a_code_of_another_family() -> None:
    with pytest.raises(InternalError) as caught:
        raise DispatchError(DTYPE_CALLED.at(UNKNOWN, dtype=f32))
    check_golden("TW901", str(caught.value))


def test_a_digest_refuses_what_it_cannot_encode() -> None:
    with pytest.raises(InternalError) as caught:
        digest(object())
    check_golden("TW902", str(caught.value))


def test_editing_a_test_file_changes_no_golden() -> None:
    text = """\
error[TW201]: message
   --> /home/me/test_x.py:104:5 in k, called from test_x.py:220:1, called from /a/harness.py:3:1
104 |     k(x)
    |     ^^^^
    = note: `x` is here: tests/errors/test_x.py:103:2"""
    assert normalise(text).splitlines() == [
        "error[TW201]: message",
        " --> test_x.py:1:5 in k",
        "1 |     k(x)",
        "  |     ^^^^",
        "  = note: `x` is here: test_x.py:0:2",
    ]


def test_a_case_in_a_test_file_shows_its_own_line() -> None:
    span = user_span()
    assert normalise(str(InternalError(NOT_DIGESTIBLE.at(span, type="object")))).splitlines()[1:3] == [
        " --> test_core_errors.py:1:12 in test_a_case_in_a_test_file_shows_its_own_line",
        "1 |     span = user_span()",
    ]

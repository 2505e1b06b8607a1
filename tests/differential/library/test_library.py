"""Library functions on the interpreter and in machine code, against NumPy in float64 or exactly."""

import pytest

from tests.differential.library import cases, cases_places
from tests.differential.library.harness import Case, assert_right, interpreted, kernel_of
from tests.differential.on_device import run_on_device

ALL: dict[str, Case] = {
    **cases.FOLDS, **cases.NORMALIZED, **cases.SCANS, **cases.SORTS, **cases_places.PLACES, **cases_places.WINDOWS,
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_the_interpreter_gives_the_answer(name: str) -> None:
    assert_right(ALL[name], interpreted(ALL[name]))


@pytest.mark.parametrize("name", ALL)
def test_machine_code_gives_the_answer(name: str) -> None:
    each = ALL[name]
    inputs, results = [array.copy() for array in each.inputs], each.results
    run_on_device(kernel_of(each), [array.ctypes.data for array in (*inputs, *results)])
    assert_right(each, results)
    for before, after in zip(each.inputs, inputs, strict=True):
        assert before.tobytes() == after.tobytes()

"""Kernels at given sizes, against float64 within the bound of their own roundings; two launches, NaN before, guards."""

import pytest

from tests.differential.gallery.figures import FIGURES
from tests.differential.gallery.test_gallery import assert_within, launched
from tilewright.backends.llvm.kernel import compile_kernel
from tilewright.core.abi import CompileOptions
from tilewright.interp.run import run as interpret

THREADS = 8
LARGE = [name for name in FIGURES if "64x" in name or name.startswith("product 19x")]
"""Too large, or too many programs, for an interpreter."""


@pytest.mark.parametrize("name", FIGURES)
def test_machine_code_is_within_the_bounds_at_these_sizes(name: str) -> None:
    compiled = compile_kernel(FIGURES[name].capture(), CompileOptions(), threads=THREADS)
    launched(FIGURES[name], compiled, THREADS)


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in LARGE])
def test_the_interpreter_is_within_the_bounds_at_these_sizes(name: str) -> None:
    inputs, results = FIGURES[name].arrays()
    answers = FIGURES[name].exact(inputs, results)
    interpret(FIGURES[name].capture(), [*inputs, *results])
    assert_within(results, answers)

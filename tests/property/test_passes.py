"""Passes keep the meaning that the interpreter gives to a module, bit for bit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from tests.property.strategies_ir import Recipe, examples, recipes
from tilewright.core.errors import EffectError
from tilewright.interp import run
from tilewright.ir.kernel import Kernel
from tilewright.ir.rewrite import TilePass, run_pipeline
from tilewright.numerics.arrays import numpy_dtype
from tilewright.passes.pipelines import CANONICAL


def results(module: ModuleOp, seed: int) -> list[bytes] | None:
    """The bytes of all arguments after a run on random ones; None when the program is wrong."""
    kernel, chance = Kernel(module, "k"), np.random.default_rng(seed)
    arrays: list[Any] = [
        chance.integers(0, 5, parameter.shape).astype(numpy_dtype(parameter.element)) for parameter in kernel.parameters
    ]
    try:
        run(kernel, arrays)
    except EffectError:
        return None
    return [array.tobytes() for array in arrays]


@examples(60)
@given(recipes(), st.integers(0, 9))
def test_the_canonical_pipeline_keeps_the_meaning(recipe: Recipe, seed: int):
    expected = results(recipe.build(), seed)
    module = recipe.build()
    run_pipeline(module, CANONICAL)
    assert expected is None or results(module, seed) == expected


@pytest.mark.parametrize("step", CANONICAL, ids=lambda step: step.name)
@examples(20)
@given(recipes(), st.integers(0, 9))
def test_each_pass_keeps_the_meaning(step: TilePass, recipe: Recipe, seed: int):
    expected = results(recipe.build(), seed)
    module = recipe.build()
    run_pipeline(module, [step])
    assert expected is None or results(module, seed) == expected


@examples(30)
@given(recipes())
def test_a_second_run_of_the_pipeline_finds_nothing(recipe: Recipe):
    module = recipe.build()
    run_pipeline(module, CANONICAL)
    assert not [record for record in run_pipeline(module, CANONICAL).records if record.changes]

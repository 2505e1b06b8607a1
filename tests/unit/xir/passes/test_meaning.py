"""Every pass keeps what a module computes, bit for bit, and every place; and running it again changes nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, UnknownLoc

from tests.unit.xir.random_programs import EXTENT, random_program
from tilewright.xir.interp import run
from tilewright.xir.passes.addressing import ReassociateAddresses
from tilewright.xir.passes.cse import EliminateCommonSubexpressions
from tilewright.xir.passes.hoist import HoistInvariants
from tilewright.xir.passes.pipelines import CPU_PIPELINE
from tilewright.xir.passes.runner import XirPass, run_pipeline
from tilewright.xir.text import parse_module, print_module

PIPELINES: dict[str, tuple[XirPass, ...]] = {
    "cse": (EliminateCommonSubexpressions(),),
    "hoist": (HoistInvariants(),),
    "reassociate": (ReassociateAddresses(),),
    "all": CPU_PIPELINE,
    "all twice": CPU_PIPELINE * 2,
}


def outcome(module: ModuleOp) -> bytes:
    memory = [np.arange(EXTENT, dtype=np.float32), np.linspace(-2, 2, EXTENT, dtype=np.float32)]
    run(module, memory)
    return b"".join(array.tobytes() for array in memory)


@pytest.mark.parametrize("name", PIPELINES)
@settings(max_examples=15)
@given(seed=st.integers(0, 1 << 32))
def test_meaning_and_places_are_kept(name: str, seed: int):
    module = random_program(seed)
    before = outcome(module)
    run_pipeline(module, PIPELINES[name])
    assert outcome(module) == before
    assert not any(isinstance(op.location, UnknownLoc) for op in module.walk() if not isinstance(op, ModuleOp))


@settings(max_examples=15)
@given(seed=st.integers(0, 1 << 32))
def test_the_pipeline_settles(seed: int):
    module = random_program(seed)
    run_pipeline(module, CPU_PIPELINE)
    run_pipeline(module, CPU_PIPELINE)
    text = print_module(module)
    assert all(record.changed == 0 for record in run_pipeline(module, CPU_PIPELINE))
    assert print_module(module) == text


@settings(max_examples=15)
@given(seed=st.integers(0, 1 << 32))
def test_text_round_trips(seed: int):
    text = print_module(random_program(seed))
    assert print_module(parse_module(text)) == text

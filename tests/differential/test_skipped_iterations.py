"""Skipping iterations that do nothing changes no bit, and never looks at what they would have read."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.differential.kernels_skips import ARGUMENTS, KERNELS
from tests.differential.on_device import run_on_device
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.bridge.xir.retile import retile
from tilewright.core.machine import GENERIC_AVX2, GENERIC_AVX512
from tilewright.interp.run import run as interpret
from tilewright.ir.ops.regions import WhenOp
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline


@cache
def expected(name: str) -> list[Any]:
    arrays = ARGUMENTS[name]()
    interpret(KERNELS[name], arrays)
    return arrays


def require_same(name: str, arrays: list[Any]) -> None:
    for parameter, want, got in zip(KERNELS[name].parameters, expected(name), arrays, strict=True):
        assert want.tobytes() == np.asarray(got).tobytes(), parameter.name


@pytest.mark.parametrize("name", KERNELS)
def test_some_iterations_are_skipped_and_the_meaning_stays(name: str) -> None:
    cut, _ = retile(KERNELS[name], 2, GENERIC_AVX512)
    assert any(isinstance(op, WhenOp) for op in cut.op.walk())
    arrays = ARGUMENTS[name]()
    interpret(cut, arrays)
    require_same(name, arrays)


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_skipped_is_not_looked_at(name: str) -> None:
    written = [p.name for p in KERNELS[name].parameters if not p.const and p.shape]
    by_name = dict(zip((p.name for p in KERNELS[name].parameters), expected(name), strict=True))
    assert all(np.isfinite(by_name[each]).all() for each in written)


@pytest.mark.parametrize("machine", [GENERIC_AVX512, GENERIC_AVX2], ids=lambda m: m.name)
@pytest.mark.parametrize("name", KERNELS)
def test_the_lowering_skips_them(name: str, machine: Any) -> None:
    cut, _ = retile(KERNELS[name], 2, machine)
    lowered = lower(cut, plan(cut, machine, threads=2))
    run_pipeline(lowered.module, CPU_PIPELINE)
    arrays = [np.asarray(array) for array in ARGUMENTS[name]()]
    run_xir(lowered.module, [arrays[i].reshape(-1) for i in lowered.argument_order])
    require_same(name, arrays)


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("name", KERNELS)
def test_machine_code_skips_them(name: str, threads: int) -> None:
    arrays = [np.asarray(array) for array in ARGUMENTS[name]()]
    run_on_device(KERNELS[name], [array.ctypes.data for array in arrays], threads=threads)
    require_same(name, arrays)

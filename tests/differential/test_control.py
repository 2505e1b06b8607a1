"""Kernels that branch and take numbers: interpreter, every lowering and machine code give the same bits."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.differential.kernels_control import ARGUMENTS, KERNELS
from tests.differential.on_device import run_on_device
from tests.differential.test_xir_route import WAYS
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.interp.run import run as interpret
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline


@cache
def expected(name: str) -> list[Any]:
    arrays = ARGUMENTS[name]()
    interpret(KERNELS[name], arrays)
    return arrays


def require_same(name: str, arrays: list[Any]) -> None:
    for parameter, want, got in zip(KERNELS[name].parameters, expected(name), arrays, strict=True):
        assert want.tobytes() == got.tobytes(), parameter.name


@pytest.mark.parametrize("name", KERNELS)
def test_something_happens_in_it(name: str) -> None:
    assert any(a.tobytes() != b.tobytes() for a, b in zip(expected(name), ARGUMENTS[name](), strict=True))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KERNELS)
def test_every_lowering_gives_the_bits_of_the_interpreter(name: str, way: str) -> None:
    machine, options, may_alias = WAYS[way]
    lowered = lower(KERNELS[name], plan(KERNELS[name], machine, options, threads=2, may_alias=may_alias))
    run_pipeline(lowered.module, CPU_PIPELINE)
    arrays = ARGUMENTS[name]()
    run_xir(lowered.module, [arrays[i].reshape(-1) for i in lowered.argument_order])
    require_same(name, arrays)


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("name", KERNELS)
def test_machine_code_gives_the_bits_of_the_interpreter(name: str, threads: int) -> None:
    arrays = ARGUMENTS[name]()
    run_on_device(KERNELS[name], [np.asarray(array).ctypes.data for array in arrays], threads=threads)
    require_same(name, arrays)


@pytest.mark.parametrize("name", KERNELS)
def test_the_order_of_instances_does_not_matter(name: str) -> None:
    for order in ("reverse", 5):
        arrays = ARGUMENTS[name]()
        interpret(KERNELS[name], arrays, order=order)
        require_same(name, arrays)

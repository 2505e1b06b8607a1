"""Calls of Apple's Accelerate, read from TIRx and from LLVM for macOS. They are made here and have run nowhere."""

import re
from functools import cache
from typing import Any

import pytest

from tests.unit.bridge.tirx.test_array_calls import fold, rows
from tilewright.bridge.tirx import CpuMathBackend, TirxOptions, TirxPlanner, compile, lower
from tilewright.bridge.tirx.door import open_door, require_symbols
from tilewright.bridge.tirx.lowered import Lowered
from tilewright.bridge.tirx.pipeline import pipeline_of
from tilewright.bridge.tirx.stack import StackPlan
from tilewright.core.errors import CapabilityError

ACCELERATE = TirxOptions(cpu_math_backend=CpuMathBackend.ACCELERATE)
WORKSPACE = "TVMBackendAllocWorkspace"


@cache
def softmax() -> Lowered:
    return lower(rows(columns=200), ACCELERATE)


def for_macos(lowered: Lowered, stack_bytes: int) -> str:
    door = open_door()
    target = door.tvm.target.Target({"kind": "llvm", "mtriple": "arm64-apple-macos14", "mcpu": "apple-m1"})
    with pipeline_of(door, StackPlan(stack_bytes)) as pipeline:
        return str(door.tirx.build(lowered.module, target=target, pipeline=pipeline).inspect_source("ll"))


def test_each_function_is_called_once_in_its_own_order_of_arguments() -> None:
    llvm = for_macos(softmax(), 0)
    calls = [" ".join(call) for call in re.findall(r"call void @(v\w+)\((.*)\),", llvm)]
    assert [re.sub(r"nonnull |%\w+", "", call) for call in calls] == [
        "vDSP_maxv ptr , i64 1, ptr , i64 200",  # in, stride, out, count
        "vvexpf ptr , ptr , ptr ",  # out, in, address of the count
        "vDSP_sve ptr , i64 1, ptr , i64 200",
    ]
    (count,) = re.findall(r"@vvexpf\(.*, ptr nonnull (%\w+)\)", llvm)
    assert re.search(rf"store i32 200, ptr {count}\b", llvm)
    assert {"expf", "tvm_func"} & set(re.findall(r"expf|tvm_func", llvm.replace("vvexpf", ""))) == set()


def test_the_folds_have_a_function_each() -> None:
    """min as well; which element the loop reads, and from where, is what the proof of the common walk says."""
    for kind, symbol in (("min", "vDSP_minv"), ("max", "vDSP_maxv"), ("add", "vDSP_sve")):
        found = lower(fold(kind, 20), ACCELERATE)
        assert found.plan.calls == {symbol: 1}
        assert symbol in found.symbols


def test_what_accelerate_forgets_at_once_may_lie_on_the_stack() -> None:
    assert (WORKSPACE in for_macos(softmax(), 0), WORKSPACE in for_macos(softmax(), 65536)) == (True, False)


def test_the_contracts_are_named() -> None:
    assert softmax().plan.render().splitlines()[-3:] == [
        "provider vDSP_maxv: 1 call sites, as vDSP computes it; a NaN may be lost",
        "provider vDSP_sve: 1 call sites, summed in another order",
        "provider vvexpf: 1 call sites, as vForce documents; denormals and exceptions may differ",
    ]


def test_short_sums_are_not_worth_a_launch_but_an_exp_is() -> None:
    sums = lower(fold("add", 20), ACCELERATE)
    assert (sums.plan.launches, softmax().plan.launches) == (0, 1)


def test_its_symbols_are_asked_for_before_the_code_is_loaded() -> None:
    with pytest.raises(CapabilityError, match="vDSP_maxv, vDSP_sve, vvexpf") as caught:
        require_symbols(softmax().symbols, needed_by="softmax")
    assert caught.value.diagnostic.code.id == "TW472"


@pytest.mark.parametrize("options", [ACCELERATE, TirxOptions(
    cpu_math_backend=CpuMathBackend.ACCELERATE, planner=TirxPlanner(max_cpu_stack_bytes=16)
)])  # fmt: skip
def test_code_to_run_is_refused_elsewhere(options: Any) -> None:
    with pytest.raises(CapabilityError) as caught:
        compile(rows(), options)
    assert caught.value.diagnostic.code.id == "TW476"

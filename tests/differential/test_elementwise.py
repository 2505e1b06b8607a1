"""Every elementwise operation on every kind of element type: interpreter, XIR interpreter, machine code."""

import numpy as np
import pytest

from tests.differential.elementwise import DTYPES, SPELLINGS, ULPS, arguments, captured, gives, takes
from tests.differential.on_device import run_on_device
from tilewright.backends.llvm.machine import host_machine
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.core.dtypes import DType, f32
from tilewright.interp.run import run as interpret
from tilewright.numerics.arrays import Array
from tilewright.numerics.bits import ulp_distance
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, FAST_MATH_PIPELINE, run_pipeline

CASES = [
    pytest.param(opcode, dtype, id=f"{opcode}-{dtype}")
    for opcode in SPELLINGS
    for dtype in DTYPES
    if opcode not in ("cast", "bitcast") and takes(opcode, dtype)
]


@pytest.mark.parametrize(("opcode", "dtype"), CASES)
def test_all_routes_agree(opcode: str, dtype: type[DType]) -> None:
    kernel = captured(opcode, dtype)
    want, in_xir, on_device = (arguments(opcode, dtype) for _ in range(3))
    interpret(kernel, want)
    lowered = lower(kernel, plan(kernel, host_machine(), threads=1))
    run_pipeline(lowered.module, CPU_PIPELINE)
    run_xir(lowered.module, [in_xir[place] for place in lowered.argument_order])
    run_on_device(kernel, [array.ctypes.data for array in on_device], threads=1)
    assert same_but_for_nan(in_xir[-1], on_device[-1]).all()
    require_close(opcode, dtype, want[-1], on_device[-1])


@pytest.mark.parametrize("opcode", [opcode for opcode in ULPS if opcode != "sqrt"])
def test_the_fast_tier_has_one_meaning(opcode: str) -> None:
    """Its bits are those of XIR, whatever the processor scales with."""
    kernel = captured(opcode, f32)
    in_xir, on_device = (arguments(opcode, f32) for _ in range(2))
    lowered = lower(kernel, plan(kernel, host_machine(), threads=1))
    run_pipeline(lowered.module, FAST_MATH_PIPELINE)
    run_xir(lowered.module, [in_xir[place] for place in lowered.argument_order])
    run_on_device(kernel, [array.ctypes.data for array in on_device], threads=1, fast_math=True)
    assert same_but_for_nan(in_xir[-1], on_device[-1]).all()


def require_close(opcode: str, dtype: type[DType], want: Array, got: Array) -> None:
    """The same value; where a bound is stated, a value within it. Of two zeros either may be the smaller."""
    equal = same_but_for_nan(want, got)
    if opcode in ("min", "max"):
        equal |= want == got
    elif opcode in ULPS and dtype.is_float:
        equal |= ulp_distance(gives(opcode, dtype), want, got) <= (ULPS[opcode] if dtype.bits == 32 else 1)
    assert equal.all(), [(a, b) for a, b in zip(want[~equal], got[~equal], strict=True)]


def same_but_for_nan(a: Array, b: Array) -> Array:
    bits = f"u{a.itemsize}"
    nan = (a != a) & (b != b)  # noqa: PLR0124  the one value unequal to itself
    return (a.view(bits) == b.view(bits)) | nan


def test_an_operation_of_the_wrong_name_would_be_seen() -> None:
    """The arguments tell floor from trunc and round, and each from ceil."""
    results: list[bytes] = []
    for opcode in ("floor", "ceil", "round", "trunc"):
        arrays = arguments("floor", DTYPES[0])
        interpret(captured(opcode, DTYPES[0]), arrays)
        results.append(arrays[-1].tobytes())
    assert len(set(results)) == len(results)
    assert np.isnan(arguments("floor", DTYPES[0])[0]).any()

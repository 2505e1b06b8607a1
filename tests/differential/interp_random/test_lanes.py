"""Random modules: whole index arrays and single points give the same bits, and no order of instances changes them."""

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from tests.property.strategies_ir import modules
from tilewright import interp
from tilewright.core.dtypes import DType
from tilewright.core.errors import EffectError
from tilewright.ir.kernel import Kernel
from tilewright.ir.ops.access import UpdateOp
from tilewright.ir.ops.regions import ReduceOp
from tilewright.numerics.arrays import numpy_dtype


def _array(rng: np.random.Generator, dtype: type[DType], shape: tuple[int, ...]) -> np.ndarray:
    """Small whole numbers, halves and a few special values."""
    numbers = rng.integers(-6, 7, shape) / (2 if dtype.is_float else 1)
    found = np.asarray(np.abs(numbers) if not dtype.is_signed else numbers).astype(numpy_dtype(dtype))
    if dtype.is_float and found.size and rng.integers(2):
        found.flat[int(rng.integers(found.size))] = rng.choice([np.nan, np.inf, -0.0])
    return found


def _outcome(kernel: Kernel, arrays: list[np.ndarray], **how: Any) -> list[np.ndarray] | None:
    """What the arrays hold after a run on copies, or None for a program that the interpreter refuses."""
    copies = [array.copy() for array in arrays]
    try:
        interp.run(kernel, copies, **how)
    except EffectError:
        return None
    return copies


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Bit for bit; one NaN is as good as another."""
    same = np.asarray(a == b) & (np.signbit(a.astype("f8")) == np.signbit(b.astype("f8")))
    return bool((same | (np.isnan(a.astype("f8")) & np.isnan(b.astype("f8")))).all())


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=150)
@given(module=modules(), seed=st.integers(0, 2**16), lanes=st.integers(1, 12))
def test_lanes_and_points_agree(module: ModuleOp, seed: int, lanes: int) -> None:
    kernel = Kernel(module, "random")
    rng = np.random.default_rng(seed)
    arrays = [_array(rng, one.element, one.shape) for one in kernel.parameters]
    outcomes = [_outcome(kernel, arrays, lanes=count) for count in (1 << 20, 1, lanes)]
    if any(outcome is None for outcome in outcomes):
        assert outcomes == [None] * 3
        return
    first, *others = [outcome for outcome in outcomes if outcome is not None]
    for other in others:
        assert all(_equal(a, b) for a, b in zip(first, other, strict=True))


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=150)
@given(module=modules(), seed=st.integers(0, 2**16))
def test_no_order_of_instances_changes_a_program_without_races(module: ModuleOp, seed: int) -> None:
    kernel = Kernel(module, "random")
    if any(isinstance(op, UpdateOp | ReduceOp) for op in module.walk()):
        return  # these may be regrouped, and round differently
    rng = np.random.default_rng(seed)
    arrays = [_array(rng, one.element, one.shape) for one in kernel.parameters]
    outcomes = [_outcome(kernel, arrays, order=order) for order in (None, "reverse", seed)]
    if any(outcome is None for outcome in outcomes):
        assert outcomes == [None] * 3
        return
    first, *others = [outcome for outcome in outcomes if outcome is not None]
    for other in others:
        assert all(_equal(a, b) for a, b in zip(first, other, strict=True))

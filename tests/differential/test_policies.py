"""Every policy by its law, down to the machine instruction: folds from the left and from the right give the bits of a
sequential loop; trees give integers exactly, and floats within the bound of any order; seeds count once.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.differential.kernels_policies import LICENSES, PROGRAMS, ROWS, SEED, fold_kernel
from tests.differential.on_device import run_on_device
from tests.differential.test_xir_route import WAYS
from tilewright.backends.llvm.kernel import compile_kernel
from tilewright.bridge.xir.lower.kernel import lower
from tilewright.bridge.xir.plan import plan
from tilewright.core.abi import CompileOptions
from tilewright.interp.run import run as interpret
from tilewright.ir.attrs import Policy
from tilewright.xir.interp import run as run_xir
from tilewright.xir.passes.pipelines import CPU_PIPELINE, run_pipeline

SIZES = (0, 1, 2, 16, 37)
STRICT = (Policy.FOLD_LEFT, Policy.FOLD_RIGHT)
TREES = (Policy.UNORDERED_TREE, Policy.ORDERED_TREE)
FIBERS = PROGRAMS * ROWS
F32 = np.float32
Arrays = list[Any]


def data(size: int) -> Any:
    """Numbers of several magnitudes around 1, so that every order has other bits and no product vanishes."""
    rng = np.random.default_rng(size + 1)
    return (rng.standard_normal((FIBERS, size)) * 0.1 + rng.choice([-1.0, 1.0], (FIBERS, size))).astype(F32)


def arguments(name: str, size: int) -> Arrays:
    results = [np.zeros((4, FIBERS), F32), np.zeros((4, FIBERS), F32), np.zeros((4, FIBERS), np.int32)]
    x = data(size)
    count = {"along": 3, "strict": 2, "across": 1}[name]
    return [np.ascontiguousarray(x.T) if name == "across" else x, *results[:count]]


def folded(x: Any, seed: Any, step: Callable[[Any, Any], Any], policy: Policy) -> Any:
    """The fold of the rows of `x`, one step after the other."""
    state = np.full(FIBERS, seed, x.dtype)
    columns = range(x.shape[1])
    for at in columns[::-1] if policy == Policy.FOLD_RIGHT else columns:
        pair = (x[:, at], state) if policy == Policy.FOLD_RIGHT else (state, x[:, at])
        state = step(*pair)
    return state


def expected(name: str, policy: Policy, size: int) -> Arrays:
    """What sequential loops give, with one rounding a step."""
    x = data(size)
    results = [np.zeros_like(each) for each in arguments(name, size)[1:]]
    if name == "strict":
        results[0][0] = folded(x, SEED, np.subtract, policy)
        half = F32(0.5)
        results[1][0] = folded(x, SEED, lambda a, b: b - a if policy == Policy.FOLD_RIGHT else a - b, policy)
        right = policy == Policy.FOLD_RIGHT
        results[1][1] = folded(x, SEED, lambda a, b: a - b * half if right else b - a * half, policy)
        return results
    results[0][0] = folded(x, 0.0, np.add, policy)
    results[0][1] = folded(x, 1.0, np.multiply, policy)
    if name == "across":
        if policy in STRICT:
            results[0][2] = folded(x, SEED, np.subtract, policy)
        results[0][3] = folded(x, SEED, np.add, policy)
        return results
    results[0][2] = (x * F32(3)).max(axis=1) if size else 0.0
    whole = (x * F32(64)).astype(np.int32)
    results[2][0], results[2][1] = folded(whole, 0, np.add, policy), folded(whole, 1, np.multiply, policy)
    results[1][0], results[1][1] = folded(x, SEED, np.add, policy), folded(x, SEED, np.multiply, policy)
    results[2][2] = folded(whole, 7, np.add, policy)
    return results


@cache
def captured(name: str, policy: Policy, size: int) -> Any:
    return fold_kernel(name, policy, size)


def require(name: str, policy: Policy, size: int, results: Arrays) -> None:
    """Strict folds to the bit. Of trees, integers and maxima to the bit, sums and products within any order's bound."""
    for want, got in zip(expected(name, policy, size), results, strict=True):
        if policy in STRICT or want.dtype != F32:
            np.testing.assert_array_equal(got.view(np.int32), want.view(np.int32))
            continue
        x = np.abs(data(size).astype(np.float64))
        unit = (size + 1) * 2.0**-23
        bounds = [unit * (x.sum(axis=1) + SEED), unit * x.prod(axis=1), np.zeros(FIBERS), unit * (x.sum(axis=1) + SEED)]
        assert np.all(np.abs(got.astype(np.float64) - want) <= np.stack(bounds))


CASES = [("along", *STRICT), ("strict", *STRICT), ("across", *STRICT), ("along", *TREES), ("across", *TREES)]
MATRIX = [(name, policy) for name, *policies in CASES for policy in policies]
NAMES = [f"{name} {policy.value}" for name, policy in MATRIX]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "policy"), MATRIX, ids=NAMES)
def test_the_interpreter_keeps_the_policy(name: str, policy: Policy, size: int) -> None:
    for order in (None, 3):
        arrays = arguments(name, size)
        interpret(captured(name, policy, size), arrays, order=order)
        require(name, policy, size, arrays[1:])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "policy"), MATRIX, ids=NAMES)
def test_machine_code_keeps_the_policy(name: str, policy: Policy, size: int) -> None:
    """Sizes take turns with the number of threads; strict folds run with each."""
    for threads in (1, 2, 8) if policy in STRICT and size == 37 else ((1, 2, 8)[SIZES.index(size) % 3],):
        arrays = arguments(name, size)
        run_on_device(captured(name, policy, size), [array.ctypes.data for array in arrays], threads=threads)
        require(name, policy, size, arrays[1:])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "policy"), MATRIX, ids=NAMES)
def test_every_lowering_keeps_the_policy(name: str, policy: Policy, way: str) -> None:
    machine, options, may_alias = WAYS[way]
    kernel = captured(name, policy, 37)
    lowered = lower(kernel, plan(kernel, machine, options, threads=2, may_alias=may_alias))
    run_pipeline(lowered.module, CPU_PIPELINE)
    arrays = arguments(name, 37)
    run_xir(lowered.module, [arrays[i].reshape(-1) for i in lowered.argument_order])
    require(name, policy, 37, arrays[1:])


@pytest.mark.parametrize("name", ["along", "strict", "across"])
@pytest.mark.parametrize("policy", STRICT)
def test_the_machine_code_of_strict_folds_regroups_nothing(name: str, policy: Policy) -> None:
    text = compile_kernel(captured(name, policy, 37), CompileOptions()).metadata.source
    assert " fadd " in text or " fsub " in text
    assert not re.search(LICENSES, text)
    assert not re.search(r"llvm.vector.reduce.f(add|mul)|llvm.fma", text)

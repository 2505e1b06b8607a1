"""The bound of every step holds for float32, and is no larger than its formula needs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilewright.tools.running_error import ROUNDOFF, Running, exact

Function = Callable[[Any, Any], Any]
RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((20, 30)).astype("f4"), RNG.standard_normal((20, 30)).astype("f4") + np.float32(4)

STEPS: dict[str, tuple[Function, Function]] = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "subtract": (lambda a, b: a - b, lambda a, b: a - b),
    "multiply": (lambda a, b: a * b, lambda a, b: a * b),
    "divide": (lambda a, b: a / b, lambda a, b: a / b),
    "a constant": (lambda a, b: a * 0.1 + 0.3, lambda a, b: a * np.float32(0.1) + np.float32(0.3)),
    "exp": (lambda a, b: (a - b).exp(), lambda a, b: np.exp(a - b)),
    "tanh": (lambda a, b: (a * 0.5).tanh(), lambda a, b: np.tanh(a * np.float32(0.5))),
    "rsqrt": (lambda a, b: (b * b).rsqrt(), lambda a, b: 1 / np.sqrt(b * b)),
    "sum": (lambda a, b: (a * b).sum(), lambda a, b: (a * b).sum(-1, keepdims=True)),
    "max": (lambda a, b: (a * b).max(), lambda a, b: (a * b).max(-1, keepdims=True)),
    "product": (lambda a, b: a @ b.transposed(), lambda a, b: a @ b.T),
    "a chain": (
        lambda a, b: (a - a.sum() / 30.0) * (b * b).sum(),
        lambda a, b: (a - a.mean(-1, keepdims=True)) * (b * b).sum(-1, keepdims=True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_float32_stays_within_the_bound(step: str) -> None:
    bounded, single = STEPS[step]
    answer: Running = bounded(exact(A), exact(B))
    assert (abs(single(A, B) - answer.value) <= answer.error).all()


def test_one_operation_costs_one_roundoff() -> None:
    answer = exact(A) * exact(B)
    assert np.allclose(answer.error, ROUNDOFF * abs(answer.value), rtol=1e-6)


def test_an_inherited_error_passes_through_undiminished() -> None:
    off = Running(np.ones(1), np.full(1, 1e-3))
    assert (off + exact([1.0])).error[0] >= 1e-3
    assert (off * 8.0).error[0] >= 8e-3
    assert (exact([1.0]) / off).error[0] >= 1e-3
    assert off.exp().error[0] >= np.e * 1e-3
    assert Running(np.zeros(1), np.full(1, 1e-3)).tanh().error[0] >= 1e-3
    assert off.rsqrt().error[0] >= 0.5e-3
    assert (off @ exact([2.0])).error >= 2e-3
    assert Running(np.ones((1, 9)), np.full((1, 9), 1e-3)).sum().error[0, 0] >= 9e-3


def test_what_is_out_of_reach_has_no_finite_bound() -> None:
    assert (exact([1.0]) / Running(np.full(1, 0.5), np.ones(1))).error[0] == np.inf

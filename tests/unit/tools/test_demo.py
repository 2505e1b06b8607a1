"""The demo on small arrays: its answer is its exit status."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tilewright.tools import demo
from tilewright.tools.demo_cases import CASES, Case
from tilewright.tools.running_error import Running

SIZES = {
    "GEMM": (((20, 19), (19, 21)), (20, 21)),
    "bias, GELU, residual": (((9, 30), (30,), (9, 30)), (9, 30)),
    "softmax": (((9, 30),), (9, 30)),
    "LayerNorm": (((9, 30), (30,), (30,)), (9, 30)),
    "causal attention": (((2, 40, 8),) * 3, (2, 40, 8)),
}


def small(case: Case) -> Case:
    shapes, result = SIZES[case.title]
    return replace(case, shapes=shapes, result=result)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_ROUNDS", 1)
    monkeypatch.setattr(demo, "CASES", tuple(map(small, CASES)))


def test_every_kernel_is_within_its_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    shown = capsys.readouterr().out
    assert all(case.title in shown for case in CASES)
    assert "mma" in shown
    assert "plan: " in shown


def test_a_wrong_result_is_an_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    softmax = small(CASES[2])

    def shifted(x: Any) -> Running:
        return softmax.exact(x) + 1e-3

    wrong = replace(softmax, exact=shifted)
    monkeypatch.setattr(demo, "CASES", (wrong,))
    assert demo.main() == 1
    assert "outside of its bound" in capsys.readouterr().out


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_numpy_computes_the_same_thing(case: Case) -> None:
    inputs = small(case).inputs()
    answer = case.exact(*inputs)
    assert np.allclose(case.numpy(*inputs), answer.value, rtol=1e-4, atol=1e-5)

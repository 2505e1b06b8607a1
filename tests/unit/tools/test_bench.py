"""The measurements on small arrays: their exit status is about answers, never about times."""

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.tools.test_demo import small
from tilewright.tools import bench
from tilewright.tools.demo_cases import CASES, Array
from tilewright.tools.running_error import Running
from tilewright.tools.timing import race

SMALL = tuple(small(CASES[place]) for place in (0, 1, 2))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "CASES", SMALL)
    monkeypatch.setattr(bench, "_cases", lambda: SMALL)
    monkeypatch.setattr(bench, "_interpreted", lambda: [("softmax", SMALL[2])])
    monkeypatch.setattr(bench, "_ROUNDS", 1)
    monkeypatch.setattr(bench, "_IMPORTS", 1)


def test_every_answer_is_checked_and_every_cost_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main() == 0
    shown = capsys.readouterr().out
    for what in ("GEMM", "softmax", "capture and compile", "interpret softmax", "import tilewright"):
        assert what in shown


def test_a_wrong_answer_is_an_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def shifted(x: Array) -> Running:
        return SMALL[2].exact(x) + 1e-3

    monkeypatch.setattr(bench, "_cases", lambda: [replace(SMALL[2], exact=shifted)])
    assert bench.main() == 1
    assert "outside of its bound" in capsys.readouterr().out


def test_a_race_alternates_who_is_first() -> None:
    order: list[str] = []
    times = race(lambda: order.append("a"), lambda: order.append("b"), seconds=1e9, rounds=3)
    assert "".join(order) == "baabba"
    assert np.isfinite(times).all()

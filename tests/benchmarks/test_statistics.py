"""Medians, quartiles, ratios of neighbours, turns."""

from itertools import count, permutations

import pytest

from benchmarks import statistics
from benchmarks.statistics import Spread, calls_for, geometric_mean, orders, paired_ratios, sample, spread


@pytest.mark.parametrize(
    ("samples", "answer"),
    [
        ([3.0], Spread(3, 3, 3, 1)),
        ([4.0, 1.0, 3.0, 2.0], Spread(2.5, 1.5, 3.5, 4)),
        ([5.0, 1.0, 4.0, 2.0, 3.0], Spread(3, 2, 4, 5)),
    ],
)
def test_a_spread_is_the_median_between_the_quartiles(samples: list[float], answer: Spread) -> None:
    assert spread(samples) == answer


def test_nothing_has_no_median_and_no_mean() -> None:
    with pytest.raises(ValueError, match="no median"):
        spread([])
    with pytest.raises(ValueError, match="no mean"):
        geometric_mean([])


def test_a_slow_moment_that_meets_both_changes_no_ratio() -> None:
    ours, theirs = [1.0, 1.0, 10.0], [2.0, 2.0, 20.0]
    assert paired_ratios(ours, theirs) == [0.5, 0.5, 0.5]
    assert spread(paired_ratios(ours, theirs)).median == 0.5


def test_samples_without_a_partner_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        paired_ratios([1.0, 2.0], [1.0])


def test_every_round_reverses_the_order() -> None:
    assert list(orders("abcd", 3)) == [tuple("abcd"), tuple("dcba"), tuple("abcd")]
    assert list(orders("ab", 3)) == [tuple("ab"), tuple("ba"), tuple("ab")]


def test_three_take_turns_in_all_six_orders() -> None:
    found = list(orders("abc", 12))
    assert found[:6] == found[6:]
    assert set(found) == set(permutations("abc"))
    assert all(after == before[::-1] for before, after in zip(found[::2], found[1::2], strict=True))


def test_a_geometric_mean_forgives_nothing_that_an_inverse_does_not_repay() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([0.25, 1.0]) == pytest.approx(0.5)


class Clock:
    """Every call of the job takes this long, and looking at the clock nothing."""

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds = 0.0, seconds

    def job(self) -> None:
        self.now += self.seconds


@pytest.mark.parametrize(("each", "calls"), [(1e-6, 1000), (3e-4, 4), (1.0, 1)])
def test_a_sample_has_as_many_calls_as_fill_its_time(monkeypatch: pytest.MonkeyPatch, each: float, calls: int) -> None:
    clock = Clock(each)
    monkeypatch.setattr(statistics, "perf_counter", lambda: clock.now)
    assert calls_for(clock.job, 1e-3) == pytest.approx(calls, abs=1)


def test_a_sample_is_the_time_of_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(0.25)
    monkeypatch.setattr(statistics, "perf_counter", lambda: clock.now)
    assert sample(clock.job, 8) == 0.25


def test_a_job_that_takes_no_time_is_not_called_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count()
    monkeypatch.setattr(statistics, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(statistics, "MAX_CALLS", 64)
    assert calls_for(lambda: next(calls), 1e-3) == 64

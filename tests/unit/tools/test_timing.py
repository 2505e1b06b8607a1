"""Times that can be compared."""

import numpy as np

from tilewright.tools.timing import race


def test_a_race_alternates_who_is_first_and_each_runs_several_times() -> None:
    order: list[str] = []
    times = race(lambda: order.append("a"), lambda: order.append("b"), seconds=1e9, rounds=3)
    assert "".join(order) == "".join(5 * who for who in "baabba")
    assert np.isfinite(times).all()

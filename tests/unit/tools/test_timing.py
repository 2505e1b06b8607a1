"""Times that can be compared."""

import numpy as np

from tilewright.tools.timing import race


def test_a_race_alternates_who_is_first() -> None:
    order: list[str] = []
    times = race(lambda: order.append("a"), lambda: order.append("b"), seconds=1e9, rounds=3)
    assert "".join(order) == "baabba"
    assert np.isfinite(times).all()

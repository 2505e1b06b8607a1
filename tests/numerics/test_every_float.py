"""Every float32, through machine code of both tiers; and ten million powers. About ten minutes on two cores."""

import numpy as np
import pytest

from tests.numerics.judging import BLOCK, FUNCTIONS, Function, apply, bits_from, power, stated, ulps
from tests.numerics.test_functions import BOUNDED

TIERS = (False, True)


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_every_number(function: Function) -> None:
    """The largest error is the one that the table states, to two digits behind the point."""
    kernels = [apply(function, fast=fast) for fast in TIERS]
    largest, found = [(0.0, "")] * 2, np.empty(BLOCK, np.float32)
    for first in range(0, 1 << 32, BLOCK):
        x = bits_from(first)
        with np.errstate(all="ignore"):
            expected = function.reference(x.astype(np.float64))
        for tier, run in enumerate(kernels):
            run(x, found)
            error = ulps(found, expected)
            place = int(error.argmax())
            if error[place] > largest[tier][0]:
                largest[tier] = (float(error[place]), float(x[place]).hex())
            assert function.name not in BOUNDED or np.fmax.reduce(np.abs(found), initial=0) <= 1
    for fast, (error, where) in zip(TIERS, largest, strict=True):
        bound, worst = stated()[function.name].of(fast=fast)
        assert worst - 0.01 <= error <= worst <= bound, (fast, error, where)


@pytest.mark.slow
def test_ten_million_powers() -> None:
    """All pairs of signs and exponents evenly, and pairs whose power is near 1: most others overflow or vanish."""
    rng = np.random.default_rng(23)
    largest, found = [(0.0, (0.0, 0.0))] * 2, np.empty(BLOCK, np.float32)
    for block in range(10_000_000 // BLOCK + 1):
        x = rng.integers(0, 1 << 32, BLOCK, dtype=np.uint32).view(np.float32)
        y = rng.integers(0, 1 << 32, BLOCK, dtype=np.uint32).view(np.float32)
        if block % 4:
            x = np.abs(x)
            with np.errstate(all="ignore"):
                y = (rng.uniform(-150, 129, BLOCK) / np.log2(x.astype(np.float64))).astype(np.float32)
        with np.errstate(all="ignore"):
            expected = np.power(x.astype(np.float64), y.astype(np.float64))
        for tier, fast in enumerate(TIERS):
            power(fast=fast)(x, y, found)
            error = ulps(found, expected)
            place = int(error.argmax())
            largest[tier] = max(largest[tier], (float(error[place]), (float(x[place]), float(y[place]))))
    for fast, (error, where) in zip(TIERS, largest, strict=True):
        bound, worst = stated()["pow"].of(fast=fast)
        assert worst - 0.01 <= error <= worst <= bound, (fast, error, where)

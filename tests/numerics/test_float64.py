"""Elementary functions of float64 in machine code, judged by extended precision, where the machine has it."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.numerics.judging import BLOCK, FUNCTIONS, Function, apply, power, stated_for_f64, ulps_of_f64
from tilewright.numerics.arrays import Array
from tilewright.tools.fit_math import erf_series

EXTENDED = np.finfo(np.longdouble).nmant > 52
SLACK = 0 if EXTENDED else 1
CLOSEST = 6381956970095103 * 2.0**797  # of all float64, the one nearest to a multiple of pi / 2
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308, -3.4e38]
)


def judge(function: Function, x: Array) -> Array:
    with np.errstate(all="ignore"):
        wide = x.astype(np.longdouble)
        if function.name != "erf":
            return function.reference(wide)
        return np.where(np.abs(x) < 7, erf_series(np.clip(wide, -7, 7)), np.sign(wide))


def error(run: Callable[[Array, Array], None], function: Function, x: Array) -> tuple[float, float]:
    """The largest, and where it is."""
    padded = np.resize(x, -(-len(x) // BLOCK) * BLOCK)
    found = np.empty_like(padded)
    for first in range(0, len(padded), BLOCK):
        run(padded[first : first + BLOCK], found[first : first + BLOCK])
    errors = ulps_of_f64(found[: len(x)], judge(function, x))
    place = int(np.argmax(errors))
    return float(errors[place]), float(x[place])


def samples() -> Iterator[Array]:
    rng = np.random.default_rng(13)
    fractions = rng.integers(0, 1 << 52, (4096, 16), dtype=np.uint64)
    yield ((np.arange(4096, dtype=np.uint64)[:, None] << 52) | fractions).ravel().view(np.float64)
    for spread in (0.1, 1.0, 3.0, 200.0, 1e6):
        yield rng.normal(0, spread, BLOCK)
    yield np.abs(rng.normal(1, 0.3, BLOCK))
    yield rng.uniform(0.5, 6.0, BLOCK)
    for step in (1.0, 997.0, 1e15):
        yield np.arange(1, BLOCK + 1) * (np.pi / 2) * step
    yield np.array([CLOSEST, -CLOSEST, np.nextafter(CLOSEST, 0), 1e22, *SPECIAL])


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_numbers_of_every_exponent_and_where_functions_bend(function: Function) -> None:
    for x in samples():
        largest, where = error(apply(function), function, x)
        assert largest <= stated_for_f64()[function.name] + SLACK, (where, largest)


def raised(x: Array, y: Array) -> tuple[Array, Array]:
    count = len(x)
    bases, exponents = (np.resize(each, -(-count // BLOCK) * BLOCK) for each in (x, y))
    found = np.empty_like(bases)
    for first in range(0, len(bases), BLOCK):
        block = slice(first, first + BLOCK)
        power()(bases[block], exponents[block], found[block])
    with np.errstate(all="ignore"):
        return found[:count], np.power(x.astype(np.longdouble), y.astype(np.longdouble))


def test_pow_of_random_numbers() -> None:
    """Most exponents are such that the power neither overflows nor vanishes."""
    rng, count = np.random.default_rng(17), 1 << 16
    every = rng.integers(0, 0x7FF0 << 48, count, dtype=np.uint64).view(np.float64)
    close = 1 + rng.normal(0, 1e-8, count)
    for bases, exponents in (
        (every, rng.uniform(-1090, 1024, count) / np.log2(every)),
        (close, rng.uniform(-1090, 1024, count) / np.log2(close)),
        (np.exp(rng.normal(0, 1, count)), rng.normal(0, 30, count)),
        (np.round(rng.normal(0, 20, count)), np.round(rng.normal(0, 9, count))),
    ):
        errors = ulps_of_f64(*raised(bases, exponents))
        place = int(np.argmax(errors))
        assert errors[place] <= stated_for_f64()["pow"] + SLACK, (bases[place], exponents[place])


def test_pow_of_special_values() -> None:
    """Exact where the result is a zero, an infinity, a NaN or 1."""
    values = np.array([0.0, 1.0, 2.0, 3.0, 0.5, 2.5, np.inf, 5e-324, 1e308, 2.0**53, 2.0**53 + 2, 2.0**52 + 1])
    values = np.concatenate([values, -values, [np.nan]])
    bases, exponents = (each.ravel() for each in np.meshgrid(values, values))
    found, expected = raised(bases, exponents)
    with np.errstate(all="ignore"):
        rounded = expected.astype(np.float64)
    plain = np.isfinite(rounded) & (rounded != 0) & (np.abs(rounded) != 1)
    np.testing.assert_array_equal(found[~plain], rounded[~plain])
    assert (ulps_of_f64(found, expected) <= stated_for_f64()["pow"] + SLACK).all()


def test_the_judge_counts_units_in_the_last_place() -> None:
    found = np.array([np.nextafter(1, 2), 0.0, np.inf, -0.0, np.nan, 1.0])
    expected = np.array([1.0, np.ldexp(np.longdouble(1), -1075), np.inf, 0.0, np.nan, np.nan], np.longdouble)
    assert ulps_of_f64(found, expected).tolist() == [1, 0.5 if EXTENDED else 0, 0, np.inf, 0, np.inf]

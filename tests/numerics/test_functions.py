"""Elementary functions in machine code, both tiers: the bounds of the table on a sample, and every special value."""

from collections.abc import Callable, Iterator
from functools import cache
from math import log, pi, sqrt

import ml_dtypes
import numpy as np
import pytest

from tests.numerics.judging import BLOCK, FUNCTIONS, Function, apply, power, stated, ulps
from tilewright import create_device, tile
from tilewright.numerics.arrays import Array
from tilewright.tile import ConstView1, View1, axis, coord, f32, parallel, shape

Apply = Callable[[Array, Array], None]
TIERS = pytest.mark.parametrize("fast", [False, True], ids=["default", "fast"])
EACH = pytest.mark.parametrize("function", FUNCTIONS, ids=str)
BOUNDED = ("sigmoid", "tanh", "erf", "sin", "cos")
LARGEST = float(np.finfo(np.float32).max)


def results(run: Apply, x: Array) -> Array:
    """In blocks, the last one filled up."""
    padded = np.resize(x, -(-len(x) // BLOCK) * BLOCK)
    y = np.empty_like(padded)
    for first in range(0, len(padded), BLOCK):
        run(padded[first : first + BLOCK], y[first : first + BLOCK])
    return y[: len(x)]


def reference(function: Function, x: Array) -> Array:
    with np.errstate(all="ignore"):
        return function.reference(x.astype(np.float64))


@cache
def sample() -> Array:
    """A million numbers: every sign and exponent, and neighbours of places where something changes."""
    rng = np.random.default_rng(5)
    fractions = rng.integers(0, 1 << 23, (512, 1536), dtype=np.uint32)
    spread = ((np.arange(512, dtype=np.uint32)[:, None] << 23) | fractions).ravel()
    centers = np.abs(np.array(list(places()))).astype(np.float32).view(np.int32)
    near = (centers[:, None] + np.arange(-24, 25, dtype=np.int32)).ravel()
    near = near[near >= 0].view(np.float32)
    return np.concatenate([spread.view(np.float32), near, -near])


def places() -> Iterator[float]:
    """Where a reduction or a rounding turns over, where polynomials meet, and where a range ends."""
    yield from (0.0, 1e-45, 2.0**-126, LARGEST, np.inf, 0.625, 0.9275, 3.94, 4.0, 9.0, 9.125, 40.0)
    yield from (88.72284, 87.33655, 103.97208, 104.0, 89.0, 127.99999, 149.0, 150.0, 151.0, 2.0**15, 2.0**22, 2.0**23)
    for k in range(152):
        yield from (k * log(2), (k + 0.5) * log(2), k, k + 0.5)
    for k in range(1, 2000):
        yield k * pi / 4
    for e in range(-149, 128):
        yield from (2.0**e, 2.0**e * sqrt(2), 2.0**e * pi / 2)


@EACH
@TIERS
def test_a_million_numbers(function: Function, fast: bool) -> None:
    x = sample()
    bound, worst = stated()[function.name].of(fast=fast)
    got = results(apply(function, fast=fast), x)
    error = ulps(got, reference(function, x))
    place = int(np.argmax(error))
    assert error[place] <= worst <= bound, (float(x[place]).hex(), got[place])
    if function.name in BOUNDED:
        assert np.nanmax(np.abs(got)) <= 1


@EACH
@TIERS
def test_zeros_infinities_nan_and_the_padding_of_masks(function: Function, fast: bool) -> None:
    """Their results are exact: the reference's, rounded. Sines of huge numbers are numbers like others."""
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -3.4e38, -LARGEST], np.float32)
    got, expected = results(apply(function, fast=fast), x), reference(function, x).astype(np.float32)
    exact = len(x) - 2 * (function.name in ("sin", "cos"))
    np.testing.assert_array_equal(got[:exact], expected[:exact])
    known = ~np.isnan(expected)
    assert (np.signbit(got) == np.signbit(expected))[known].all()
    assert (ulps(got, reference(function, x)) <= stated()[function.name].of(fast=fast)[0]).all()


@EACH
@TIERS
def test_every_half(function: Function, fast: bool) -> None:
    """float32 inside, rounded once: what is left of the error of float32 is not seen but close to a tie."""
    patterns = np.arange(1 << 16, dtype=np.uint16)
    for dtype, smallest, digits in ((np.dtype(np.float16), -14, 10), (np.dtype(ml_dtypes.bfloat16), -126, 7)):
        x = patterns.view(dtype)
        expected = reference(function, x)
        got = results(apply(function, fast=fast), x).astype(np.float64)
        with np.errstate(all="ignore"):
            rounded = expected.astype(dtype).astype(np.float64)
            size = np.maximum(np.frexp(expected)[1] - 1, smallest) - digits
            error = np.abs(got - expected) / np.exp2(np.where(np.isfinite(expected), size, 0))
        slack = stated()[function.name].of(fast=fast)[0] * 2.0 ** (digits - 23)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        assert (same | (error <= 0.5 + slack)).all(), dtype


@EACH
def test_float64_is_enough_to_judge(function: Function) -> None:
    """NumPy's functions are within a ten thousandth of what is judged, large angles too: extended precision says so."""
    if np.finfo(np.longdouble).nmant <= 52 or function.name == "erf":
        return
    x = sample()[:: 1 + len(sample()) // 200_000]
    with np.errstate(all="ignore"):
        known, judged = (
            np.clip(function.reference(x.astype(wide)), -(2.0**129), 2.0**129) for wide in (np.longdouble, np.float64)
        )
        beside = np.abs(judged - known) / np.maximum(np.abs(known), 2.0**-126)
    assert np.nanmax(beside) < 1e-4 * 2.0**-24


def test_the_judge_counts_units_in_the_last_place() -> None:
    one, nan = np.float32(1), np.float32(np.nan)
    got = np.array([np.nextafter(one, np.float32(2)), 0.0, np.inf, np.inf, -0.0, nan, 1.0], np.float32)
    expected = np.array([1.0, 2.0**-150, LARGEST, 1e300, 0.0, np.nan, np.nan])
    assert ulps(got, expected).tolist() == [1, 0.5, 1, 0, np.inf, 0, np.inf]


@TIERS
def test_pow_of_special_values(fast: bool) -> None:
    """The table of IEEE 754: exact where the result is a zero, an infinity, a NaN or 1."""
    values = np.array([0.0, 1.0, 2.0, 3.0, 0.5, 2.5, np.inf, 1e-45, 3e38, 16777216.0, 16777217.0, 5.0], np.float32)
    values = np.concatenate([values, -values, np.array([np.nan], np.float32)])
    bases, exponents = (each.ravel() for each in np.meshgrid(values, values))
    got, expected = raised(bases, exponents, fast=fast)
    with np.errstate(over="ignore"):
        rounded = expected.astype(np.float32)
    plain = np.isfinite(rounded) & (rounded != 0) & (np.abs(rounded) != 1)
    np.testing.assert_array_equal(got[~plain], rounded[~plain])
    assert (ulps(got, expected) <= stated()["pow"].of(fast=fast)[0]).all()


@TIERS
def test_pow_of_random_numbers(fast: bool) -> None:
    rng = np.random.default_rng(17)
    count = 1 << 17
    fractions = rng.integers(0, 1 << 23, (512, count // 512), dtype=np.uint32)
    every = ((np.arange(512, dtype=np.uint32)[:, None] << 23) | fractions).ravel().view(np.float32)
    for bases, exponents in (
        (every, rng.normal(0, 2, count)),
        (rng.normal(1, 0.2, count), rng.normal(0, 300, count)),
        (np.round(rng.normal(0, 20, count)), np.round(rng.normal(0, 9, count))),
    ):
        x, y = bases.astype(np.float32), exponents.astype(np.float32)
        error = ulps(*raised(x, y, fast=fast))
        place = int(np.argmax(error))
        assert error[place] <= stated()["pow"].of(fast=fast)[1], (x[place], y[place])


def raised(bases: Array, exponents: Array, *, fast: bool) -> tuple[Array, Array]:
    """What machine code computes, and the reference."""
    count = len(bases)
    x, y = (np.resize(each, -(-count // BLOCK) * BLOCK) for each in (bases, exponents))
    z = np.empty_like(x)
    for first in range(0, len(x), BLOCK):
        block = slice(first, first + BLOCK)
        power(fast=fast)(x[block], y[block], z[block])
    with np.errstate(all="ignore"):
        return z[:count], np.power(bases.astype(np.float64), exponents.astype(np.float64))


def test_the_fast_tier_says_so() -> None:
    """In the report and in the metadata."""

    @tile.kernel
    def exponentials(x: ConstView1[f32], y: View1[f32]):
        i = axis("i", 64)
        for nest in parallel(shape(axis("g", 1))):
            y.at(coord(nest.index()), shape(i)).store(tile.exp(x[coord(nest.index()), shape(i)]))

    device, vector = create_device("simd"), tile.tensor_shape(64)
    captured = exponentials.capture(vector, vector)
    plain, fast = (tile.compile(device, captured, fast_math=fast) for fast in (False, True))
    assert ("expand-math-fast" in plain.explain(), "expand-math-fast" in fast.explain()) == (False, True)
    assert (plain.metadata.realization.get("vector_math"), fast.metadata.realization["vector_math"]) == (None, "fast")
    assert fast.metadata.source.count("llvm.fma") < plain.metadata.source.count("llvm.fma")

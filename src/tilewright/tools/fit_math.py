"""Derives the polynomials of `xir/vector_math/polynomials.py`: run it to print that table again.

Every polynomial is a weighted minimax fit (Remez exchange on a grid, in extended precision where the machine has it).
Coefficients are rounded to the working precision one at a time, lowest power first, and the rest is fitted again, so
that later coefficients make up for the rounding of earlier ones. A quotient of two polynomials is fitted the same way,
with the latest denominator among the weights, and rounded at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import erf, erfc, floor, log, log2, pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "FITS",
    "PARTS",
    "QUOTIENTS",
    "TWO_OVER_PI_BITS",
    "Fit",
    "Quotient",
    "erf_series",
    "fitted",
    "fitted_quotient",
    "parts",
    "two_over_pi",
]

Real = npt.NDArray[Any]  # of long doubles
Function = Callable[[Real], Real]

_GRID = 4000
_ROUNDS = 24
_HOLE = 0.05  # points this near 0, as a part of the interval, are left out: weights vanish there
TWO_OVER_PI_BITS = 1216  # 64-bit words for the largest float64, 2**1024: see vector_math/trigonometric_f64.py
LOG2E = 1 / np.log(np.longdouble(2))


@dataclass(frozen=True, slots=True)
class Fit:
    """Approximates `function` on [low, high] by powers 0..degree, minimising the largest `weight * error`."""

    name: str
    function: Function
    low: float
    high: float
    degree: int
    weight: Function
    precision: type[np.floating[Any]] = np.float32


def fitted(fit: Fit) -> tuple[float, ...]:
    """The coefficients from power 0 up, each a number of the fit's precision."""
    coefficients: list[float] = []
    for decided in range(fit.degree + 1):
        exact = _minimax(_rest(fit, decided, tuple(coefficients)), fit.degree - decided + 1)
        coefficients.append(float(fit.precision(exact[0])))
    return tuple(coefficients)


@dataclass(frozen=True, slots=True)
class _Problem:
    """Values and weights on a grid."""

    grid: Real
    values: Real
    weights: Real


def _rest(fit: Fit, decided: int, coefficients: tuple[float, ...]) -> _Problem:
    """What is left for the higher powers: (f(x) - p(x)) / x**decided, so that powers start at 0 again.

    Without the division the remaining powers would all vanish at 0, and inside an interval alternation would fail.
    """
    grid = _points(fit.low, fit.high)
    grid = grid[np.abs(grid) > _HOLE * fit.high]
    scale = grid**decided
    values = (fit.function(grid) - _horner(grid, [np.longdouble(c) for c in coefficients])) / scale
    return _Problem(grid, values, fit.weight(grid) * np.abs(scale))


def _points(low: float, high: float) -> Real:
    """A grid that is denser toward both ends."""
    angles = np.arange(_GRID, dtype=np.longdouble) / (_GRID - 1) * np.longdouble(pi)
    return (low + high) / 2 - (high - low) / 2 * np.cos(angles)


def _horner(x: Real, coefficients: "list[np.longdouble]") -> Real:
    total = np.zeros_like(x)
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def _minimax(problem: _Problem, terms: int) -> Real:
    """Remez exchange: the `terms` coefficients whose weighted error alternates with one size."""
    count = terms + 1
    table = np.stack([problem.grid**power for power in range(terms)], axis=1)
    chosen = np.linspace(0, len(problem.grid) - 1, count).astype(int)
    best, smallest = np.zeros(terms, np.longdouble), np.inf
    for _ in range(_ROUNDS):
        signs = (-1.0) ** np.arange(count) / problem.weights[chosen]
        solution = _solved(np.column_stack([table[chosen], signs]), problem.values[chosen])[:-1]
        error = problem.weights * (table @ solution - problem.values)
        largest = np.abs(error).max()
        if largest < smallest:
            best, smallest = solution, largest
        chosen = _extrema(error, count)
    return best


@dataclass(frozen=True, slots=True)
class Quotient:
    """Approximates `function` on [0, high] by p / q with q(0) = 1: the largest relative error is least."""

    name: str
    function: Function
    high: float
    degree: int
    below: int  # the degree of q


def fitted_quotient(fit: Quotient) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The float32 coefficients of p and of q, from power 0 up. Solved for p - f q, weighted by the q of the last round.

    (Cody, Fraser and Hart, "Rational Chebyshev approximation using linear equations", 1968.)
    """
    grid = _points(0.0, fit.high)
    values, terms = fit.function(grid), fit.degree + 1
    powers = [grid**power for power in range(terms)]
    table = np.stack([*powers, *(-values * grid**power for power in range(1, fit.below + 1))], axis=1)
    count = table.shape[1] + 1
    chosen = np.linspace(0, len(grid) - 1, count).astype(int)
    below: Real = np.ones_like(grid)
    best, smallest = np.zeros(count - 1, np.longdouble), np.inf
    for _ in range(_ROUNDS):
        signs: Real = values[chosen] * below[chosen]
        signs[1::2] *= -1
        solution = _solved(np.column_stack([table[chosen], signs]), values[chosen])[:-1]
        below = _horner(grid, [np.longdouble(1), *solution[terms:]])
        error = _horner(grid, list(solution[:terms])) / below / values - 1
        if np.abs(error).max() < smallest:
            best, smallest = solution, np.abs(error).max()
        chosen = _extrema(error, count)
    rounded = tuple(float(np.float32(coefficient)) for coefficient in best)
    return rounded[:terms], (1.0, *rounded[terms:])


def _extrema(error: Real, count: int) -> npt.NDArray[np.intp]:
    """The positions of `count` extremes of alternating sign: one for each run of a sign, the smallest dropped."""
    signs = np.signbit(error)
    starts = np.flatnonzero(np.diff(signs, prepend=~signs[:1]))
    runs = np.split(np.arange(len(error)), starts[1:])
    peaks = [run[np.argmax(np.abs(error[run]))] for run in runs]
    while len(peaks) > count:
        peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
    if len(peaks) < count:  # fewer than the theory wants: rounding noise; spread the points anew
        return np.linspace(0, len(error) - 1, count).astype(np.intp)
    return np.asarray(peaks)


def _solved(matrix: Real, right: Real) -> Real:
    """Gaussian elimination with partial pivoting, because `numpy.linalg` has no extended precision."""
    rows = np.column_stack([matrix, right])
    size = len(rows)
    for column in range(size):
        pivot = column + int(np.argmax(np.abs(rows[column:, column])))
        rows[[column, pivot]] = rows[[pivot, column]]
        rows[column + 1 :] -= np.outer(rows[column + 1 :, column] / rows[column, column], rows[column])
    result = np.zeros(size, np.longdouble)
    for row in reversed(range(size)):
        result[row] = (rows[row, -1] - rows[row, row + 1 : -1] @ result[row + 1 :]) / rows[row, row]
    return result


def _each(function: Callable[[float], float]) -> Function:
    return lambda x: np.array([function(float(value)) for value in x], np.longdouble)


def _near(x: Real, limit: float, series: Function, direct: Function) -> Real:
    """`direct`, but `series` close to 0, where `direct` cancels."""
    small = np.abs(x) < limit
    return np.where(small, series(x), direct(np.where(small, limit, x)))


def _exp_tail(x: Real) -> Real:
    """(exp(x) - 1 - x) / x**2."""
    terms = [np.longdouble(1) / np.prod(np.arange(1, n + 3, dtype=np.longdouble)) for n in range(18)]
    return _horner(x, terms)


def _log1p_tail(x: Real) -> Real:
    """(log(1 + x) - x) / x**2."""
    terms = [np.longdouble((-1) ** (n + 1)) / (n + 2) for n in range(30)]
    return _near(x, 0.05, lambda t: _horner(t, terms), lambda t: (np.log1p(t) - t) / t**2)


def _exp2_tail(x: Real) -> Real:
    """(2**x - 1) / x."""
    y = x / LOG2E
    return (_exp_tail(y) * y + 1) / LOG2E


def _atanh_tail(w: Real) -> Real:
    """(2 atanh(s) / s - 2) / s**2 for w = s**2."""
    return _horner(w, [np.longdouble(2) / (2 * n + 3) for n in range(20)])


def _atanh_rest(w: Real) -> Real:
    """((2 atanh(s) / s - 2) / s**2 - 2/3) / s**2 for w = s**2."""
    return _horner(w, [np.longdouble(2) / (2 * n + 5) for n in range(20)])


def _tanh_tail(w: Real) -> Real:
    """(tanh(x) / x - 1) / x**2 for w = x**2."""
    series = [np.longdouble(c) for c in (-1 / 3, 2 / 15, -17 / 315, 62 / 2835)]
    return _near(w, 1e-4, lambda z: _horner(z, series), lambda z: (np.tanh(np.sqrt(z)) / np.sqrt(z) - 1) / z)


def _tanh_ratio(w: Real) -> Real:
    """tanh(x) / x for w = x**2."""
    return 1 + w * _tanh_tail(w)


def _erf_ratio(w: Real) -> Real:
    """erf(x) / x - 1 for w = x**2."""
    first = 2 / sqrt(pi) - 1
    series = [np.longdouble(c) for c in (first, -(first + 1) / 3)]
    direct = _each(lambda z: erf(sqrt(z)) / sqrt(z) - 1)
    return _near(w, 1e-9, lambda z: _horner(z, series), direct)


def erf_series(x: Real) -> Real:
    """By a series of positive terms, which loses no digits."""
    square = x * x
    term, total = x, x
    for n in range(1, 220):
        term = term * square * 2 / (2 * n + 1)
        total = total + term
    return total * np.exp(-square) * _TWO_OVER_ROOT_PI


def _erf_ratio_exactly(w: Real) -> Real:
    """As `_erf_ratio`, to extended precision."""
    x = np.sqrt(np.maximum(w, 1e-12))
    return np.where(w < 1e-12, _TWO_OVER_ROOT_PI * (1 - w / 3), erf_series(x) / x) - 1


def _erfc(x: Real) -> Real:
    """1 - erf(x), from 2 on by its continued fraction."""
    fraction = far = np.maximum(x, 2)
    for k in range(120, 0, -1):
        fraction = far + np.longdouble(k) / 2 / fraction
    return np.where(x < 2, 1 - erf_series(x), np.exp(-far * far) * _TWO_OVER_ROOT_PI / 2 / fraction)


def _erfc_logarithm(x: Real) -> Real:
    return -np.log(_erfc(x))


def _erfc_weight(x: Real) -> Real:
    return _erfc(x) / erf_series(x)


def _sin_tail(w: Real) -> Real:
    """(sin(x) / x - 1) / x**2 for w = x**2."""
    return _horner(w, _alternating(3))


def _cos_tail(w: Real) -> Real:
    """(cos(x) - 1 + x**2 / 2) / x**4 for w = x**2."""
    return -_horner(w, _alternating(4))


def _alternating(first: int) -> "list[np.longdouble]":
    """-1 / first!, +1 / (first + 2)!, ..."""
    factorials = [np.prod(np.arange(1, first + 2 * n + 1, dtype=np.longdouble)) for n in range(12)]
    return [(-1) ** (n + 1) / factorial for n, factorial in enumerate(factorials)]


def _log1p_ratio(x: Real) -> Real:
    """log(1 + x) / x."""
    return 1 + x * _log1p_tail(x)


_TWO_OVER_ROOT_PI = 1 / np.sqrt(np.arctan(np.longdouble(1)))
_HALF_LN2, _ROOT = log(2) / 2 * 1.001, sqrt(2) * 1.0001
_ATANH_HIGH = ((_ROOT - 1) / (_ROOT + 1)) ** 2
_QUARTER_PI = pi / 4 * 1.001

FITS: tuple[Fit, ...] = (
    Fit("EXP", _exp_tail, -_HALF_LN2, _HALF_LN2, 4, lambda x: x**2 / np.exp(x)),
    Fit("EXP2", _exp2_tail, -0.5, 0.5, 5, lambda x: np.abs(x) / np.exp2(x)),
    Fit("LOG", _log1p_tail, 1 / _ROOT - 1, _ROOT - 1, 9, np.abs),
    Fit("LOG2", lambda x: _log1p_tail(x) * LOG2E, 1 / _ROOT - 1, _ROOT - 1, 9, np.abs),
    Fit("TANH", _tanh_tail, 0.0, 0.64**2, 5, lambda w: w),
    Fit("ERF", _erf_ratio, 0.0, 0.94**2, 6, np.ones_like),
    Fit("ERFC", _each(lambda x: -log(erfc(x))), 0.92, 4.0, 7, _each(lambda x: erfc(x) / erf(x))),
    Fit("SIN", _sin_tail, 0.0, _QUARTER_PI**2, 4, lambda w: w, np.float64),
    Fit("COS", _cos_tail, 0.0, _QUARTER_PI**2, 4, lambda w: w**2, np.float64),
    Fit("SIN_F64", _sin_tail, 0.0, _QUARTER_PI**2, 5, lambda w: w, np.float64),
    Fit("COS_F64", _cos_tail, 0.0, _QUARTER_PI**2, 5, lambda w: w**2, np.float64),
    Fit("EXP_F64", _exp_tail, -_HALF_LN2, _HALF_LN2, 10, lambda x: x**2 / np.exp(x), np.float64),
    Fit("LOG_F64", _atanh_tail, 0.0, _ATANH_HIGH, 6, lambda w: w, np.float64),
    Fit("POW_F64", _atanh_rest, 0.0, _ATANH_HIGH, 6, lambda w: w**2, np.float64),
    Fit("ERF_F64", _erf_ratio_exactly, 0.0, 0.94**2, 12, np.ones_like, np.float64),
    Fit("ERFC_F64", _erfc_logarithm, 0.92, 2.2, 14, _erfc_weight, np.float64),
    Fit(
        "ERFC_FAR_F64",
        lambda t: _erfc_logarithm(t + 4),
        2.2 - 4,
        5.95 - 4,
        11,
        lambda t: _erfc_weight(t + 4),
        np.float64,
    ),
    Fit("FAST_EXP", _exp_tail, -_HALF_LN2, _HALF_LN2, 3, lambda x: x**2 / np.exp(x)),
    Fit("FAST_EXP2", _exp2_tail, -0.5, 0.5, 4, lambda x: np.abs(x) / np.exp2(x)),
    Fit("FAST_LOG", _log1p_ratio, 1 / _ROOT - 1, _ROOT - 1, 8, np.ones_like),
    Fit("FAST_LOG2", lambda x: _log1p_ratio(x) * LOG2E, 1 / _ROOT - 1, _ROOT - 1, 8, np.ones_like),
    Fit("FAST_SIN", _sin_tail, 0.0, _QUARTER_PI**2, 2, lambda w: w),
    Fit("FAST_COS", _cos_tail, 0.0, _QUARTER_PI**2, 1, lambda w: w**2),
    Fit("FAST_EXP_F64", _exp_tail, -_HALF_LN2, _HALF_LN2, 3, lambda x: x**2 / np.exp(x), np.float64),
    Fit("FAST_LOG_F64", _atanh_tail, 0.0, _ATANH_HIGH, 2, lambda w: w, np.float64),
)
QUOTIENTS: tuple[Quotient, ...] = (
    Quotient("FAST_TANH", _tanh_ratio, 9.02**2, 4, 4),
    Quotient("FAST_ERF", lambda w: 1 + _erf_ratio(w), 3.95**2, 5, 5),
)


def two_over_pi(bits: int) -> int:
    """The first `bits` binary digits of 2 / pi behind the point."""
    return int((1 << bits) / _half_pi())


def _half_pi() -> Fraction:
    """Half of pi by Machin's formula, to more than 1300 bits."""
    return 2 * (4 * _inverse_series(5, -1) - _inverse_series(239, -1))


def _ln2() -> Fraction:
    return 2 * _inverse_series(3, 1)


def _inverse_series(x: int, sign: int) -> Fraction:
    """The inverse tangent (sign -1) or hyperbolic tangent (sign 1) of 1 / x."""
    terms = (Fraction(sign**n, (2 * n + 1) * x ** (2 * n + 1)) for n in range(110 if x < 4 else 300))
    return sum(terms, Fraction(0))


def parts(value: Fraction, *bits: int) -> tuple[float, ...]:
    """`value` as a sum of numbers with so many significant bits, each the rounded rest of those before."""
    found: list[Fraction] = []
    for width in bits:
        found.append(_rounded(value - sum(found), width))
    return tuple(map(float, found))


def _rounded(value: Fraction, bits: int) -> Fraction:
    scale = Fraction(2) ** (bits - 1 - floor(log2(abs(value))))
    return round(value * scale) / scale


# Exponents have 8 and 11 bits, so products with these high parts of ln 2 are exact. The parts of HALF_PI_F32 are all
# positive: what is left of -0 after them stays -0.
PARTS: dict[str, tuple[float, ...]] = {
    "LN2_F32": parts(_ln2(), 15, 24),
    "LN2_F64": parts(_ln2(), 41, 53),
    "TWO_THIRDS_F64": parts(Fraction(2, 3), 53, 53),
    "LN2_NEAREST_F64": parts(_ln2(), 53, 53),
    "LOG2E_F32": parts(1 / _ln2(), 24, 24),
    "LOG2E_F64": parts(1 / _ln2(), 53, 53),
    "HALF_PI_F64": parts(_half_pi(), 53, 53, 53),
    "HALF_PI_F32": parts(_half_pi(), 23, 22, 24),
}


def main() -> None:
    """Prints the table of `xir/vector_math/polynomials.py`."""
    for fit in FITS:
        _show(fit.name, fitted(fit))
    for quotient in QUOTIENTS:
        above, below = fitted_quotient(quotient)
        _show(quotient.name, above)
        _show(f"{quotient.name}_BELOW", below)
    for name, halves in PARTS.items():
        print(f"{name} = hexadecimal({', '.join(repr(half.hex()) for half in halves)})")
    print(f"TWO_OVER_PI_BITS = {TWO_OVER_PI_BITS}")
    print("TWO_OVER_PI = int(")
    digits = f"{two_over_pi(TWO_OVER_PI_BITS):0{TWO_OVER_PI_BITS // 4}X}"
    for first in range(0, len(digits), 76):
        print(f'    "{digits[first : first + 76]}"')
    print("    , 16)")


def _show(name: str, coefficients: tuple[float, ...]) -> None:
    print(f"{name} = hexadecimal(")
    for coefficient in coefficients:
        print(f'    "{coefficient.hex()}",')
    print(")")


if __name__ == "__main__":
    main()

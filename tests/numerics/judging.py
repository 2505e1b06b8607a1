"""What the elementary functions are judged by: wider arithmetic, and the bounds that the table of numbers states."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import erf
from pathlib import Path
from types import MappingProxyType

import numpy as np

from tilewright import tile
from tilewright.numerics.arrays import Array
from tilewright.tile import ConstView1, Tile, View1, axis, coord, parallel, shape

__all__ = [
    "BLOCK",
    "FUNCTIONS",
    "Figures",
    "Function",
    "apply",
    "bits_from",
    "power",
    "stated",
    "stated_for_f64",
    "ulps",
    "ulps_of_f64",
]

BLOCK = 1 << 14  # judged in the second cache
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "numerics.md"
_ROW = re.compile(r"\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|")
_ROW_F64 = re.compile(r"\| `(\w+)` of `f64` \| ([\d.]+) \|")
_BEYOND = 2.0**128  # what the numbers of float32 would go on with
_EXPONENT = np.uint64(0x7FF << 52)
_LOWEST, _HIGHEST = np.uint64((1023 - 126) << 52), np.uint64((1023 + 127) << 52)
_ONE_OVER_ULP = np.uint64((2 * 1023 + 23) << 52)


@dataclass(frozen=True)
class Function:
    """How a function is written in a kernel, and what judges it in float64."""

    name: str
    spelling: Callable[[Tile], Tile]
    reference: Callable[..., Array]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Figures:
    """A row of the table: for each tier the bound that holds everywhere and the largest error of all inputs."""

    bound: float
    worst: float
    fast_bound: float
    fast_worst: float

    def of(self, *, fast: bool) -> tuple[float, float]:
        return (self.fast_bound, self.fast_worst) if fast else (self.bound, self.worst)


@cache
def stated() -> Mapping[str, Figures]:
    """The table of functions in `docs/reference/numerics.md`."""
    rows = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return MappingProxyType({name: Figures(*map(float, figures)) for name, *figures in rows})


@cache
def stated_for_f64() -> Mapping[str, float]:
    """The bounds of the same page for float64."""
    return MappingProxyType({name: float(bound) for name, bound in _ROW_F64.findall(PAGE.read_text(encoding="utf-8"))})


def _erf(x: Array) -> Array:
    """Near 0 two terms of the series are exact enough; from 6 on float64 rounds to 1."""
    size = np.abs(x)
    result = np.sign(x) * np.ones_like(x)
    series = size < 2.0**-13
    result[series] = (x * (2 / np.sqrt(np.pi)) * (1 - x * x / 3))[series]
    middle = ~series & (size < 6)
    result[middle] = [erf(value) for value in x[middle].tolist()]
    result[np.isnan(x)] = np.nan
    return np.copysign(result, x)


def _rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


FUNCTIONS: tuple[Function, ...] = (
    Function("exp", tile.exp, np.exp),
    Function("exp2", tile.exp2, np.exp2),
    Function("log", tile.log, np.log),
    Function("log2", tile.log2, np.log2),
    Function("sigmoid", tile.sigmoid, _sigmoid),
    Function("tanh", tile.tanh, np.tanh),
    Function("erf", tile.erf, _erf),
    Function("sin", tile.sin, np.sin),
    Function("cos", tile.cos, np.cos),
    Function("rsqrt", tile.rsqrt, _rsqrt),
    Function("sqrt", tile.sqrt, np.sqrt),
)


@cache
def apply(function: Function, *, fast: bool = False) -> Callable[[Array, Array], None]:
    """The compiled function, from one array of `BLOCK` elements into another."""

    @tile.kernel(fast_math=fast)
    def applied(x: ConstView1, y: View1):
        i = axis("i", BLOCK)
        for nest in parallel(shape(axis("g", 1))):
            y.at(coord(nest.index()), shape(i)).store(function.spelling(x[coord(nest.index()), shape(i)]))

    return applied


@cache
def power(*, fast: bool = False) -> Callable[[Array, Array, Array], None]:
    """As `apply`, for pow."""

    @tile.kernel(fast_math=fast)
    def raised(x: ConstView1, y: ConstView1, z: View1):
        i = axis("i", BLOCK)
        for nest in parallel(shape(axis("g", 1))):
            base, exponent = (each[coord(nest.index()), shape(i)] for each in (x, y))
            z.at(coord(nest.index()), shape(i)).store(tile.pow(base, exponent))

    return raised


def bits_from(first: int) -> Array:
    """The float32 numbers of `BLOCK` consecutive bit patterns."""
    return (np.arange(BLOCK, dtype=np.uint32) + np.uint32(first)).view(np.float32)


def ulps(result: Array, expected: Array) -> Array:
    """The error of each float32 in units in the last place of the exact value, here float64.

    Infinity counts as the number after the largest. Infinite for a NaN that should be none, for a number that should
    be NaN, and for a zero of the wrong sign.
    """
    with np.errstate(all="ignore"):
        near = np.clip(expected, -_BEYOND, _BEYOND)
        exponents = np.clip(near.view(np.uint64) & _EXPONENT, _LOWEST, _HIGHEST)
        error = np.abs(np.clip(result.astype(np.float64), -_BEYOND, _BEYOND) - near)
        error *= (_ONE_OVER_ULP - exponents).view(np.float64)
    unknown = np.isnan(error)
    if unknown.any():
        error[unknown] = np.where(np.isnan(result[unknown]) & np.isnan(expected[unknown]), 0, np.inf)
    zeros = np.flatnonzero(result == 0)
    error[zeros[np.signbit(result[zeros]) != np.signbit(expected[zeros])]] = np.inf
    return error


def ulps_of_f64(result: Array, expected: Array) -> Array:
    """The error of each float64, where the exact value comes in extended precision. Infinite as for `ulps`."""
    wide = np.longdouble
    with np.errstate(all="ignore"):
        rounded = expected.astype(np.float64)
        exponents = np.maximum(np.frexp(np.where(np.isfinite(rounded), expected, 1))[1] - 1, -1022) - 52
        error = np.abs(result.astype(wide) - expected) / np.ldexp(wide(1), exponents)
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    error = np.where(np.isfinite(rounded) & np.isfinite(result), error, np.where(same, 0, np.inf))
    signs = (result == 0) & (np.signbit(result) != np.signbit(rounded))
    return np.where(signs, np.inf, error).astype(np.float64)

"""Running error analysis: values in float64 beside a bound on what float32 arithmetic makes of them.

Every operation adds the error it inherits and the error of its own rounding, so the last bound is derived from the
data and the formula and from nothing else. Wilkinson, "Error analysis revisited" (1986); Higham, "Accuracy and
Stability of Numerical Algorithms" (2002), 3.1 and 3.3. Products of small bounds are kept, not dropped.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ROUNDOFF", "Running", "exact"]

Real = npt.NDArray[np.float64]

ROUNDOFF = 2.0**-24  # of float32: a rounded result is off by at most this part of itself
_SMALLEST = 2.0**-149  # or by this much, where it is subnormal
# What the vector functions promise; an ulp is two roundoffs at most.
EXP_ULP, LOG_ULP, ERF_ULP, TANH_ULP, SIGMOID_ULP, RSQRT_ULP = 1, 1, 1, 3, 3, 1


def _gamma(count: int) -> float:
    """Growth of `count` roundings in a row, in any order."""
    return count * ROUNDOFF / (1 - count * ROUNDOFF)


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """An array of exact results, and for each how far float32 may be from it."""

    value: Real
    error: Real

    def __add__(self, other: "Running | float") -> "Running":
        other = _operand(other)
        return _rounded(self.value + other.value, self.error + other.error)

    def __sub__(self, other: "Running | float") -> "Running":
        other = _operand(other)
        return _rounded(self.value - other.value, self.error + other.error)

    def __mul__(self, other: "Running | float") -> "Running":
        other = _operand(other)
        inherited = abs(self.value) * other.error + self.error * (abs(other.value) + other.error)
        return _rounded(self.value * other.value, inherited)

    def __truediv__(self, other: "Running | float") -> "Running":
        other = _operand(other)
        value = self.value / other.value
        low = abs(other.value) - other.error
        inherited = np.where(low > 0, (self.error + abs(value) * other.error) / np.where(low > 0, low, 1), np.inf)
        return _rounded(value, inherited)

    def __matmul__(self, other: "Running") -> "Running":
        """A chain of fused multiply-adds from zero, in any order."""
        count = self.value.shape[-1]
        size = (abs(self.value) + self.error) @ (abs(other.value) + other.error)
        inherited = abs(self.value) @ other.error + self.error @ (abs(other.value) + other.error)
        return Running(self.value @ other.value, inherited + _gamma(count) * size + count * _SMALLEST)

    def plus_product(self, a: "Running", b: "Running") -> "Running":
        """The same from this accumulator: it goes through every addition of the chain."""
        product = a @ b
        count = a.value.shape[-1]
        inherited = self.error + product.error + _gamma(count) * (abs(self.value) + self.error)
        return Running(self.value + product.value, inherited)

    def sum(self) -> "Running":
        """Along the last axis, which stays with extent 1; the order is free."""
        count = self.value.shape[-1]
        size = (abs(self.value) + self.error).sum(-1, keepdims=True)
        inherited = self.error.sum(-1, keepdims=True)
        return Running(self.value.sum(-1, keepdims=True), inherited + _gamma(max(count - 1, 1)) * size)

    def max(self) -> "Running":
        """Along the last axis, which stays with extent 1. Choosing rounds nothing."""
        return Running(self.value.max(-1, keepdims=True), self.error.max(-1, keepdims=True))

    def maximum(self, other: "Running") -> "Running":
        return Running(np.maximum(self.value, other.value), np.maximum(self.error, other.error))

    def exp(self) -> "Running":
        value = np.exp(self.value)
        return _rounded(value, np.exp(np.minimum(self.value + self.error, 700)) - value, 2 * EXP_ULP)

    def log(self) -> "Running":
        value = np.log(self.value)
        low = np.maximum(self.value - self.error, _SMALLEST)
        return _rounded(value, np.log(self.value / low), 2 * LOG_ULP)

    def sqrt(self) -> "Running":
        value = np.sqrt(self.value)
        return _rounded(value, value - np.sqrt(np.maximum(self.value - self.error, 0)))

    def erf(self) -> "Running":
        value = np.vectorize(math.erf, otypes=[np.float64])(self.value)
        return _rounded(value, self.error * 2 / math.sqrt(math.pi), 2 * ERF_ULP)

    def sigmoid(self) -> "Running":
        return _rounded(1 / (1 + np.exp(-self.value)), self.error / 4, 2 * SIGMOID_ULP)

    def tanh(self) -> "Running":
        nearest = np.maximum(abs(self.value) - self.error, 0)  # where it is steepest
        return _rounded(np.tanh(self.value), self.error / np.cosh(np.minimum(nearest, 300)) ** 2, 2 * TANH_ULP)

    def rsqrt(self) -> "Running":
        value = self.value**-0.5
        return _rounded(value, np.maximum(self.value - self.error, _SMALLEST) ** -0.5 - value, 2 * RSQRT_ULP)

    def __abs__(self) -> "Running":
        return Running(abs(self.value), self.error)

    def where(self, kept: npt.NDArray[np.bool_], other: float) -> "Running":
        """This where `kept`, else a number that float32 has."""
        return Running(np.where(kept, self.value, other), np.where(kept, self.error, 0.0))

    def part(self, index: Any) -> "Running":
        """A block of the array."""
        return Running(self.value[index], self.error[index])

    def transposed(self) -> "Running":
        """With the last two axes exchanged."""
        return Running(self.value.swapaxes(-1, -2), self.error.swapaxes(-1, -2))


def exact(values: npt.ArrayLike) -> Running:
    """Values that float32 has exactly."""
    value = np.asarray(values, np.float64)
    return Running(value, np.zeros_like(value))


def _operand(value: Running | float) -> Running:
    """A constant of a kernel is rounded once."""
    if isinstance(value, Running):
        return value
    return Running(np.float64(value) * np.ones(()), np.float64(abs(value - float(np.float32(value)))) * np.ones(()))


def _rounded(value: Real, inherited: Real, roundoffs: int = 1) -> Running:
    return Running(value, inherited + roundoffs * (ROUNDOFF * (abs(value) + inherited) + _SMALLEST))

"""What the registry knows of a kernel: how it is captured, arrays for it, and the exact answer with its bound."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.ir.kernel import Kernel
from tilewright.numerics.arrays import from_numpy
from tilewright.tile import TensorShape, TileKernel, tensor_shape
from tilewright.tools.running_error import Running

__all__ = ["Array", "Entry", "Make", "Result", "chance", "normal", "places", "whole"]

Array = npt.NDArray[Any]
Make = Callable[[np.random.Generator], Array]
_Answer = Running | Sequence[Running]
Answer = (
    Callable[[Array], _Answer]
    | Callable[[Array, Array], _Answer]
    | Callable[[Array, Array, Array], _Answer]
    | Callable[[Array, Array, Array, Array], _Answer]
)


@dataclass(frozen=True, slots=True)
class Result:
    """An argument that is written. What `start` makes is in it before; without, the kernel must not read it."""

    shape: tuple[int, ...]
    dtype: str = "f4"
    start: Make | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel with arguments: those that are only read, then those that are written.

    `answer` takes the arrays that have contents and gives, for each result, exact values with the bound that the
    roundings of the kernel's own formula allow; the bound of what must be exact is 0.
    """

    kernel: TileKernel
    inputs: tuple[Make, ...]
    results: tuple[Result, ...]
    answer: Answer
    config: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def arrays(self, seed: int = 0) -> tuple[list[Array], list[Array]]:
        """The arrays that are read, and those that are written with NaN (or -99) where there are no contents."""
        rng = np.random.default_rng(seed)
        inputs = [make(rng) for make in self.inputs]
        return inputs, [_started(result, rng) for result in self.results]

    def capture(self) -> Kernel:
        """The kernel for these arrays."""
        return self.kernel.capture(*self.shapes(), **self.config)

    def shapes(self) -> list[TensorShape]:
        """Of all arguments."""
        inputs, results = self.arrays()
        return [tensor_shape(*each.shape, dtype=from_numpy(each.dtype)) for each in (*inputs, *results)]

    def exact(self, inputs: Sequence[Array], results: Sequence[Array]) -> list[Running]:
        """The answers, given what the arrays hold before the launch."""
        known = [array for result, array in zip(self.results, results, strict=True) if result.start is not None]
        answer: Callable[..., _Answer] = self.answer
        found = answer(*inputs, *known)
        return [found] if isinstance(found, Running) else list(found)


def _started(result: Result, rng: np.random.Generator) -> Array:
    if result.start is not None:
        return result.start(rng)
    return np.full(result.shape, -99 if np.dtype(result.dtype).kind in "iu" else np.nan, result.dtype)


def normal(*shape: int, dtype: str = "f4") -> Make:
    """Normally distributed numbers."""
    return lambda rng: rng.standard_normal(shape).astype(dtype)


def whole(*shape: int, low: int, high: int, dtype: str) -> Make:
    """Whole numbers from `low` to below `high`."""
    return lambda rng: rng.integers(low, high, shape).astype(dtype)


def places(*shape: int, below: int) -> Make:
    """Places in an axis, as i64."""
    return whole(*shape, low=0, high=below, dtype="i8")


def chance(*shape: int) -> Make:
    """Truth values, with a first row of nothing but False."""

    def make(rng: np.random.Generator) -> Array:
        kept = rng.random(shape) < 0.7
        kept[:1] = False
        return kept

    return make

"""`python -m benchmarks.functions`: nanoseconds an element of every elementary function, in both tiers, on one thread.

The arrays lie in the first cache. What a launch costs is taken off: the figure is the difference between 4096 and 1024
elements, least of many interleaved rounds, over the difference in elements.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.environment import machine_name
from benchmarks.statistics import orders, sample
from tilewright import tile
from tilewright.numerics.arrays import Array
from tilewright.tile import ConstView1, View1, axis, coord, f32, parallel, shape

FUNCTIONS: tuple[Callable[..., Any], ...] = (
    *(tile.exp, tile.exp2, tile.log, tile.log2, tile.sigmoid, tile.tanh, tile.erf),
    *(tile.sin, tile.cos, tile.rsqrt, tile.sqrt, tile.pow),
)
SMALL, LARGE = 1024, 4096
ROUNDS, CALLS = 61, 100


def applied(function: Callable[..., Any], operands: Sequence[Array], *, fast: bool) -> Callable[[], object]:
    """One launch on arrays of the same length, the result in another one."""
    count = len(operands[0])
    result = np.empty(count, np.float32)

    @tile.kernel(fast_math=fast)
    def one(x: ConstView1[f32], y: View1[f32]):
        i = axis("i", count)
        for nest in parallel(shape(axis("g", 1))):
            y.at(coord(nest.index()), shape(i)).store(function(x[coord(nest.index()), shape(i)]))

    @tile.kernel(fast_math=fast)
    def two(x: ConstView1[f32], y: ConstView1[f32], z: View1[f32]):
        i = axis("i", count)
        for nest in parallel(shape(axis("g", 1))):
            a, b = (each[coord(nest.index()), shape(i)] for each in (x, y))
            z.at(coord(nest.index()), shape(i)).store(function(a, b))

    kernel: Any = one if len(operands) == 1 else two
    return partial(kernel, *operands, result)


def nanoseconds(function: Callable[..., Any]) -> tuple[float, float]:
    """In the default tier and in the fast one, for positive numbers around 1."""
    rng = np.random.default_rng(3)
    numbers = [np.exp(rng.normal(0, 1, LARGE)).astype(np.float32) for _ in range(1 + (function is tile.pow))]
    runs = {
        f"{fast} {count}": applied(function, [each[:count] for each in numbers], fast=bool(fast))
        for fast in (0, 1)
        for count in (SMALL, LARGE)
    }
    least = dict.fromkeys(runs, float("inf"))
    for order in orders(tuple(runs), ROUNDS):
        for name in order:
            least[name] = min(least[name], sample(runs[name], CALLS))
    per_element = [(least[f"{fast} {LARGE}"] - least[f"{fast} {SMALL}"]) / (LARGE - SMALL) * 1e9 for fast in (0, 1)]
    return per_element[0], per_element[1]


def main() -> None:
    """One line a function, as the table in docs/reference/numerics.md has them."""
    print(f"{machine_name()}: nanoseconds an element, default and fast; the gain")
    for function in FUNCTIONS:
        default, fast = nanoseconds(function)
        print(f"{function.__name__:8} {default:.2f} {fast:.2f} {default / fast - 1:+.0%}", flush=True)


if __name__ == "__main__":
    main()

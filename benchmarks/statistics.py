"""Samples, spreads, ratios of neighbours in time, and the order in which contestants take turns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, permutations
from math import exp, log
from statistics import median
from time import perf_counter

__all__ = ["Spread", "calls_for", "geometric_mean", "orders", "paired_ratios", "sample", "spread", "turns_of"]

MAX_CALLS = 1 << 20
FEW = 3  # contestants that can take turns in every order


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some samples, and the quartiles."""

    median: float
    low: float
    high: float
    count: int

    def scaled(self, factor: float) -> "Spread":
        return Spread(self.median * factor, self.low * factor, self.high * factor, self.count)


def spread(samples: Sequence[float]) -> Spread:
    """Raises ValueError for nothing."""
    if not samples:
        raise ValueError("no samples, no median")
    ordered = sorted(samples)
    half = (len(ordered) + 1) // 2  # an odd middle belongs to both halves
    return Spread(median(ordered), median(ordered[:half]), median(ordered[-half:]), len(ordered))


def paired_ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Each sample over the one beside it in time, so that a slow moment of the machine meets both."""
    return [a / b for a, b in zip(ours, theirs, strict=True)]


def geometric_mean(values: Sequence[float]) -> float:
    """Raises ValueError for nothing."""
    if not values:
        raise ValueError("no values, no mean")
    return exp(sum(map(log, values)) / len(values))


def turns_of(names: Sequence[str]) -> list[tuple[str, ...]]:
    """The orders that make one whole cycle, each followed by its reverse: all orders of few, two of many."""
    every = permutations(names) if len(names) <= FEW else iter([tuple(names)])
    found: dict[tuple[str, ...], None] = {}
    for order in every:
        found |= {order: None, order[::-1]: None}
    return list(found)


def orders(names: Sequence[str], rounds: int) -> Iterator[tuple[str, ...]]:
    """Who goes when: each round in an order of `turns_of`, one after the other."""
    yield from islice(cycle(turns_of(names)), rounds)


def calls_for(run: Callable[[], object], seconds: float) -> int:
    """How many calls in a row last about this long: the clock must not be what is measured. Warms up on the way."""
    calls = 1
    while calls < MAX_CALLS:
        spent = sample(run, calls) * calls
        if spent >= seconds / 2:
            return max(1, round(calls * seconds / spent)) if spent < seconds else calls
        calls *= 2
    return calls


def sample(run: Callable[[], object], calls: int) -> float:
    """Seconds a call, over this many in a row."""
    start = perf_counter()
    for _ in range(calls):
        run()
    return (perf_counter() - start) / calls

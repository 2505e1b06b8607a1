"""Times that can be compared: the best of several runs, taken in turns."""

from collections.abc import Callable
from time import perf_counter

__all__ = ["race", "seconds_of"]


_IN_A_ROW = 5


def race(ours: Callable[[], object], other: Callable[[], object], seconds: float, rounds: int) -> tuple[float, float]:
    """The best time of each in at most `rounds` rounds, in changing order so that both see the same machine.

    Each runs several times in a row: after a call the threads of a library may wait busily for the next one, for tens
    of milliseconds, and meanwhile take the cores of the other's.
    """
    best = [float("inf"), float("inf")]
    deadline = perf_counter() + seconds
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 else (1, 0):
            best[which] = min(best[which], *(seconds_of((ours, other)[which]) for _ in range(_IN_A_ROW)))
        if perf_counter() > deadline:
            break
    return best[0], best[1]


def seconds_of(run: Callable[[], object]) -> float:
    """How long one call takes."""
    start = perf_counter()
    run()
    return perf_counter() - start

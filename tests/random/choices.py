"""A program as the numbers that were drawn for it, and how to make that list, and so the program, smaller."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

__all__ = ["Choices", "shrink"]

T = TypeVar("T")


class Choices:
    """Draws numbers and remembers them. From a list, it replays; after the end of the list every draw is 0, the choice
    that should be the simplest.
    """

    def __init__(self, seed: int | None = None, given: Sequence[int] = ()) -> None:
        self._random = None if seed is None else Random(seed)
        self._given = iter(given)
        self.drawn: list[int] = []

    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""
        number = self._random.randrange(count) if self._random else min(next(self._given, 0), count - 1)
        self.drawn.append(number)
        return number

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred draws."""
        return self.below(100) >= 100 - percent


def shrink(drawn: Sequence[int], fails: Callable[[Sequence[int]], bool], *, budget: int = 400) -> list[int]:
    """A shorter list, or one of smaller numbers, that still fails. Looks at most at `budget` candidates."""
    best = list(drawn)
    tried = 0
    improved = True
    while improved and tried < budget:
        improved = False
        for candidate in _smaller(best):
            tried += 1
            if tried > budget:
                break
            if fails(candidate):
                best, improved = candidate, True
                break
    return best


def _smaller(drawn: list[int]) -> Iterator[list[int]]:
    """Candidates, the boldest first: without a stretch, with a stretch of zeros, with one number less."""
    size = len(drawn)
    length = size // 2
    while length:
        for start in range(0, size - length + 1, max(1, length // 2)):
            yield drawn[:start] + drawn[start + length :]
            if any(drawn[start : start + length]):
                yield drawn[:start] + [0] * length + drawn[start + length :]
        length //= 2
    for place, number in enumerate(drawn):
        for less in sorted({0, number // 2, number - 1} - {number, -1}):
            yield [*drawn[:place], less, *drawn[place + 1 :]]

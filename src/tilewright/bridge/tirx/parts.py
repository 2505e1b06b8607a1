"""How a loop is cut into groups: as many of the largest size as fit, then smaller ones, and single indices at last."""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Part", "parts_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """Groups of one size that follow each other, from an index on. Single indices have size 1."""

    begin: int
    groups: int
    size: int


def parts_of(begin: int, extent: int, size: int, least: int) -> Iterator[Part]:
    """Parts that cover a loop from `begin` on; sizes are halved from `size`, a power of two, down to `least`."""
    end = begin + extent
    while size >= least > 1:
        groups = (end - begin) // size
        if groups:
            yield Part(begin, groups, size)
        begin, size = begin + groups * size, size // 2
    if begin < end:
        yield Part(begin, end - begin, 1)

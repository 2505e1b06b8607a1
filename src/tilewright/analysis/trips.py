"""What a region need not ask everywhere: bounds and comparisons that its first or its last iterations decide."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.ir import Operation

from tilewright.analysis.access import is_inside_along
from tilewright.analysis.ranges import Given, Interval, decided
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.ops.elementwise import CompareOp
from tilewright.ir.ops.regions import RegionOp
from tilewright.ir.types import space_of

__all__ = ["Guard", "guards_of"]


@dataclass(frozen=True)
class Guard:
    """A condition that the intervals of indices decide for the iterations 0 ... before - 1 and for after ... trips - 1.

    `axis` is that of the view whose bound it is, and `elements` how often an iteration asks.
    """

    op: Operation
    axis: int | None
    before: int
    after: int
    elements: int

    def spared(self, at: int, trips: int) -> int:
        """How often nobody asks any more when the loop is cut before iteration `at`."""
        return self.elements * ((at if at <= self.before else 0) + (trips - at if at >= self.after else 0))


def guards_of(region: RegionOp, place: int = 0) -> Iterator[Guard]:
    """The conditions that some, but not all, iterations along one axis of a region decide."""
    index, trips = region.indices[place], region.space.extents[place]
    for op, axis, elements, holds in _conditions(region):

        def over(first: int, end: int, holds: Callable[[Given], bool] = holds) -> bool:
            return holds({index: Interval(first, end - 1)})

        if over(0, trips):
            continue
        before = _most(trips, lambda count, over=over: over(0, count))
        after = trips - _most(trips, lambda count, over=over: over(trips - count, trips))
        if before or after < trips:
            yield Guard(op, axis, before, after, elements)


def _conditions(region: RegionOp) -> Iterator[tuple[Operation, int | None, int, Callable[[Given], bool]]]:
    """Every bound and every comparison: where it stands, how many elements ask, and whether it is decided."""
    for op in region.body.block.walk():
        if isinstance(op, LoadOp | StoreOp):
            tile = op.result if isinstance(op, LoadOp) else op.value
            for axis in range(len(op.origin)):
                yield op, axis, space_of(tile).volume, lambda given, op=op, axis=axis: is_inside_along(op, axis, given)
        elif isinstance(op, CompareOp):
            yield op, None, space_of(op.result).volume, lambda given, op=op: decided(op, given) is not None


def _most(trips: int, holds: Callable[[int], bool]) -> int:
    """The largest count below `trips` for which something holds that then holds for all smaller ones, too."""
    low, high = 0, trips if holds(1) else 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low

"""Whether accesses stay inside their views, by interval proof: a guard vanishes only when its axis is proved."""

from tilewright.analysis.ranges import Interval, interval_of
from tilewright.ir.attrs import Bounds
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.types import space_of, view_type

__all__ = ["guarded_axes", "is_inside", "negative_axes"]


def guarded_axes(op: LoadOp | StoreOp) -> tuple[int, ...]:
    """The view axes whose upper or lower bound is not proved for every element of the tile."""
    if op.bounds.data is Bounds.ASSUME:
        return ()
    return tuple(axis for axis, reach in enumerate(_reaches(op)) if not _proved(op, axis, reach))


def negative_axes(op: LoadOp | StoreOp) -> tuple[int, ...]:
    """The guarded axes on which an index below 0 is not excluded."""
    reaches = _reaches(op)
    return tuple(axis for axis in guarded_axes(op) if (reach := reaches[axis]) is None or reach.low < 0)


def is_inside(op: LoadOp | StoreOp) -> bool:
    """Whether every element of the access is proved or promised to lie inside."""
    return not guarded_axes(op)


def _reaches(op: LoadOp | StoreOp) -> tuple[Interval | None, ...]:
    tile = op.result if isinstance(op, LoadOp) else op.value
    found: list[Interval | None] = []
    for origin, extent in zip(op.origin, space_of(tile).extents, strict=True):
        start = interval_of(origin)
        found.append(None if start is None else Interval(start.low, start.high + extent - 1))
    return tuple(found)


def _proved(op: LoadOp | StoreOp, axis: int, reach: Interval | None) -> bool:
    return reach is not None and reach.within(view_type(op.view).space.extents[axis])

"""Whether accesses stay inside their views, by interval proof: a guard vanishes only when its axis is proved."""

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.analysis.forms import Form, Forms
from tilewright.analysis.limits import Limit
from tilewright.analysis.ranges import Given, Interval, interval_of
from tilewright.ir.attrs import Bounds
from tilewright.ir.ops.access import LoadOp, StoreOp
from tilewright.ir.types import DimAttr, space_of, view_type

__all__ = ["Limits", "guarded_axes", "is_inside", "is_inside_along", "negative_axes"]


Limits = Mapping[DimAttr, Limit]
_NONE: Limits = MappingProxyType({})


def guarded_axes(op: LoadOp | StoreOp, limits: Limits = _NONE, forms: Forms | None = None) -> tuple[int, ...]:
    """The view axes whose upper or lower bound is not proved for every element of the tile that is seen."""
    if op.bounds.data is Bounds.ASSUME:
        return ()
    guarded = (axis for axis, reach in enumerate(_reaches(op)) if not _proved(op, axis, reach))
    return tuple(axis for axis in guarded if not _limited(op, axis, limits, forms))


def _limited(op: LoadOp | StoreOp, axis: int, limits: Limits, forms: Forms | None) -> bool:
    """Whether the limit of the tile's axis says what the upper bound says, and the index is not negative."""
    dim = space_of(op.result if isinstance(op, LoadOp) else op.value).dims[axis]
    limit = limits.get(dim)
    start = None if forms is None else forms.of(op.origin[axis])
    reach = _reaches(op)[axis]
    if limit is None or start is None or reach is None or reach.low < 0:
        return False
    return limit.proves(start.plus(Form({dim: 1})), view_type(op.view).space.extents[axis])


def negative_axes(op: LoadOp | StoreOp) -> tuple[int, ...]:
    """The guarded axes on which an index below 0 is not excluded."""
    reaches = _reaches(op)
    return tuple(axis for axis in guarded_axes(op) if (reach := reaches[axis]) is None or reach.low < 0)


def is_inside_along(op: LoadOp | StoreOp, axis: int, given: Given) -> bool:
    """Whether one view axis is proved, or promised, with what is `given` of some values."""
    return op.bounds.data is Bounds.ASSUME or _proved(op, axis, _reach(op, axis, given))


def is_inside(op: LoadOp | StoreOp, limits: Limits = _NONE, forms: Forms | None = None) -> bool:
    """Whether every element of the access that is seen is proved or promised to lie inside."""
    return not guarded_axes(op, limits, forms)


def _reaches(op: LoadOp | StoreOp) -> tuple[Interval | None, ...]:
    return tuple(_reach(op, axis, {}) for axis in range(len(op.origin)))


def _reach(op: LoadOp | StoreOp, axis: int, given: Given) -> Interval | None:
    tile = op.result if isinstance(op, LoadOp) else op.value
    start = interval_of(op.origin[axis], given)
    return None if start is None else Interval(start.low, start.high + space_of(tile).extents[axis] - 1)


def _proved(op: LoadOp | StoreOp, axis: int, reach: Interval | None) -> bool:
    return reach is not None and reach.within(view_type(op.view).space.extents[axis])

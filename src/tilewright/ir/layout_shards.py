"""Layouts over named hardware axes: shards, replicas and an offset, as native tile layouts write them.

    (8:4 lane, 2:1 warp, 4:1 lane, 2:1 slot) + replicas (2:4 warp) + offset (5 warp)

The row-major number of a logical point is split into digits by the extents of the shards; a digit times the stride
moves along the hardware axis. Each replica is one more digit, which runs through all its values for every point.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from types import MappingProxyType

from tilewright.core.codes.types import AXIS_BINDING, NO_RELATION
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.index_expr import IndexExpr, constant, coordinate
from tilewright.ir.index_map import IndexMap, Point, reshape
from tilewright.ir.layout_relation import Relation, require_relation
from tilewright.ir.types import AxisAttr, DimAttr, SpaceAttr

__all__ = ["Bindings", "Iter", "ShardLayout", "bound_axes", "relation_of_shards"]

Bindings = Sequence[tuple[DimAttr, str]]
_NOWHERE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Iter:
    """`extent` steps of `stride` along a hardware axis."""

    extent: int
    stride: int
    axis: str


@dataclass(frozen=True, slots=True)
class ShardLayout:
    """The native form. Shards are digits of a logical point, the most significant first; axes left out stay at 0."""

    shards: tuple[Iter, ...]
    replicas: tuple[Iter, ...] = ()
    offset: Mapping[str, int] = field(default_factory=lambda: _NOWHERE)

    @property
    def axes(self) -> tuple[str, ...]:
        """The hardware axes, in the order in which they are mentioned."""
        return tuple(dict.fromkeys([*(step.axis for step in (*self.shards, *self.replicas)), *self.offset]))

    def places(self, number: int, axes: Sequence[str]) -> frozenset[Point]:
        """The places of the logical point with this row-major number, as coordinates along `axes`."""
        digits: list[int] = []
        for step in reversed(self.shards):
            number, digit = divmod(number, step.extent)
            digits.insert(0, digit)
        found: set[Point] = set()
        for copies in product(*(range(step.extent) for step in self.replicas)):
            at = dict.fromkeys(axes, 0) | dict(self.offset)
            for step, digit in zip((*self.shards, *self.replicas), (*digits, *copies), strict=True):
                at[step.axis] += digit * step.stride
            found.add(tuple(at[axis] for axis in axes))
        return frozenset(found)


def bound_axes(space: SpaceAttr, bindings: Bindings) -> tuple[str, ...]:
    """The hardware axis of each axis of `space`.

    Raises TileTypeError (TW283) when an axis of the space has none or two, or when two have the same one.
    """
    named: dict[DimAttr, str] = {}
    for dim, axis in bindings:
        if dim not in space.dims:
            raise _unbound(f"{axis} is bound to d{dim.number}, which the places lack")
        if dim in named:
            raise _unbound(f"d{dim.number} is bound twice, to {named[dim]} and to {axis}")
        if axis in named.values():
            first = next(other for other, name in named.items() if name == axis)
            raise _unbound(f"d{first.number} and d{dim.number} are both bound to {axis}")
        named[dim] = axis
    missing = [dim for dim in space.dims if dim not in named]
    if missing:
        raise _unbound(f"d{missing[0].number} is bound to none")
    return tuple(named[dim] for dim in space.dims)


def relation_of_shards(layout: ShardLayout, logical: SpaceAttr, places: SpaceAttr, bindings: Bindings) -> Relation:
    """The set-valued map from `logical` to `places`, whose axes `bindings` name.

    Raises TileTypeError: TW283 for bindings that do not fit `places` or lack an axis of the layout; TW282 when the
    shards have not exactly the points of `logical`, or when a place lies outside `places`.
    """
    axes = bound_axes(places, bindings)
    unbound = [axis for axis in layout.axes if axis not in axes]
    if unbound:
        raise _unbound(f"the layout moves along {unbound[0]}, to which no axis of the places is bound")
    count = prod(step.extent for step in layout.shards)
    if count != logical.volume or count == 0:
        what = f"its shards have {count} points for {logical.volume} logical ones"
        raise TileTypeError(
            NO_RELATION.at(user_span(), what=what, remedy="choose shards whose extents multiply to the logical points")
        )
    relation = _span(layout, logical, places, axes)
    require_relation(relation)
    return relation


def _span(layout: ShardLayout, logical: SpaceAttr, places: SpaceAttr, axes: Sequence[str]) -> Relation:
    steps = (*layout.shards, *layout.replicas)
    first = 1 + max((dim.number for dim in (*logical.dims, *places.dims)), default=0)
    digits = [AxisAttr.of(DimAttr.of(first + place), step.extent) for place, step in enumerate(steps)]
    fibre = SpaceAttr.of(digits)
    point = reshape(SpaceAttr.of(digits[: len(layout.shards)]), logical)
    moved: dict[str, IndexExpr] = {axis: constant(layout.offset.get(axis, 0)) for axis in axes}
    for step, digit in zip(steps, digits, strict=True):
        moved[step.axis] = moved[step.axis] + coordinate(digit.dim) * step.stride
    place = IndexMap(fibre, places, tuple(moved[axis] for axis in axes))
    return Relation(IndexMap(fibre, logical, point.outputs), place)


def _unbound(what: str) -> TileTypeError:
    return TileTypeError(AXIS_BINDING.at(user_span(), what=what))

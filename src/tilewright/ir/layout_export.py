"""From a set-valued layout to its native form over hardware axes, where there is one.

The places must be sums of fibre coordinates times strides. That the remaining coordinates are digits of the logical
point, and the others replicas, is looked at for every fibre point, so any spelling of the logical leg will do.
"""

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tilewright.core.codes.types import NO_RELATION
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.affine import Affine, normalize
from tilewright.ir.layout_relation import Relation, require_relation
from tilewright.ir.layout_shards import Bindings, Iter, ShardLayout, bound_axes
from tilewright.ir.types import DimAttr, compact_strides

__all__ = ["export_shards"]


def export_shards(relation: Relation, bindings: Bindings) -> ShardLayout:
    """The native layout that gives every logical point the places of `relation`.

    Raises TileTypeError: TW283 for bindings that do not fit the places, TW282 when there is no such layout.
    """
    axes = bound_axes(relation.place.codomain, bindings)
    points, _ = require_relation(relation)
    forms = [normalize(output, relation.fibre) for output in relation.place.outputs]
    known = [form for form in forms if form is not None]
    if len(known) < len(forms):
        raise _refusal(f"its place along {axes[forms.index(None)]} is no sum of coordinates times strides")
    numbers = points.reshape(relation.fibre.extents)
    steps = [_iter_of(axis.dim, axis.extent, known, axes) for axis in relation.fibre.axes]
    weights = [_weight(numbers, place) for place in range(numbers.ndim)]
    wide = [place for place, step in enumerate(steps) if step.extent > 1]
    shards = sorted((place for place in wide if weights[place]), key=lambda place: -weights[place])
    _require_digits(numbers, [(place, steps[place].extent) for place in shards], relation.logical.codomain.volume)
    return ShardLayout(
        tuple(steps[place] for place in shards),
        tuple(steps[place] for place in wide if not weights[place]),
        MappingProxyType({axis: form.offset for axis, form in zip(axes, known, strict=True) if form.offset}),
    )


def _iter_of(dim: DimAttr, extent: int, forms: Sequence[Affine], axes: Sequence[str]) -> Iter:
    """The one hardware axis along which a fibre coordinate moves; any of them, by nothing, when it moves along none."""
    moved = [(axis, form.coefficients[dim]) for axis, form in zip(axes, forms, strict=True) if dim in form.coefficients]
    if len(moved) > 1:
        raise _refusal(f"one fibre coordinate moves along {moved[0][0]} and {moved[1][0]} at once")
    axis, stride = moved[0] if moved else (axes[0] if axes else "", 0)
    return Iter(extent, stride, axis)


def _weight(numbers: npt.NDArray[np.int64], place: int) -> int:
    """By how much the first step of a fibre coordinate moves the logical point; 0 for a replica."""
    line = np.moveaxis(numbers, place, -1).reshape(-1, numbers.shape[place])[:1, :2].reshape(-1)
    return int(line[1] - line[0]) if line.size == 2 else 0


def _require_digits(numbers: npt.NDArray[np.int64], shards: Sequence[tuple[int, int]], volume: int) -> None:
    """The logical number is the row-major number of the shards' digits, and the digits have every number."""
    extents = [extent for _, extent in shards]
    expected = np.zeros(numbers.shape, np.int64)
    for (place, extent), stride in zip(shards, compact_strides(extents), strict=True):
        digit = np.arange(extent).reshape([-1 if axis == place else 1 for axis in range(numbers.ndim)])
        expected += digit * stride
    if np.prod(extents, dtype=np.int64) != volume or not np.array_equal(numbers, expected):
        raise _refusal("its fibre coordinates are no digits of the logical point and replicas of it")


def _refusal(what: str) -> TileTypeError:
    remedy = "write it as shards, replicas and an offset, or use a route that takes index expressions"
    return TileTypeError(NO_RELATION.at(user_span(), what=what, remedy=remedy))

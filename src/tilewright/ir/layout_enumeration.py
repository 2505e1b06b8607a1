"""Facts about an index map by looking at every point: the oracle of the proofs, and their last resort."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.ir.index_expr import Checked, IndexExpr, evaluate
from tilewright.ir.index_map import IndexMap, Point
from tilewright.ir.types import SpaceAttr

__all__ = ["MAX_POINTS", "FiniteFacts", "analyze_finite", "first_collision", "values_at"]

MAX_POINTS = 1 << 20


@dataclass(frozen=True, slots=True)
class FiniteFacts:
    """What holds of the points that were looked at. `outside` is a point without an image, `collision` two with one."""

    total: bool
    in_bounds: bool
    injective: bool
    surjective: bool
    points: int
    images: int
    outside: Point | None = None
    collision: tuple[Point, Point] | None = None


def analyze_finite(index_map: IndexMap, points: int | None = None) -> FiniteFacts:
    """Looks at the first `points` points of the domain in row-major order (all of them by default)."""
    count = index_map.domain.volume if points is None else min(points, index_map.domain.volume)
    results = values_at(index_map.outputs, index_map.domain, count)
    defined = np.ones(count, np.bool_)
    inside = np.ones(count, np.bool_)
    for result, extent in zip(results, index_map.codomain.extents, strict=True):
        defined &= result.defined
        inside &= result.defined & (result.values >= 0) & (result.values < extent)
    images = np.stack([result.values for result in results]) if results else np.zeros((1, count), np.int64)
    groups, pair = _groups(images[:, inside], np.flatnonzero(inside))
    outside = np.flatnonzero(~inside)
    return FiniteFacts(
        total=bool(defined.all()),
        in_bounds=bool(inside.all()),
        injective=pair is None and bool(inside.all()),
        surjective=groups == index_map.codomain.volume,
        points=count,
        images=groups,
        outside=_point(index_map, outside[0]) if outside.size else None,
        collision=None if pair is None else (_point(index_map, pair[0]), _point(index_map, pair[1])),
    )


def values_at(outputs: Sequence[IndexExpr], domain: SpaceAttr, points: int) -> list[Checked]:
    """Every expression at the first `points` points of `domain` in row-major order."""
    columns = np.unravel_index(np.arange(points), domain.extents) if domain.rank else ()
    coordinates = {dim: np.asarray(column, np.int64) for dim, column in zip(domain.dims, columns, strict=True)}
    return evaluate(outputs, coordinates, points)


def first_collision(index_map: IndexMap, points: int) -> tuple[Point, Point] | None:
    """Two of the first `points` points that share an image, if there are any."""
    return analyze_finite(index_map, points).collision


def _groups(images: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]) -> tuple[int, tuple[int, int] | None]:
    """How many different columns `images` has, and the numbers of two equal ones."""
    if not numbers.size:
        return 0, None
    order = np.lexsort(images)
    same = (images[:, order[1:]] == images[:, order[:-1]]).all(axis=0)
    first = np.flatnonzero(same)
    pair = (int(numbers[order[first[0]]]), int(numbers[order[first[0] + 1]])) if first.size else None
    return int(numbers.size - same.sum()), pair


def _point(index_map: IndexMap, number: int) -> Point:
    extents = index_map.domain.extents
    return tuple(int(x) for x in np.unravel_index(number, extents)) if extents else ()

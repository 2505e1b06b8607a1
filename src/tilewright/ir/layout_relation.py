"""Set-valued layouts: a logical point has any number of places, as where data is replicated.

A relation is a span. Its fibre points are the facts "this logical point has that place": one leg tells the logical
point, the other the place. Several fibre points may state one fact, which then counts once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.core.codes.types import NO_RELATION
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.index_expr import INT64_MAX
from tilewright.ir.index_map import IndexMap, Point, identity
from tilewright.ir.layout_enumeration import MAX_POINTS, values_at
from tilewright.ir.types import SpaceAttr

__all__ = ["Relation", "RelationFacts", "analyze_relation", "flat_images", "relation_of", "require_relation"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Relation:
    """Logical points and their places; both legs start from one fibre space."""

    logical: IndexMap
    place: IndexMap

    @property
    def fibre(self) -> SpaceAttr:
        return self.logical.domain

    def fault(self) -> str:
        """Why this is no relation at all; empty for a proper one."""
        for name, leg in (("logical", self.logical), ("place", self.place)):
            if leg.fault():
                return f"its {name} leg has {leg.fault()}"
        return "" if self.place.domain == self.fibre else "its legs start from different fibre spaces"

    def converse(self) -> "Relation":
        """From places to logical points. The converse of the converse is the relation itself."""
        return Relation(self.place, self.logical)

    def places(self, point: Sequence[int], max_points: int = MAX_POINTS) -> frozenset[Point]:
        """All places of one logical point; none when it has none or lies outside.

        Raises TileTypeError (TW282) for what is no relation and for more than `max_points` fibre points.
        """
        points, cells = require_relation(self, max_points)
        logical = self.logical.codomain.extents
        if len(point) != len(logical) or not all(0 <= x < n for x, n in zip(point, logical, strict=True)):
            return frozenset()
        found = np.unique(cells[points == (np.ravel_multi_index(tuple(point), logical) if logical else 0)])
        return frozenset(_point(self.place.codomain, int(cell)) for cell in found)


@dataclass(frozen=True, slots=True)
class RelationFacts:
    """What looking at every fibre point shows. `fewest` and `most` are distinct places of any logical point."""

    covers_logical: bool
    covers_places: bool
    fibre_points: int
    logical_points: int
    fewest: int
    most: int


def relation_of(index_map: IndexMap) -> Relation:
    """A layout as a relation: each point has one place."""
    return Relation(identity(index_map.domain), index_map)


def analyze_relation(relation: Relation, max_points: int = MAX_POINTS) -> RelationFacts:
    """Looks at every fibre point. Raises TileTypeError (TW282) like `Relation.places`."""
    points, cells = require_relation(relation, max_points)
    facts = np.unique(np.stack([points, cells]), axis=1)
    numbers, counts = np.unique(facts[0], return_counts=True)
    size = relation.logical.codomain.volume
    covers = numbers.size == size
    return RelationFacts(
        covers_logical=covers,
        covers_places=np.unique(cells).size == relation.place.codomain.volume,
        fibre_points=relation.fibre.volume,
        logical_points=size,
        fewest=int(counts.min()) if covers and counts.size else 0,
        most=int(counts.max()) if counts.size else 0,
    )


def require_relation(relation: Relation, max_points: int = MAX_POINTS) -> tuple[Ints, Ints]:
    """The row-major numbers of the logical point and of the place of every fibre point.

    Raises TileTypeError (TW282) unless both legs are maps of one fibre space with a value at all of its points.
    """
    if relation.fault():
        raise _refusal(relation.fault(), "make both legs maps of one fibre space")
    if relation.fibre.volume > max_points:
        what = f"its {relation.fibre.volume} fibre points are more than the budget of {max_points}"
        raise _refusal(what, "look at a smaller part of it, or raise the budget")
    return flat_images(relation.logical, "logical"), flat_images(relation.place, "place")


def flat_images(leg: IndexMap, name: str) -> Ints:
    """The row-major number of the image of every point of a leg. Raises TileTypeError (TW282) where there is none."""
    extents, count = leg.codomain.extents, leg.domain.volume
    if leg.codomain.volume > INT64_MAX:
        raise _refusal(f"its {name} leg ends in a space of more than 2**63 - 1 points", "use smaller extents there")
    images = values_at(leg.outputs, leg.domain, count)
    inside = np.ones(count, np.bool_)
    number = np.zeros(count, np.int64)
    for image, extent in zip(images, extents, strict=True):
        inside &= image.defined & (image.values >= 0) & (image.values < extent)
        number = number * extent + image.values
    if not inside.all():
        outside = _point(leg.domain, int(np.flatnonzero(~inside)[0]))
        what = f"its {name} leg has no value at the fibre point {outside}"
        raise _refusal(what, "make the spaces large enough, or the expressions defined at every fibre point")
    return number


def _point(space: SpaceAttr, number: int) -> Point:
    return tuple(int(x) for x in np.unravel_index(number, space.extents)) if space.rank else ()


def _refusal(what: str, remedy: str) -> TileTypeError:
    return TileTypeError(NO_RELATION.at(user_span(), what=what, remedy=remedy))

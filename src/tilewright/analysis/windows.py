"""Tiles that only show elements of another tile, at places that move evenly and forwards.

Windows of an image are such tiles, and tiles with axes split or turned.

Whoever can follow the moves reads the other tile where it lies, and needs no copy.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.analysis.affine import affine_of
from tilewright.analysis.ranges import interval_of
from tilewright.ir.ops.regions import YieldOp
from tilewright.ir.ops.tiles import ExtractOp, MapOp
from tilewright.ir.types import DimAttr, space_of

__all__ = ["AxisWalk", "Window", "window_of"]


@dataclass(frozen=True)
class AxisWalk:
    """The place on one axis: a start, and a step for each dimension that moves it."""

    start: int
    steps: Mapping[DimAttr, int]


@dataclass(frozen=True)
class Window:
    """A tile, and for each of its axes the walk that the dimensions of its window take; never outside the tile."""

    tile: SSAValue
    walks: tuple[AxisWalk, ...]

    def start(self, strides: tuple[int, ...]) -> int:
        """The first element, when axes lie `strides` apart."""
        return sum(walk.start * stride for walk, stride in zip(self.walks, strides, strict=True))

    def stride(self, dim: DimAttr, strides: tuple[int, ...]) -> int:
        """How far apart neighbours along a dimension lie."""
        return sum(walk.steps.get(dim, 0) * stride for walk, stride in zip(self.walks, strides, strict=True))

    def axis_along(self, dim: DimAttr) -> DimAttr | None:
        """The tile's dimension that moves one by one with a dimension, when no other moves with it."""
        moved = [place for place, walk in enumerate(self.walks) if walk.steps.get(dim)]
        alone = len(moved) == 1 and self.walks[moved[0]].steps[dim] == 1
        return space_of(self.tile).dims[moved[0]] if alone else None


def window_of(value: SSAValue) -> Window:
    """Through every map that does nothing but show elements of a tile; of anything else, the tile itself."""
    window = Window(value, tuple(AxisWalk(0, {dim: 1}) for dim in space_of(value).dims))
    while (shown := _shown(window.tile)) is not None:
        tile, walks = shown
        own = dict(zip(space_of(window.tile).dims, window.walks, strict=True))
        window = Window(tile, tuple(_through(walk, own) for walk in walks))
    return window


def _through(walk: AxisWalk, own: Mapping[DimAttr, AxisWalk]) -> AxisWalk:
    start, steps = walk.start, dict[DimAttr, int]()
    for dim, factor in walk.steps.items():
        start += factor * own[dim].start
        for outer, step in own[dim].steps.items():
            steps[outer] = steps.get(outer, 0) + factor * step
    return AxisWalk(start, steps)


def _shown(value: SSAValue) -> tuple[SSAValue, tuple[AxisWalk, ...]] | None:
    """The tile that a map shows, and the walks of its axes by the map's own dimensions."""
    op = value.owner
    last = op.body.block.last_op if isinstance(op, MapOp) else None
    if not isinstance(op, MapOp) or not isinstance(last, YieldOp) or not isinstance(last.values[0].owner, ExtractOp):
        return None
    extract = last.values[0].owner
    if op.is_ancestor(extract.tile.owner):
        return None
    walks = [_walk(*each, op) for each in zip(extract.coords, space_of(extract.tile).extents, strict=True)]
    found = tuple(walk for walk in walks if walk is not None)
    return (extract.tile, found) if len(found) == len(walks) else None


def _walk(coord: SSAValue, extent: int, op: MapOp) -> AxisWalk | None:
    form, known = affine_of(coord), interval_of(coord)
    if form is None or known is None or not known.within(extent):
        return None
    dims = dict[SSAValue, DimAttr](zip(op.body.block.args, op.space.dims, strict=True))
    steps = {dims[index]: factor for index, factor in form.terms.items() if index in dims}
    forwards = all(factor > 0 for factor in steps.values())
    return AxisWalk(form.constant, steps) if forwards and len(steps) == len(form.terms) else None

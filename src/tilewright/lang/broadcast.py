"""The space of an elementwise result: identity broadcast."""

from collections.abc import Sequence

from tilewright.core.codes.types import BROADCAST
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.types import AxisAttr, SpaceAttr
from tilewright.lang.context import current
from tilewright.lang.spaces import shape_of

__all__ = ["joint_space", "shown_space"]


def joint_space(op: str, spaces: Sequence[SpaceAttr]) -> SpaceAttr:
    """The space of the result of `op` on tiles of these spaces, the first mentioned winning ties.

    It starts as the space of highest rank. Of each other space, an axis already there keeps its place (an extent of 1
    gives way), a new one is appended. Raises TileTypeError (TW209) for two extents that are both not 1.
    """
    start = max(spaces, key=lambda space: space.rank)
    axes = list(start.axes)
    for space in spaces:
        if space is not start:
            _merge(op, axes, space, start)
    return SpaceAttr.of(axes)


def _merge(op: str, axes: list[AxisAttr], space: SpaceAttr, start: SpaceAttr) -> None:
    places = {axis.dim: place for place, axis in enumerate(axes)}
    for axis in space.axes:
        place = places.get(axis.dim)
        if place is None:
            axes.append(axis)
            continue
        known = axes[place].extent
        if known == 1:
            axes[place] = axis
        elif axis.extent not in (1, known):
            _refuse(op, axis, known, start, space)


def _refuse(op: str, axis: AxisAttr, known: int, first: SpaceAttr, second: SpaceAttr) -> None:
    label = shape_of(SpaceAttr.of([axis]), current(op)).axes[0].label
    raise TileTypeError(
        BROADCAST.at(
            user_span(), op=op, axis=label, a=known, b=axis.extent, first=shown_space(first), second=shown_space(second)
        )
    )


def shown_space(space: SpaceAttr) -> str:
    """The space as messages show it, with the labels of the capture."""
    return repr(shape_of(space, current("a shape")))

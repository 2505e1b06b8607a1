"""Running sums, products and extremes along one axis: `scan` with the usual reducers."""

from tilewright.ir.attrs import Policy
from tilewright.lang.folds import scan
from tilewright.lang.reducers import add, maximum, minimum, mul
from tilewright.lang.spaces import Axis
from tilewright.lang.values import Tile

__all__ = ["cummax", "cummin", "cumprod", "cumsum"]

_ANY = Policy.UNORDERED_TREE


def cumsum(
    tile: Tile, axis: Axis, *, exclusive: bool = False, reverse: bool = False, policy: Policy | str = _ANY
) -> Tile:
    """The sum of the elements up to each one (before it when `exclusive`), from the far end when `reverse`."""
    return scan(tile, axis, add, policy=policy, exclusive=exclusive, reverse=reverse)


def cumprod(
    tile: Tile, axis: Axis, *, exclusive: bool = False, reverse: bool = False, policy: Policy | str = _ANY
) -> Tile:
    """The product of the elements up to each one (before it when `exclusive`), from the far end when `reverse`."""
    return scan(tile, axis, mul, policy=policy, exclusive=exclusive, reverse=reverse)


def cummax(tile: Tile, axis: Axis, *, reverse: bool = False) -> Tile:
    """The largest element up to each one, NaN from the first NaN on; from the far end when `reverse`."""
    return scan(tile, axis, maximum, reverse=reverse)


def cummin(tile: Tile, axis: Axis, *, reverse: bool = False) -> Tile:
    """The smallest element up to each one, NaN from the first NaN on; from the far end when `reverse`."""
    return scan(tile, axis, minimum, reverse=reverse)

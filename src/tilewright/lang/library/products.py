"""Sums of products by a formula of letters."""

from collections.abc import Mapping, Sequence

from tilewright.core.codes.types import BROADCAST, SHAPE_CHANGE
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.lang.context import current
from tilewright.lang.contraction import accumulator
from tilewright.lang.folds import reduce
from tilewright.lang.operations import typed
from tilewright.lang.reducers import add
from tilewright.lang.spaces import Axis, Shape
from tilewright.lang.tiles import broadcast_to, mma, relabel, zeros
from tilewright.lang.values import Tile

__all__ = ["einsum"]


def einsum(formula: str, *tiles: Tile) -> Tile:
    """The sum of products that a formula such as "bik,bkj->bij" names: a letter for each axis, by position.

    A letter that the result lacks is summed. Two operands with such a letter in common are contracted by `mma`; letters
    of one alone are summed first. More operands are taken from left to right. Half types accumulate in f32 and round
    once for each product. The axes of the result are fresh. Raises TileTypeError: TW216 for a formula that does not
    fit, TW209 for a letter with two extents.
    """
    parts, result = _read(formula, tiles)
    axes = _axes(parts, tiles)
    left, have = _named(tiles[0], parts[0], axes), parts[0]
    for place, (tile, letters) in enumerate(zip(tiles[1:], parts[1:], strict=True)):
        later = set("".join(parts[place + 2 :])) | set(result)
        right = _named(tile, letters, axes)
        left, have = _product(left, have, right, letters, later, axes)
    left = _summed(left, [axes[letter] for letter in have if letter not in result])
    return broadcast_to(left, Shape(tuple(axes[letter] for letter in result)))


def _product(
    left: Tile, have: str, right: Tile, letters: str, later: set[str], axes: Mapping[str, Axis]
) -> tuple[Tile, str]:
    """The product of two operands, without the letters that nothing needs later."""
    left = _summed(left, [axes[x] for x in have if x not in later and x not in letters])
    right = _summed(right, [axes[x] for x in letters if x not in later and x not in have])
    kept = [x for x in dict.fromkeys(have + letters) if x in later]
    if not any(x in have and x in letters and x not in later for x in have):
        return left * right, "".join(kept)
    start = zeros(accumulator(left.dtype), Shape(tuple(axes[x] for x in kept)))
    return mma(left, right, start).astype(left.dtype), "".join(kept)


def _summed(tile: Tile, axes: Sequence[Axis]) -> Tile:
    return reduce(tile, axes, add)


def _read(formula: str, tiles: Sequence[Tile]) -> tuple[list[str], str]:
    """The letters of the operands and of the result."""
    source, arrow, result = formula.replace(" ", "").partition("->")
    parts = source.split(",")
    ranks = [typed(tile, "einsum").space.rank for tile in tiles]
    reason = ""
    if not arrow:
        reason = "the letters of the result follow an arrow"
    elif [len(part) for part in parts] != ranks:
        reason = f"the operands have {', '.join(map(str, ranks))} axes, a letter for each"
    elif any(len(set(word)) != len(word) for word in (*parts, result)) or not set(result) <= set("".join(parts)):
        reason = "a letter stands once in an operand, and those of the result are in an operand"
    if reason:
        raise TileTypeError(
            SHAPE_CHANGE.at(
                user_span(), op="einsum", before=repr(formula), after="a sum of products", reason=reason,
                remedy='write it as in einsum("ik,kj->ij", a, b)',
            )
        )  # fmt: skip
    return parts, result


def _axes(parts: Sequence[str], tiles: Sequence[Tile]) -> dict[str, Axis]:
    """A fresh axis for each letter."""
    axes: dict[str, Axis] = {}
    capture = current("einsum")
    for letters, tile in zip(parts, tiles, strict=True):
        for letter, extent in zip(letters, tile.shape.extents, strict=True):
            known = axes.setdefault(letter, Axis(letter, extent, capture.fresh_dim(letter), capture))
            if known.extent != extent:
                raise TileTypeError(
                    BROADCAST.at(
                        user_span(), op="einsum", axis=letter, a=known.extent, b=extent, first="one operand",
                        second="another",
                    )
                )  # fmt: skip
    return axes


def _named(tile: Tile, letters: str, axes: Mapping[str, Axis]) -> Tile:
    return relabel(tile, Shape(tuple(axes[letter] for letter in letters)))

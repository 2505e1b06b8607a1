"""Sliding windows and what is made of them: convolution and pooling of images.

A window is a map from an axis to two: `x[.., out * stride + place * dilation - padding, ..]`. A convolution contracts
windows with a filter by `mma`, a pooling folds them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.core.codes.types import K_MISMATCH, SHAPE_CHANGE
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.lang.context import current
from tilewright.lang.contraction import accumulator
from tilewright.lang.folds import check_axes, reduce
from tilewright.lang.library.operands import bounded, widened, zero_of
from tilewright.lang.library.rearranging import merge_axes, replaced, split_axis
from tilewright.lang.nests import Nest
from tilewright.lang.operations import typed
from tilewright.lang.reducers import add, maximum
from tilewright.lang.spaces import Axis, Shape
from tilewright.lang.tiles import broadcast_to, map, mma, relabel, zeros
from tilewright.lang.values import Number, Scalar, Tile

__all__ = ["avg_pool2d", "conv2d", "max_pool2d", "window"]

Pair = int | tuple[int, int]


def window(
    tile: Tile, axis: Axis, out: Axis, size: Axis, *, stride: int = 1, dilation: int = 1, padding: int = 0,
    fill: Scalar | Number | None = None,
) -> Tile:  # fmt: skip
    """The windows along one axis: `out` numbers them in its place, `size` the places in each and comes last.

    Place s of window o is element o * stride + s * dilation - padding, and `fill` (default zero) outside the tile.
    Raises TileTypeError (TW214) for an axis the tile lacks.
    """
    check_axes("window", typed(tile, "window"), (axis,))
    axes = tile.shape.axes
    along = [each.dim for each in axes].index(axis.dim)
    filler = zero_of(tile.dtype) if fill is None else fill
    last = (out.extent - 1) * stride + (size.extent - 1) * dilation - padding
    doubtful = (along,) if padding > 0 or last >= axis.extent else ()

    def element(nest: Nest) -> Scalar:
        place = [nest.index(out if each.dim == axis.dim else each) for each in axes]
        place[along] = place[along] * stride + nest.index(size) * dilation - padding
        return bounded(tile, place, doubtful, filler)

    return map(tile.dtype, Shape((*replaced(tile.shape, axis, (out,)).axes, size)), element)


def conv2d(
    x: Tile, weight: Tile, *, stride: Pair = 1, padding: Pair = 0, dilation: Pair = 1, groups: int = 1,
    layout: str = "NCHW", weights: str = "OIHW",
) -> Tile:  # fmt: skip
    """Cross-correlation of images with filters; the axes of both are read by position, as the two words name them.

    x has `groups` times as many channels C as the filters have inputs I; filters o go to group o // (O / groups).
    With as many groups as channels it is a depthwise convolution. The result has the layout of x, with fresh axes for
    rows, columns and (unless there is one filter a channel) channels. Half types accumulate in f32.
    Raises TileTypeError: TW216 for ranks or words that do not fit, TW203 for channels that do not.
    """
    image, filters = _named(x, layout, "NCHW"), _named(weight, weights, "OIHW")
    if image["C"].extent != filters["I"].extent * groups or filters["O"].extent % groups:
        raise TileTypeError(K_MISMATCH.at(user_span(), axis="C", a=image["C"].extent, b=filters["I"].extent * groups))
    group, channel = _fresh("group", groups), _fresh("channel", filters["I"].extent)
    made = _fresh("filter", filters["O"].extent // groups)
    rows = _side(image["H"], filters["H"], _pair(stride)[0], _pair(padding)[0], _pair(dilation)[0])
    columns = _side(image["W"], filters["W"], _pair(stride)[1], _pair(padding)[1], _pair(dilation)[1])
    split = split_axis(x, image["C"], group, channel)
    patches = columns.of(rows.of(split, None), None)
    kernel = _renamed(weight, filters, {"I": channel, "H": rows.size, "W": columns.size})
    kernel = split_axis(kernel, filters["O"], group, made)
    out = Shape(tuple(_flat([image["N"], (group, made), rows.out, columns.out], layout)))
    result = mma(patches, kernel, zeros(accumulator(x.dtype), out)).astype(x.dtype)
    return merge_axes(result, group, made, _fresh("O", filters["O"].extent))


def max_pool2d(
    x: Tile, size: Pair, *, stride: Pair | None = None, padding: Pair = 0, dilation: Pair = 1, layout: str = "NCHW"
) -> Tile:
    """The largest element of each window, NaN if there is one; what lies outside never counts.

    Raises TileTypeError (TW216) for a rank or word that does not fit.
    """
    patches, axes, order = _patches(x, size, stride, padding, dilation, layout, maximum.identity(x.dtype))
    return broadcast_to(reduce(patches, axes, maximum), order)


def avg_pool2d(x: Tile, size: Pair, *, stride: Pair | None = None, padding: Pair = 0, layout: str = "NCHW") -> Tile:
    """The sum of each window, with zeros outside, divided by the number of places in a window.

    Raises TileTypeError (TW216) for a rank or word that does not fit.
    """
    wide = widened(x, "avg_pool2d")
    patches, axes, order = _patches(wide, size, stride, padding, 1, layout, None)
    count = axes[0].extent * axes[1].extent
    return broadcast_to((reduce(patches, axes, add) / float(count)).astype(x.dtype), order)


@dataclass(frozen=True, slots=True)
class _Side:
    """How windows run along one side of an image."""

    axis: Axis
    out: Axis
    size: Axis
    stride: int
    padding: int
    dilation: int

    def of(self, tile: Tile, fill: Number | None) -> Tile:
        return window(
            tile, self.axis, self.out, self.size, stride=self.stride, dilation=self.dilation, padding=self.padding,
            fill=fill,
        )  # fmt: skip


def _patches(
    x: Tile, size: Pair, stride: Pair | None, padding: Pair, dilation: Pair, layout: str, fill: Number | None
) -> tuple[Tile, tuple[Axis, Axis], Shape]:
    """All windows of an image, the two axes inside a window, and the shape that is left without them."""
    image = _named(x, layout, "NCHW")
    rest = (size if stride is None else stride, padding, dilation)
    rows, columns = (
        _side(image[name], _fresh(f"{name}.size", _pair(size)[place]), *(_pair(each)[place] for each in rest))
        for place, name in enumerate("HW")
    )
    order = Shape(tuple(_flat([image["N"], (image["C"],), rows.out, columns.out], layout)))
    return columns.of(rows.of(x, fill), fill), (rows.size, columns.size), order


def _side(axis: Axis, size: Axis, stride: int, padding: int, dilation: int) -> _Side:
    span = axis.extent + 2 * padding - dilation * (size.extent - 1) - 1
    count = max(span // stride + 1, 0)
    fresh = _fresh(f"{axis.label}.out", count)
    return _Side(axis, fresh, _fresh(f"{axis.label}.size", size.extent), stride, padding, dilation)


def _flat(parts: Sequence[Axis | tuple[Axis, ...]], layout: str) -> list[Axis]:
    """N, C, H and W (each one axis or several) in the order of the layout."""
    named = dict(zip("NCHW", parts, strict=True))
    found = [named[letter] for letter in layout]
    return [axis for part in found for axis in (part if isinstance(part, tuple) else (part,))]


def _renamed(tile: Tile, axes: dict[str, Axis], names: dict[str, Axis]) -> Tile:
    letters = {axis.dim: letter for letter, axis in axes.items()}
    return relabel(tile, Shape(tuple(names.get(letters[axis.dim], axis) for axis in tile.shape.axes)))


def _named(tile: Tile, word: str, letters: str) -> dict[str, Axis]:
    """The axes by the letters of a word. Raises TileTypeError (TW216) when the word or the rank does not fit."""
    axes = typed(tile, "conv2d").space.axes
    if sorted(word) != sorted(letters) or len(axes) != len(letters):
        raise TileTypeError(
            SHAPE_CHANGE.at(
                user_span(), op="reading the axes", before=tile.describe(), after=word,
                reason=f"a tile of four axes is read by a word of the letters {letters}",
                remedy=f"load a tile with four axes, and name them as in layout={letters!r}",
            )
        )  # fmt: skip
    return dict(zip(word, tile.shape.axes, strict=True))


def _pair(value: Pair) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


def _fresh(label: str, extent: int) -> Axis:
    capture = current("a window")
    return Axis(label, extent, capture.fresh_dim(label), capture)

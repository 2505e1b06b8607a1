"""Layouts of manual memories: strides, a function of the coordinates, and the usual ones by name.

A layout maps the coordinates of an element to those of its storage cell. Each function takes a shape or another
layout, whose cells it moves further: `padded(swizzled(shape(m, k)), 1)`.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import cast, overload

from tilewright.core.codes.types import LAYOUT_FUNCTION, NO_SUCH_AXIS, UNSAFE_LAYOUT
from tilewright.core.errors import TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.index_expr import IndexExpr, coordinate
from tilewright.ir.index_map import IndexMap, compose, identity, permute, strided
from tilewright.ir.layout_proof import prove
from tilewright.ir.layout_reach import reach
from tilewright.ir.types import AxisAttr, SpaceAttr, compact_strides
from tilewright.lang.context import Capture, current
from tilewright.lang.layout_index import LayoutIndex, index_expr
from tilewright.lang.spaces import Axis, Shape, cdiv, checked_extent, counted_axes, require_own_axes

__all__ = ["Layout", "blocked", "layout", "padded", "permuted", "swizzled"]

_I = LayoutIndex
Cell = LayoutIndex | int | tuple[LayoutIndex | int, ...]
CellOf = (
    Callable[[], Cell]
    | Callable[[_I], Cell]
    | Callable[[_I, _I], Cell]
    | Callable[[_I, _I, _I], Cell]
    | Callable[[_I, _I, _I, _I], Cell]
    | Callable[[_I, _I, _I, _I, _I], Cell]
    | Callable[[_I, _I, _I, _I, _I, _I], Cell]
    | Callable[[_I, _I, _I, _I, _I, _I, _I], Cell]
    | Callable[[_I, _I, _I, _I, _I, _I, _I, _I], Cell]
)
"""A function of the coordinates of an element, one for each axis. By arity, so that type checkers see into a lambda."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the elements of a memory lie in its storage."""

    shape: Shape
    map: IndexMap

    @property
    def extents(self) -> tuple[int, ...]:
        """How many cells the storage has along each of its own axes."""
        return self.map.codomain.extents


@overload
def layout(where: Shape | Layout, *, strides: Sequence[int]) -> Layout: ...
@overload
def layout(where: Shape | Layout, cell: CellOf, *, extents: int | Sequence[int] | None = None) -> Layout: ...
def layout(
    where: Shape | Layout,
    cell: CellOf | None = None,
    *,
    strides: Sequence[int] | None = None,
    extents: int | Sequence[int] | None = None,
) -> Layout:
    """Where each element lies, by strides or by a function.

    By `strides`: element u lies at the sum of u times strides, counted in elements.

    By a function: `cell` takes a `LayoutIndex` for each axis and gives the cell, one coordinate or a tuple of them, as
    in `layout(shape(m, k), lambda i, j: (j, i ^ j))`. `extents` are those of the storage, by default as far as `cell`
    reaches.

    Raises TileTypeError: TW281 when two elements share a cell or one has none, TW285 for what is no such function.
    """
    _owner(where, "layout(...)")
    if cell is not None and strides is None:
        return _calculated(where, cell, extents)
    if strides is None or cell is not None or extents is not None:
        raise _refusal("it is given neither by strides alone nor by a function", "give one of the two")
    return _moved(where, strided(_cells(where), current("layout(...)").fresh_dim("storage"), _steps(strides)))


def padded(where: Shape | Layout, by: int) -> Layout:
    """Row by row, with `by` unused cells between the rows along the last axis.

    Raises CaptureError (TW131) when `by` is not a whole number of 0 or more.
    """
    capture = _owner(where, "padded(...)")
    cells = _cells(where)
    wide = [*cells.extents[:-1], *(extent + checked_extent(by, "the padding") for extent in cells.extents[-1:])]
    return _moved(where, strided(cells, capture.fresh_dim("storage"), compact_strides(wide)))


def permuted(where: Shape | Layout, *axes: Axis) -> Layout:
    """The storage has the axes in this order: `permuted(shape(m, k), k, m)` lies column by column.

    Raises TileTypeError: TW214 for an axis that the storage has not, TW281 unless every axis is named once.
    """
    _owner(where, "permuted(...)")
    cells = _cells(where)
    for axis in axes:
        if not isinstance(axis, Axis) or axis.dim not in cells.dims:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TileTypeError(NO_SUCH_AXIS.at(user_span(), op="permuted", axis=repr(axis), tile="the storage"))
    return _moved(where, permute(cells, [axis.dim for axis in axes]))


def swizzled(where: Shape | Layout) -> Layout:
    """Column j of row i lies in column j XOR i, so that a column of elements is spread over many columns of cells.

    Rows are the axis before the last; only as many of a row's bits take part as a column has, and a row becomes a power
    of two long. Raises TileTypeError (TW285) for fewer than two axes.
    """
    _owner(where, "swizzled(...)")
    cells = _cells(where)
    if cells.rank < 2:
        raise _refusal(f"swizzled needs rows and columns, and there is {counted_axes(cells.rank)}", "give it two axes")
    *outer, row, column = cells.axes
    width = 1 << max(column.extent - 1, 0).bit_length()
    kept = [coordinate(axis.dim) for axis in (*outer, row)]
    outputs = (*kept, coordinate(column.dim) ^ (coordinate(row.dim) & (width - 1)))
    return _moved(where, IndexMap(cells, SpaceAttr.of([*outer, row, AxisAttr.of(column.dim, width)]), outputs))


def blocked(where: Shape | Layout, *blocks: int) -> Layout:
    """One block after the other: `blocked(shape(m, k), 4, 8)` stores 4 by 8 elements together, then the next 4 by 8.

    The cells have an axis for the blocks along each axis and then one for the elements inside. Raises TileTypeError
    (TW285) unless there is one block of 1 or more for each axis.
    """
    capture = _owner(where, "blocked(...)")
    cells = _cells(where)
    sizes = [checked_extent(block, "a block") for block in blocks]
    if len(sizes) != cells.rank or 0 in sizes:
        remedy = "give the extent of a block along every axis"
        raise _refusal(f"blocks of {list(sizes)} for {counted_axes(cells.rank)}", remedy)
    pairs = list(zip(cells.axes, sizes, strict=True))
    outputs = [coordinate(axis.dim) // size for axis, size in pairs] + [
        coordinate(axis.dim) % size for axis, size in pairs
    ]
    extents = [cdiv(axis.extent, size) for axis, size in pairs] + sizes
    return _moved(where, IndexMap(cells, _storage(extents, capture), tuple(outputs)))


def _calculated(where: Shape | Layout, cell: CellOf, extents: int | Sequence[int] | None) -> Layout:
    cells = _cells(where)
    outputs = _outputs(cell, cells)
    sizes = _sizes(extents) if extents is not None else reach(outputs, cells)
    if sizes is None:
        what = f"how far its function reaches is not seen for {cells.volume} elements"
        raise _refusal(what, "give the extents of the storage, as in layout(..., extents=n)")
    if len(sizes) != len(outputs):
        what = f"its function gives {counted_axes(len(outputs))} of cells, and `extents` {counted_axes(len(sizes))}"
        raise _refusal(what, "give one extent for each coordinate of a cell")
    return _moved(where, IndexMap(cells, _storage(sizes, current("layout(...)")), outputs))


def _outputs(cell: CellOf, cells: SpaceAttr) -> tuple[IndexExpr, ...]:
    """What the function gives for the coordinates of a cell."""
    if not callable(cell):  # pyright: ignore[reportUnnecessaryComparison]
        raise _refusal(f"a {type(cell).__name__} is no function", "give a function of one coordinate for each axis")
    places = [LayoutIndex(coordinate(dim)) for dim in cells.dims]
    try:
        inspect.signature(cell).bind(*places)
    except TypeError as error:
        what = f"its function does not take {counted_axes(cells.rank)} ({error})"
        raise _refusal(what, "give a function of one coordinate for each axis") from None
    made = cast(Callable[..., Cell], cell)(*places)
    items = made if isinstance(made, tuple) else (made,)
    return tuple(index_expr(item, "no coordinate of a cell") for item in items)


def _steps(strides: object) -> list[int]:
    """The strides as ints. Raises TileTypeError (TW285) for what is no list of ints."""
    remedy = "give one int for each axis, as in strides=(9, 1)"
    if not isinstance(strides, (tuple, list)):
        raise _refusal(f"its strides are a {type(strides).__name__}", remedy)
    steps: list[int] = []
    for step in cast(Sequence[object], strides):
        if isinstance(step, bool) or not isinstance(step, Integral):
            raise _refusal(f"one of its strides is {step!r}", remedy)
        steps.append(int(step))
    return steps


def _sizes(extents: int | Sequence[int]) -> tuple[int, ...]:
    listed = extents if isinstance(extents, Sequence) else (extents,)
    return tuple(checked_extent(extent, "the storage") for extent in listed)


def _storage(extents: Sequence[int], capture: Capture) -> SpaceAttr:
    return SpaceAttr.of(AxisAttr.of(capture.fresh_dim("storage"), extent) for extent in extents)


def _cells(where: Shape | Layout) -> SpaceAttr:
    return where.map.codomain if isinstance(where, Layout) else where.space


def _moved(where: Shape | Layout, outer: IndexMap) -> Layout:
    """The cells of `where` moved by `outer`. Raises TileTypeError (TW281) when that is disproved as storage."""
    shape = where.shape if isinstance(where, Layout) else where
    index_map = compose(outer, where.map if isinstance(where, Layout) else identity(where.space))
    proof = prove(index_map)
    if proof.is_storage_invalid:
        raise TileTypeError(UNSAFE_LAYOUT.at(user_span(), what=proof.reason))
    return Layout(shape, index_map)


def _owner(where: Shape | Layout, what: str) -> Capture:
    """The capture in progress. Raises CaptureError (TW102) for axes of another one, TileTypeError (TW285) for what has
    no axes.
    """
    capture = current(what)
    if not isinstance(where, (Shape, Layout)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _refusal(f"a {type(where).__name__} has no cells", f"give {what} a shape(...) or another layout")
    require_own_axes(where.shape if isinstance(where, Layout) else where)
    return capture


def _refusal(what: str, remedy: str) -> TileTypeError:
    return TileTypeError(LAYOUT_FUNCTION.at(user_span(), what=what, remedy=remedy))

"""Panels of an operand: blocks of its columns (of A: of its rows) copied so that the register tile reads them one
after the other, k outermost.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from tilewright.xir.builder import XirBuilder
from tilewright.xir.types import I1, I64, BufferType, lanes_of

__all__ = ["PanelCopy", "Panels", "transposed"]


@dataclass(frozen=True, slots=True)
class Panels:
    """Panels of `width` of `extent` columns and `depth` rows of k in `buffer`; zeros fill the last one up.

    `held`: of how many columns they are kept at a time; a panel takes the place of the one so many columns before it.
    """

    buffer: SSAValue
    extent: int
    width: int
    depth: int
    lanes: int
    held: int

    def start(self, b: XirBuilder, column: SSAValue) -> SSAValue:
        """The index of the first element of the panel that begins with this column."""
        place = column if self.held >= self.extent else b.remsi(column, self.held)
        return b.mul(place, self.depth)


@dataclass(frozen=True, slots=True)
class PanelCopy:
    """The copy of one panel, as a function of source, index of its first element, panels, index of the panel, depth.

    `buffers`: types of both. `strides`: of the source by k and by column. `columns`: how many of the `width` there are;
    the others become zero.
    """

    buffers: tuple[BufferType, BufferType]
    strides: tuple[int, int]
    width: int
    lanes: int
    columns: int

    @property
    def stem(self) -> str:
        """How a function of it is called."""
        return f"panel_{self.columns}"

    def argument_types(self) -> list[Attribute]:
        return [*(kind for buffer in self.buffers for kind in (buffer, I64)), I64]

    def write(self, b: XirBuilder, arguments: Sequence[SSAValue]) -> None:
        """Writes the loops: squares of lanes where columns lie in runs along k, then rows of vectors."""
        copy = _Copy(b, self, arguments)
        (by_k, by_column), depth = self.strides, arguments[4]
        rest: SSAValue | int = 0
        if by_k == 1 and by_column != 1 and self.lanes > 1:
            rest = b.mul(b.divsi(depth, self.lanes), self.lanes)
            with b.for_(0, rest, self.lanes) as loop:
                copy.each_vector(loop.index, copy.square)
        with b.for_(rest, depth) as loop:
            copy.each_vector(loop.index, copy.row)


class _Copy:
    """The parts of one copy."""

    def __init__(self, b: XirBuilder, copy: PanelCopy, arguments: Sequence[SSAValue]) -> None:
        self._b, self._copy = b, copy
        self._source, self._first, self._panels, self._panel = arguments[:4]
        self._zero = b.broadcast(b.const(copy.buffers[0].element, 0), copy.lanes)

    def each_vector(self, k: SSAValue, act: Callable[[SSAValue, SSAValue, int], None]) -> None:
        """`act` on k, the first column of a vector, and how many of its lanes are live."""
        b, lanes = self._b, self._copy.lanes
        full, rest = divmod(self._copy.columns, lanes)
        if full == 1:
            act(k, b.i64(0), lanes)
        elif full:
            with b.for_(0, full * lanes, lanes) as loop:
                act(k, loop.index, lanes)
        for vector in range(full, self._copy.width // lanes):
            act(k, b.i64(vector * lanes), rest if vector == full else 0)

    def square(self, k: SSAValue, column: SSAValue, live: int) -> None:
        """`lanes` values of k for `lanes` columns that lie in runs along k: loaded along k, stored along columns."""
        b, lanes, by_column = self._b, self._copy.lanes, self._copy.strides[1]
        start = b.add(b.add(self._first, k), b.mul(column, by_column))
        columns = [
            b.load(self._source, b.add(start, lane * by_column), lanes) if lane < live else self._zero
            for lane in range(lanes)
        ]
        for offset, value in enumerate(transposed(b, columns)):
            b.store(value, self._panels, self._place(b.add(k, offset), column))

    def row(self, k: SSAValue, column: SSAValue, live: int) -> None:
        """One vector of columns at one k; zero where there are none."""
        self._b.store(self._loaded(k, column, live), self._panels, self._place(k, column))

    def _loaded(self, k: SSAValue, column: SSAValue, live: int) -> SSAValue:
        b, lanes, (by_k, by_column) = self._b, self._copy.lanes, self._copy.strides
        if not live:
            return self._zero
        mask = None if live == lanes else b.const_lanes(I1, [lane < live for lane in range(lanes)])
        first = b.add(self._first, b.add(b.mul(k, by_k), b.mul(column, by_column)))
        if by_column == 1 or lanes == 1:
            return b.load(self._source, first, lanes, mask=mask)
        offsets = b.const_lanes(I64, [lane * by_column for lane in range(lanes)])
        return b.gather(self._source, b.add(b.broadcast(first, lanes), offsets), mask=mask)

    def _place(self, k: SSAValue, column: SSAValue) -> SSAValue:
        b = self._b
        return b.add(self._panel, b.add(b.mul(k, self._copy.width), column))


def transposed(b: XirBuilder, rows: list[SSAValue]) -> list[SSAValue]:
    """The transpose of a square of vectors, by exchanging halves of pairs at doubling distances."""
    lanes = lanes_of(rows[0].type)
    distance = lanes // 2
    while distance:
        low = [lane if not lane & distance else lane - distance + lanes for lane in range(lanes)]
        high = [lane + distance if not lane & distance else lane + lanes for lane in range(lanes)]
        following = list(rows)
        for first in range(lanes):
            if not first & distance:
                second = first | distance
                following[first] = b.shuffle(rows[first], rows[second], low)
                following[second] = b.shuffle(rows[first], rows[second], high)
        rows, distance = following, distance // 2
    return rows

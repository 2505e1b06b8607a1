"""Panels of an operand: blocks of its columns (of A: of its rows) copied so that the register tile reads them one
after the other, k outermost.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from tilewright.xir.builder import XirBuilder
from tilewright.xir.types import I1, I64, BufferType, buffer_type, lanes_of

__all__ = ["PanelCopy", "PanelShape", "PanelWriter", "Panels", "transposed"]

_WRITTEN_OUT = 4  # vectors of a row


@dataclass(frozen=True, slots=True)
class Panels:
    """Panels of `width` of `extent` columns and `depth` rows of k in `buffer`; zeros fill the last one up.

    `held`: of how many columns they are kept at a time; a panel takes the place of the one so many columns before it.
    With a `first` element they are ready there, with all of k.
    """

    buffer: SSAValue
    extent: int
    width: int
    depth: int
    lanes: int
    held: int
    first: SSAValue | None = None

    def start(self, b: XirBuilder, column: SSAValue, k: SSAValue) -> SSAValue:
        """The index of the first element of the panel that begins with this column, in the block of k from `k` on."""
        if self.first is not None:
            return b.add(self.first, b.add(b.mul(column, self.depth), b.mul(k, self.width)))
        if self.held <= self.width:
            return b.i64(0)
        return b.mul(column if self.held >= self.extent else b.remsi(column, self.held), self.depth)


@dataclass(frozen=True, slots=True)
class PanelShape:
    """One panel: `columns` of its `width` are there, the others become zero; vectors have so many lanes."""

    width: int
    lanes: int
    columns: int


@dataclass(frozen=True, slots=True)
class PanelCopy:
    """The copy of one panel, as a function of source, index of its first element, panels, index of the panel, depth.

    `buffers`: types of both. `strides`: of the source by k and by column.
    """

    buffers: tuple[BufferType, BufferType]
    strides: tuple[int, int]
    shape: PanelShape

    @property
    def stem(self) -> str:
        """How a function of it is called."""
        return f"panel_{self.shape.columns}"

    def argument_types(self) -> list[Attribute]:
        return [*(kind for buffer in self.buffers for kind in (buffer, I64)), I64]

    def write(self, b: XirBuilder, arguments: Sequence[SSAValue]) -> None:
        """Writes the loops: squares of lanes where columns lie in runs along k, then rows of vectors."""
        copy = _Copy(b, self, arguments)
        (by_k, by_column), lanes, depth = self.strides, self.shape.lanes, arguments[4]
        rest: SSAValue | int = 0
        if by_k == 1 and by_column != 1 and lanes > 1:
            rest = b.mul(b.divsi(depth, lanes), lanes)
            with b.for_(0, rest, lanes) as loop:
                copy.each_vector(loop.index, copy.square)
        with b.for_(rest, depth) as loop:
            copy.each_vector(loop.index, copy.row, written_out=_WRITTEN_OUT if by_column == 1 else 1)


class PanelWriter:
    """Vectors of one panel, at their places."""

    def __init__(self, b: XirBuilder, shape: PanelShape, panels: SSAValue, panel: SSAValue) -> None:
        self._b, self._shape = b, shape
        self._panels, self._panel = panels, panel
        self.zero = b.broadcast(b.const(buffer_type(panels).element, 0), shape.lanes)

    def each_vector(self, k: SSAValue, act: Callable[[SSAValue, SSAValue, int], None], *, written_out: int = 1) -> None:
        """`act` on k, the first column of a vector, and how many of its lanes are live. So many full vectors are
        written out one by one; more of them are a loop, which costs more than the copy of a vector.
        """
        b, lanes = self._b, self._shape.lanes
        full, rest = divmod(self._shape.columns, lanes)
        looped = full if full > written_out else 0
        if looped:
            with b.for_(0, looped * lanes, lanes) as loop:
                act(k, loop.index, lanes)
        for vector in range(looped, self._shape.width // lanes):
            act(k, b.i64(vector * lanes), lanes if vector < full else rest if vector == full else 0)

    def row(self, value: SSAValue, k: SSAValue, column: SSAValue) -> None:
        """A vector of columns at one k."""
        b = self._b
        b.store(value, self._panels, b.add(self._panel, b.add(b.mul(k, self._shape.width), column)))

    def square(self, columns: list[SSAValue], k: SSAValue, column: SSAValue) -> None:
        """As many columns as lanes, each a vector along k."""
        for offset, value in enumerate(transposed(self._b, columns)):
            self.row(value, self._b.add(k, offset), column)


class _Copy:
    """The parts of one copy."""

    def __init__(self, b: XirBuilder, copy: PanelCopy, arguments: Sequence[SSAValue]) -> None:
        self._b, self._copy = b, copy
        self._source, self._first = arguments[:2]
        self._writer = PanelWriter(b, copy.shape, *arguments[2:4])
        self.each_vector = self._writer.each_vector

    def square(self, k: SSAValue, column: SSAValue, live: int) -> None:
        """`lanes` values of k for `lanes` columns that lie in runs along k: loaded along k, stored along columns."""
        b, lanes, by_column = self._b, self._copy.shape.lanes, self._copy.strides[1]
        start = b.add(b.add(self._first, k), b.mul(column, by_column))
        columns = [
            b.load(self._source, b.add(start, lane * by_column), lanes) if lane < live else self._writer.zero
            for lane in range(lanes)
        ]
        self._writer.square(columns, k, column)

    def row(self, k: SSAValue, column: SSAValue, live: int) -> None:
        """One vector of columns at one k; zero where there are none."""
        self._writer.row(self._loaded(k, column, live), k, column)

    def _loaded(self, k: SSAValue, column: SSAValue, live: int) -> SSAValue:
        b, lanes, (by_k, by_column) = self._b, self._copy.shape.lanes, self._copy.strides
        if not live:
            return self._writer.zero
        mask = None if live == lanes else b.const_lanes(I1, [lane < live for lane in range(lanes)])
        first = b.add(self._first, b.add(b.mul(k, by_k), b.mul(column, by_column)))
        if by_column == 1 or lanes == 1:
            return b.load(self._source, first, lanes, mask=mask)
        offsets = b.const_lanes(I64, [lane * by_column for lane in range(lanes)])
        return b.gather(self._source, b.add(b.broadcast(first, lanes), offsets), mask=mask)


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

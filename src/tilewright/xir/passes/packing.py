"""Panels of an operand: blocks of its columns (of A: of its rows) copied so that the register tile reads them one
after the other, k outermost.
"""

from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.xir.builder import XirBuilder
from tilewright.xir.types import I1, I64, buffer_type, lanes_of

__all__ = ["Panels", "pack", "transposed"]


@dataclass(frozen=True, slots=True)
class Panels:
    """Panels of `width` of `extent` columns and `depth` rows of k in `buffer`; zeros fill the last one up."""

    buffer: SSAValue
    extent: int
    width: int
    depth: int
    lanes: int

    def start(self, b: XirBuilder, panel: SSAValue) -> SSAValue:
        """The index of a panel's first element."""
        return b.mul(panel, self.depth * self.width)


def pack(
    b: XirBuilder, panels: Panels, source: SSAValue, start: SSAValue, strides: tuple[int, int], depth: int
) -> None:
    """Copy `depth` rows of k of every panel. `strides`: of the source by k and by column."""
    whole, last = divmod(panels.extent, panels.width)
    if whole:
        with b.for_(0, whole) as loop:
            first = b.add(start, b.mul(loop.index, panels.width * strides[1]))
            _panel(b, panels, (source, first), (panels.start(b, loop.index), panels.width), strides, depth)
    if last:
        index = b.i64(whole)
        first = b.add(start, whole * panels.width * strides[1])
        _panel(b, panels, (source, first), (panels.start(b, index), last), strides, depth)


def _panel(
    b: XirBuilder,
    panels: Panels,
    source: tuple[SSAValue, SSAValue],
    target: tuple[SSAValue, int],
    strides: tuple[int, int],
    depth: int,
) -> None:
    lanes = panels.lanes
    by_k, by_column = strides
    squares = depth // lanes if by_k == 1 and by_column != 1 and lanes > 1 else 0
    place, columns = target
    if squares:
        with b.for_(0, squares * lanes, lanes) as loop:
            for vector in range(panels.width // lanes):
                live = min(lanes, max(0, columns - vector * lanes))
                _square(b, panels, source, place, loop.index, vector, by_column, live)
    if depth > squares * lanes:
        with b.for_(squares * lanes, depth) as loop:
            for vector in range(panels.width // lanes):
                live = min(lanes, max(0, columns - vector * lanes))
                value = _row(b, source, loop.index, strides, vector * lanes, lanes, live)
                b.store(value, panels.buffer, _at(b, panels, place, loop.index, vector))


def _at(b: XirBuilder, panels: Panels, place: SSAValue, k: SSAValue, vector: int) -> SSAValue:
    return b.add(place, b.add(b.mul(k, panels.width), vector * panels.lanes))


def _row(
    b: XirBuilder,
    source: tuple[SSAValue, SSAValue],
    k: SSAValue,
    strides: tuple[int, int],
    column: int,
    lanes: int,
    live: int,
) -> SSAValue:
    """One vector of columns at one k; zero where there are none."""
    buffer, start = source
    kind = b.broadcast(b.const(buffer_type(buffer).element, 0), lanes)
    if not live:
        return kind
    mask = None if live == lanes else b.const_lanes(I1, [lane < live for lane in range(lanes)])
    first = b.add(start, b.add(b.mul(k, strides[0]), column * strides[1]))
    if strides[1] == 1 or lanes == 1:
        return b.load(buffer, first, lanes, mask=mask)
    offsets = b.const_lanes(I64, [lane * strides[1] for lane in range(lanes)])
    return b.gather(buffer, b.add(b.broadcast(first, lanes), offsets), mask=mask)


def _square(
    b: XirBuilder,
    panels: Panels,
    source: tuple[SSAValue, SSAValue],
    place: SSAValue,
    k: SSAValue,
    vector: int,
    by_column: int,
    live: int,
) -> None:
    """`lanes` values of k for `lanes` columns that lie in runs along k: loaded along k, stored along columns."""
    buffer, start = source
    lanes = panels.lanes
    zero = b.broadcast(b.const(buffer_type(buffer).element, 0), lanes)
    columns = [
        b.load(buffer, b.add(b.add(start, k), (vector * lanes + lane) * by_column), lanes) if lane < live else zero
        for lane in range(lanes)
    ]
    for offset, value in enumerate(transposed(b, columns)):
        row = b.add(k, offset)
        b.store(value, panels.buffer, _at(b, panels, place, row, vector))


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

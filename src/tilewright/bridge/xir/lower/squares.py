"""Nests in squares: what lies across the lanes is loaded along the other dimension and turned in registers.

The turned vectors are remembered as values of their tiles at the rows of the square, so that the rows are evaluated
like any other vectors. A read at another point finds nothing remembered, and gathers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from tilewright.bridge.xir.lower.context import Lowering, Val
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.values import remember, tile_value
from tilewright.bridge.xir.records import NestPlan, TurnedRead
from tilewright.xir.constants import known_int
from tilewright.xir.passes.packing import transposed
from tilewright.xir.types import I1, I64, scalar_of

__all__ = ["run_squares"]

At = Mapping[int, Coord]
Live = SSAValue | int | None


def run_squares(cx: Lowering, nest: NestPlan, extents: Mapping[int, int], at: At, body: Callable[[At], None]) -> None:
    """Run `body` at every row of every square over the two innermost dimensions of the nest."""
    across, lane = nest.axes[-2:]

    def along(start: SSAValue, live: Live) -> None:
        columns = _Side(cx, nest.width, start, live)

        def square(first: SSAValue, rows: Live) -> None:
            _Square(cx, nest, at, _Side(cx, nest.width, first, rows), columns).write(body)

        _segments(cx, across, extents[across], nest.width, square)

    _segments(cx, lane, extents[lane], nest.width, along)


def _segments(cx: Lowering, dim: int, extent: int, width: int, act: Callable[[SSAValue, Live], None]) -> None:
    """`act` on the start of every `width` elements, with None, and of the rest, with how many there are."""
    b = cx.builder
    bound = cx.bound_of(dim, extent)
    known = known_int(bound)
    if known is None:
        left = b.remsi(bound, width)
        whole = b.sub(bound, left)
        with cx.loop(0, whole, width) as loop:
            act(loop.index, None)
        with b.if_(b.cmp("sgt", left, 0)):
            act(whole, left)
        return
    whole = known - known % width
    if whole == width:
        act(b.i64(0), None)
    elif whole:
        with cx.loop(0, whole, width) as loop:
            act(loop.index, None)
    if known > whole:
        act(b.i64(whole), known - whole)


@dataclass(frozen=True)
class _Side:
    """One side of a square: where it starts, and how many of its elements exist (None: all)."""

    cx: Lowering
    width: int
    start: SSAValue
    live: Live

    @property
    def lanes(self) -> Coord:
        return Coord(self.start, 1)

    def points(self) -> list[Coord]:
        """Its elements one by one; those past an end that only the program knows repeat the last one."""
        b = self.cx.builder
        if isinstance(self.live, int) or self.live is None:
            return [Coord(b.add(self.start, place)) for place in range(self.live or self.width)]
        last = b.sub(b.add(self.start, self.live), 1)
        return [Coord(b.minsi(b.add(self.start, place), last)) for place in range(self.width)]

    def seen(self, place: int, lanes: Live) -> Live:
        """How many of `lanes` are seen at an element: none past the end."""
        b = self.cx.builder
        if isinstance(self.live, int) or self.live is None:
            return lanes
        count = b.i64(self.width) if lanes is None else b.index(lanes)
        return b.select(b.cmp("slt", place, self.live), count, b.i64(0))


@dataclass(frozen=True)
class _Square:
    cx: Lowering
    nest: NestPlan
    at: At
    rows: _Side
    columns: _Side

    def write(self, body: Callable[[At], None]) -> None:
        across, lane = self.nest.axes[-2:]
        tiles = [(self._value(read), read, self._turned(read)) for read in self.nest.turned]
        for place, row in enumerate(self.rows.points()):
            point = {**self.at, across: row, lane: self.columns.lanes}
            with self.cx.lanes_active(self.rows.seen(place, self.columns.live)):
                for value, read, vectors in tiles:
                    remember(self.cx, value, self._point(read, point), vectors[place])
                body(point)

    def _value(self, read: TurnedRead) -> SSAValue:
        return self.cx.values[read.value]

    def _turned(self, read: TurnedRead) -> list[Val]:
        """The tile's vectors along the lanes, one for each row."""
        across, lane = self.nest.axes[-2:]
        value = self._value(read)
        with self.cx.lanes_active(self.rows.live):
            points = [{**self.at, across: self.rows.lanes, lane: column} for column in self.columns.points()]
            loaded = [self.cx.ssa(tile_value(self.cx, value, self._point(read, point))) for point in points]
        loaded += loaded[-1:] * (self.nest.width - len(loaded))
        return [Coord(each) if scalar_of(each.type) == I64 else each for each in self._transposed(loaded)]

    def _transposed(self, rows: Sequence[SSAValue]) -> list[SSAValue]:
        b = self.cx.builder
        if scalar_of(rows[0].type) != I1:
            return transposed(b, list(rows))
        turned = transposed(b, [b.extui(row, IntegerType(8)) for row in rows])
        return [b.cmp("ne", row, b.const(row.type, 0)) for row in turned]

    def _point(self, read: TurnedRead, at: At) -> tuple[Coord, ...]:
        return tuple(self.cx.math.const(0) if dim is None else at[dim] for dim in read.dims)

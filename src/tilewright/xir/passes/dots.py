"""Products whose operands lie along k: lanes run there, and each sum is folded at its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as pairs

from xdsl.ir import Attribute, SSAValue

from tilewright.xir.builder import XirBuilder
from tilewright.xir.passes.bodies import Body, captured_by
from tilewright.xir.types import I1, I64, BufferType, vector_of

__all__ = ["DotTile", "parts_of"]

_IN_FLIGHT = 8  # vectors of sums, which hide the latency of multiply-adds


def parts_of(rows: int, columns: int, lanes: int, depth: int) -> int:
    """Vectors of sums for one element of a tile, so that enough are in flight."""
    return max(1, min(_IN_FLIGHT // (rows * columns), depth // lanes))


@dataclass(frozen=True, slots=True)
class DotTile:
    """`rows` x `columns` sums of `depth` products in vectors of `lanes` along k, of which several sum up one element
    where the tile is small. Strides: of A by row, of B by column, of C by row and column; k is the innermost axis of A
    and B. `start` and `finish` are bodies for one element, or None.
    """

    rows: int
    columns: int
    lanes: int
    depth: int
    strides: tuple[int, int, int, int]
    buffers: tuple[BufferType, BufferType, BufferType]
    from_zero: bool
    start: Body | None = None
    finish: Body | None = None

    @property
    def stem(self) -> str:
        """How a function of it is called."""
        return f"dot_{self.rows}x{self.columns}x{self.lanes}"

    @property
    def parts(self) -> int:
        """Vectors of sums for one element."""
        return parts_of(self.rows, self.columns, self.lanes, self.depth)

    def captured(self) -> list[SSAValue]:
        """The values from outside that the bodies use, each once."""
        return captured_by(self.start, self.finish)

    def argument_types(self) -> list[Attribute]:
        """For A, B and C a buffer and the index of its first element; row and column; what the bodies capture."""
        matrices = [kind for buffer in self.buffers for kind in (buffer, I64)]
        return [*matrices, I64, I64, *(value.type for value in self.captured())]

    def write(self, b: XirBuilder, arguments: Sequence[SSAValue]) -> None:
        """Writes the tile: vectors of sums over a loop along k, the last one masked; then one element after another."""
        _Writer(b, self, arguments).write()


class _Writer:
    """The parts of one tile. Sums are in row order, those of one element side by side."""

    def __init__(self, b: XirBuilder, tile: DotTile, arguments: Sequence[SSAValue]) -> None:
        self._b, self._tile = b, tile
        self._a, self._a_index, self._bm, self._b_index, self._c, self._c_index = arguments[:6]
        self._row, self._column = arguments[6:8]
        self._captured = dict(zip(tile.captured(), arguments[8:], strict=True))
        self._elements = list(pairs(range(tile.rows), range(tile.columns)))

    def write(self) -> None:
        b, tile = self._b, self._tile
        zero = b.const(vector_of(tile.buffers[2].element, tile.lanes), 0)
        sums: Sequence[SSAValue] = [zero] * (len(self._elements) * tile.parts)
        step = tile.lanes * tile.parts
        whole = tile.depth // step * step
        if whole:
            with b.for_(0, whole, step, sums) as loop:
                loop.yield_(self._added(loop.index, loop.carries, range(tile.parts)))
            sums = loop.results
        for k in range(whole, tile.depth, tile.lanes):
            sums = self._added(b.i64(k), sums, range(1), live=min(tile.depth - k, tile.lanes))
        for place, (row, column) in enumerate(self._elements):
            self._store(row, column, sums[place * tile.parts : (place + 1) * tile.parts])

    def _added(self, k: SSAValue, sums: Sequence[SSAValue], parts: range, *, live: int | None = None) -> list[SSAValue]:
        """`sums` plus the products of one vector of k for each of `parts`, of the last one only `live` of them."""
        b, tile, result = self._b, self._tile, list(sums)
        mask = (
            None
            if live in (None, tile.lanes)
            else b.const_lanes(I1, [lane < (live or 0) for lane in range(tile.lanes)])
        )
        a_row, b_column, _, _ = tile.strides
        for part in parts:
            at = b.add(k, part * tile.lanes)
            left = [self._loaded(self._a, self._a_index, row * a_row, at, mask) for row in range(tile.rows)]
            right = [self._loaded(self._bm, self._b_index, c * b_column, at, mask) for c in range(tile.columns)]
            for place, (row, column) in enumerate(self._elements):
                mine = place * tile.parts + part
                result[mine] = b.fma(left[row], right[column], result[mine])
        return result

    def _loaded(self, buffer: SSAValue, first: SSAValue, move: int, k: SSAValue, mask: SSAValue | None) -> SSAValue:
        b = self._b
        return b.load(buffer, b.add(b.add(first, move), k), self._tile.lanes, mask=mask)

    def _store(self, row: int, column: int, parts: Sequence[SSAValue]) -> None:
        b, tile, vectors = self._b, self._tile, list(parts)
        while len(vectors) > 1:
            half = -(-len(vectors) // 2)
            added = [b.fadd(one, other) for one, other in zip(vectors, vectors[half:], strict=False)]
            vectors = [*added, *vectors[len(added) : half]]
        total = b.fold_lanes("addf", vectors[0])
        place = b.add(self._c_index, row * tile.strides[2] + column * tile.strides[3])
        at = (b.add(self._row, row), b.add(self._column, column))
        if tile.start is not None:
            total = b.fadd(total, tile.start.write(b, at, self._captured))
        elif not tile.from_zero:
            total = b.fadd(total, b.load(self._c, place))
        if tile.finish is not None:
            total = tile.finish.write(b, [*at, total], self._captured)
        b.store(total, self._c, place)

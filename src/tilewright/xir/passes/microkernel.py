"""One register tile of a matrix product: C's elements live in vectors of SSA values over a rolled loop along k."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute, SSAValue

from tilewright.xir.builder import XirBuilder
from tilewright.xir.constants import known_int
from tilewright.xir.passes.bodies import Body, captured_by
from tilewright.xir.types import I1, I64, BufferType, scalar_of, vector_of

__all__ = ["Lead", "Microkernel", "Tile"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tile:
    """`rows` rows of `vectors` vectors of `lanes` elements; of the last vector only `last` are in use (0: all)."""

    rows: int
    vectors: int
    lanes: int
    last: int = 0

    @property
    def volume(self) -> int:
        return self.rows * self.vectors * self.lanes

    def cut(self, rows: int, columns: int, *, narrow: bool) -> "Tile":
        """The tile for fewer rows or columns: fewer vectors; a single one may become narrower if `narrow`."""
        vectors = -(-columns // self.lanes)
        lanes = min(self.lanes, 1 << (columns - 1).bit_length()) if narrow and vectors == 1 else self.lanes
        return Tile(rows, vectors, lanes, columns % lanes)


@dataclass(frozen=True, slots=True)
class Lead:
    """Memory that a tile asks for while it computes, from an index of `buffer` on: rows of `columns` neighbours, that
    are `stride` apart; one line of `lanes` elements in `1 << pause` steps of k.
    """

    buffer: BufferType
    stride: int
    columns: int
    lanes: int
    pause: int

    @classmethod
    def over(cls, buffer: BufferType, shape: tuple[int, int], stride: int, lanes: int, depth: int) -> "Lead":
        """The lead over rows and columns that is through in `depth` steps of k."""
        rows, columns = shape
        lead = cls(buffer, stride, columns, lanes, 0)
        return replace(lead, pause=max((depth // max(rows * lead.lines, 1)).bit_length() - 1, 0))

    @property
    def lines(self) -> int:
        """Lines of one row, as a power of two; a row may begin in the middle of one."""
        return 1 << (-(-self.columns // self.lanes)).bit_length()

    def write(self, b: XirBuilder, buffer: SSAValue, first: SSAValue, k: SSAValue) -> None:
        """What is asked for at one step of k."""
        line = b.shrui(k, self.pause)
        row = b.shrui(line, self.lines.bit_length() - 1)
        column = b.minsi(b.mul(b.and_(line, self.lines - 1), self.lanes), self.columns - 1)
        b.prefetch(buffer, b.add(first, b.add(b.mul(row, self.stride), column)))


@dataclass(frozen=True, slots=True)
class Microkernel:
    """What a tile's code depends on. Strides: a_row, a_k, b_k, b_column, c_row, c_column; buffers: of A, B and C.

    `unsigned`: whether the integers of A, and those of B, are. `folds`: loops around the one along k, by extent and
    strides of A and B. `whole_b` says that vectors of B may be read past the edge of C (packed panels are padded).
    `start` and `finish` are bodies for full vectors and for the last one, or None: then the chain starts from zero or
    from C, and is stored as it is. With memory `aside`, `finish` is written once for each vector of a row, not of the
    tile: the sums wait there for a loop over the rows. `leads`: what is asked for on the way.
    """

    tile: Tile
    strides: tuple[int, int, int, int, int, int]
    from_zero: bool
    whole_b: bool
    buffers: tuple[BufferType, BufferType, BufferType]
    unsigned: tuple[bool, bool] = (False, False)
    folds: tuple[tuple[int, int, int], ...] = ()
    start: tuple[Body, Body] | None = None
    finish: tuple[Body, Body] | None = None
    aside: BufferType | None = None
    leads: tuple[Lead, ...] = ()

    def argument_types(self) -> list[Attribute]:
        """For A, B and C a buffer and the index of its first element; the length of the chains; for bodies row, column
        and what they capture; a buffer for sums that are set aside; that of each lead, and the index where it begins.
        """
        matrices = [kind for buffer in self.buffers for kind in (buffer, I64)]
        aside = [] if self.aside is None else [self.aside]
        leads = [kind for lead in self.leads for kind in (lead.buffer, I64)]
        return [*matrices, I64, I64, I64, *(value.type for value in self.captured()), *aside, *leads]

    def captured(self) -> list[SSAValue]:
        """The values from outside that the bodies use, each once."""
        return captured_by(*(self.start or ()), *(self.finish or ()))

    @property
    def accumulator(self) -> Attribute:
        return self.buffers[2].element

    @property
    def stem(self) -> str:
        """How a function of it is called."""
        return f"contract_{self.tile.rows}x{self.tile.vectors}x{self.tile.lanes}"

    def write(self, b: XirBuilder, arguments: Sequence[SSAValue]) -> None:
        """Writes the tile: accumulators from C or zero, the loop along k, then stores; the k loop stays rolled.

        Unrolling it makes LLVM hoist the broadcasts of A and spill accumulators.
        """
        writer = _Writer(b, self, arguments)
        writer.finish(writer.folded(self.folds, (arguments[1], arguments[3]), writer.start()))


class _Writer:
    """The parts of one tile. Accumulators are in row order, the vectors of a row side by side."""

    def __init__(self, b: XirBuilder, kernel: Microkernel, arguments: Sequence[SSAValue]) -> None:
        self._b, self._kernel, self._tile = b, kernel, kernel.tile
        self._a, _, self._bm, _, self._c, self._c_index = arguments[:6]
        self._depth, self._row, self._column = arguments[6:9]
        captured = kernel.captured()
        self._captured = dict(zip(captured, arguments[9 : 9 + len(captured)], strict=True))
        self._others = arguments[9 + len(captured) :]
        lanes, last = self._tile.lanes, self._tile.last
        self._edge = b.const_lanes(I1, [lane < last for lane in range(lanes)]) if last else None

    def start(self) -> Sequence[SSAValue]:
        if self._kernel.start is not None:
            return self._over_c(lambda _, row, vector: self._started(row, vector))
        if self._kernel.from_zero:
            kind = vector_of(self._kernel.accumulator, self._tile.lanes)
            return [self._b.const(kind, 0)] * (self._tile.rows * self._tile.vectors)
        return self._over_c(lambda index, _, vector: self._vector(self._c, index, self._kernel.strides[5], vector))

    def folded(
        self, folds: Sequence[tuple[int, int, int]], at: tuple[SSAValue, SSAValue], sums: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """`sums` plus all products of the chains; `at`: the indices of the first elements of A and B."""
        b = self._b
        if not folds:
            return self._along_k(at, sums)
        (extent, a_step, b_step), *inner = folds
        with b.for_(0, extent, 1, sums) as loop:
            moved = b.add(at[0], b.mul(loop.index, a_step)), b.add(at[1], b.mul(loop.index, b_step))
            loop.yield_(self.folded(inner, moved, loop.carries))
        return loop.results

    def _along_k(self, at: tuple[SSAValue, SSAValue], sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        b = self._b
        if known_int(self._depth) == 0:
            return sums
        if known_int(self._depth) == 1:
            return self._step(b.i64(0), at, sums)
        with b.for_(0, self._depth, 1, sums) as loop:
            loop.yield_(self._step(loop.index, at, loop.carries))
        return loop.results

    def _step(self, k: SSAValue, at: tuple[SSAValue, SSAValue], sums: Sequence[SSAValue]) -> list[SSAValue]:
        """`sums` plus one column of A times one row of B."""
        b, tile = self._b, self._tile
        a_row, a_k, b_k, b_column, _, _ = self._kernel.strides
        places = self._others[len(self._others) - 2 * len(self._kernel.leads) :]
        for lead, buffer, first in zip(self._kernel.leads, places[::2], places[1::2], strict=True):
            lead.write(b, buffer, first, k)
        b_start = b.add(at[1], b.mul(k, b_k))
        right = [
            self._converted(self._right(b.add(b_start, vector * tile.lanes * b_column), b_column, vector), 1)
            for vector in range(tile.vectors)
        ]
        a_start = b.add(at[0], b.mul(k, a_k))
        result: list[SSAValue] = []
        for row in range(tile.rows):
            scalar = self._converted(b.load(self._a, b.add(a_start, row * a_row)), 0)
            left = b.broadcast(scalar, tile.lanes)
            row_sums = sums[row * tile.vectors : (row + 1) * tile.vectors]
            result += [self._added(left, value, total) for value, total in zip(right, row_sums, strict=True)]
        return result

    def finish(self, sums: Sequence[SSAValue]) -> None:
        if self._kernel.aside is not None:
            self._finish_by_rows(sums)
            return
        remaining = iter(sums)
        self._over_c(
            lambda index, row, vector: self._store(self._finished(next(remaining), row, vector), index, vector)
        )

    def _finish_by_rows(self, sums: Sequence[SSAValue]) -> None:
        b, lanes, (*_, c_row, c_column) = self._b, self._tile.lanes, self._kernel.strides
        aside = self._others[0]
        for number, value in enumerate(sums):
            b.store(value, aside, b.i64(number * lanes))
        with b.for_(0, self._tile.rows, 1) as loop:
            start, row = b.mul(loop.index, self._tile.vectors * lanes), b.add(self._c_index, b.mul(loop.index, c_row))
            done: list[SSAValue] = []
            for vector in range(self._tile.vectors):
                value = b.load(aside, b.add(start, vector * lanes), lanes)
                done.append(self._finished(value, loop.index, vector))
            for vector, value in enumerate(done):  # after all of them: what has no stores between it can take turns
                self._store(value, b.add(row, vector * lanes * c_column), vector)

    def _right(self, index: SSAValue, stride: int, vector: int) -> SSAValue:
        if self._kernel.whole_b:
            return self._b.load(self._bm, index, self._tile.lanes)
        return self._vector(self._bm, index, stride, vector)

    def _over_c(self, act: Callable[[SSAValue, int, int], T]) -> list[T]:
        """`act` on the index of every vector of C, its row and its number in the row."""
        b, (*_, c_row, c_column) = self._b, self._kernel.strides
        return [
            act(b.add(self._c_index, row * c_row + vector * self._tile.lanes * c_column), row, vector)
            for row in range(self._tile.rows)
            for vector in range(self._tile.vectors)
        ]

    def _is_edge(self, vector: int) -> bool:
        return self._edge is not None and vector == self._tile.vectors - 1

    def _mask(self, vector: int) -> SSAValue | None:
        return self._edge if self._is_edge(vector) else None

    def _body(self, pair: tuple[Body, Body], row: int | SSAValue, vector: int, *values: SSAValue) -> SSAValue:
        """A body at one vector of C."""
        b = self._b
        at = (b.add(self._row, row), b.add(self._column, vector * self._tile.lanes))
        return pair[self._is_edge(vector)].write(b, [*at, *values], self._captured)

    def _started(self, row: int, vector: int) -> SSAValue:
        pair = self._kernel.start
        if pair is None:
            return self._b.const(vector_of(self._kernel.accumulator, self._tile.lanes), 0)
        return self._body(pair, row, vector)

    def _finished(self, value: SSAValue, row: int | SSAValue, vector: int) -> SSAValue:
        pair = self._kernel.finish
        return value if pair is None else self._body(pair, row, vector, value)

    def _vector(self, buffer: SSAValue, index: SSAValue, stride: int, vector: int) -> SSAValue:
        """Elements `stride` apart: loaded when adjacent, broadcast when the same, else gathered."""
        b, lanes = self._b, self._tile.lanes
        if stride == 1 or lanes == 1:
            return b.load(buffer, index, lanes, mask=self._mask(vector))
        if stride == 0:
            return b.broadcast(b.load(buffer, index), lanes)
        return b.gather(buffer, self._indices(index, stride), mask=self._mask(vector))

    def _store(self, value: SSAValue, index: SSAValue, vector: int) -> None:
        stride = self._kernel.strides[5]
        if stride == 1 or self._tile.lanes == 1:
            self._b.store(value, self._c, index, mask=self._mask(vector))
        else:
            self._b.scatter(value, self._c, self._indices(index, stride), mask=self._mask(vector))

    def _indices(self, index: SSAValue, stride: int) -> SSAValue:
        offsets = self._b.const_lanes(I64, [lane * stride for lane in range(self._tile.lanes)])
        return self._b.add(self._b.broadcast(index, self._tile.lanes), offsets)

    def _converted(self, value: SSAValue, side: int) -> SSAValue:
        """An element of A (side 0) or B (1) in C's element type."""
        b, wanted, unsigned = self._b, self._kernel.accumulator, self._kernel.unsigned[side]
        have = scalar_of(value.type)
        if have == wanted:
            return value
        if isinstance(have, AnyFloat) and isinstance(wanted, AnyFloat):
            return b.extf(value, wanted) if have.bitwidth < wanted.bitwidth else b.truncf(value, wanted)
        if isinstance(wanted, AnyFloat):
            return b.uitofp(value, wanted) if unsigned else b.sitofp(value, wanted)
        if cast(IntegerType, have).width.data > cast(IntegerType, wanted).width.data:
            return b.trunci(value, wanted)
        return b.extui(value, wanted) if unsigned else b.extsi(value, wanted)

    def _added(self, left: SSAValue, right: SSAValue, total: SSAValue) -> SSAValue:
        if isinstance(self._kernel.accumulator, AnyFloat):
            return self._b.fma(left, right, total)
        return self._b.add(self._b.mul(left, right), total)

"""Panels of an operand that is computed: its elements are made where they are packed, and lie nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from tilewright.xir.builder import XirBuilder
from tilewright.xir.passes.bodies import Body, captured_by
from tilewright.xir.passes.packing import PanelShape, PanelWriter
from tilewright.xir.types import I64, BufferType

__all__ = ["Filling", "PanelFill"]


@dataclass(frozen=True, slots=True)
class Filling:
    """The bodies of one operand: `whole` vectors, and `tail` for those with a number of lanes in use.

    They take k and the column of a panel, in this order if `k_first`. A `turned` one has no tail: its vectors run along
    k, and the last one of a block ends where the block does.
    """

    whole: Body
    tail: Body | None
    k_first: bool
    turned: bool

    def captured(self) -> list[SSAValue]:
        """The values from outside that the bodies use, each once."""
        return captured_by(self.whole, self.tail)


@dataclass(frozen=True, slots=True)
class PanelFill:
    """The computation of one panel, as a function of the first k, the first column, panels, index of the panel, depth,
    and what the bodies capture. A turned one does a single vector of columns, so that panels of any width share it.
    """

    filling: Filling
    panels: BufferType
    shape: PanelShape

    @property
    def stem(self) -> str:
        """How a function of it is called."""
        return f"computed_panel_{self.shape.columns}"

    def argument_types(self) -> list[Attribute]:
        return [I64, I64, self.panels, I64, I64, *(value.type for value in self.filling.captured())]

    def write(self, b: XirBuilder, arguments: Sequence[SSAValue]) -> None:
        """Writes the loops: squares that are turned, of which the last one may overlap the one before; or rows."""
        fill, depth, lanes = _Fill(b, self, arguments), arguments[4], self.shape.lanes
        if not self.filling.turned:
            with b.for_(0, depth) as loop:
                fill.each_vector(loop.index, fill.row)
            return
        with b.for_(0, depth, lanes) as loop:
            fill.square(b.minsi(loop.index, b.sub(depth, lanes)), self.shape.columns)


class _Fill:
    """The parts of one computation."""

    def __init__(self, b: XirBuilder, fill: PanelFill, arguments: Sequence[SSAValue]) -> None:
        self._b, self._filling, self._lanes = b, fill.filling, fill.shape.lanes
        self._k, self._column = arguments[:2]
        self._writer = PanelWriter(b, fill.shape, *arguments[2:4])
        self._captured = dict(zip(fill.filling.captured(), arguments[5:], strict=True))
        self.each_vector = self._writer.each_vector

    def square(self, k: SSAValue, live: int) -> None:
        """One vector of columns, of which so many are there."""
        b = self._b
        columns = [
            self._value(self._filling.whole, k, b.i64(lane)) if lane < live else self._writer.zero
            for lane in range(self._lanes)
        ]
        self._writer.square(columns, k, b.i64(0))

    def row(self, k: SSAValue, column: SSAValue, live: int) -> None:
        tail = self._filling.tail
        if not live:
            self._writer.row(self._writer.zero, k, column)
        elif live == self._lanes or tail is None:
            self._writer.row(self._value(self._filling.whole, k, column), k, column)
        else:
            self._writer.row(self._value(tail, k, column, self._b.i64(live)), k, column)

    def _value(self, body: Body, k: SSAValue, column: SSAValue, *count: SSAValue) -> SSAValue:
        b = self._b
        at = (b.add(self._k, k), b.add(self._column, column))
        return body.write(b, [*(at if self._filling.k_first else at[::-1]), *count], self._captured)

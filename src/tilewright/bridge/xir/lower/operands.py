"""Where an operand of a contraction lies: in a view, in a buffer of its own, or in a window of either."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from tilewright.analysis.windows import Window, window_of
from tilewright.bridge.xir.lower.context import Lowering
from tilewright.bridge.xir.lower.values import coord_values
from tilewright.bridge.xir.records import Storage
from tilewright.ir.ops.access import LoadOp
from tilewright.ir.types import space_of, view_type
from tilewright.xir.builder import XirBuilder

__all__ = ["OperandMatrix", "buffered_matrix", "operand_matrix", "viewed_matrix"]


@dataclass(frozen=True)
class OperandMatrix:
    """One operand in memory: where it starts, and how it moves with each dimension."""

    buffer: SSAValue
    start: SSAValue
    strides: Mapping[int, int]

    def stride(self, dim: int | None) -> int:
        return 0 if dim is None else self.strides.get(dim, 0)

    def moved(self, b: XirBuilder, dim: int, index: SSAValue) -> "OperandMatrix":
        """The part at an index of a dimension."""
        return replace(self, start=b.add(self.start, b.mul(index, b.i64(self.stride(dim)))))


def operand_matrix(cx: Lowering, value: SSAValue, *, direct: bool) -> OperandMatrix:
    """An operand: in its own buffer, or through a window of what lies in a view or in a buffer."""
    if not direct and cx.storage_of(value) is not None:
        return buffered_matrix(cx, cx.required_storage(value))
    window = window_of(value)
    load = window.tile.owner
    if direct and isinstance(load, LoadOp):
        return _through(cx, window, value, viewed_matrix(cx, load.view, load.origin, window.tile))
    return _through(cx, window, value, buffered_matrix(cx, cx.required_storage(window.tile)))


def _through(cx: Lowering, window: Window, value: SSAValue, source: OperandMatrix) -> OperandMatrix:
    """A window of a tile in memory."""
    strides = tuple(source.stride(dim.number) for dim in space_of(window.tile).dims)
    moves = {dim.number: window.stride(dim, strides) for dim in space_of(value).dims}
    return OperandMatrix(source.buffer, cx.builder.add(source.start, window.start(strides)), moves)


def viewed_matrix(cx: Lowering, view: SSAValue, origin: Sequence[SSAValue], tile: SSAValue) -> OperandMatrix:
    """A tile of a view, where it lies."""
    strides = view_type(view).strides
    start = cx.math.const(0)
    for at, stride in zip(coord_values(cx, origin), strides, strict=True):
        start = cx.math.add(start, cx.math.scale(at, stride))
    moves = {dim.number: stride for dim, stride in zip(space_of(tile).dims, strides, strict=True)}
    return OperandMatrix(cx.buffers[view], start.base, moves)


def buffered_matrix(cx: Lowering, storage: Storage) -> OperandMatrix:
    moves = dict(zip(storage.dims, storage.strides, strict=True))
    return OperandMatrix(cx.scratch[storage.owner], cx.builder.i64(0), moves)

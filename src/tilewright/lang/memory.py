"""Manual memory: storage with an identity, for kernels that place data by hand."""

from xdsl.ir import SSAValue

from tilewright.core.codes.capture import CLOSED_VALUE, FOREIGN_VALUE
from tilewright.core.codes.effects import MEMORY_FLOW, OUTER_MEMORY_WRITTEN
from tilewright.core.codes.types import BAD_OPERAND, SHAPE_CHANGE
from tilewright.core.dtypes import DType
from tilewright.core.errors import CaptureError, EffectError, TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.layout_attr import LayoutAttr
from tilewright.ir.ops.convert import SelectOp
from tilewright.ir.ops.memory import MemoryAllocOp, MemoryLoadOp, MemoryStoreOp
from tilewright.ir.types import MemoryType, SpaceAttr, element_attr, space_of
from tilewright.lang.broadcast import shown_space
from tilewright.lang.context import Capture, current
from tilewright.lang.layouts import Layout
from tilewright.lang.masks import write_condition
from tilewright.lang.operations import lifted
from tilewright.lang.refusing import NotAValue
from tilewright.lang.spaces import Shape, require_own_axes, shape_of
from tilewright.lang.values import Tile

__all__ = ["Memory", "memory"]


class Memory(NotAValue):
    """Storage owned by the innermost parallel instance around its declaration. Loads are snapshots of all of it."""

    noun = "a manual memory"
    reason = "a memory is storage; what it holds is read by a load"
    remedy = "write .load() to read it"

    def __init__(self, ssa: SSAValue, state: SSAValue, dtype: type[DType], space: SpaceAttr, capture: Capture) -> None:
        self._ssa = ssa
        self._capture = capture
        self._frame = capture.frame
        self.dtype = dtype
        self.space = space
        self.state = state  # the contents reaching this point of the capture; regions carry it
        self.is_filled = False  # whether they were stored on every way here through the arms of staged `if`s
        self._declared_as = state
        self._declared_in = capture.arm

    @property
    def shape(self) -> Shape:
        return shape_of(self.space, self._capture)

    def load(self) -> Tile:
        """The contents as a tile."""
        self._check_usable()
        if self.state is not self._declared_as and not self.is_filled:
            what = "it is loaded after one arm of an `if` stored to it and the other did not"
            raise EffectError(MEMORY_FLOW.at(user_span(), what=what))
        return self._contents()

    def _contents(self) -> Tile:
        return Tile(self._capture.insert(MemoryLoadOp(self._ssa, self.state)).result, self._capture)

    def store(self, value: Tile) -> None:
        """Replaces the contents. The tile has the memory's axes and element type (TW205, TW216).

        Raises EffectError (TW302) inside a parallel or map that does not own the memory.
        """
        self._check_usable()
        for frame in self._capture.frame.outward():
            if frame is self._frame:
                break
            if not frame.is_temporal:
                raise EffectError(OUTER_MEMORY_WRITTEN.at(user_span(), region=frame.describe(), kind=frame.kind))
        tile = lifted(value, self.dtype, "store")
        if space_of(tile) != self.space:
            raise self._shape_change(tile)
        merged = self._merged(tile)
        self.state = self._capture.insert(MemoryStoreOp(self._ssa, self.state, merged)).result
        self.is_filled = True

    def _merged(self, tile: SSAValue) -> SSAValue:
        """In an arm entered since the declaration, what the memory held stays where the arm is not taken."""
        if self._capture.arm is self._declared_in or self.state is self._declared_as:
            return tile
        condition = write_condition("store", self.space)
        return tile if condition is None else self._chosen(condition, tile)

    def _chosen(self, condition: SSAValue, tile: SSAValue) -> SSAValue:
        return self._capture.insert(SelectOp(condition, tile, self._contents().ssa, tile.type)).result

    def _shape_change(self, tile: SSAValue) -> TileTypeError:
        before = shown_space(space_of(tile))
        return TileTypeError(
            SHAPE_CHANGE.at(
                user_span(), op="store", before=before, after=shown_space(self.space),
                reason="a manual memory is written as a whole, so a stored tile has exactly its axes",
                remedy="make the memory with the shape of the tile, or use broadcast_to or relabel",
            )
        )  # fmt: skip

    def _check_usable(self) -> None:
        if current("a memory") is not self._capture:
            raise CaptureError(FOREIGN_VALUE.at(user_span(), what="a manual memory"))
        if not self._frame.is_open:
            raise CaptureError(CLOSED_VALUE.at(user_span(), what=f"a manual memory of {self._frame.describe()}"))


def memory(dtype: type[DType], where: Shape | Layout, resource: str | None = None) -> Memory:
    """Storage for a tile of this shape or layout, uninitialised. `resource` names a placement class of the target.

    Raises TileTypeError (TW207) when `where` is neither.
    """
    capture = current("memory(...)")
    if not isinstance(where, (Shape, Layout)):  # pyright: ignore[reportUnnecessaryIsInstance]
        remedy = "write memory(f32, shape(...)) or memory(f32, layout(shape(...), strides=(...)))"
        what = f"a {type(where).__name__}"
        raise TileTypeError(BAD_OPERAND.at(user_span(), what=what, op="memory", remedy=remedy))
    shape = where if isinstance(where, Shape) else where.shape
    require_own_axes(shape)
    attr = LayoutAttr.of(where.map) if isinstance(where, Layout) else None
    op = capture.insert(MemoryAllocOp(MemoryType(element_attr(dtype), shape.space), resource=resource, layout=attr))
    made = Memory(op.memory, op.state, dtype, shape.space, capture)
    capture.frame.memories.append(made)
    return made

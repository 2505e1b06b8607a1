"""Views: the parameters of a kernel, and the handles through which tiles and elements are loaded and stored."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar, cast, final, overload

from xdsl.ir import SSAValue

from tilewright.core.codes.capture import FOREIGN_VALUE, ITEM_ASSIGNMENT
from tilewright.core.codes.effects import CONST_VIEW_WRITTEN, IMPURE_BODY
from tilewright.core.codes.types import BAD_OPERAND, FILL_WITHOUT_WHERE, RANK_MISMATCH
from tilewright.core.dtypes import DType
from tilewright.core.errors import CaptureError, EffectError, TileTypeError
from tilewright.core.source import user_span
from tilewright.ir.attrs import Bounds
from tilewright.ir.ops.access import LoadElementOp, LoadOp, StoreElementOp, StoreOp
from tilewright.ir.types import TileType, dtype_of, element_attr, view_type
from tilewright.lang.context import Capture, current, emit
from tilewright.lang.masks import read_mask, write_mask
from tilewright.lang.normalise import stored_tile
from tilewright.lang.operations import as_index, constant, lifted
from tilewright.lang.reducers import Reducer
from tilewright.lang.refusing import NotAValue
from tilewright.lang.spaces import Coord, Shape, counted_axes
from tilewright.lang.updates import update_points, update_tile
from tilewright.lang.values import Number, Operand, Scalar, Tile

__all__ = [
    "ConstElementRef", "ConstTileRef", "ConstView", "ElementRef", "Index", "TileRef", "View", "ViewBase", "bounds",
]  # fmt: skip

Index = int | Scalar
Key = tuple[Coord, Shape] | tuple[Coord, Shape, Bounds]

_S = TypeVar("_S", bound="tuple[int, ...]")
_I = TypeVar("_I")
_E_co = TypeVar("_E_co", covariant=True)
_R_co = TypeVar("_R_co", covariant=True)


@final
class bounds:  # noqa: N801  a namespace that reads as a word: bounds.assume
    """What happens outside a view: `zero` guards every element, `assume` promises that there is none."""

    zero: ClassVar[Bounds] = Bounds.ZERO
    assume: ClassVar[Bounds] = Bounds.ASSUME


class _Handle(NotAValue):
    """A place in a view. It is not a value: reading and writing are written out."""

    noun = "a place in a view"
    reason = "a place is read by load and written by store, so that every access can be seen"
    remedy = "write .load() to read it"

    def __init__(self, view: "ViewBase[Any, Any, Any, Any]", place: Sequence[object]) -> None:
        self._view = view
        self._place = tuple(place)

    def _indices(self) -> list[SSAValue]:
        return [as_index(item) for item in self._place]


class ConstTileRef(_Handle):
    """A block of a const view, at an origin and of a shape."""

    def __init__(self, view: "ViewBase[Any, Any, Any, Any]", origin: Coord, shape: Shape, mode: Bounds) -> None:
        super().__init__(view, origin.items)
        self._shape = shape
        self._mode = mode

    def load(self, *, fill: Scalar | Number | None = None, where: Operand | None = None) -> Tile:
        """The block as a tile: a snapshot, with `fill` (default zero) outside the view and where `where` is false."""
        ssa, capture = self._view.reading("a load")
        dtype = self._view.dtype
        filler = None if fill is None else lifted(fill, dtype, "fill")
        mask = read_mask(where, self._shape.space)
        kind = TileType(element_attr(dtype), self._shape.space)
        return Tile(emit(LoadOp(ssa, self._indices(), kind, fill=filler, mask=mask, bounds=self._mode)).result, capture)

    if not TYPE_CHECKING:

        def store(self, *_: object, **__: object) -> NoReturn:
            self._view.refuse_write("store")

        update = store


class TileRef(ConstTileRef):
    """A block of a mutable view."""

    def store(self, value: Operand, *, where: Operand | None = None) -> None:
        """Writes the block; elements outside the view or where `where` is false are left alone.

        A value of other axes is matched by identity, then by position; a number or scalar is written everywhere.
        """
        ssa, _ = self._view.writing("a store")
        tile = stored_tile(value, self._view.dtype, self._shape.space)
        mask = write_mask(where, "store", self._shape.space)
        emit(StoreOp(ssa, self._indices(), tile, mask=mask, bounds=self._mode))

    def update(self, value: Operand, *, reducer: Reducer, where: Operand | None = None) -> None:
        """Combines every element of the block with `value`, atomically and in no order."""
        ssa, _ = self._view.writing("an update")
        update_tile(ssa, self._indices(), self._shape.space, value, reducer, where)


class ConstElementRef(_Handle):
    """One element of a const view."""

    def load(self, *, where: Scalar | bool | None = None, fill: Scalar | Number | None = None) -> Scalar:
        """The element. Where `where` is false nothing is read and the result is `fill` (zero by default)."""
        ssa, capture = self._view.reading("a load")
        dtype = self._view.dtype
        if where is None and fill is not None:
            raise TileTypeError(FILL_WITHOUT_WHERE.at(user_span()))
        indices, predicate = self._indices(), read_mask(where)
        if predicate is None:
            return Scalar(emit(LoadElementOp(ssa, indices)).result, capture)
        zero = False if dtype.kind == "bool" else 0
        filler = constant(dtype, zero) if fill is None else lifted(fill, dtype, "fill")
        return Scalar(emit(LoadElementOp(ssa, indices, predicate=predicate, fill=filler)).result, capture)

    if not TYPE_CHECKING:

        def store(self, *_: object, **__: object) -> NoReturn:
            self._view.refuse_write("store")


class ElementRef(ConstElementRef):
    """One element of a mutable view."""

    def store(self, value: Scalar | Number, *, where: Scalar | bool | None = None) -> None:
        """Writes the element, unless `where` is false. The index must lie inside the view."""
        ssa, _ = self._view.writing("a store")
        predicate = write_mask(where, "store")
        emit(StoreElementOp(ssa, self._indices(), lifted(value, self._view.dtype, "store"), predicate=predicate))


class ViewBase(NotAValue, Generic[_S, _I, _E_co, _R_co]):
    """A typed window on a buffer. `_S` is the type of its shape, `_I` that of an element's position."""

    noun = "a view"
    reason = "a view is memory, not a tile; what it holds is read by a load"
    remedy = "load a tile, as in A[coord(...), shape(...)]"
    is_const: ClassVar[bool] = True
    _tile_ref: ClassVar[type[ConstTileRef]] = ConstTileRef
    _element_ref: ClassVar[type[ConstElementRef]] = ConstElementRef

    def __init__(self, ssa: SSAValue, name: str, capture: Capture) -> None:
        self._ssa = ssa
        self._capture = capture
        self.name = name

    @property
    def shape(self) -> _S:
        """The extents, as host numbers."""
        return view_type(self._ssa).space.extents  # pyright: ignore[reportReturnType]

    @property
    def strides(self) -> _S:
        """The distance of neighbours along each axis, in elements."""
        return view_type(self._ssa).strides  # pyright: ignore[reportReturnType]

    @property
    def dtype(self) -> type[DType]:
        return dtype_of(view_type(self._ssa).element)

    @overload
    def __getitem__(self, key: Key) -> Tile: ...

    @overload
    def __getitem__(self, key: _I) -> _E_co: ...

    def __getitem__(self, key: Any) -> Any:
        """`A[coord, shape]` loads a tile, `A[i, j]` is the handle of an element."""
        items = cast("tuple[object, ...]", key) if isinstance(key, tuple) else (key,)
        if any(isinstance(item, Coord | Shape | Bounds) for item in items):
            return self.at(*items).load()  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
        self._check_rank("the position of an element", len(items))
        return self._element_ref(self, items)

    def at(self, origin: Coord, shape: Shape, bounds: Bounds = Bounds.ZERO) -> _R_co:
        """The block at `origin` of the given shape, to be loaded or stored.

        Raises TileTypeError: TW207 for arguments of other types, TW210 when a rank is not the view's.
        """
        _check_kinds(((origin, Coord), (shape, Shape), (bounds, Bounds)), self.name)
        self._check_rank("the origin of a tile", len(origin.items))
        self._check_rank("the shape of a tile", shape.rank)
        return self._tile_ref(self, origin, shape, bounds)  # pyright: ignore[reportReturnType]

    def __call__(self, origin: Coord, shape: Shape, bounds: Bounds = Bounds.ZERO) -> _R_co:
        """The same as `at`."""
        return self.at(origin, shape, bounds)

    def __setitem__(self, key: object, value: object) -> NoReturn:
        raise CaptureError(ITEM_ASSIGNMENT.at(user_span(), what=f"the view {self.name}"))

    def _check_rank(self, what: str, got: int) -> None:
        rank = view_type(self._ssa).space.rank
        if got != rank:
            raise TileTypeError(
                RANK_MISMATCH.at(user_span(), what=what, got=counted_axes(got), expected=rank, view=self.name)
            )

    def reading(self, op: str) -> tuple[SSAValue, Capture]:
        """The IR value, for an access in this place. Raises CaptureError TW102, EffectError TW352 inside a map."""
        capture = current(op)
        if self._capture is not capture:
            raise CaptureError(FOREIGN_VALUE.at(user_span(), what=f"the view {self.name}"))
        for frame in capture.frame.outward():
            if frame.kind in ("map", "scan"):
                raise EffectError(IMPURE_BODY.at(user_span(), op=op, body=frame.kind))
        return self._ssa, capture

    def writing(self, op: str) -> tuple[SSAValue, Capture]:
        """The same for a write."""
        return self.reading(op)

    def refuse_write(self, op: str) -> NoReturn:
        """Raises the error for a write through a const view (EffectError, TW351)."""
        raise EffectError(CONST_VIEW_WRITTEN.at(user_span(), op=op, view=self.name))


def _check_kinds(given: Sequence[tuple[object, type]], view: str) -> None:
    """Refuses arguments of a tile access that are something else (TW207)."""
    for item, kind in given:
        if not isinstance(item, kind):
            remedy = f"write {view}.at(coord(...), shape(...), bounds.zero or bounds.assume)"
            what = f"a {type(item).__name__}"
            raise TileTypeError(BAD_OPERAND.at(user_span(), what=what, op="a tile access", remedy=remedy))


class View(ViewBase[_S, _I, ElementRef, TileRef]):
    """A view that is read and written."""

    is_const = False
    _tile_ref = TileRef
    _element_ref = ElementRef

    def update(self, coords: Coord, value: Operand, *, reducer: Reducer, where: Operand | None = None) -> None:
        """`view[coords] = reducer(view[coords], value)` at every point of the operands, atomically and in no order.

        Coordinates may be tiles; points outside the view or where `where` is false are left alone.
        Raises TileTypeError: TW210 for another rank, TW221 for another reducer.
        """
        self._check_rank("the position of an update", len(coords.items))
        ssa, _ = self.writing("an update")
        update_points(ssa, coords.items, value, reducer, where)


class ConstView(ViewBase[_S, _I, ConstElementRef, ConstTileRef]):
    """A view that is only read."""

    if not TYPE_CHECKING:

        def update(self, *_: object, **__: object) -> NoReturn:
            self.refuse_write("update")

"""Staged values: immutable tiles and scalars that exist when the kernel runs."""

from typing import TYPE_CHECKING, Generic, NoReturn, Self, TypeVar

from typing_extensions import TypeVar as TypeVarWithDefault
from xdsl.ir import SSAValue

from tilewright.core.codes.capture import ITEM_ASSIGNMENT, STAGED_BOOL, STAGED_HOST
from tilewright.core.dtypes import DType
from tilewright.core.errors import CaptureError
from tilewright.core.source import user_span
from tilewright.ir.ops import elementwise as ops
from tilewright.ir.types import is_tile
from tilewright.lang import contraction, operations
from tilewright.lang.base import StagedBase
from tilewright.lang.context import current
from tilewright.lang.spaces import Coord, Shape, shape_of

if TYPE_CHECKING:
    from tilewright.lang.nests import Nest

__all__ = ["Number", "Operand", "Scalar", "Staged", "Tile", "wrap", "wrap_like"]

Number = bool | int | float
_O = TypeVar("_O")


class Staged(StagedBase, Generic[_O]):
    """A value of the kernel. Operators make new values; nothing changes one. `_O` is what may stand on the other side.

    Python's own conversions raise CaptureError (TW112, TW115), operators on types that do not fit TileTypeError.
    """

    __slots__ = ()

    def astype(self, dtype: type[DType], *, saturating: bool = False) -> Self:
        """This value converted to `dtype`, rounded once."""
        return wrap_like(self, operations.cast_to(dtype, self, saturating=saturating))

    def _binary(self, op: type[ops.BinaryOp], symbol: str, other: object, *, swapped: bool = False) -> Self:
        pair = (other, self) if swapped else (self, other)
        return wrap_like(self, operations.binary(op, symbol, *pair))

    def _unary(self, op: type[ops.UnaryOp], symbol: str) -> Self:
        return wrap_like(self, operations.unary(op, symbol, self))

    def __add__(self, other: _O) -> Self:
        return self._binary(ops.AddOp, "`+`", other)

    def __radd__(self, other: _O) -> Self:
        return self._binary(ops.AddOp, "`+`", other, swapped=True)

    def __sub__(self, other: _O) -> Self:
        return self._binary(ops.SubOp, "`-`", other)

    def __rsub__(self, other: _O) -> Self:
        return self._binary(ops.SubOp, "`-`", other, swapped=True)

    def __mul__(self, other: _O) -> Self:
        return self._binary(ops.MulOp, "`*`", other)

    def __rmul__(self, other: _O) -> Self:
        return self._binary(ops.MulOp, "`*`", other, swapped=True)

    def __truediv__(self, other: _O) -> Self:
        return self._binary(ops.DivOp, "`/`", other)

    def __rtruediv__(self, other: _O) -> Self:
        return self._binary(ops.DivOp, "`/`", other, swapped=True)

    def __floordiv__(self, other: _O) -> Self:
        return self._binary(ops.FloorDivOp, "`//`", other)

    def __rfloordiv__(self, other: _O) -> Self:
        return self._binary(ops.FloorDivOp, "`//`", other, swapped=True)

    def __mod__(self, other: _O) -> Self:
        return self._binary(ops.FloorModOp, "`%`", other)

    def __rmod__(self, other: _O) -> Self:
        return self._binary(ops.FloorModOp, "`%`", other, swapped=True)

    def __pow__(self, other: _O) -> Self:
        return self._binary(ops.PowOp, "`**`", other)

    def __rpow__(self, other: _O) -> Self:
        return self._binary(ops.PowOp, "`**`", other, swapped=True)

    def __and__(self, other: _O) -> Self:
        return self._binary(ops.AndOp, "`&`", other)

    def __rand__(self, other: _O) -> Self:
        return self._binary(ops.AndOp, "`&`", other, swapped=True)

    def __or__(self, other: _O) -> Self:
        return self._binary(ops.OrOp, "`|`", other)

    def __ror__(self, other: _O) -> Self:
        return self._binary(ops.OrOp, "`|`", other, swapped=True)

    def __xor__(self, other: _O) -> Self:
        return self._binary(ops.XorOp, "`^`", other)

    def __rxor__(self, other: _O) -> Self:
        return self._binary(ops.XorOp, "`^`", other, swapped=True)

    def __lshift__(self, other: _O) -> Self:
        return self._binary(ops.ShlOp, "`<<`", other)

    def __rlshift__(self, other: _O) -> Self:
        return self._binary(ops.ShlOp, "`<<`", other, swapped=True)

    def __rshift__(self, other: _O) -> Self:
        return self._binary(ops.ShrOp, "`>>`", other)

    def __rrshift__(self, other: _O) -> Self:
        return self._binary(ops.ShrOp, "`>>`", other, swapped=True)

    def __lt__(self, other: _O) -> Self:
        return self._binary(ops.LtOp, "`<`", other)

    def __le__(self, other: _O) -> Self:
        return self._binary(ops.LeOp, "`<=`", other)

    def __gt__(self, other: _O) -> Self:
        return self._binary(ops.GtOp, "`>`", other)

    def __ge__(self, other: _O) -> Self:
        return self._binary(ops.GeOp, "`>=`", other)

    def __eq__(self, other: _O) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._binary(ops.EqOp, "`==`", other)

    def __ne__(self, other: _O) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._binary(ops.NeOp, "`!=`", other)

    def __neg__(self) -> Self:
        return self._unary(ops.NegOp, "`-`")

    def __pos__(self) -> Self:
        return self

    def __invert__(self) -> Self:
        return self._unary(ops.NotOp, "`~`")

    def __abs__(self) -> Self:
        return self._unary(ops.AbsOp, "abs")

    def __hash__(self) -> int:
        self._refuse("hashing", "keep host values in sets and as keys of dictionaries")

    def __bool__(self) -> bool:
        raise CaptureError(STAGED_BOOL.at(user_span(), what=self.describe()))

    def __len__(self) -> int:
        self._refuse("the length", "use the extent given to its axis")

    def __iter__(self) -> NoReturn:
        self._refuse("iteration", "use a region over its axis, as in nest.serial(shape(n)), and x.at(...)")

    def __int__(self) -> int:
        self._refuse("int()", "convert it in the kernel with cast(i32, x)")

    def __float__(self) -> float:
        self._refuse("float()", "convert it in the kernel with cast(f32, x)")

    def __index__(self) -> int:
        self._refuse("the use as a Python index", "use it in coord(...), or make it a host value")

    def __array__(self, *_: object) -> NoReturn:
        self._refuse("the conversion to an array", "store it to a view and read that after the kernel ran")

    def _refuse(self, use: str, remedy: str) -> NoReturn:
        raise CaptureError(STAGED_HOST.at(user_span(), use=use, what=self.describe(), remedy=remedy))


D_co = TypeVarWithDefault("D_co", bound=DType, default=DType, covariant=True)


class Scalar(Staged["Scalar | Number"], Generic[D_co]):
    """One number of the kernel, such as a coordinate. With a tile on the other side, operators give a tile.

    `Scalar[f32]` annotates a parameter that is a number; a bare `Scalar` takes any element type, fixed at capture.
    """

    __slots__ = ()


class Tile(Staged["Tile | Scalar | Number"]):
    """An immutable block of numbers over a space of axes."""

    __slots__ = ()

    @property
    def shape(self) -> Shape:
        return shape_of(self.space, self.capture)

    def at(self, where: "Coord | Nest") -> Scalar:
        """The element at a position: a coord with one entry for each axis, or the coordinates of a nest."""
        return Scalar(operations.extract(self, where), self.capture)

    def scalar(self) -> Scalar:
        """The one element of a tile without axes."""
        return self.at(Coord(()))

    def __matmul__(self, other: "Tile") -> "Tile":
        return Tile(contraction.matmul(self, other), self.capture)

    def __getitem__(self, key: object) -> NoReturn:
        self._refuse("indexing", "take an element with x.at(coord(...)), or load another tile from the view")

    def __setitem__(self, key: object, value: object) -> NoReturn:
        raise CaptureError(ITEM_ASSIGNMENT.at(user_span(), what="a tile"))


Operand = Tile | Scalar | Number


def wrap(ssa: SSAValue) -> Tile | Scalar:
    """The surface value of an IR value made just now."""
    return (Tile if is_tile(ssa) else Scalar)(ssa, current("a value"))


_S = TypeVar("_S")


def wrap_like(_: _S, ssa: SSAValue) -> _S:
    """`wrap`, typed as the operand: scalars give scalars, tiles give tiles. A scalar with a tile gives a tile too,
    which type checkers see through the tile's reflected operator.
    """
    return wrap(ssa)  # pyright: ignore[reportReturnType]

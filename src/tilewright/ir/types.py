"""Types of TileIR: dimensions by identity, index spaces, tiles, views, manual memory.

A dimension is an identity, not a size and not a name: two axes of equal extent are different unless they carry the same
`DimAttr`.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerType, Signedness
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tilewright.core import dtypes
from tilewright.core.dtypes import DType

_ELEMENTS: dict[str, TypeAttribute] = {
    "f16": builtin.f16,
    "bf16": builtin.bf16,
    "f32": builtin.f32,
    "f64": builtin.f64,
    "float8_e4m3fn": builtin.Float8E4M3FNType(),
    "float8_e5m2": builtin.Float8E5M2Type(),
    "i8": IntegerType(8),
    "i16": IntegerType(16),
    "i32": IntegerType(32),
    "i64": IntegerType(64),
    "u8": IntegerType(8, Signedness.UNSIGNED),
    "u16": IntegerType(16, Signedness.UNSIGNED),
    "u32": IntegerType(32, Signedness.UNSIGNED),
    "u64": IntegerType(64, Signedness.UNSIGNED),
    "boolean": IntegerType(1),
}
_DTYPES: dict[Attribute, type[DType]] = {attr: dtypes.by_name(name) for name, attr in _ELEMENTS.items()}

I64 = _ELEMENTS["i64"]
BOOL = _ELEMENTS["boolean"]


def element_attr(dtype: type[DType]) -> TypeAttribute:
    """The element type attribute of a dtype."""
    return _ELEMENTS[dtype.name]


def dtype_of(element: Attribute) -> type[DType]:
    """The dtype of an element type attribute; KeyError for anything that is not one."""
    return _DTYPES[element]


def is_element(attr: Attribute) -> bool:
    """Whether `attr` is a scalar element type of TileIR."""
    return attr in _DTYPES


def _hash_once(self: ParametrizedAttribute) -> int:
    """The hash of a tree of attributes, computed once: types are looked up far more often than they are made."""
    found = self.__dict__.get("_hash")
    if found is None:
        found = hash((self.name, *self.parameters))
        object.__setattr__(self, "_hash", found)
    return found


@irdl_attr_definition
class DimAttr(ParametrizedAttribute):
    """One dimension identity. Labels live in the kernel's label table, never here."""

    name = "tile.dim"
    id: IntAttr = param_def()
    __hash__ = _hash_once

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(dim_id: int) -> "DimAttr":
        return DimAttr(IntAttr(dim_id))

    @property
    def number(self) -> int:
        return self.id.data

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_int(self.id.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))]


@irdl_attr_definition
class AxisAttr(ParametrizedAttribute):
    """One axis of a space: a dimension identity with a constant extent (0 is legal)."""

    name = "tile.axis"
    dim: DimAttr = param_def()
    size: IntAttr = param_def()
    __hash__ = _hash_once

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(dim: DimAttr, extent: int) -> "AxisAttr":
        return AxisAttr(dim, IntAttr(extent))

    @property
    def extent(self) -> int:
        return self.size.data

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_axis(printer, self)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            axis = _parse_axis(parser)
        return [axis.dim, axis.size]


@irdl_attr_definition
class SpaceAttr(ParametrizedAttribute):
    """An ordered list of axes with pairwise distinct dimensions. Rank 0 is legal and has volume 1."""

    name = "tile.space"
    items: ArrayAttr[AxisAttr] = param_def()
    __hash__ = _hash_once

    @staticmethod
    def of(axes: Iterable[AxisAttr]) -> "SpaceAttr":
        return SpaceAttr(ArrayAttr(tuple(axes)))

    @property
    def axes(self) -> tuple[AxisAttr, ...]:
        return tuple(self.items.data)

    @property
    def dims(self) -> tuple[DimAttr, ...]:
        return tuple(axis.dim for axis in self.items.data)

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(axis.extent for axis in self.items.data)

    @property
    def rank(self) -> int:
        return len(self.items.data)

    @property
    def volume(self) -> int:
        return prod(self.extents)

    def extent_of(self, dim: DimAttr) -> int | None:
        """The extent `dim` has here, or None when the space lacks it."""
        return next((axis.extent for axis in self.items.data if axis.dim == dim), None)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_axes(printer, self)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [parse_axes(parser).items]


POINT = SpaceAttr.of(())  # the rank-0 space


def _print_axis(printer: Printer, axis: AxisAttr) -> None:
    printer.print_string(f"{axis.dim.number}:{axis.extent}")


def _parse_axis(parser: AttrParser) -> AxisAttr:
    dim = parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_punctuation(":")
    return AxisAttr.of(DimAttr.of(dim), parser.parse_integer(allow_boolean=False, allow_negative=False))


def print_axes(printer: Printer, space: SpaceAttr) -> None:
    """Print `[dim:extent, ...]`."""
    printer.print_string("[")
    printer.print_list(space.axes, lambda axis: _print_axis(printer, axis))
    printer.print_string("]")


def parse_axes(parser: AttrParser) -> SpaceAttr:
    """Parse what `print_axes` prints."""
    axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_axis(parser))
    return SpaceAttr.of(axes)


def _parse_of(parser: AttrParser) -> tuple[SpaceAttr, Attribute]:
    space = parse_axes(parser)
    parser.parse_keyword("of")
    return space, parser.parse_type()


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """An immutable tile: one element for each point of its space."""

    name = "tile.tile"
    element: Attribute = param_def()
    space: SpaceAttr = param_def()
    __hash__ = _hash_once

    @staticmethod
    def of(dtype: type[DType], space: SpaceAttr) -> "TileType":
        return TileType(element_attr(dtype), space)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_axes(printer, self.space)
            printer.print_string(" of ")
            printer.print_attribute(self.element)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            space, element = _parse_of(parser)
        return [element, space]


@irdl_attr_definition
class ViewType(ParametrizedAttribute, TypeAttribute):
    """A kernel parameter: a typed window on a buffer. `strides` count elements; `access` is "const" or "mutable"."""

    name = "tile.view"
    element: Attribute = param_def()
    space: SpaceAttr = param_def()
    steps: ArrayAttr[IntAttr] = param_def()
    access: builtin.StringAttr = param_def()
    __hash__ = _hash_once

    @staticmethod
    def of(dtype: type[DType], space: SpaceAttr, strides: Sequence[int], *, const: bool) -> "ViewType":
        steps = ArrayAttr([IntAttr(step) for step in strides])
        return ViewType(element_attr(dtype), space, steps, builtin.StringAttr("const" if const else "mutable"))

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(step.data for step in self.steps.data)

    @property
    def is_const(self) -> bool:
        return self.access.data == "const"

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_axes(printer, self.space)
            printer.print_string(" of ")
            printer.print_attribute(self.element)
            printer.print_string(", [")
            printer.print_list(self.strides, printer.print_int)
            printer.print_string(f"], {self.access.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            space, element = _parse_of(parser)
            parser.parse_punctuation(",")
            steps = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            parser.parse_punctuation(",")
            access = parser.parse_identifier()
        return [element, space, ArrayAttr([IntAttr(step) for step in steps]), builtin.StringAttr(access)]


@irdl_attr_definition
class MemoryType(ParametrizedAttribute, TypeAttribute):
    """Manual storage with stable identity, owned by the nearest enclosing parallel instance."""

    name = "tile.memory"
    element: Attribute = param_def()
    space: SpaceAttr = param_def()

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_axes(printer, self.space)
            printer.print_string(" of ")
            printer.print_attribute(self.element)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            space, element = _parse_of(parser)
        return [element, space]


@irdl_attr_definition
class MemoryStateType(ParametrizedAttribute, TypeAttribute):
    """The contents of one manual memory between two stores, as a value that orders accesses."""

    name = "tile.memory_state"


def compact_strides(extents: Sequence[int]) -> tuple[int, ...]:
    """Row-major element strides of a compact array; extents of 0 count as 1."""
    steps: list[int] = []
    step = 1
    for extent in reversed(extents):
        steps.append(step)
        step *= max(extent, 1)
    return tuple(reversed(steps))


def footprint(extents: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements lie from the first to the last one of a view, both counted; 0 for an empty one."""
    if 0 in extents:
        return 0
    return 1 + sum((extent - 1) * step for extent, step in zip(extents, strides, strict=True))


def tile_type(value: SSAValue) -> TileType:
    """The type of a value known to be a tile. This is the one cast from xDSL's untyped values."""
    return cast(TileType, value.type)


def view_type(value: SSAValue) -> ViewType:
    """The type of a value known to be a view."""
    return cast(ViewType, value.type)


def memory_type(value: SSAValue) -> MemoryType:
    """The type of a value known to be a manual memory."""
    return cast(MemoryType, value.type)


def is_tile(value: SSAValue) -> bool:
    """Whether the value is a tile (a scalar otherwise, for operands of elementwise operations)."""
    return isinstance(value.type, TileType)


def element_of(value: SSAValue) -> Attribute:
    """The element type of a scalar or tile value."""
    return value.type.element if isinstance(value.type, TileType) else value.type


def space_of(value: SSAValue) -> SpaceAttr:
    """The space of a tile value; the rank-0 space for a scalar."""
    return value.type.space if isinstance(value.type, TileType) else POINT

"""Types of XIR beyond xDSL's scalars and vectors: buffers, a base address with an element type and an address space."""

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import IntAttr, IntegerType, StringAttr, VectorType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

I1 = IntegerType(1)
I64 = IntegerType(64)

SPACES = ("global", "scratch", "shared", "launch")


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """`extent` elements at a base address.

    Global memory belongs to the caller, scratch to one worker, shared to one group, launch to all kernels of a module
    in one launch. Elements are storage types: booleans are i8, unsigned integers are signless.
    """

    name = "xir.buffer"
    element: Attribute = param_def()
    count: IntAttr = param_def()
    space: StringAttr = param_def()

    @staticmethod
    def of(element: Attribute, extent: int, space: str = "global") -> "BufferType":
        return BufferType(element, IntAttr(extent), StringAttr(space))

    @property
    def extent(self) -> int:
        return self.count.data

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.count.data} of ")
            printer.print_attribute(self.element)
            printer.print_string(f", {self.space.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            extent = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_keyword("of")
            element = parser.parse_type()
            parser.parse_punctuation(",")
            space = parser.parse_identifier()
        return [element, IntAttr(extent), StringAttr(space)]


def buffer_type(value: SSAValue) -> BufferType:
    """The type of a value known to be a buffer. This is the one cast from xDSL's untyped values."""
    return cast(BufferType, value.type)


@lru_cache(maxsize=1024)
def vector_of(element: Attribute, lanes: int) -> Attribute:
    """`vector<lanes x element>`, or the scalar itself for one lane."""
    return element if lanes == 1 else VectorType(element, [lanes])


def is_vector(kind: Attribute) -> bool:
    """Whether the type has lanes."""
    return isinstance(kind, VectorType)


def lanes_of(kind: Attribute) -> int:
    """How many lanes a scalar (1) or vector type has."""
    return kind.shape.data[0].data if type(kind) is VectorType else 1


def scalar_of(kind: Attribute) -> Attribute:
    """The element type of a vector type, or the scalar type itself."""
    return kind.element_type if type(kind) is VectorType else kind

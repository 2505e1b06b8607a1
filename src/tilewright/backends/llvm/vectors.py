"""Moving lanes: broadcast, insert, extract, shuffle."""

from collections.abc import Sequence

from tilewright.backends.llvm.emission import Emission
from tilewright.backends.llvm.faults import misuse
from tilewright.backends.llvm.types import I1, I32, I64, Type, structure, vector
from tilewright.backends.llvm.values import IntegerConstant, Value, constant, integers, poison


class Vectors(Emission):
    """Instructions that build vectors and take them apart."""

    def splat(self, scalar: Value, lanes: int) -> Value:
        """`scalar` in each of `lanes` lanes."""
        wide = vector(scalar.type, lanes)
        if isinstance(scalar, IntegerConstant):
            return constant(wide, scalar.value)
        first = self.define(wide, f"insertelement {wide.text} poison, {scalar}, i64 0")
        return self.define(wide, f"shufflevector {first}, {wide.text} poison, <{lanes} x i32> zeroinitializer")

    def insert_element(self, into: Value, scalar: Value, lane: Value) -> Value:
        if scalar.type is not into.type.scalar:
            raise misuse(f"insertelement of {scalar.type} into {into.type}")
        return self.define(into.type, f"insertelement {into}, {scalar}, {lane}")

    def extract_element(self, source: Value, lane: Value) -> Value:
        if source.type.scalar is None:
            raise misuse(f"extractelement of {source.type}")
        return self.define(source.type.scalar, f"extractelement {source}, {lane}")

    def lane(self, source: Value, index: int) -> Value:
        """The lane with a constant number."""
        return self.extract_element(source, constant(I64, index))

    def shuffle(self, a: Value, b: Value | None, lanes: Sequence[int]) -> Value:
        """Lanes of `a` and `b` in the given order; -1 leaves a lane unspecified."""
        if a.type.scalar is None or (b is not None and b.type is not a.type):
            raise misuse(f"shufflevector of {a} and {b}")
        second = b if b is not None else poison(a.type)
        order = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in lanes)
        text = f"shufflevector {a}, {second}, <{len(lanes)} x i32> <{order}>"
        return self.define(vector(a.type.scalar, len(lanes)), text)

    def iota(self, element: Type, lanes: int) -> Value:
        """The constant 0, 1, 2, …"""
        return integers(element, range(lanes))

    def lanes_below(self, count: Value, lanes: int) -> Value:
        """The mask of the lanes whose number is below the i32 `count`, read as unsigned."""
        if count.type is not I32:
            raise misuse(f"lanes_below needs an i32, not {count.type}")
        text = f"icmp ult {self.iota(I32, lanes)}, {self.splat(count, lanes).ref}"
        return self.define(vector(I1, lanes), text)

    def extract_value(self, aggregate: Value, type: Type, index: int) -> Value:
        """A member of an aggregate; the caller says its type."""
        return self.define(type, f"extractvalue {aggregate}, {index}")

    def aggregate(self, members: Sequence[Value]) -> Value:
        """A structure of the given values."""
        kind = structure(*(member.type for member in members))
        out = poison(kind)
        for index, member in enumerate(members):
            out = self.define(kind, f"insertvalue {out}, {member}, {index}")
        return out

    def build(self, scalars: Sequence[Value]) -> Value:
        """A vector of the given scalars."""
        out = poison(vector(scalars[0].type, len(scalars)))
        for index, scalar in enumerate(scalars):
            out = self.insert_element(out, scalar, constant(I64, index))
        return out

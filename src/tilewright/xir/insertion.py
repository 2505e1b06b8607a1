"""Where new operations go, which place in the source they carry, and which constants exist already."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import LocationAttr, UnknownLoc, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.xir.constants import Bits, Number, bits_of, constant_attribute, dense_attribute
from tilewright.xir.types import I64

__all__ = ["Insertion"]

OpT = TypeVar("OpT", bound=Operation)
_Key = tuple[Attribute, Bits | tuple[Bits, ...]]


class _Constants:
    """The constants at the top of one function, each made once."""

    def __init__(self, root: Block) -> None:
        self.root = root
        self.values: dict[_Key, SSAValue] = {}
        self.copies: dict[Attribute, SSAValue] = {}
        self.last: Operation | None = None

    def add(self, attribute: Attribute, kind: Attribute, location: LocationAttr) -> SSAValue:
        op = ConstantOp.create(result_types=(kind,), properties={"value": attribute}, location=location)
        if self.last is not None and self.last.parent is self.root:
            self.root.insert_op_after(op, self.last)
        elif self.root.first_op is not None:
            self.root.insert_op_before(op, self.root.first_op)
        else:
            self.root.add_op(op)
        self.last = op
        return op.results[0]


class Insertion:
    """An insertion point: the end of `block`, or just before an operation of it."""

    def __init__(self, block: Block, location: LocationAttr | None = None) -> None:
        self._constants: dict[Block, _Constants] = {}
        self.place = UnknownLoc() if location is None else location
        self._enter(block, None)

    def insert(self, op: OpT) -> OpT:
        """Puts `op` at the insertion point, stamps its location, and returns it."""
        op.location = self.place
        if self._anchor is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self._anchor)
        return op

    @contextmanager
    def at(self, block: Block) -> Generator[None]:
        """Appends to `block` for the duration of the context."""
        outer = self.block, self._anchor
        self._enter(block, None)
        try:
            yield
        finally:
            self._enter(*outer)

    @contextmanager
    def before(self, op: Operation) -> Generator[None]:
        """Inserts before `op`, with its location, for the duration of the context."""
        outer, place = (self.block, self._anchor), self.place
        self._enter(cast(Block, op.parent), op)
        self.place = op.location
        try:
            yield
        finally:
            self._enter(*outer)
            self.place = place

    @contextmanager
    def location(self, location: LocationAttr) -> Generator[None]:
        """Stamps everything made in the context with `location`."""
        outer, self.place = self.place, location
        try:
            yield
        finally:
            self.place = outer

    def i64(self, value: int) -> SSAValue:
        """An index constant."""
        return self.const(I64, value)

    def const(self, kind: Attribute, value: Number) -> SSAValue:
        """A constant scalar, or a vector with `value` in every lane; made once a function."""
        constants = self._top()
        key = kind, bits_of(kind, value)
        found = constants.values.get(key)
        if found is None:
            found = constants.add(constant_attribute(kind, value), kind, self.place)
            constants.values[key] = found
        return found

    def const_lanes(self, element: Attribute, values: Sequence[Number]) -> SSAValue:
        """A constant vector with the given lanes."""
        bits = tuple(bits_of(element, value) for value in values)
        if len(set(bits)) == 1:
            return self.const(element if len(bits) == 1 else VectorType(element, [len(bits)]), values[0])
        kind = VectorType(element, [len(bits)])
        constants = self._top()
        found = constants.values.get((kind, bits))
        if found is None:
            found = constants.add(dense_attribute(kind, list(values)), kind, self.place)
            constants.values[kind, bits] = found
        return found

    def constant_like(self, op: ConstantOp) -> SSAValue:
        """The constant that `op` is, in the function of the insertion point."""
        constants = self._top()
        found = constants.copies.get(op.properties["value"])
        if found is None:
            found = constants.add(op.properties["value"], op.results[0].type, self.place)
            constants.copies[op.properties["value"]] = found
        return found

    def _enter(self, block: Block, anchor: Operation | None) -> None:
        self.block, self._anchor = block, anchor

    def _top(self) -> _Constants:
        """The constants of the function that holds the insertion point."""
        root = self.block
        while True:
            owner = root.parent_op()
            if owner is None or owner.parent is None or owner.name in ("xir.kernel", "xir.func"):
                break
            root = owner.parent
        found = self._constants.get(root)
        if found is None:
            found = self._constants[root] = _Constants(root)
        return found

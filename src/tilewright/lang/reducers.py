"""Reducers: what a fold combines with, and functions on two values."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import overload

from tilewright.core.dtypes import DType
from tilewright.ir.ops import elementwise as ops
from tilewright.lang import operations
from tilewright.lang.values import Number, Operand, Scalar, Tile, wrap

__all__ = [
    "Reducer", "add", "all_of", "any_of", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum", "mul",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reducer:
    """A way to combine two values, and the value that changes nothing.

    `combine` is called on scalars inside folds and on any operands outside; `identity` gives the start of a fold over
    a type. With `needs_elements` a library fold over nothing is refused (TW215) because the identity is no answer.
    """

    name: str
    combine: Callable[[Operand, Operand], Tile | Scalar]
    identity: Callable[[type[DType]], Number]
    needs_elements: bool = False

    @overload
    def __call__(self, a: Tile, b: Operand) -> Tile: ...

    @overload
    def __call__(self, a: Operand, b: Tile) -> Tile: ...

    @overload
    def __call__(self, a: Scalar, b: Scalar | Number) -> Scalar: ...

    @overload
    def __call__(self, a: Number, b: Scalar) -> Scalar: ...

    def __call__(self, a: Operand, b: Operand) -> Tile | Scalar:
        return self.combine(a, b)

    def __repr__(self) -> str:
        return self.name


def _operation(op: type[ops.BinaryOp], name: str) -> Callable[[Operand, Operand], Tile | Scalar]:
    return lambda a, b: wrap(operations.binary(op, name, a, b))


def _always(value: Number) -> Callable[[type[DType]], Number]:
    return lambda _: value


def _condition(
    op: type[ops.LogicalAndOp] | type[ops.LogicalOrOp], name: str
) -> Callable[[Operand, Operand], Tile | Scalar]:
    return lambda a, b: wrap(operations.logical(op, name, a, b))


def _bits(dtype: type[DType], *, ones: bool) -> Number:
    """The value with no bit set, or with all."""
    if dtype.kind == "bool":
        return ones
    return (-1 if dtype.is_signed else int(dtype.max)) if ones else 0


def _lowest(dtype: type[DType]) -> Number:
    return -math.inf if dtype.is_float else int(dtype.min)


def _highest(dtype: type[DType]) -> Number:
    return math.inf if dtype.is_float else int(dtype.max)


add = Reducer("add", _operation(ops.AddOp, "add"), _always(0))
mul = Reducer("mul", _operation(ops.MulOp, "mul"), _always(1))
maximum = Reducer("maximum", _operation(ops.MaxOp, "maximum"), _lowest, needs_elements=True)
minimum = Reducer("minimum", _operation(ops.MinOp, "minimum"), _highest, needs_elements=True)
bitwise_and = Reducer("bitwise_and", _operation(ops.AndOp, "&"), lambda dtype: _bits(dtype, ones=True))
bitwise_or = Reducer("bitwise_or", _operation(ops.OrOp, "|"), lambda dtype: _bits(dtype, ones=False))
bitwise_xor = Reducer("bitwise_xor", _operation(ops.XorOp, "^"), lambda dtype: _bits(dtype, ones=False))
any_of = Reducer("any", _condition(ops.LogicalOrOp, "any"), _always(False))
all_of = Reducer("all", _condition(ops.LogicalAndOp, "all"), _always(True))

"""The pass `fold-constants`."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.analysis.affine import constant_of
from tilewright.analysis.ranges import interval_of
from tilewright.core.dtypes import DType
from tilewright.ir.ops.convert import BitcastOp, CastOp
from tilewright.ir.ops.elementwise import ElementwiseOp, FloorDivOp, FloorModOp
from tilewright.ir.ops.tiles import ConstantOp
from tilewright.ir.rewrite import TilePass, TileRewriter
from tilewright.ir.types import I64, dtype_of, element_of
from tilewright.numerics.bits import from_bits, to_bits
from tilewright.numerics.cast import bitcast, cast
from tilewright.numerics.elementwise import OPS
from tilewright.numerics.faults import ArithmeticFault

__all__ = ["FoldConstants"]

# Rounded differently by routes within their stated bounds, so a folded value would depend on who folds it.
_BOUNDED = frozenset({"exp", "exp2", "log", "log2", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid", "pow"})


@dataclass(frozen=True)
class FoldConstants(TilePass):
    """Computes exact elementwise operations on constants.

    Requires: a verified module.
    Ensures: no exactly defined elementwise operation has constant operands only, and no index that is proved to lie in
        [0, c) is divided by c.
    Rewrites: `%c = tile.add (constant 1), (constant 2)` → `constant 3`, with the bits that the interpreter computes;
        constant tiles, whose elements are all the same, likewise. `tile.floor_div %i, c` → 0 and
        `tile.floor_mod %i, c` → `%i` for an i64 scalar in [0, c).
    Declines when: the operation is a transcendental (routes differ within their bounds) or divides by zero (an error in
        the interpreter and in debug mode, which must stay one).
    """

    name: ClassVar[str] = "fold-constants"

    def apply(self, module: ModuleOp, rewriter: TileRewriter) -> None:
        for op in list(module.walk()):
            if isinstance(op, FloorDivOp | FloorModOp) and _is_below(op):
                _settle(op, rewriter)
            elif isinstance(op, ElementwiseOp) and op.opcode not in _BOUNDED:
                _fold(op, rewriter)


def _is_below(op: FloorDivOp | FloorModOp) -> bool:
    """Whether an index is divided by a constant that it never reaches."""
    divisor = constant_of(op.rhs)
    known = interval_of(op.lhs) if divisor is not None and op.lhs.type == I64 else None
    return known is not None and divisor is not None and divisor > 0 and known.within(divisor)


def _settle(op: FloorDivOp | FloorModOp, rewriter: TileRewriter) -> None:
    if isinstance(op, FloorModOp):
        rewriter.replace_values(op, [op.lhs])
    else:
        rewriter.replace(op, [ConstantOp(0, op.result.type)])


def _fold(op: ElementwiseOp, rewriter: TileRewriter) -> None:
    constants = [_constant(operand) for operand in op.operands]
    known = [constant for constant in constants if constant is not None]
    if len(known) < len(constants):
        return
    values = [from_bits(_dtype(constant.result), np.asarray(constant.value.data, np.uint64)) for constant in known]
    try:
        result = _compute(op, values)
    except ArithmeticFault:
        return
    target = _dtype(op.result)
    bits = int(to_bits(target, result.astype(np.bool_) if target.kind == "bool" else result).reshape(()))
    rewriter.replace(op, [ConstantOp(bits, op.result.type)])


def _compute(op: ElementwiseOp, values: list[Any]) -> Any:
    """The meaning that the interpreter gives to the operation."""
    match op:
        case CastOp():
            saturate = bool(op.saturating.value.data)
            return cast(values[0], _dtype(op.operand), _dtype(op.result), saturate=saturate)
        case BitcastOp():
            return bitcast(values[0], _dtype(op.operand), _dtype(op.result))
        case _:
            return OPS[op.opcode](_dtype(op.operands[-1]), *values)


def _dtype(value: SSAValue) -> type[DType]:
    return dtype_of(element_of(value))


def _constant(value: SSAValue) -> ConstantOp | None:
    owner: Operation | None = value.op if isinstance(value, OpResult) else None
    return owner if isinstance(owner, ConstantOp) else None

"""One rule for each elementwise operation. Operands come as all scalars or all vectors; the rule does not see lanes.

Half types are held as f32: a rule computes in f32 and the result is rounded once, here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import math as xmath
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.ranges import interval_of
from tilewright.bridge.xir.lower import convert as conversions
from tilewright.bridge.xir.lower.context import Lowering, Val
from tilewright.bridge.xir.lower.coords import Coord
from tilewright.bridge.xir.lower.integers import (
    floor_div,
    floor_mod,
    power,
    shift_left,
    shift_right,
    trunc_div,
    trunc_mod,
)
from tilewright.core.codes.unsupported import OP_NOT_ON_ROUTE
from tilewright.core.dtypes import DType
from tilewright.core.errors import UnsupportedError
from tilewright.ir.location import span_of
from tilewright.ir.ops import convert
from tilewright.ir.ops import elementwise as ops
from tilewright.ir.types import dtype_of, element_attr, element_of
from tilewright.xir.builder import XirBuilder
from tilewright.xir.ops import SigmoidOp
from tilewright.xir.types import lanes_of, scalar_of

__all__ = ["RULES", "apply", "lowers"]

Rule = Callable[[XirBuilder, type[DType], Sequence[SSAValue]], SSAValue]
RULES: dict[type[Operation], Rule] = {}


def lowers(op: type[Operation]) -> Callable[[Rule], Rule]:
    """Enter a rule into the table."""

    def enter(rule: Rule) -> Rule:
        RULES[op] = rule
        return rule

    return enter


def apply(cx: Lowering, op: ops.ElementwiseOp, operands: Sequence[Val]) -> Val:
    """The result of an elementwise operation on evaluated operands."""
    dtype = dtype_of(element_of(op.operands[-1]))
    if dtype.name == "i64":
        kept = _on_coords(cx, op, operands)
        if kept is not None:
            return kept
    if isinstance(op, convert.CastOp | convert.BitcastOp):
        return conversions.apply(cx, op, operands[0])
    rule = RULES.get(type(op))
    if rule is None:
        raise UnsupportedError(OP_NOT_ON_ROUTE.at(span_of(op), op=op.name, route="xir"))
    result = rule(cx.builder, dtype, _leveled(cx, operands))
    return _finished(cx, op, result)


def _leveled(cx: Lowering, operands: Sequence[Val]) -> list[SSAValue]:
    """All scalars, or all vectors."""
    values = [cx.ssa(operand) for operand in operands]
    if all(lanes_of(value.type) == 1 for value in values):
        return values
    return [cx.vectorised(value, cx.width) for value in values]


def _finished(cx: Lowering, op: ops.ElementwiseOp, value: SSAValue) -> Val:
    dtype = dtype_of(element_of(op.result))
    if dtype.name == "i64":
        return Coord(value)
    if dtype.name in ("f16", "bf16") and type(op) not in _EXACT:
        return cx.builder.extf(cx.builder.truncf(value, element_attr(dtype)), scalar_of(value.type))
    return value


_EXACT = (
    ops.NegOp,
    ops.AbsOp,
    ops.MinOp,
    ops.MaxOp,
    convert.SelectOp,
    ops.FloorOp,
    ops.CeilOp,
    ops.TruncOp,
    ops.RoundOp,
)


# ---- i64 arithmetic that keeps lane steps


def _on_coords(cx: Lowering, op: ops.ElementwiseOp, operands: Sequence[Val]) -> Val | None:
    coords = [operand for operand in operands if isinstance(operand, Coord)]
    if len(coords) != len(operands):
        return None
    match op:
        case ops.AddOp():
            return cx.math.add(*coords)
        case ops.SubOp():
            return cx.math.sub(*coords)
        case ops.MulOp():
            return cx.math.mul(*coords)
        case ops.NegOp():
            return cx.math.sub(cx.math.const(0), coords[0])
        case ops.LtOp() | ops.LeOp() | ops.GtOp() | ops.GeOp():
            return _compare_lanes(cx, op, *coords)
        case convert.CastOp() if dtype_of(element_of(op.result)).name == "i64":
            return coords[0]
        case _:
            return None


_TURNED: Mapping[type[ops.CompareOp], type[ops.CompareOp]] = {
    ops.LtOp: ops.GtOp,
    ops.LeOp: ops.GeOp,
    ops.GtOp: ops.LtOp,
    ops.GeOp: ops.LeOp,
}


def _compare_lanes(cx: Lowering, op: ops.CompareOp, a: Coord, b: Coord) -> Val | None:
    """`base + lane < limit` is the mask of the first lanes, when neither side can wrap; from either side."""
    kind, moving, still = type(op), op.lhs, op.rhs
    if b.step == 1:
        kind, moving, still, a, b = _TURNED[kind], still, moving, b, a
    if a.step != 1 or not b.is_uniform or cx.program_lanes:
        return None
    left, right = interval_of(moving), interval_of(still)
    if left is None or right is None or not right.may_subtract(left):
        return None
    limit = cx.builder.sub(b.base, a.base)
    if kind in (ops.LeOp, ops.GtOp):
        limit = cx.builder.add(limit, 1)
    below = cx.builder.first_lanes(limit, cx.width)
    return below if kind in (ops.LtOp, ops.LeOp) else cx.builder.not_(below)


# ---- rules by tables


@dataclass(frozen=True)
class _ByKind:
    """The builder's method for floats, signed and unsigned integers; None refuses."""

    floats: str | None
    signed: str | None
    unsigned: str | None

    def __call__(self, b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
        name = {"float": self.floats, "int": self.signed}.get(dtype.kind, self.unsigned)
        method: Callable[..., SSAValue] = getattr(b, name or "missing")
        return method(*operands)


@dataclass(frozen=True)
class _Math:
    """One operation of the math dialect."""

    op: type[Operation]

    def __call__(self, b: XirBuilder, _dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
        return b.math(self.op, *operands)


@dataclass(frozen=True)
class _Compare:
    """Predicates for floats, signed and unsigned integers."""

    floats: str
    signed: str
    unsigned: str

    def __call__(self, b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
        if dtype.kind == "float":
            return b.fcmp(self.floats, *operands)
        return b.cmp(self.signed if dtype.kind == "int" else self.unsigned, *operands)


RULES.update(
    {
        ops.AddOp: _ByKind("fadd", "add", "add"),
        ops.SubOp: _ByKind("fsub", "sub", "sub"),
        ops.MulOp: _ByKind("fmul", "mul", "mul"),
        ops.DivOp: _ByKind("fdiv", None, None),
        ops.MinOp: _ByKind("fmin", "minsi", "minui"),
        ops.MaxOp: _ByKind("fmax", "maxsi", "maxui"),
        ops.AndOp: _ByKind(None, "and_", "and_"),
        ops.OrOp: _ByKind(None, "or_", "or_"),
        ops.XorOp: _ByKind(None, "xor", "xor"),
        ops.NotOp: _ByKind(None, "not_", "not_"),
        ops.LogicalAndOp: _ByKind(None, "and_", "and_"),
        ops.LogicalOrOp: _ByKind(None, "or_", "or_"),
        ops.LogicalNotOp: _ByKind(None, "not_", "not_"),
        ops.EqOp: _Compare("oeq", "eq", "eq"),
        ops.NeOp: _Compare("une", "ne", "ne"),
        ops.LtOp: _Compare("olt", "slt", "ult"),
        ops.LeOp: _Compare("ole", "sle", "ule"),
        ops.GtOp: _Compare("ogt", "sgt", "ugt"),
        ops.GeOp: _Compare("oge", "sge", "uge"),
        ops.ExpOp: _Math(xmath.ExpOp),
        ops.Exp2Op: _Math(xmath.Exp2Op),
        ops.LogOp: _Math(xmath.LogOp),
        ops.Log2Op: _Math(xmath.Log2Op),
        ops.SqrtOp: _Math(xmath.SqrtOp),
        ops.RsqrtOp: _Math(xmath.RsqrtOp),
        ops.SinOp: _Math(xmath.SinOp),
        ops.CosOp: _Math(xmath.CosOp),
        ops.TanhOp: _Math(xmath.TanhOp),
        ops.ErfOp: _Math(xmath.ErfOp),
        ops.SigmoidOp: _Math(SigmoidOp),
        ops.FloorOp: _Math(xmath.FloorOp),
        ops.CeilOp: _Math(xmath.CeilOp),
        ops.RoundOp: _Math(xmath.RoundEvenOp),
        ops.TruncOp: _Math(xmath.TruncOp),
    }
)


@lowers(ops.NegOp)
def _neg(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    value = operands[0]
    return b.fneg(value) if dtype.kind == "float" else b.sub(b.const(value.type, 0), value)


@lowers(ops.AbsOp)
def _abs(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    value = operands[0]
    if dtype.kind == "float":
        return b.math(xmath.AbsFOp, value)
    if dtype.kind == "uint":
        return value
    zero = b.const(value.type, 0)
    return b.select(b.cmp("slt", value, zero), b.sub(zero, value), value)


@lowers(ops.IsNanOp)
def _isnan(b: XirBuilder, _dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    return b.fcmp("uno", operands[0], operands[0])


@lowers(ops.IsInfOp)
def _isinf(b: XirBuilder, _dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    size = b.math(xmath.AbsFOp, operands[0])
    return b.fcmp("oeq", size, b.const(size.type, float("inf")))


@lowers(convert.SelectOp)
def _select(b: XirBuilder, _dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    return b.select(*operands)


@lowers(ops.PowOp)
def _pow(b: XirBuilder, dtype: type[DType], operands: Sequence[SSAValue]) -> SSAValue:
    return b.math(xmath.PowFOp, *operands) if dtype.kind == "float" else power(b, dtype, operands)


INTEGER_RULES: Mapping[type[Operation], Rule] = {
    ops.FloorDivOp: floor_div,
    ops.FloorModOp: floor_mod,
    ops.TruncDivOp: trunc_div,
    ops.TruncModOp: trunc_mod,
    ops.ShlOp: shift_left,
    ops.ShrOp: shift_right,
}
RULES.update(INTEGER_RULES)
